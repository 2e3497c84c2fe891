# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Facts are read from every replica, for the partitions in question only."""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.servers import (
    SetAside,
    read_lost_facts,
)
from support.memory.ledgers import servers_alone, tables_of_replicas
from support.memory.twins import DAY


def test_facts_are_of_every_replica() -> None:
    servers = servers_alone()
    folder = SetAside(f"broken_{DAY}_0_0_0", f"{DAY}_0_0_0")
    servers.folders = {"r2": {DAY: [folder], "other": [folder]}}
    servers.cold = {DAY: 3}
    tables = tables_of_replicas()
    facts = read_lost_facts(servers, tables, [DAY, "none"], {DAY: 4})
    assert facts.set_aside == {DAY: {"r2": [folder]}, "none": {}}
    assert (facts.now, facts.cold_blocks, facts.hot_blocks) == (servers.time, {DAY: 3}, {DAY: 4})
