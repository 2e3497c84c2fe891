# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Check mode lists the statements of a run, executes none, and waits for nobody."""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.readers.prepare import (
    ReadersOptions,
    prepare_readers,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.readers.simulated_servers import (
    SimulatedReaderServers,
)
from support.memory.between import record
from support.memory.memory import ManualClock
from support.memory.readers import BOTH, MemoryReaderServers
from support.memory.twins import DAY


def test_statements_are_listed_and_not_executed() -> None:
    servers, executed = MemoryReaderServers(), list[str]()
    servers.running["r1"] = {"query": 1_000_000}
    simulated = SimulatedReaderServers(servers, executed)
    prepared = prepare_readers(simulated, ManualClock(), BOTH, ReadersOptions(), has_records=False)
    for records in ({DAY: record()}, {DAY: record(clones=True)}, {}):
        prepared.readers.follow(records)
    assert not servers.acts
    verbs = ["CREATE", "ALTER"] * 2 + ["ALTER"] * 2 + ["DROP"] * 2
    assert [each.split()[0] for each in executed] == verbs


def test_problems_of_servers_count_in_check_mode() -> None:
    servers = MemoryReaderServers(problems={"r2": "an old analyzer"})
    simulated = SimulatedReaderServers(servers, [])
    prepared = prepare_readers(simulated, ManualClock(), BOTH, ReadersOptions(), has_records=False)
    assert prepared.reason == "an old analyzer"
