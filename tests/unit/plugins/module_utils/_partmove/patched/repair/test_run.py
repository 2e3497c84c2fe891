# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each kind is repaired, and every deleted or changed znode is saved before."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    PartMoveError,
    PausedTooLong,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.journal.events import Event
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair import run
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.case import (
    LeasedCase,
    NotRepaired,
    RepairOptions,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.judged import (
    JudgedPartition,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.run import (
    REMEDIES,
    repair_shard,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.run.pace import UnlimitedPace
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.ports import Clock
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Delete
from support.memory.arrange import create, write
from support.memory.bench import DAY, LOCK, OTHER, PART, PATH
from support.memory.drifted import Drifted
from support.memory.drifts import DRIFTS, Drift
from support.memory.meanwhile import drifted_by

STATE = f"block_numbers/{DAY}/State"


@pytest.fixture
def drifted() -> Drifted:
    return Drifted()


@pytest.mark.parametrize("drift", DRIFTS.values(), ids=DRIFTS)
def test_a_kind_is_repaired(drift: Drift) -> None:
    drifted = drift.made()
    assert set(drifted.kinds().values()) == {drift.kind}
    report = drifted.repair(drift.kind)
    assert not report.left
    assert {row.partition for row in report.repaired} == {DAY}
    assert set(drifted.kinds().values()) == {drift.after}
    assert drifted.repair(drift.kind).repaired == []


def test_a_repair_is_in_the_journal_before_and_after(drifted: Drifted) -> None:
    DRIFTS["ghost"].arrange(drifted.bench)
    bench = drifted.bench
    before = len(bench.journal.events)
    told: list[list[Event]] = []
    bench.cold_store.before = lambda multi: (
        told.append([event for event, _row in bench.journal.events[before:]])
        if any(isinstance(op, Delete) and op.path.endswith(PART) for op in multi)
        else None
    )

    drifted.repair(FindingKind.GHOST)

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
    DRIFTS["copied by another"].arrange(drifted.bench)
    report = drifted.repair(FindingKind.FOREIGN, RepairOptions(quiet=1e6))
    assert drifted.bench.journal.of(Event.LEFT) == [
        {"shard_path": PATH, "partition": each, "kind": "foreign", "reason": left.reason}
        for each, left in report.left.items()
    ]
    assert report.left


def test_kinds_whose_remedy_is_a_repair_are_repaired() -> None:
    promised = {kind for kind in FindingKind if "part_repair" in kind.remedy}
    assert promised | {FindingKind.COLD_UNKNOWN} == REMEDIES.keys()


def test_only_the_partitions_that_were_named(drifted: Drifted) -> None:
    for each in (DAY, OTHER):
        create(f"block_numbers/{each}/State", b"COLD")(drifted.bench)
    drifted.repair(FindingKind.HOT_MARKED_COLD, only=[OTHER])
    assert set(drifted.kinds(OTHER).values()) == {FindingKind.HOT}
    assert set(drifted.kinds().values()) == {FindingKind.HOT_MARKED_COLD}


def test_what_cannot_be_judged_is_not_repaired(drifted: Drifted) -> None:
    drifted.bench.cold.create(PATH, b"junk", makepath=True)
    with pytest.raises(PartMoveError, match="cannot be judged"):
        drifted.repair(FindingKind.FOREIGN)


class Refusing(UnlimitedPace):
    """Lets one partition be repaired and no other."""

    parts_at_once = 1

    def __init__(self) -> None:
        self.waits: list[int] = []

    def wait(self, parts: int, clock: Clock) -> None:
        self.waits.append(parts)
        if len(self.waits) > 1:
            raise PausedTooLong("The run paused")


def test_a_repair_waits_between_partitions_while_it_has_no_lock(drifted: Drifted) -> None:
    for each in (DAY, OTHER):
        create(f"block_numbers/{each}/State", b"COLD")(drifted.bench)
    pace = drifted.pace = Refusing()
    with pytest.raises(PausedTooLong):
        drifted.repair(FindingKind.HOT_MARKED_COLD)
    assert pace.waits == [2, 2]
    assert [drifted.bench.hot.get(f"{PATH}/block_numbers/{each}/State")[0] for each in (DAY, OTHER)] == [
        b"HOT",
        b"COLD",
    ]
    assert drifted.bench.hot.exists(LOCK) is None

    drifted.pace = UnlimitedPace()
    assert {row.partition for row in drifted.repair(FindingKind.HOT_MARKED_COLD).repaired} == {OTHER}


def test_a_repair_that_changed_nothing_is_not_reported_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    drifted = drifted_by(PART, lambda drifted: create(STATE, b"COLD")(drifted.bench))
    monkeypatch.setattr(run, "REMEDIES", {FindingKind.HOT_MARKED_COLD: lambda _leased, _judged: {}})
    report = drifted.repair(FindingKind.HOT_MARKED_COLD)
    assert report.repaired == []
    assert "the kind is still the same" in report.left[DAY].reason


def test_what_cannot_be_judged_afterwards_is_not_reported_as_repaired() -> None:
    drifted = drifted_by(PART, lambda drifted: create(STATE, b"COLD")(drifted.bench))
    drifted.bench.hot_store.after = lambda multi: (
        drifted.disks.silent.add("r2") if any(op.path == f"{PATH}/{STATE}" for op in multi) else None
    )
    report = drifted.repair(FindingKind.HOT_MARKED_COLD)
    assert report.repaired == []
    assert "could not be checked afterwards" in report.left[DAY].reason
    assert drifted.bench.hot.get(f"{PATH}/{STATE}")[0] == b"HOT"


def test_what_a_remedy_left_is_not_reported_as_repaired(monkeypatch: pytest.MonkeyPatch) -> None:
    drifted = drifted_by(PART, lambda drifted: create(STATE, b"COLD")(drifted.bench))
    left = NotRepaired("what", "remedy")

    def set_by_somebody_else(
        _leased: LeasedCase, _judged: Sequence[JudgedPartition]
    ) -> dict[str, NotRepaired]:
        write(STATE, b"HOT")(drifted.bench)
        return {DAY: left}

    monkeypatch.setattr(run, "REMEDIES", {FindingKind.HOT_MARKED_COLD: set_by_somebody_else})
    report = drifted.repair(FindingKind.HOT_MARKED_COLD)
    assert (report.repaired, report.left) == ([], {DAY: left})


def test_every_batch_is_judged_under_its_own_lease() -> None:
    drifted = drifted_by(PART)
    for each in (DAY, OTHER):
        create(f"block_numbers/{each}/State", b"COLD")(drifted.bench)

    class Moving(UnlimitedPace):
        """Lets another process set State right before the second batch."""

        parts_at_once = 1

        def wait(self, parts: int, clock: Clock) -> None:
            if drifted.done:
                write(f"block_numbers/{OTHER}/State", b"HOT")(drifted.bench)

    drifted.pace = Moving()
    report = drifted.repair(FindingKind.HOT_MARKED_COLD)
    assert {row.partition for row in report.repaired} == {DAY}
    assert report.left[OTHER].reason == "it is hot by now, no longer hot_marked_cold"


def test_the_progress_counts_every_partition_of_the_kind(drifted: Drifted) -> None:
    for each in (DAY, OTHER):
        create(f"block_numbers/{each}/State", b"COLD")(drifted.bench)
    progress: list[tuple[int, int]] = []
    context = drifted.context()._replace(
        pace=UnlimitedPace(), on_progress=lambda *step: progress.append(step)
    )
    repair_shard(context, PATH, FindingKind.HOT_MARKED_COLD, RepairOptions())
    assert progress == [(2, 0), (0, 2)]


@pytest.mark.parametrize("is_repairable", [False, True])
def test_what_could_not_be_judged_is_left_and_no_success(is_repairable: bool) -> None:
    """Of the kind or not: nobody knows while a server is silent."""
    drifted = Drifted()
    if is_repairable:
        drifted.bench.move(DAY)
        drifted.bench.hot.set(f"{PATH}/block_numbers/{DAY}/State", b"HOT")
    drifted.disks.silent.update(("r1", "r2"))
    before = drifted.bench.hot_ensemble.data()
    report = drifted.repair(FindingKind.COLD_UNMARKED)
    assert report.repaired == []
    assert DAY in report.left
    assert [row["partition"] for row in drifted.bench.journal.of(Event.LEFT)] == sorted(report.left)
    assert drifted.bench.hot_ensemble.data() == before
    assert drifted.repair(FindingKind.COLD_UNMARKED, only=[OTHER]).left.keys() == {OTHER}
