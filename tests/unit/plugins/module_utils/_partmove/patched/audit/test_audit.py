# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each kind as it comes about, over ensembles in memory."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.binding.marker import (
    ColdMarker,
    HotSide,
    TableId,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import NoSuchTable
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.audit import (
    ShardAudit,
    audit_shard,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.evidence import (
    DiskParts,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.reader import (
    EvidenceReader,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from support.memory.arrange import create, create_cold, delete, mark, mark_former, write
from support.memory.bench import DAY, LOCK, OTHER, PART, PATH, Bench
from support.memory.disks import SimulatedDisks
from support.memory.synthetic import MINIMALISTIC

STATE = f"block_numbers/{DAY}/State"
R1, R2 = (f"replicas/{replica}/parts/{PART}" for replica in ("r1", "r2"))


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
def disks(bench: Bench) -> SimulatedDisks:
    return SimulatedDisks(bench.servers)


def audit(bench: Bench, disks: SimulatedDisks, *, compare_all: bool = False) -> ShardAudit:
    reader = EvidenceReader(bench.hot_store, bench.cold_store, disks, bench.clock, DEFAULT_ROOT)
    return audit_shard(reader, PATH, compare_all=compare_all)


def kinds(
    bench: Bench, disks: SimulatedDisks, partition: str = DAY, *, compare_all: bool = False
) -> dict[str, FindingKind]:
    found = audit(bench, disks, compare_all=compare_all)
    assert not found.unjudged
    return {row.replica: row.verdict.kind for row in found.rows if row.partition == partition}


def both(kind: FindingKind) -> dict[str, FindingKind]:
    return {"r1": kind, "r2": kind}


def test_hot(bench: Bench, disks: SimulatedDisks) -> None:
    assert kinds(bench, disks) == kinds(bench, disks, OTHER) == both(FindingKind.HOT)


def test_cold(bench: Bench, disks: SimulatedDisks) -> None:
    bench.move()
    assert kinds(bench, disks) == both(FindingKind.COLD)


def test_brought_back(bench: Bench, disks: SimulatedDisks) -> None:
    bench.move()
    bench.reheat()
    assert kinds(bench, disks) == both(FindingKind.COPIES_NEEDED)
    bench.clock.sleep(600)
    assert kinds(bench, disks) == both(FindingKind.COPIES_LEFT)


def lost_from_both(bench: Bench) -> None:
    bench.move()
    bench.cold.delete(f"{PATH}/{R1}")
    bench.cold.delete(f"{PATH}/{R2}")


def half_deleted(bench: Bench) -> None:
    bench.move()
    create(R1, bench.cold.get(f"{PATH}/{R1}")[0])(bench)


def only_copied_by_another(bench: Bench) -> None:
    for path in (R1, R2):
        create_cold(path, bench.hot.get(f"{PATH}/{path}")[0])(bench)


def left_by_a_former_table(bench: Bench) -> None:
    only_copied_by_another(bench)
    mark_former(bench)


def ghost(bench: Bench) -> None:
    bench.move()
    for names in bench.servers.disk.values():
        names.discard(PART)


def dropped(bench: Bench) -> None:
    ghost(bench)
    write(STATE, b"HOT")(bench)


def marked_without_reason(bench: Bench) -> None:
    create(STATE, b"COLD")(bench)


def emptied_while_cold(bench: Bench) -> None:
    bench.move()
    bench.servers.drop(DAY)


@pytest.mark.parametrize(
    ("arrange", "expected"),
    [
        (lost_from_both, both(FindingKind.UNREGISTERED)),
        (half_deleted, both(FindingKind.HALF_COLD)),
        (only_copied_by_another, both(FindingKind.FOREIGN)),
        (left_by_a_former_table, both(FindingKind.FORMER_TABLE)),
        (ghost, both(FindingKind.GHOST)),
        (dropped, both(FindingKind.DROPPED)),
        (marked_without_reason, both(FindingKind.HOT_MARKED_COLD)),
        (emptied_while_cold, both(FindingKind.EMPTY_MARKED_COLD)),
    ],
)
def test_kinds(
    bench: Bench, disks: SimulatedDisks, arrange: Callable[[Bench], None], expected: dict[str, FindingKind]
) -> None:
    arrange(bench)
    assert kinds(bench, disks) == expected


def test_registered_for_the_other_replica_only(bench: Bench, disks: SimulatedDisks) -> None:
    delete(R1)(bench)
    assert kinds(bench, disks) == {"r1": FindingKind.REGISTERED_FOR_ANOTHER, "r2": FindingKind.HOT}


def test_a_server_that_is_silent(bench: Bench, disks: SimulatedDisks) -> None:
    disks.silent.add("r2")
    assert kinds(bench, disks) == {"r1": FindingKind.HOT, "r2": FindingKind.NOT_JUDGED}


# --- two looks ---------------------------------------------------------------------------------


class Working(SimulatedDisks):
    """Disks of servers that act each time after r2 was asked; ``looks`` counts the questions."""

    def __init__(self, bench: Bench, *acts: Callable[[], object]) -> None:
        super().__init__(bench.servers)
        self._acts = list(acts)
        self.looks = 0

    def parts(self, shard_path: str, replica: str, host: str) -> DiskParts:
        found = super().parts(shard_path, replica, host)
        if replica == "r2":
            self.looks += 1
            if self._acts:
                self._acts.pop(0)()
        return found


def nothing() -> None:
    pass


def test_a_consistent_table_is_read_once(bench: Bench) -> None:
    disks = Working(bench)
    assert kinds(bench, disks) == both(FindingKind.HOT)
    assert disks.looks == 1


def test_an_insert_in_each_read_is_no_inconsistency(bench: Bench) -> None:
    disks = Working(bench, *(lambda: bench.servers.insert(DAY),) * 2)
    assert kinds(bench, disks) == both(FindingKind.HOT)
    assert disks.looks == 2


def test_a_drop_in_each_read_is_no_inconsistency(bench: Bench) -> None:
    def replace_all() -> None:
        bench.servers.drop(DAY)
        bench.servers.insert(DAY)
        bench.servers.catch_up()

    disks = Working(bench, replace_all, replace_all)
    assert kinds(bench, disks) == both(FindingKind.HOT)


def test_an_inconsistency_that_is_gone_in_the_second_read_is_not_reported(bench: Bench) -> None:
    create(STATE, b"COLD")(bench)
    assert kinds(bench, Working(bench, nothing, lambda: write(STATE, b"HOT")(bench))) == both(FindingKind.HOT)


def test_an_inconsistency_after_the_first_read_is_not_reported(bench: Bench) -> None:
    disks = Working(bench, nothing, lambda: create(STATE, b"COLD")(bench))
    assert kinds(bench, disks, compare_all=True) == both(FindingKind.HOT)
    assert kinds(bench, SimulatedDisks(bench.servers)) == both(FindingKind.HOT_MARKED_COLD)


def test_a_partition_that_is_gone_in_the_second_read_is_left_out(bench: Bench) -> None:
    path = f"{PATH}/replicas/r9/parts/2018_0_0_0"
    bench.cold.create(path, MINIMALISTIC, makepath=True)
    assert kinds(bench, SimulatedDisks(bench.servers), "2018")["r9"] is FindingKind.ANOTHER_REPLICA
    disks = Working(bench, nothing, lambda: bench.cold.delete(path))
    assert kinds(bench, disks, "2018") == {}


def test_a_replica_that_is_inconsistent_in_the_second_read_only_is_left_out(bench: Bench) -> None:
    mark(bench)
    create(STATE, b"COLD")(bench)
    path = f"{PATH}/replicas/r9/parts/{PART}"
    disks = Working(bench, nothing, lambda: bench.cold.create(path, b"", makepath=True))
    assert kinds(bench, disks) == both(FindingKind.HOT_MARKED_COLD)


def test_what_another_run_is_at_work_on_is_not_judged(bench: Bench, disks: SimulatedDisks) -> None:
    create(STATE, b"COLD")(bench)
    bench.hot.create(LOCK, b"part_move on h, process 1", ephemeral=True, makepath=True)
    (row, *_others) = audit(bench, disks).rows
    assert row.verdict.kind is FindingKind.NOT_JUDGED
    assert row.verdict.reason == "a run works on the table: part_move on h, process 1"
    assert kinds(bench, disks, OTHER) == both(FindingKind.HOT)


def test_an_unsafe_restart_is_reported_beside_a_run(bench: Bench, disks: SimulatedDisks) -> None:
    lost_from_both(bench)
    bench.hot.create(LOCK, b"part_move on h, process 1", ephemeral=True, makepath=True)
    assert kinds(bench, disks) == both(FindingKind.UNREGISTERED)


def test_a_server_gets_a_second_to_end_its_drop(bench: Bench, disks: SimulatedDisks) -> None:
    """It takes parts from its disk first, and from ZooKeeper then."""
    (first, second), began = (bench.part(each) for each in ("r1", "r2")), bench.clock.now()
    for names in bench.servers.disk.values():
        names.discard(PART)

    def end_the_drop(_paths: object) -> None:
        if bench.clock.now() >= began + 1 and bench.hot.exists(first):
            bench.hot.delete(first)
            bench.hot.delete(second)

    bench.hot_store.listing = end_the_drop
    assert kinds(bench, disks) == both(FindingKind.EMPTY)


def test_where_nothing_may_pass_nobody_waits(bench: Bench, disks: SimulatedDisks) -> None:
    dropped(bench)
    began = bench.clock.now()
    assert kinds(bench, disks) == both(FindingKind.DROPPED)
    assert bench.clock.now() - began < 1


# --- content -----------------------------------------------------------------------------------


def test_content_is_compared_where_names_are_not_as_they_should_be(
    bench: Bench, disks: SimulatedDisks
) -> None:
    bench.move()
    bench.reheat()
    bench.clock.sleep(600)
    other = MINIMALISTIC.replace(b"\x22" * 48, b"\x44" * 48)
    bench.cold.set(f"{PATH}/{R1}", other)
    assert kinds(bench, disks) == {"r1": FindingKind.COPIES_DIFFER, "r2": FindingKind.COPIES_LEFT}


def test_content_of_consistent_partitions_is_compared_on_request(bench: Bench, disks: SimulatedDisks) -> None:
    disks.hashes[PART] = "0" * 32
    assert kinds(bench, disks) == both(FindingKind.HOT)
    assert kinds(bench, disks, compare_all=True) == both(FindingKind.UNLIKE_DISK)
    assert kinds(bench, disks, OTHER, compare_all=True) == both(FindingKind.HOT)


# --- what cannot be judged, and tables that are gone -----------------------------------------------


def test_a_table_of_another_coordination_root_is_not_judged(bench: Bench, disks: SimulatedDisks) -> None:
    marker = ColdMarker(TableId("", 1, 0), HotSide(PATH, "/another")).encode()
    bench.cold.create(PATH, marker, makepath=True)
    found = audit(bench, disks)
    assert found.rows == ()
    assert found.unjudged.startswith(f"Runs on {PATH} meet at /another of the hot ensemble")


def test_a_table_that_is_not_understood_is_not_judged(bench: Bench, disks: SimulatedDisks) -> None:
    write("metadata", b"?")(bench)
    assert f"{PATH}/metadata" in audit(bench, disks).unjudged


def test_what_cold_has_of_a_table_that_is_gone(bench: Bench, disks: SimulatedDisks) -> None:
    bench.move()
    bench.servers.drop_table()
    assert kinds(bench, disks) == both(FindingKind.ANOTHER_REPLICA)


def test_a_table_in_neither_ensemble(bench: Bench, disks: SimulatedDisks) -> None:
    bench.servers.drop_table()
    with pytest.raises(NoSuchTable):
        audit(bench, disks)
