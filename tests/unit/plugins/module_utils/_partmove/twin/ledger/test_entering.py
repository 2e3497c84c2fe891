# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A twin is entered as it is; an entry is never replaced by one of fewer rows without proof."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.entering import enter
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.entry import Birth
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.servers import SetAside
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.work import (
    WHOLE_TABLE,
    LedgerOutcome,
    run_under_lease,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.record import Records
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side
from support.memory.ledgers import context_of, entries_of, head_of, key
from support.memory.twin_audits import MemoryWitnesses
from support.memory.twins import DAY, PATH, TwinBench, Twins


class Ground:
    """A twin with two parts of a partition."""

    def __init__(self) -> None:
        self.bench = TwinBench(Twins(("a", "b"), ("c",), at=Side.COLD))
        self.cold = self.bench.twins.tables[Side.COLD]
        self.witnesses = MemoryWitnesses(self.bench.servers)
        self.witnesses.cold = {DAY: 3}

    def enter(self) -> LedgerOutcome:
        outcome = LedgerOutcome(PATH)
        run_under_lease(context_of(self.bench, self.witnesses), outcome, enter)
        return outcome

    def refused(self) -> dict[str, str]:
        """Enter; partition → why it was refused, with an unchanged ledger."""
        before = entries_of(self.bench)
        outcome = self.enter()
        assert entries_of(self.bench) == before
        return {each: why.reason for each, why in outcome.refused.items()}

    def replace_twin(self, born: Birth | None) -> None:
        """No replica has the UUID of the ledger any more."""
        self.witnesses.uuids["db.hits_cold"] = "new"
        self.witnesses.born = born


@pytest.fixture
def ground() -> Ground:
    return Ground()


def test_a_twin_is_entered_once(ground: Ground) -> None:
    outcome = ground.enter()
    assert (list(outcome.entered), outcome.refused) == ([DAY], {})
    entry = entries_of(ground.bench)[DAY]
    assert (entry.rows, entry.cold_blocks, entry.hot_blocks) == (3, 3, 0)
    ground.witnesses.cold = {DAY: 9}
    again = ground.enter()
    assert (again.entered, again.unchanged) == ({}, {DAY})
    assert entries_of(ground.bench)[DAY] == entry


def test_merges_and_more_rows_are_entered_anew(ground: Ground) -> None:
    ground.enter()
    ground.cold.merge()
    ground.cold.add(("x",))
    assert list(ground.enter().entered) == [DAY]
    assert entries_of(ground.bench)[DAY].rows == 4


def test_an_entry_is_not_replaced_by_fewer_rows(ground: Ground) -> None:
    ground.enter()
    del ground.cold.parts[key(2, 2, 0)]
    assert ground.refused() == {DAY: "no part has the blocks 1-2; 2 rows of 3 are there"}
    ground.cold.parts = {}
    assert ground.refused() == {DAY: "no part has the blocks 1-2; 0 rows of 3 are there"}


def test_retention_enters_itself(ground: Ground) -> None:
    ground.enter()
    ground.cold.parts = {}
    ground.witnesses.cold = {DAY: 4}
    ground.bench._create(ground.bench.hot.open(), f"{PATH}/block_numbers/{DAY}/block-0", b"")
    assert list(ground.enter().removed) == [DAY]
    assert entries_of(ground.bench) == {}


def test_a_ttl_of_some_parts_enters_the_rest(ground: Ground) -> None:
    ground.witnesses.expires = {f"{DAY}_1_1_0": 100}
    ground.enter()
    assert [each.expires for each in entries_of(ground.bench)[DAY].ranges] == [100, 0]
    del ground.cold.parts[key(1, 1, 0)]
    assert list(ground.enter().entered) == [DAY]
    assert entries_of(ground.bench)[DAY].rows == 1


def test_parts_that_a_server_set_aside_are_refused(ground: Ground) -> None:
    ground.witnesses.folders = {"r2": {DAY: [SetAside(f"ignored_{DAY}_5_5_0", f"{DAY}_5_5_0")]}}
    assert ground.refused() == {DAY: f"detached/ of the twin has ignored_{DAY}_5_5_0, with blocks of no part"}
    # A broken part that was fetched again is in an active part.
    ground.witnesses.folders = {"r2": {DAY: [SetAside(f"broken_{DAY}_2_2_0", f"{DAY}_2_2_0")]}}
    assert ground.enter().refused == {}


def test_a_part_that_somebody_detached_is_no_obstacle(ground: Ground) -> None:
    ground.witnesses.folders = {"r2": {DAY: [SetAside(f"{DAY}_5_5_0", f"{DAY}_5_5_0")]}}
    assert ground.enter().refused == {}


def test_a_partition_between_the_tables_is_refused(ground: Ground) -> None:
    store = ground.bench.hot.open()
    ground.bench._create(store, Records(store, "/partmove", PATH).path(DAY), b"a record")
    assert ground.refused() == {DAY: "a move of the partition is unfinished"}


def test_an_uneven_partition_is_refused(ground: Ground) -> None:
    ground.cold.late_on_r2 = {key(2, 2, 0)}
    assert "has not the same part" in ground.refused()[DAY]


def test_another_twin_needs_the_same_rows(ground: Ground) -> None:
    ground.enter()
    ground.replace_twin(Birth(8, 900_000))
    ground.cold.parts = {key(1, 2, 1): ("a", "b", "c")}
    assert ground.refused()[DAY].endswith("and its rows are not equal")
    ground.cold.parts = {key(8, 8, 0): ("c",), key(9, 9, 0): ("a", "b")}
    assert list(ground.enter().entered) == [DAY]
    assert head_of(ground.bench).cold.uuids["r1"] == "new-r1"


def test_a_twin_whose_replicas_were_all_replaced_is_entered(ground: Ground) -> None:
    ground.enter()
    ground.replace_twin(ground.witnesses.born)
    ground.cold.parts = {key(1, 2, 1): ("a", "b", "c")}
    assert list(ground.enter().entered) == [DAY]
    assert head_of(ground.bench).cold.uuids["r1"] == "new-r1"
    del ground.cold.parts[key(1, 2, 1)]
    assert "no part has the blocks" in ground.refused()[DAY]


def test_an_older_twin_is_entered_if_it_is_whole(ground: Ground) -> None:
    """As of the code before, or of servers that did not show the ensemble."""
    born, ground.witnesses.born = ground.witnesses.born, None
    ground.enter()
    ground.replace_twin(None)
    ground.cold.parts = {key(1, 2, 1): ("a", "b", "c")}
    remedy = ground.enter().refused[DAY].remedy
    assert remedy.startswith("Drop nothing and copy nothing. If all replicas were replaced")
    ground.witnesses.born = Birth(7, 10**10)
    assert ground.refused()[DAY].endswith("and its rows are not equal")
    ground.witnesses.born = born
    for blocks in (None, {}, {DAY: 2}):
        ground.witnesses.cold = blocks
        assert ground.refused()[DAY].endswith("and its rows are not equal")
    ground.witnesses.cold = {DAY: 3}
    assert list(ground.enter().entered) == [DAY]
    head = head_of(ground.bench)
    assert (head.cold.uuids["r1"], head.cold.born) == ("new-r1", born)


def test_an_older_twin_that_lacks_rows_is_refused(ground: Ground) -> None:
    born, ground.witnesses.born = ground.witnesses.born, None
    ground.enter()
    ground.replace_twin(born)
    ground.cold.parts = {key(1, 1, 0): ("a", "b")}
    assert ground.refused()[DAY].endswith("and its rows are not equal")
    assert head_of(ground.bench).cold.uuids["r1"] == "cold-r1"


def test_another_table_is_accepted_by_the_command(ground: Ground) -> None:
    ground.enter()
    ground.witnesses.uuids["db.hits"] = "new"
    assert ground.enter().unchanged == {DAY}
    assert head_of(ground.bench).hot.uuids["r1"] == "new-r1"


def test_a_twin_that_is_gone_or_missing_is_refused(ground: Ground) -> None:
    ground.enter()
    ground.witnesses.lacking = ["r1"]
    assert ground.refused() == {WHOLE_TABLE: "server of r1 has no twin"}
    ground.witnesses.lacking = ["r1", "r2"]
    ground.witnesses.others = {"db.renamed": "cold-r2"}
    assert ground.refused() == {WHOLE_TABLE: "no replica has db.hits_cold; db.renamed has this UUID now"}


def test_a_table_without_twin_and_ledger_has_nothing_to_enter(ground: Ground) -> None:
    ground.witnesses.lacking = ["r1", "r2"]
    assert ground.refused() == {}


def test_a_table_with_exchanged_names_is_left_alone(ground: Ground) -> None:
    ground.witnesses.exchanged = True
    assert ground.refused() == {}
