# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A move is refused while the twin lacks something; what was moved is entered, what came back leaves."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import Lease, LeaseKeeper
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Committed
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.entry import Birth
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.ledger import path_of_ledger
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.moves import (
    MoveLedger,
    MoveLedgers,
    close_ledger,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import PartsOf, Side
from support.memory.ledgers import entered, entries_of, head_of, key, tables_of_replicas
from support.memory.twin_audits import MemoryWitnesses
from support.memory.twins import DAY, PATH, TwinBench, Twins


class Ground:
    """A twin with two parts of a partition, and a run that has the lease."""

    def __init__(self) -> None:
        self.bench = TwinBench(Twins(("a", "b"), ("c",), at=Side.COLD))
        self.hot, self.cold = (self.bench.twins.tables[side] for side in Side)
        self.witnesses = MemoryWitnesses(self.bench.servers)
        self.witnesses.cold = {DAY: 3}
        self.store = self.bench.hot.open()
        self.home = Side.HOT

    def open(self) -> MoveLedger:
        tables = [each._replace(home=self.home) for each in tables_of_replicas()]
        if self.home is Side.COLD:
            tables = [each._replace(hot=each.cold, cold=each.hot) for each in tables]
        return MoveLedgers(self.witnesses).open(self.store, "/partmove", PATH, tables)

    @property
    def parts(self) -> PartsOf:
        return PartsOf(self.hot.shown(), self.cold.shown())

    def reason(self) -> str:
        """Why a move is refused; empty if it is not."""
        refusal = self.open().refusal(DAY, self.parts)
        assert refusal is None or refusal.gate is GateName.TWIN_WHOLE
        return "" if refusal is None else refusal.reason

    def write(self, ledger: MoveLedger, destination: Side) -> None:
        """Commit what a run commits when it removes the record."""
        leases = LeaseKeeper(self.store, None, self.bench.clock, owner="a test")
        lease = leases.acquire(PATH)
        ops = ledger.ops({DAY: self.parts}, destination)
        outcome = self.store.commit([(*lease.hot_checks, *ops)])[0]
        assert isinstance(outcome, Committed)
        ledger.written()
        leases.release(lease)


@pytest.fixture
def ground() -> Ground:
    return Ground()


def test_without_an_entry_nothing_is_refused(ground: Ground) -> None:
    assert ground.reason() == ""
    entered(ground.bench, ground.witnesses)
    assert ground.open().refusal("another", PartsOf((), ())) is None


def test_a_twin_that_lacks_rows_refuses_moves(ground: Ground) -> None:
    entered(ground.bench, ground.witnesses)
    assert ground.reason() == ""
    del ground.cold.parts[key(2, 2, 0)]
    assert ground.reason() == "the twin lacks rows: no part has the blocks 1-2; 2 rows of 3 are there"


def test_retention_refuses_nothing(ground: Ground) -> None:
    entered(ground.bench, ground.witnesses)
    ground.cold.parts = {}
    ground.witnesses.cold = {DAY: 4}
    assert ground.reason()
    ground.bench._create(ground.store, f"{PATH}/block_numbers/{DAY}/block-0", b"")
    assert ground.reason() == ""


@pytest.mark.parametrize("table", ["db.hits", "db.hits_cold"])
def test_another_table_refuses_all_moves(ground: Ground, table: str) -> None:
    entered(ground.bench, ground.witnesses)
    ground.witnesses.uuids[table] = "new"
    assert ground.reason().startswith(f"no replica's {table} has the UUID of then")
    assert ground.open().refusal("another", PartsOf((), ())) is not None


def test_a_partition_is_entered_after_its_move(ground: Ground) -> None:
    ledger = ground.open()
    ground.bench._create(ground.store, f"{PATH}/block_numbers/{DAY}/block-0", b"")
    ground.write(ledger, Side.COLD)
    entry = entries_of(ground.bench)[DAY]
    assert (entry.rows, entry.cold_blocks, entry.hot_blocks) == (3, 3, 1)
    assert head_of(ground.bench).cold.uuids == {"r1": "cold-r1", "r2": "cold-r2"}
    ground.cold.add(("late",))
    assert ledger.refusal(DAY, ground.parts) is None
    ground.write(ledger, Side.COLD)
    assert entries_of(ground.bench)[DAY].rows == 4
    assert ledger.refusal(DAY, PartsOf((), ground.cold.shown()[:2])) is not None


def test_an_entry_knows_when_its_rows_expire(ground: Ground) -> None:
    ground.witnesses.expires = {f"{DAY}_1_1_0": 100}
    ground.write(ground.open(), Side.COLD)
    assert [each.expires for each in entries_of(ground.bench)[DAY].ranges] == [100, 0]


def test_a_partition_that_came_back_leaves_the_ledger(ground: Ground) -> None:
    entered(ground.bench, ground.witnesses)
    ledger = ground.open()
    ground.cold.parts = {}
    ground.write(ledger, Side.HOT)
    assert ground.bench.hot.read([path_of_ledger("/partmove", PATH)]) == [None]
    ground.write(ledger, Side.HOT)


def test_parts_that_stay_in_the_twin_stay_in_the_ledger(ground: Ground) -> None:
    entered(ground.bench, ground.witnesses)
    ledger = ground.open()
    ground.cold.parts = {key(7, 7, 0): ("x",)}
    ground.write(ledger, Side.HOT)
    assert entries_of(ground.bench)[DAY].rows == 1
    assert ground.reason() == ""


def test_what_the_twin_loses_during_a_move_stays_a_loss(ground: Ground) -> None:
    entered(ground.bench, ground.witnesses)
    ledger = ground.open()
    del ground.cold.parts[key(1, 1, 0)]
    ground.cold.add(("late",))
    ground.write(ledger, Side.COLD)
    assert "no part has the blocks" in ground.reason()
    ground.cold.parts = {key(1, 3, 1): ("c", "late")}
    assert ground.reason() == (
        "the twin lacks rows: 2 rows of 5 are there, and no mutation or TTL explains it"
    )


def test_after_an_exchange_there_is_no_twin(ground: Ground) -> None:
    entered(ground.bench, ground.witnesses)
    ground.home = Side.COLD
    ground.cold.parts = {}
    assert ground.reason() == ""
    ground.write(ground.open(), Side.HOT)
    assert entries_of(ground.bench) == {}


def test_an_exchange_closes_the_ledger(ground: Ground) -> None:
    def close() -> None:
        leases = LeaseKeeper(ground.store, None, ground.bench.clock, owner="a test")
        lease: Lease = leases.acquire(PATH)
        close_ledger(ground.store, "/partmove", PATH, lease)
        leases.release(lease)

    entered(ground.bench, ground.witnesses)
    close()
    assert ground.bench.hot.read([path_of_ledger("/partmove", PATH)]) == [None]
    close()


@pytest.mark.parametrize("born", [Birth(7, 900_000), Birth(8, 900_000), None])
def test_a_twin_whose_replicas_were_all_replaced_moves(ground: Ground, born: Birth | None) -> None:
    ground.write(ground.open(), Side.COLD)
    ground.witnesses.uuids["db.hits_cold"] = "new"
    ground.witnesses.born = born
    is_same = born == Birth(7, 900_000)
    assert (ground.reason() == "") is is_same
    ground.cold.add(("late",))
    ground.write(ground.open(), Side.COLD)
    # A run that finishes a move leaves the head: the audit still tells another twin.
    assert head_of(ground.bench).cold.uuids["r1"] == ("new-r1" if is_same else "cold-r1")
    assert (ground.reason() == "") is is_same
