# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The state of a partition follows from its record and its parts; any other combination is unknown."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.classify import (
    TwinState,
    classify_recorded,
    classify_unrecorded,
    left_to_undo,
    plan_undo,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.record import contents
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Parts, Side
from support.memory.between import CLONES, HELD, LATE, ONE, between, name, parts, record
from support.memory.twins import DAY


@pytest.mark.parametrize(
    ("source", "destination", "state"),
    [
        ((), (), TwinState.ABSENT),
        (ONE, (), TwinState.AT_SOURCE),
        (ONE, HELD, TwinState.AT_SOURCE),
        ((), HELD, TwinState.AT_DESTINATION),
    ],
)
@pytest.mark.parametrize("to", list(Side))
def test_without_a_record(source: Parts, destination: Parts, state: TwinState, to: Side) -> None:
    assert classify_unrecorded(between(source, destination, to), to) is state


MERGED = parts(b1_2_1="abc")
BOTH = (*HELD, *CLONES)


@pytest.mark.parametrize(
    ("source", "destination", "dropping", "state"),
    [
        (ONE, BOTH, "", TwinState.ATTACHED),
        (ONE, BOTH, "1_1_0", TwinState.ATTACHED),
        (ONE, parts(b4_6_1="xabc"), "", TwinState.ATTACHED),
        (ONE[1:], BOTH, "1_1_0", TwinState.DROPPED_PARTLY),
        ((), BOTH, "1_1_0 2_2_0", TwinState.DROPPED),
        (parts(b7_7_0="z"), BOTH, "1_1_0 2_2_0", TwinState.DROPPED),
        (parts(b1_7_1="z"), BOTH, "1_1_0 2_2_0", TwinState.UNKNOWN),
        ((), (), "1_1_0 2_2_0", TwinState.DROPPED),
        (MERGED, BOTH, "", TwinState.MERGED),
        (MERGED, HELD, "", TwinState.MERGED),
        (MERGED, parts(b4_6_1="xabc"), "", TwinState.UNKNOWN),
        (MERGED, BOTH, "1_1_0", TwinState.UNKNOWN),
        (MERGED, BOTH, "1_1_0 2_2_0", TwinState.UNKNOWN),
        ((), BOTH, "", TwinState.UNKNOWN),
        ((), BOTH, "1_1_0", TwinState.UNKNOWN),
        (ONE, HELD, "", TwinState.UNKNOWN),
        (ONE, (*HELD, CLONES[0]), "", TwinState.UNKNOWN),
        (ONE, (*HELD, CLONES[0], *parts(b6_6_0="d")), "", TwinState.UNKNOWN),
        (ONE, parts(b4_6_1="xa"), "", TwinState.UNKNOWN),
        ((*parts(b1_1_0="zz"), ONE[1]), BOTH, "", TwinState.UNKNOWN),
    ],
)
@pytest.mark.parametrize("to", list(Side))
def test_with_verified_clones(
    source: Parts, destination: Parts, dropping: str, state: TwinState, to: Side
) -> None:
    found = classify_recorded(
        record(to, clones=True, dropping=dropping), between(source, destination, to), DAY
    )
    assert found.state is state, found
    assert bool(found.problem) is (state is TwinState.UNKNOWN)


@pytest.mark.parametrize(
    ("source", "destination", "dropping", "release", "undo"),
    [
        # Both are in another part by now, and so are their clones.
        (parts(b1_2_1="abc"), parts(b5_6_1="abc"), "", "1_1_0 2_2_0", "5_6_1"),
        # The clone of a part still in the source is undone with the other clone.
        (parts(b1_1_0="ab", b2_3_1="cd"), parts(b5_6_1="abc"), "", "1_1_0 2_2_0", "5_6_1"),
        (parts(b1_1_0="ab", b2_3_1="cd"), CLONES, "", "2_2_0", "6_6_0"),
        # Nobody can tell what else is in it, or whether it has them all, or one was dropped.
        (parts(b1_2_1="abc"), parts(b4_6_1="xabc"), "", "", ""),
        (parts(b1_2_1="abc"), parts(b5_7_1="abcd"), "", "", ""),
        (parts(b1_2_1="abc"), parts(b5_6_1="ab"), "", "", ""),
        (parts(b2_3_1="cd"), parts(b5_6_1="abc"), "1_1_0", "", ""),
    ],
)
def test_a_merge_of_clones_is_undone_only_if_the_source_has_all_their_parts(
    source: Parts, destination: Parts, dropping: str, release: str, undo: str
) -> None:
    found = classify_recorded(record(clones=True, dropping=dropping), between(source, destination), DAY)
    assert found.state is (TwinState.MERGED if release else TwinState.UNKNOWN), found
    assert found.parts == tuple(name(each) for each in release.split())
    assert found.undo == tuple(name(each) for each in undo.split())


@pytest.mark.parametrize("to", list(Side))
def test_a_begun_undo_is_finished_or_needs_manual_action(to: Side) -> None:
    begun = record(to)._replace(undoing=(name("5_5_0"), name("6_6_0")))
    assert classify_recorded(begun, between(ONE, BOTH, to), DAY).state is TwinState.UNDOING
    assert left_to_undo(begun, between(ONE, (*HELD, CLONES[1]), to), DAY) == [name("6_6_0")]
    assert left_to_undo(begun, between(ONE, HELD, to), DAY) == []
    assert left_to_undo(begun, between(ONE, (*HELD, *parts(b5_6_1="abc")), to), DAY) == [name("5_6_1")]
    found = classify_recorded(begun, between(ONE, (*HELD, *parts(b6_7_1="cd")), to), DAY)
    assert found.state is (TwinState.UNKNOWN if to is Side.HOT else TwinState.UNDOING)


def test_a_part_named_for_an_undo_was_dropped_on_purpose() -> None:
    verified = record(clones=True)._replace(undoing=(name("5_6_1"),))
    source = parts(b1_1_0="ab", b2_3_1="cd")
    found = classify_recorded(verified, between(source, HELD), DAY)
    assert (found.state, found.parts) == (TwinState.MERGED, (name("1_1_0"), name("2_2_0")))
    assert classify_recorded(verified, between(source, parts(b4_6_2="x")), DAY).state is TwinState.UNKNOWN


def test_dropped_parts_are_not_dropped_again() -> None:
    """Every part but the last in ``dropping`` is dropped, whatever merges have made of its neighbours."""
    found = classify_recorded(
        record(clones=True, dropping="1_1_0 2_2_0"), between((ONE[1], *parts(b1_1_2="zz")), BOTH), DAY
    )
    assert (found.state, found.parts) == (TwinState.DROPPED_PARTLY, (name("2_2_0"),))


@pytest.mark.parametrize(
    ("to", "source", "destination", "state"),
    [
        (Side.COLD, ONE, HELD, TwinState.RECORDED),
        (Side.COLD, ONE, BOTH, TwinState.RECORDED),
        (Side.COLD, (), HELD, TwinState.STALE),
        (Side.COLD, (), BOTH, TwinState.STALE),
        (Side.HOT, (), HELD, TwinState.STALE),
        (Side.HOT, (), BOTH, TwinState.RECORDED),
    ],
)
def test_without_clones_the_source_tells_whether_an_attach_may_be_executed(
    to: Side, source: Parts, destination: Parts, state: TwinState
) -> None:
    """On the way to hot, a new part may be a clone, and only another ATTACH shows whether it is."""
    found = classify_recorded(record()._replace(destination=to), between(source, destination, to), DAY)
    assert found.state is state


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
    past = {"hot_past": (*ONE, *LATE), "cold_past": clones}
    if to is Side.HOT:
        past = {"hot_past": clones, "cold_past": (*ONE, *LATE)}
    assert plan_undo(record(to), current._replace(**past), DAY).drop == ((name("5_7_1"),) if is_known else ())
    # Of what nothing is left to be seen nobody can tell that the source has it.
    past = {key: tuple(part for part in shown if part not in LATE) for key, shown in past.items()}
    assert plan_undo(record(to), current._replace(**past), DAY).problem


def test_an_undo_keeps_the_insert_among_equal_parts() -> None:
    known = record(Side.HOT)._replace(parts=contents(parts(b1_2_1="abc")))
    current = between(parts(b1_2_1="abc"), (*HELD, *parts(b5_5_0="abc", b6_6_1="abc")), Side.HOT)
    assert plan_undo(known, current, DAY).drop == (name("6_6_1"),)
