# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An undo drops only parts that certainly are clones, and whose rows the source certainly has."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.record import contents
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    KnownClones,
    Parts,
    Side,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.undo_plan import (
    plan_undo,
    plan_undo_of_clones,
)
from support.memory.between import CLONES, HELD, LATE, ONE, between, name, parts, record
from support.memory.twins import DAY

MERGED = parts(b1_2_1="abc")
BOTH = (*HELD, *CLONES)


@pytest.mark.parametrize(
    ("to", "source", "destination", "drop"),
    [
        (Side.COLD, ONE, BOTH, "5_5_0 6_6_0"),
        (Side.COLD, ONE, HELD, ""),
        (Side.COLD, (*ONE, *parts(b3_3_0="l")), (*BOTH, *parts(b7_7_0="l")), "5_5_0 6_6_0 7_7_0"),
        (Side.COLD, MERGED, BOTH, "5_5_0 6_6_0"),
        (Side.COLD, MERGED, (*HELD, *parts(b5_5_1="abc")), "5_5_1"),
        (Side.COLD, ONE, parts(b4_4_1="x", b5_5_0="ab", b6_6_0="c"), "5_5_0 6_6_0"),
        (Side.COLD, ONE, parts(b4_6_1="xabc"), None),
        (Side.COLD, ONE[1:], BOTH, None),
        (Side.COLD, ONE, (*BOTH, *parts(b7_7_0="c")), None),
        # If the clone stayed in place of an insert, an ATTACH of another run would not make it again.
        (Side.HOT, ONE, (*BOTH, *parts(b7_7_0="c")), None),
        (Side.HOT, ONE, (*BOTH, *parts(b7_7_0="new")), "5_5_0 6_6_0"),
        (Side.HOT, MERGED, BOTH, None),
        (Side.HOT, ONE[1:], BOTH, None),
        (Side.HOT, ONE, (*HELD, *parts(b5_6_1="abc")), None),
    ],
)
def test_an_undo_drops_only_parts_that_the_source_has(
    to: Side, source: Parts, destination: Parts, drop: str | None
) -> None:
    undo = plan_undo(record(to), between(source, destination, to), DAY)
    assert sorted(undo.drop) == [name(each) for each in (drop or "").split()]
    assert bool(undo.problem) is (drop is None)


@pytest.mark.parametrize(("to", "is_known"), [(Side.COLD, True), (Side.HOT, False)])
def test_clones_of_late_parts_are_undone_after_merges(to: Side, *, is_known: bool) -> None:
    """An ATTACH cloned parts without a record; merges have taken the parts and their clones."""
    clones = (*CLONES, *parts(b7_7_0="l"))
    source, destination = parts(b1_4_2="abclm"), (*HELD, *parts(b5_7_1="abcl"))
    current = between(source, destination, to)
    past = ((*ONE, *LATE), clones) if to is Side.COLD else (clones, (*ONE, *LATE))
    current = current._replace(hot_past=past[0], cold_past=past[1])
    assert plan_undo(record(to), current, DAY).drop == ((name("5_7_1"),) if is_known else ())
    # Of what nothing is left to be seen nobody can tell that the source has it.
    hot, cold = (tuple(part for part in shown if part not in LATE) for shown in past)
    assert plan_undo(record(to), current._replace(hot_past=hot, cold_past=cold), DAY).problem


def test_an_undo_keeps_the_insert_among_equal_parts() -> None:
    known = record(Side.HOT)._replace(parts=contents(parts(b1_2_1="abc")))
    current = between(parts(b1_2_1="abc"), (*HELD, *parts(b5_5_0="abc", b6_6_1="abc")), Side.HOT)
    assert plan_undo(known, current, DAY).drop == (name("6_6_1"),)


def known(*blocks: str, complete: bool = True) -> KnownClones:
    """What the ensemble knows of clones."""
    return KnownClones(frozenset(map(name, blocks)), complete)


@pytest.mark.parametrize(
    ("to", "source", "destination", "clones", "drop"),
    [
        (Side.HOT, ONE, BOTH, known("5_5_0", "6_6_0"), "5_5_0 6_6_0"),
        # An insert that equals a clone stays.
        (Side.HOT, ONE, BOTH, known("6_6_0"), "6_6_0"),
        (Side.HOT, ONE, (*BOTH, *parts(b7_7_0="c")), known("5_5_0", "6_6_0"), "5_5_0 6_6_0"),
        (Side.HOT, ONE, BOTH, known(), ""),
        (Side.HOT, ONE, BOTH, known(complete=False), None),
        (Side.HOT, ONE, (*BOTH, *parts(b7_7_0="c")), known("5_5_0", "6_6_0", complete=False), None),
        (Side.HOT, ONE, (*BOTH, *parts(b7_7_0="n")), known("5_5_0", "6_6_0", complete=False), "5_5_0 6_6_0"),
        (Side.HOT, ONE, (*HELD, *parts(b5_6_1="abc")), known("5_5_0", "6_6_0"), "5_6_1"),
        (Side.HOT, ONE, (*HELD, *parts(b5_7_1="abcn")), known("5_5_0", "6_6_0"), None),
        (Side.HOT, ONE, (*HELD, *parts(b7_8_1="n")), known("5_5_0", "6_6_0"), ""),
        (Side.HOT, ONE, (*HELD, *parts(b7_8_1="n")), known("5_5_0", complete=False), None),
        (
            Side.HOT,
            ONE,
            (*parts(b4_4_0_9="y"), *CLONES),
            known("5_5_0", "6_6_0", complete=False),
            "5_5_0 6_6_0",
        ),
        # A mutation has rewritten the clones, or parts of the source.
        (
            Side.HOT,
            ONE,
            (*HELD, *parts(b5_5_0_9="yy", b6_6_0_9="z")),
            known("5_5_0", "6_6_0"),
            "5_5_0_9 6_6_0_9",
        ),
        (
            Side.COLD,
            ONE,
            (*HELD, *parts(b5_5_0_9="yy", b6_6_0_9="z")),
            known("5_5_0", "6_6_0"),
            "5_5_0_9 6_6_0_9",
        ),
        (Side.COLD, ONE, (*HELD, *parts(b5_5_0_9="yy")), known(), None),
        (Side.COLD, ONE, (*HELD, CLONES[1], *parts(b5_5_0_9="yy")), known("5_5_0"), "5_5_0_9 6_6_0"),
        (Side.COLD, parts(b1_2_1_8="yyz"), BOTH, known("5_5_0", "6_6_0"), "5_5_0 6_6_0"),
        # The source has lost a part.
        (Side.HOT, ONE[1:], BOTH, known("5_5_0", "6_6_0"), None),
        (Side.COLD, ONE[1:], BOTH, known("5_5_0", "6_6_0"), None),
        # Of equal parts no more are dropped than the source has.
        (Side.COLD, ONE, (*BOTH, *parts(b7_7_0="c")), known("5_5_0", "6_6_0"), None),
    ],
)
def test_what_the_ensemble_knows_as_clones_is_undone(
    to: Side, source: Parts, destination: Parts, clones: KnownClones, drop: str | None
) -> None:
    undo = plan_undo(record(to), between(source, destination, to)._replace(clones=clones), DAY)
    assert sorted(undo.drop) == [name(each) for each in (drop or "").split()], undo
    assert bool(undo.problem) is (drop is None)


@pytest.mark.parametrize(
    ("source", "destination", "drop"),
    [
        (ONE, BOTH, "5_5_0 6_6_0"),
        (ONE, (*HELD, CLONES[1]), "6_6_0"),
        (ONE, (*HELD, *parts(b5_5_0_9="yy", b6_6_0_9="z")), "5_5_0_9 6_6_0_9"),
        (ONE, (*HELD, *parts(b5_6_1_9="z")), "5_6_1_9"),
        (parts(b1_2_1_7="abc"), BOTH, "5_5_0 6_6_0"),
        (ONE, parts(b4_6_1="xabc"), None),
        (ONE, (*HELD, *parts(b5_7_1="abcn")), None),
        (ONE[1:], BOTH, None),
    ],
)
@pytest.mark.parametrize("to", list(Side))
def test_clones_of_a_record_are_undone_with_all_that_is_in_them_or_not_at_all(
    to: Side, source: Parts, destination: Parts, drop: str | None
) -> None:
    undo = plan_undo_of_clones(record(to, clones=True), between(source, destination, to), DAY)
    assert sorted(undo.drop) == [name(each) for each in (drop or "").split()], undo
    assert bool(undo.problem) is (drop is None)
