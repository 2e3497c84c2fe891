# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each kind is repaired, and what was deleted or changed for it was kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.audit.kind import Kind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.journal.events import Event
from ansible_collections.olap.partmove.plugins.module_utils._partmove.repair.case import Options
from ansible_collections.olap.partmove.plugins.module_utils._partmove.repair.run import REMEDIES
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Delete
from support.memory.arrange import FORMER, create, create_cold, write
from support.memory.bench import DAY, OTHER, PART, PATH, Bench
from support.memory.drifted import Drifted

STATE = f"block_numbers/{DAY}/State"
R1, R2 = (f"replicas/{replica}/parts/{PART}" for replica in ("r1", "r2"))


class Case(NamedTuple):
    """A way to a kind, and what the partition is after the repair."""

    arrange: Callable[[Bench], object]
    kind: Kind
    after: Kind


def half_deleted(bench: Bench) -> None:
    bench.move()
    create(R1, bench.cold.get(f"{PATH}/{R1}")[0])(bench)


def half_deleted_and_marked_hot(bench: Bench) -> None:
    half_deleted(bench)
    write(STATE, b"HOT")(bench)


def copied_by_another(bench: Bench) -> None:
    for path in (R1, R2):
        create_cold(path, bench.hot.get(f"{PATH}/{path}")[0])(bench)
    bench.clock.sleep(7200)


def former_table(bench: Bench) -> None:
    copied_by_another(bench)
    bench.cold.set(PATH, FORMER)


def ghost(bench: Bench) -> None:
    bench.move()
    for names in bench.servers.disk.values():
        names.discard(PART)


def dropped(bench: Bench) -> None:
    ghost(bench)
    write(STATE, b"HOT")(bench)


def cold_unmarked(bench: Bench) -> None:
    bench.move()
    write(STATE, b"HOT")(bench)


def marked_without_reason(bench: Bench) -> None:
    create(STATE, b"COLD")(bench)


def emptied_while_cold(bench: Bench) -> None:
    bench.move()
    bench.servers.drop(DAY)


def copies_left(bench: Bench) -> None:
    bench.move()
    bench.reheat()
    bench.clock.sleep(600)


CASES = (
    Case(half_deleted, Kind.HALF_COLD, Kind.COPIES_NEEDED),
    Case(half_deleted_and_marked_hot, Kind.HALF_COLD, Kind.COPIES_NEEDED),
    Case(copied_by_another, Kind.FOREIGN, Kind.COPIES_LEFT),
    Case(former_table, Kind.FORMER_TABLE, Kind.HOT),
    Case(ghost, Kind.GHOST, Kind.EMPTY),
    Case(dropped, Kind.DROPPED, Kind.EMPTY),
    Case(cold_unmarked, Kind.COLD_UNMARKED, Kind.COLD),
    Case(marked_without_reason, Kind.HOT_MARKED_COLD, Kind.HOT),
    Case(emptied_while_cold, Kind.EMPTY_MARKED_COLD, Kind.EMPTY),
    Case(copies_left, Kind.COPIES_LEFT, Kind.HOT),
)


@pytest.fixture
def drifted() -> Drifted:
    return Drifted()


@pytest.mark.parametrize("case", CASES, ids=[case.arrange.__name__ for case in CASES])
def test_a_kind_is_repaired(drifted: Drifted, case: Case) -> None:
    case.arrange(drifted.bench)
    assert set(drifted.kinds().values()) == {case.kind}
    report = drifted.repair(case.kind)
    assert not report.left
    assert {row.partition for row in report.repaired} == {DAY}
    assert set(drifted.kinds().values()) == {case.after}
    assert drifted.repair(case.kind).repaired == []


def test_a_repair_is_in_the_journal_before_and_after(drifted: Drifted) -> None:
    ghost(drifted.bench)
    bench = drifted.bench
    before = len(bench.journal.events)
    told: list[list[Event]] = []
    bench.cold_store.before = lambda multi: (
        told.append([event for event, _row in bench.journal.events[before:]])
        if any(isinstance(op, Delete) and op.path.endswith(PART) for op in multi)
        else None
    )

    drifted.repair(Kind.GHOST)

    common = {"shard_path": PATH, "partition": DAY, "kind": "ghost"}
    assert told[0] == [Event.REPAIRING, Event.REPAIRING]
    assert bench.journal.events[before:] == [
        *(
            (Event.REPAIRING, {**common, "replica": each, "parts": [PART], "backup": "/backups/one"})
            for each in ("r1", "r2")
        ),
        *((Event.REPAIRED, {**common, "replica": each}) for each in ("r1", "r2")),
    ]
    assert [words for multi in drifted.announced for words in multi] == drifted.done


def test_what_is_left_is_in_the_journal(drifted: Drifted) -> None:
    copied_by_another(drifted.bench)
    report = drifted.repair(Kind.FOREIGN, Options(quiet=1e6))
    assert drifted.bench.journal.of(Event.LEFT) == [
        {"shard_path": PATH, "partition": each, "kind": "foreign", "reason": left.reason}
        for each, left in report.left.items()
    ]
    assert report.left


def test_kinds_whose_way_out_is_a_repair_are_repaired() -> None:
    promised = {kind for kind in Kind if "part_repair" in kind.way_out}
    assert promised | {Kind.COLD_UNKNOWN} == REMEDIES.keys()


def test_only_the_partitions_that_were_named(drifted: Drifted) -> None:
    for each in (DAY, OTHER):
        create(f"block_numbers/{each}/State", b"COLD")(drifted.bench)
    drifted.repair(Kind.HOT_MARKED_COLD, only=[OTHER])
    assert set(drifted.kinds(OTHER).values()) == {Kind.HOT}
    assert set(drifted.kinds().values()) == {Kind.HOT_MARKED_COLD}


def test_what_cannot_be_judged_is_not_repaired(drifted: Drifted) -> None:
    drifted.bench.cold.create(PATH, b"junk", makepath=True)
    with pytest.raises(PartMoveError, match="cannot be judged"):
        drifted.repair(Kind.FOREIGN)
