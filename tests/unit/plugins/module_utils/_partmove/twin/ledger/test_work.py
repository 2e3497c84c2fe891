# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A command writes under the lease, in small changes, each after its line in the journal."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import LeaseHeld, PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.journal.events import Event
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import path_of_lock
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.entering import enter
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.ledger import (
    MOST_CHANGES,
    Changes,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.work import (
    LedgerOutcome,
    LedgerWork,
    run_under_lease,
    small_changes,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side
from support.memory.ledgers import context_of, entries_of
from support.memory.twin_audits import MemoryWitnesses
from support.memory.twins import DAY, PATH, TwinBench, Twins


@pytest.fixture
def bench() -> TwinBench:
    return TwinBench(Twins(("a", "b"), at=Side.COLD))


def test_a_change_has_its_line_in_the_journal(bench: TwinBench) -> None:
    outcome = LedgerOutcome(PATH)
    run_under_lease(context_of(bench), outcome, enter)
    assert list(outcome.entered) == [DAY] == list(entries_of(bench))
    row = {"shard_path": PATH, "entered": [DAY], "removed": []}
    assert bench.journal.events == [(Event.LEDGER_WRITING, row)]
    run_under_lease(context_of(bench), LedgerOutcome(PATH), enter)
    assert len(bench.journal.events) == 1


def test_another_run_keeps_its_shard_path(bench: TwinBench) -> None:
    bench._create(bench.hot.open(), path_of_lock("/partmove", PATH), b"another run")
    with pytest.raises(LeaseHeld):
        run_under_lease(context_of(bench), LedgerOutcome(PATH), enter)
    assert not entries_of(bench)


def test_the_lease_is_given_back_after_an_error(bench: TwinBench) -> None:
    def fail(_work: LedgerWork) -> Iterator[Changes]:
        yield {}
        raise PartMoveError("no")

    with pytest.raises(PartMoveError, match="no"):
        run_under_lease(context_of(bench), LedgerOutcome(PATH), fail)
    assert bench.hot.read([path_of_lock("/partmove", PATH)]) == [None]


def test_tables_that_are_not_ready_are_refused(bench: TwinBench) -> None:
    bench.servers.change = lambda tables: tables._replace(cold=tables.cold._replace(active_replicas=1))
    with pytest.raises(PartMoveError, match="1 of 2 replicas active"):
        run_under_lease(context_of(bench), LedgerOutcome(PATH), enter)


def test_a_silent_server_ends_the_command(bench: TwinBench) -> None:
    servers = MemoryWitnesses(bench.servers)
    servers.silent = ["r2"]
    with pytest.raises(PartMoveError, match="cannot be reached"):
        run_under_lease(context_of(bench, servers), LedgerOutcome(PATH), enter)
    assert not entries_of(bench)


def test_changes_are_small() -> None:
    changes: Changes = {f"{number:04}": None for number in range(120)}
    sizes = [len(each) for each in small_changes(changes)]
    assert sizes == [MOST_CHANGES, MOST_CHANGES, 120 - 2 * MOST_CHANGES]
