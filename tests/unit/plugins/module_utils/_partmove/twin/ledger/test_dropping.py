# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A partition leaves the ledger by command only if its rows are nowhere any more."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.dropping import drop
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.servers import SetAside
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.work import (
    WHOLE_TABLE,
    LedgerOutcome,
    run_under_lease,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.record import Records
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side
from support.memory.ledgers import context_of, entered, entries_of, key
from support.memory.twin_audits import MemoryWitnesses
from support.memory.twins import DAY, PATH, TwinBench, Twins


class Ground:
    """A twin whose ledger lists a partition of two parts."""

    def __init__(self) -> None:
        self.bench = TwinBench(Twins(("a", "b"), ("c",), at=Side.COLD))
        self.cold = self.bench.twins.tables[Side.COLD]
        self.witnesses = MemoryWitnesses(self.bench.servers)
        entered(self.bench, self.witnesses)

    def drop(self, *partitions: str) -> LedgerOutcome:
        outcome = LedgerOutcome(PATH)
        context = context_of(self.bench, self.witnesses)
        run_under_lease(context, outcome, drop(partitions or (DAY,)))
        return outcome

    def refused(self) -> dict[str, str]:
        """Partition → why it was refused, with an unchanged ledger."""
        outcome = self.drop()
        assert list(entries_of(self.bench)) == [DAY]
        assert (outcome.entered, outcome.removed) == ({}, {})
        return {each: why.reason for each, why in outcome.refused.items()}


@pytest.fixture
def ground() -> Ground:
    return Ground()


def test_a_partition_that_is_gone_leaves_the_ledger(ground: Ground) -> None:
    ground.cold.parts = {}
    outcome = ground.drop(DAY, "another")
    assert (list(outcome.removed), outcome.unchanged) == ([DAY], {"another"})
    assert entries_of(ground.bench) == {}
    assert ground.drop().unchanged == {DAY}


def test_what_is_left_of_a_partition_stays_in_the_ledger(ground: Ground) -> None:
    del ground.cold.parts[key(1, 1, 0)]
    assert list(ground.drop().entered) == [DAY]
    assert entries_of(ground.bench)[DAY].rows == 1


def test_a_partition_that_is_whole_is_refused(ground: Ground) -> None:
    assert ground.refused() == {DAY: "the twin has all that the ledger lists"}
    ground.cold.merge()
    assert ground.refused() == {DAY: "the twin has all that the ledger lists"}


@pytest.mark.parametrize("reason", ["", "ignored_"])
def test_rows_in_detached_are_refused(ground: Ground, reason: str) -> None:
    del ground.cold.parts[key(2, 2, 0)]
    part = f"{DAY}_2_2_0"
    ground.witnesses.folders = {"r2": {DAY: [SetAside(f"{reason}{part}", part)]}}
    assert ground.refused() == {
        DAY: f"no part has the blocks 1-2; 2 rows of 3 are there; detached/ of the twin has {reason}{part}"
    }


def test_rows_under_other_numbers_are_entered_whatever_is_in_detached(ground: Ground) -> None:
    """As after SYSTEM RESTORE REPLICA of a twin that has merged since."""
    ground.cold.parts = {key(8, 9, 1): ("a", "b", "c")}
    ground.witnesses.folders = {"r2": {DAY: [SetAside(f"ignored_{DAY}_2_2_0", f"{DAY}_2_2_0")]}}
    assert list(ground.drop().entered) == [DAY]
    assert entries_of(ground.bench)[DAY].rows == 3


def test_a_twin_that_was_dropped_leaves_the_ledger(ground: Ground) -> None:
    ground.witnesses.lacking = ["r1", "r2"]
    assert list(ground.drop().removed) == [DAY]


def test_a_twin_under_another_name_was_not_dropped(ground: Ground) -> None:
    ground.witnesses.others = {"db.renamed": "cold-r2"}
    ground.witnesses.lacking = ["r1", "r2"]
    told = {WHOLE_TABLE: "the twin of the ledger was not dropped; db.renamed has this UUID now"}
    assert ground.refused() == told
    ground.witnesses.lacking = []
    ground.witnesses.uuids["db.hits_cold"] = "new"
    ground.cold.parts = {}
    assert ground.refused() == told
    ground.witnesses.others = {}
    ground.cold.parts = {key(9, 9, 0): ("x",)}
    assert "no replica's db.hits_cold has the UUID" in ground.refused()[DAY]
    ground.cold.parts = {}
    ground.witnesses.others = {"db.renamed": "cold-r2"}
    # The rows of the former twin are those of a table that is replaced.
    ground.witnesses.uuids["db.hits"] = "new"
    assert list(ground.drop().removed) == [DAY]


def test_a_twin_that_one_replica_lacks_is_refused(ground: Ground) -> None:
    ground.witnesses.lacking = ["r2"]
    assert ground.refused() == {WHOLE_TABLE: "server of r2 has no twin"}


def test_exchanged_names_are_refused(ground: Ground) -> None:
    ground.witnesses.exchanged = True
    assert ground.refused() == {WHOLE_TABLE: "the names of the table and its twin are exchanged"}


def test_a_partition_between_the_tables_is_refused(ground: Ground) -> None:
    store = ground.bench.hot.open()
    ground.cold.parts = {}
    ground.bench._create(store, Records(store, "/partmove", PATH).path(DAY), b"a record")
    assert ground.refused() == {DAY: "a move of the partition is unfinished"}


def test_an_uneven_partition_is_refused(ground: Ground) -> None:
    ground.cold.late_on_r2 = {key(2, 2, 0)}
    assert "has not the same part" in ground.refused()[DAY]


def test_nobody_is_told_to_drop_what_is_whole(ground: Ground) -> None:
    assert "DROP" not in ground.drop().refused[DAY].remedy
    # By its UUIDs it may be another twin.
    ground.witnesses.uuids["db.hits_cold"] = "new"
    assert "no replica's db.hits_cold has the UUID" in ground.refused()[DAY]
    assert ground.drop().refused[DAY].remedy == (
        "Run twin_ledger with the state entered, which compares all rows"
    )
