# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each kind as it comes about, over ensembles in memory."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.audit.audit import audit_shard
from ansible_collections.olap.partmove.plugins.module_utils._partmove.audit.kind import Kind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.audit.reader import EvidenceReader
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from support.memory.arrange import FORMER, create, create_cold, delete, write
from support.memory.bench import DAY, OTHER, PART, PATH, Bench
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


def kinds(bench: Bench, disks: SimulatedDisks, partition: str = DAY) -> dict[str, Kind]:
    reader = EvidenceReader(bench.hot_store, bench.cold_store, disks, bench.clock, DEFAULT_ROOT)
    found = audit_shard(reader, PATH)
    assert not found.unjudged
    return {row.replica: row.verdict.kind for row in found.rows if row.partition == partition}


def both(kind: Kind) -> dict[str, Kind]:
    return {"r1": kind, "r2": kind}


def test_hot(bench: Bench, disks: SimulatedDisks) -> None:
    assert kinds(bench, disks) == kinds(bench, disks, OTHER) == both(Kind.HOT)


def test_cold(bench: Bench, disks: SimulatedDisks) -> None:
    bench.move()
    assert kinds(bench, disks) == both(Kind.COLD)


def test_brought_back(bench: Bench, disks: SimulatedDisks) -> None:
    bench.move()
    bench.reheat()
    assert kinds(bench, disks) == both(Kind.COPIES_NEEDED)
    bench.clock.sleep(600)
    assert kinds(bench, disks) == both(Kind.COPIES_LEFT)


def lost_from_both(bench: Bench) -> None:
    bench.move()
    bench.cold.delete(f"{PATH}/{R1}")
    bench.cold.delete(f"{PATH}/{R2}")


def half_deleted(bench: Bench) -> None:
    bench.move()
    create(R1, bench.cold.get(f"{PATH}/{R1}")[0])(bench)


def only_copied_by_another(bench: Bench) -> None:
    for path in (R1, R2):
        create_cold(path, MINIMALISTIC)(bench)


def left_by_a_former_table(bench: Bench) -> None:
    only_copied_by_another(bench)
    bench.cold.set(PATH, FORMER)


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
        (lost_from_both, both(Kind.UNREGISTERED)),
        (half_deleted, both(Kind.HALF_COLD)),
        (only_copied_by_another, both(Kind.FOREIGN)),
        (left_by_a_former_table, both(Kind.FORMER_TABLE)),
        (ghost, both(Kind.GHOST)),
        (dropped, both(Kind.DROPPED)),
        (marked_without_reason, both(Kind.HOT_MARKED_COLD)),
        (emptied_while_cold, both(Kind.EMPTY_MARKED_COLD)),
    ],
)
def test_kinds(
    bench: Bench, disks: SimulatedDisks, arrange: Callable[[Bench], None], expected: dict[str, Kind]
) -> None:
    arrange(bench)
    assert kinds(bench, disks) == expected


def test_registered_for_the_other_replica_only(bench: Bench, disks: SimulatedDisks) -> None:
    delete(R1)(bench)
    assert kinds(bench, disks) == {"r1": Kind.REGISTERED_FOR_ANOTHER, "r2": Kind.HOT}


def test_a_server_that_is_silent(bench: Bench, disks: SimulatedDisks) -> None:
    disks.silent.add("r2")
    assert kinds(bench, disks) == {"r1": Kind.HOT, "r2": Kind.NOT_JUDGED}
