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
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    KnownClones,
    Parts,
    Side,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.undo_plan import left_to_undo
from support.memory.between import CLONES, HELD, ONE, between, name, parts, record
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
        # A mutation has rewritten a recorded part or a clone.
        ((*ONE[1:], *parts(b1_1_0_7="xy")), BOTH, "", TwinState.CHANGED),
        (parts(b1_2_1_7="xyz"), BOTH, "", TwinState.CHANGED),
        (ONE, (*HELD, CLONES[0], *parts(b6_6_0_7="z")), "", TwinState.CHANGED),
        (ONE[1:], (*HELD, *parts(b5_5_0_7="x", b6_6_0_7="")), "1_1_0", TwinState.DROPPED_PARTLY),
        (parts(b2_2_0_7="x"), BOTH, "1_1_0", TwinState.MERGED),
        (parts(b2_2_0_7="x"), (*HELD, *parts(b5_5_0_7="xy", b6_6_0_7="x")), "1_1_0", TwinState.MERGED),
        (ONE, parts(b4_6_1="xabc"), "", TwinState.ATTACHED),
        (ONE[1:], BOTH, "1_1_0", TwinState.DROPPED_PARTLY),
        ((), BOTH, "1_1_0 2_2_0", TwinState.DROPPED),
        (parts(b7_7_0="z"), BOTH, "1_1_0 2_2_0", TwinState.DROPPED),
        (parts(b1_7_1="z"), BOTH, "1_1_0 2_2_0", TwinState.UNKNOWN),
        ((), (), "1_1_0 2_2_0", TwinState.DROPPED),
        (MERGED, BOTH, "", TwinState.MERGED),
        (MERGED, HELD, "", TwinState.MERGED),
        (MERGED, parts(b4_6_1="xabc"), "", TwinState.UNKNOWN),
        # The merged part has the rows of all recorded parts, so none was dropped.
        (MERGED, BOTH, "1_1_0", TwinState.MERGED),
        (MERGED, BOTH, "1_1_0 2_2_0", TwinState.MERGED),
        (parts(b1_2_1="c"), BOTH, "1_1_0", TwinState.UNKNOWN),
        (parts(b1_3_1="abcd"), BOTH, "1_1_0", TwinState.UNKNOWN),
        (parts(b1_2_1_7="abc"), BOTH, "1_1_0", TwinState.UNKNOWN),
        ((*ONE[1:], *parts(b1_1_0_7="a")), BOTH, "1_1_0", TwinState.MERGED),
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
        # Every block of it is of a clone, whatever rows are left.
        (parts(b1_2_1="abc"), parts(b5_6_1="ab"), "", "1_1_0 2_2_0", "5_6_1"),
        (parts(b2_3_1="cd"), parts(b5_5_0="ab", b6_6_0_9="z"), "1_1_0", "2_2_0", "6_6_0_9"),
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
    """Every part in ``dropped`` is dropped, whatever merges have made of its neighbours."""
    known = record(clones=True, dropping="2_2_0")._replace(dropped=(name("1_1_0"),))
    found = classify_recorded(known, between((ONE[1], *parts(b1_1_2="zz")), BOTH), DAY)
    assert (found.state, found.parts) == (TwinState.DROPPED_PARTLY, (name("2_2_0"),))


@pytest.mark.parametrize(
    ("to", "source", "destination", "clones", "state"),
    [
        (Side.COLD, ONE, HELD, None, TwinState.RECORDED),
        (Side.COLD, ONE, BOTH, None, TwinState.CLONED),
        (Side.COLD, ONE, (*HELD, *parts(b7_7_0="other")), None, TwinState.CLONED),
        (Side.COLD, (), HELD, None, TwinState.STALE),
        (Side.COLD, (), BOTH, None, TwinState.STALE),
        (Side.HOT, (), HELD, None, TwinState.STALE),
        (Side.HOT, (), BOTH, None, TwinState.STALE),
        (Side.HOT, ONE, HELD, None, TwinState.RECORDED),
        (Side.HOT, ONE, BOTH, None, TwinState.CLONED),
        (Side.HOT, ONE, (*HELD, *parts(b7_7_0="other")), None, TwinState.RECORDED),
        (Side.HOT, ONE, (*HELD, *parts(b7_8_1="abc")), None, TwinState.CLONED),
        (Side.HOT, ONE, BOTH, KnownClones(frozenset(), complete=False), TwinState.CLONED),
        (Side.HOT, ONE, BOTH, KnownClones(frozenset(), complete=True), TwinState.RECORDED),
        (Side.HOT, ONE, BOTH, KnownClones(frozenset({name("5_5_0")}), complete=True), TwinState.CLONED),
    ],
)
def test_attach_is_executed_only_without_a_new_part_that_may_be_a_clone(
    to: Side, source: Parts, destination: Parts, clones: KnownClones | None, state: TwinState
) -> None:
    current = between(source, destination, to)._replace(clones=clones)
    found = classify_recorded(record()._replace(destination=to), current, DAY)
    assert found.state is state
