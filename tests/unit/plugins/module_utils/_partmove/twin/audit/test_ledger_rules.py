# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the ledger lists and the twin lacks is reported; what lineage explains is consistent."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import path_of_lock
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Delete, SetData
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.audit import TwinAudit
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.kind import TwinKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.verdict import TwinVerdict
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.entry import Birth
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.ledger import path_of_ledger
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.servers import SetAside
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.record import (
    Records,
    TwinRecord,
    contents,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side
from support.memory.ledgers import entered, key
from support.memory.twin_audits import MemoryWitnesses, audited
from support.memory.twins import DAY, PATH, ModelTable, TwinBench, Twins, table_of

LEDGER = path_of_ledger("/partmove", PATH)


class Scene:
    """A twin with two parts of a partition, which the ledger lists."""

    def __init__(self) -> None:
        self.bench = TwinBench(Twins(("a", "b"), ("c",), at=Side.COLD))
        self.witnesses = MemoryWitnesses(self.bench.servers)
        self.witnesses.cold = {DAY: 3}
        entered(self.bench, self.witnesses)

    @property
    def cold(self) -> ModelTable:
        return self.bench.twins.tables[Side.COLD]

    @property
    def hot(self) -> ModelTable:
        return self.bench.twins.tables[Side.HOT]

    def audit(self) -> TwinAudit:
        return audited(self.bench, self.witnesses)

    def verdicts(self) -> dict[str, TwinVerdict]:
        """Partition or replica, or an empty text for the table → verdict."""
        return {row.partition or row.replica: row.verdict for row in self.audit().rows}

    def kinds(self) -> dict[str, TwinKind]:
        return {place: verdict.kind for place, verdict in self.verdicts().items()}

    def lose(self, first: int = 2) -> None:
        self.cold.parts = {key: rows for key, rows in self.cold.parts.items() if key[0] != first}

    def set_aside(self, part: str, replica: str = "r2") -> None:
        folder = SetAside(f"ignored_{DAY}_{part}", f"{DAY}_{part}")
        self.witnesses.folders = {replica: {DAY: [folder]}}


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_a_whole_twin_is_consistent(scene: Scene) -> None:
    assert scene.kinds() == {DAY: TwinKind.COLD}
    scene.cold.merge()
    assert scene.kinds() == {DAY: TwinKind.COLD}
    scene.hot.add(("x",))
    assert scene.kinds() == {DAY: TwinKind.LATE}


@pytest.mark.parametrize("first", [1, 2])
def test_a_lost_part_is_reported_with_its_blocks(scene: Scene, first: int) -> None:
    scene.lose(first)
    verdict = scene.verdicts()[DAY]
    assert (verdict.kind, verdict.parts, verdict.record) == (TwinKind.LOST, (), LEDGER)
    assert verdict.reason == f"no part has the blocks 1-2; {first} row{'s' * (first > 1)} of 3 are there"


def test_a_partition_that_neither_table_has_any_more_is_reported(scene: Scene) -> None:
    scene.cold.parts = {}
    assert scene.kinds() == {DAY: TwinKind.LOST}


def test_lost_rows_are_reported_before_anything_else_of_the_partition(scene: Scene) -> None:
    scene.lose()
    scene.hot.add(("a", "b"))
    assert scene.kinds() == {DAY: TwinKind.LOST}


def test_parts_attached_again_are_no_insert(scene: Scene) -> None:
    scene.cold.parts = {key(8, 8, 0): ("c",), key(9, 9, 0): ("a", "b")}
    scene.witnesses.came = {DAY: [f"{DAY}_8_8_0", f"{DAY}_9_9_0"]}
    assert scene.kinds() == {DAY: TwinKind.COLD}
    scene.cold.add(("x",))
    scene.witnesses.came = {DAY: [f"{DAY}_{scene.cold.last_block}_{scene.cold.last_block}_0"]}
    scene.cold.parts[key(1, 2, 1)] = ("a", "b", "c")
    assert scene.kinds() == {DAY: TwinKind.INSERTED}


def test_parts_in_detached_are_named(scene: Scene) -> None:
    scene.lose()
    scene.set_aside("2_2_0")
    verdict = scene.verdicts()[DAY]
    assert (verdict.kind, verdict.parts) == (TwinKind.SET_ASIDE, (f"ignored_{DAY}_2_2_0",))
    assert verdict.reason.endswith(f"detached/ of the twin has ignored_{DAY}_2_2_0 on replica r2")


def test_rows_under_other_numbers_are_not_to_be_attached_again(scene: Scene) -> None:
    """As after SYSTEM RESTORE REPLICA of a twin that has merged since."""
    scene.cold.parts = {key(8, 9, 1): ("a", "b", "c")}
    scene.set_aside("2_2_0")
    assert scene.kinds() == {DAY: TwinKind.LOST}
    assert scene.verdicts()[DAY].parts == ()


def test_rows_under_other_numbers_are_named(scene: Scene) -> None:
    scene.cold.parts = {key(8, 9, 1): ("a", "b", "c")}
    reason = scene.verdicts()[DAY].reason
    assert reason == "no part has the blocks 1-2; 3 rows of 3 are there, under other block numbers"


def test_parts_in_detached_with_other_blocks_are_no_answer(scene: Scene) -> None:
    scene.lose()
    scene.set_aside("9_9_0")
    assert scene.kinds() == {DAY: TwinKind.LOST}


def test_parts_in_detached_beside_a_whole_twin_are_harmless(scene: Scene) -> None:
    scene.set_aside("1_1_0")
    assert scene.kinds() == {DAY: TwinKind.COLD}


def test_other_rows_under_the_names_of_then_are_reported(scene: Scene) -> None:
    scene.cold.parts[key(2, 2, 0)] = ("x",)
    assert scene.verdicts()[DAY].reason == "its parts have the names of then and other rows"


def test_a_partition_dropped_from_both_tables_is_consistent(scene: Scene) -> None:
    scene.cold.parts = {}
    scene.witnesses.cold = {DAY: 4}
    assert scene.kinds() == {DAY: TwinKind.LOST}
    scene.bench._create(scene.bench.hot.open(), f"{PATH}/block_numbers/{DAY}/block-0", b"")
    assert scene.kinds() == {}
    scene.witnesses.cold = {DAY: 2}
    assert scene.kinds() == {DAY: TwinKind.LOST}


def test_a_twin_that_no_replica_has_is_gone(scene: Scene) -> None:
    scene.witnesses.lacking = ["r1", "r2"]
    scene.witnesses.others = {"db.renamed": "cold-r1"}
    verdict = scene.verdicts()[""]
    assert (verdict.kind, verdict.record) == (TwinKind.TWIN_GONE, LEDGER)
    assert verdict.reason == (
        f"1 partition should be in db.hits_cold at cold:{PATH}; db.renamed has this UUID now"
    )
    scene.witnesses.lacking = ["r1"]
    assert scene.kinds() == {"r1": TwinKind.TWIN_MISSING}


def test_a_twin_is_not_gone_while_a_server_is_silent(scene: Scene) -> None:
    scene.witnesses.lacking, scene.witnesses.silent = ["r1"], ["r2"]
    assert TwinKind.TWIN_GONE not in scene.kinds().values()
    assert not any(kind.is_consistent for kind in scene.kinds().values())


def test_another_twin_and_another_table_are_reported(scene: Scene) -> None:
    scene.witnesses.uuids["db.hits_cold"] = "new"
    assert scene.kinds() == {"": TwinKind.TWIN_REPLACED, DAY: TwinKind.COLD}
    scene.witnesses.uuids = {"db.hits": "new", "db.hits_cold": "cold"}
    assert scene.kinds() == {"": TwinKind.TABLE_REPLACED, DAY: TwinKind.COLD}
    scene.witnesses.uuids = {"db.hits": "hot", "db.hits_cold": "cold"}
    assert scene.kinds() == {DAY: TwinKind.COLD}


def test_replaced_replicas_are_consistent(scene: Scene) -> None:
    scene.bench._create(scene.bench.hot.open(), f"{PATH}/log", b"")
    entered(scene.bench, scene.witnesses, with_births=True)
    scene.witnesses.uuids = {"db.hits": "new", "db.hits_cold": "new"}
    assert scene.kinds() == {DAY: TwinKind.COLD}
    scene.witnesses.births = {"r2": None}
    assert scene.kinds() == {DAY: TwinKind.COLD}
    for other in (Birth(8, 900_000), None):
        scene.witnesses.births = {"r1": other, "r2": other}
        assert scene.kinds() == {"": TwinKind.TWIN_REPLACED, DAY: TwinKind.COLD}
    scene.witnesses.births = {}
    remove(scene.bench, f"{PATH}/log")
    scene.bench._create(scene.bench.hot.open(), f"{PATH}/log", b"")
    assert scene.kinds() == {"": TwinKind.TABLE_REPLACED, DAY: TwinKind.COLD}


def test_a_ledger_of_a_table_that_is_gone_is_reported(scene: Scene) -> None:
    remove(scene.bench, PATH)
    verdict = scene.verdicts()[""]
    assert (verdict.kind, verdict.record) == (TwinKind.TABLE_GONE, LEDGER)
    assert verdict.reason == f"1 partition should be in db.hits_cold at cold:{PATH}"


@pytest.mark.parametrize("path", [LEDGER, f"{LEDGER}/1"])
def test_an_unreadable_ledger_is_reported(scene: Scene, path: str) -> None:
    scene.bench.hot.open().commit([(SetData(path, b"something", 0),)])
    verdict = scene.verdicts()[""]
    assert (verdict.kind, verdict.record) == (TwinKind.RECORD_UNREADABLE, LEDGER)
    assert path in verdict.reason
    scene.witnesses.lacking = ["r1", "r2"]
    assert scene.kinds()[""] is TwinKind.RECORD_UNREADABLE


def test_an_entry_that_changes_during_the_read_is_not_judged(scene: Scene) -> None:
    def enter(tables: Any) -> dict[str, Any]:
        scene.cold.add(("z",))
        entered(scene.bench, MemoryWitnesses(scene.bench.servers))
        return {}

    scene.lose()
    scene.witnesses.inserted = enter  # type: ignore[method-assign]
    assert scene.kinds() == {DAY: TwinKind.NOT_JUDGED}


def test_a_run_in_progress_hides_what_the_twin_lacks(scene: Scene) -> None:
    scene.lose()
    scene.bench._create(scene.bench.hot.open(), path_of_lock("/partmove", PATH), b"a test")
    assert scene.kinds() == {DAY: TwinKind.NOT_JUDGED}


@pytest.mark.parametrize(("destination", "is_lost"), [(Side.COLD, True), (Side.HOT, False)])
def test_a_record_takes_precedence_only_on_the_way_to_hot(
    scene: Scene, destination: Side, *, is_lost: bool
) -> None:
    scene.hot.add(("x",))
    note(scene, destination)
    scene.lose()
    assert (scene.kinds()[DAY] is TwinKind.LOST) is is_lost


def note(scene: Scene, destination: Side) -> None:
    """Leave a record of the partition as it is now."""
    hot, cold = (table_of(side, "r1").place for side in Side)
    sides = {side: contents(scene.bench.twins.tables[side].shown()) for side in Side}
    record = TwinRecord(destination, hot, cold, sides[destination.other], sides[destination], {}, (), 0)
    store = scene.bench.hot.open()
    scene.bench._create(store, Records(store, "/partmove", PATH).path(DAY), record.encode())


def remove(bench: TwinBench, path: str) -> None:
    """Delete a znode of hot with everything below."""
    store = bench.hot.open()
    for each, znode in sorted(bench.hot.tree(path).items(), reverse=True):
        store.commit([(Delete(each, znode.stat.version),)])


def test_inserted_parts_that_the_ledger_lists_are_no_finding() -> None:
    """A part from detached/ that was attached counts as inserted, also after it was merged."""
    scene = Scene()
    part = scene.cold.name_of(key(2, 2, 0))
    scene.witnesses.came = {DAY: [part]}
    assert scene.kinds() == {DAY: TwinKind.COLD}
    scene.cold.merge()
    assert scene.kinds() == {DAY: TwinKind.COLD}
    scene.cold.add(("z",))
    scene.witnesses.came = {DAY: [part, scene.cold.name_of(key(3, 3, 0))]}
    assert scene.verdicts()[DAY][:2] == (TwinKind.INSERTED, (scene.cold.name_of(key(3, 3, 0)),))
