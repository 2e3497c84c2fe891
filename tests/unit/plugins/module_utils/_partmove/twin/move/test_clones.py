# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Clones have equal rows and equal hashes, and any other new part is an obstacle."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.clones import (
    clones_of,
    is_source_changed,
    parts_holding_clones,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.record import contents
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    KnownClones,
    PartContent,
    Parts,
    Side,
)
from support.memory.between import CLONES, HELD, LATE, ONE, between, name, parts, record
from support.memory.twins import DAY

MERGED = parts(b1_2_1="abc")
BOTH = (*HELD, *CLONES)


@pytest.mark.parametrize("to", list(Side))
def test_each_part_gets_its_clone(to: Side) -> None:
    assert clones_of(record(to), between(ONE, BOTH, to), DAY) == {
        name("1_1_0"): name("5_5_0"),
        name("2_2_0"): name("6_6_0"),
    }


@pytest.mark.parametrize(
    ("source", "destination", "problem"),
    [
        (ONE, (*HELD, CLONES[0]), "of 2 parts 1 were not cloned, and 0 other parts are new"),
        (ONE, (*BOTH, *parts(b7_7_0="c")), "of 2 parts 0 were not cloned, and 1 other parts are new"),
        (
            ONE,
            (CLONES[0], CLONES[0]._replace(name=name("7_7_0")), *HELD),
            "of 2 parts 1 were not cloned, and 1 other parts",
        ),
        (
            ONE,
            (*HELD, CLONES[0], *parts(b6_6_0="d")),
            "of 2 parts 1 were not cloned, and 1 other parts are new",
        ),
        (ONE[1:], BOTH, "part 20191201_1_1_0 of the source is not as recorded"),
        (MERGED, BOTH, "part 20191201_1_1_0 of the source is not as recorded"),
    ],
)
def test_anything_else_is_no_clone(source: Parts, destination: Parts, problem: str) -> None:
    result = clones_of(record(), between(source, destination), DAY)
    assert isinstance(result, str)
    assert problem in result


def test_an_insert_into_hot_is_no_clone_and_no_obstacle() -> None:
    late = parts(b7_7_0="new", b8_8_0="newer", b9_9_0="c")
    clones = clones_of(record(Side.HOT), between(ONE, (*BOTH, *late), Side.HOT), DAY)
    assert clones == {name("1_1_0"): name("5_5_0"), name("2_2_0"): name("6_6_0")}


@pytest.mark.parametrize(
    ("late", "past", "is_known"),
    [
        pytest.param(parts(b3_4_1="x"), (), False, id="of a block that nobody knows"),
        pytest.param(parts(b4_4_1="x"), (), True, id="of an earlier part"),
        pytest.param(parts(b4_7_2="xnew"), (), False, id="over the clones"),
        pytest.param(parts(b7_8_1="newl"), parts(b7_7_0="new", b8_8_0="l"), True, id="of two inserts"),
        pytest.param(parts(b7_8_1="newab"), parts(b7_7_0="new", b8_8_0="ab"), False, id="like a clone"),
        pytest.param(parts(b7_8_1="newl"), parts(b7_7_0="new"), False, id="of one that is not shown"),
        pytest.param(parts(b7_8_2="newl"), parts(b7_8_1="newl"), False, id="of what was merged before"),
    ],
)
def test_a_merge_of_late_parts_is_no_obstacle_if_the_parts_are_known(
    late: Parts, past: Parts, *, is_known: bool
) -> None:
    current = between(ONE, (*CLONES, *late), Side.HOT)._replace(hot_past=(*HELD, *past))
    assert isinstance(clones_of(record(Side.HOT), current, DAY), dict) is is_known


@pytest.mark.parametrize(
    ("to", "source", "late"),
    [
        pytest.param(Side.COLD, ONE, parts(b7_7_0="new"), id="nobody inserts into the twin"),
        pytest.param(Side.COLD, ONE, parts(b7_7_0="c"), id="nor what equals a part that was recorded"),
        pytest.param(Side.HOT, ONE, parts(b7_8_1="new"), id="merged, perhaps with a clone"),
        pytest.param(Side.HOT, ONE, parts(b7_7_0_9="new"), id="mutated"),
        pytest.param(Side.HOT, (*ONE, *LATE), parts(b7_7_0="l"), id="cloned, but not recorded"),
    ],
)
def test_another_new_part_is_an_obstacle(to: Side, source: Parts, late: Parts) -> None:
    result = clones_of(record(to), between(source, (*BOTH, *late), to), DAY)
    assert result == "of 2 parts 0 were not cloned, and 1 other parts are new"


def test_checksums_cover_clones_and_parts_merged_from_clones() -> None:
    clones = {name("1_1_0"): name("5_5_0"), name("2_2_0"): name("6_6_0")}
    current = between(ONE, (*BOTH, *parts(b7_7_0="new")), Side.HOT)
    assert parts_holding_clones(record(Side.HOT), current, clones, DAY) == [name("5_5_0"), name("6_6_0")]
    current = between(ONE, parts(b4_4_1="x", b5_6_1="abc", b7_7_0="new"), Side.HOT)
    assert parts_holding_clones(record(Side.HOT), current, clones, DAY) == [name("5_6_1")]


@pytest.mark.parametrize("field", PartContent._fields)
def test_a_clone_has_equal_rows_and_equal_hashes(field: str) -> None:
    other: object = 7 if field == "rows" else "0" * 32
    content = CLONES[1].content._replace(**{field: other})  # type: ignore[arg-type]
    changed = CLONES[1]._replace(content=content)
    assert isinstance(clones_of(record(), between(ONE, (*HELD, CLONES[0], changed)), DAY), str)


def test_an_earlier_part_of_the_destination_is_no_clone() -> None:
    had = parts(b4_4_0="c")
    known = record()._replace(held=contents(had))
    assert isinstance(clones_of(known, between(ONE, (*had, CLONES[0])), DAY), str)


def test_the_source_is_changed_if_it_differs_from_the_record() -> None:
    assert not is_source_changed(record(), between(ONE, BOTH))
    assert is_source_changed(record(), between(MERGED, HELD))
    assert is_source_changed(record(), between((*ONE, *parts(b3_3_0="l")), BOTH))


@pytest.mark.parametrize("to", list(Side))
def test_only_known_clones_count_on_the_way_to_hot(to: Side) -> None:
    """An insert may equal a clone. Nobody inserts into the twin."""
    current = between(ONE, BOTH, to)._replace(clones=KnownClones(frozenset({name("5_5_0")}), complete=True))
    assert isinstance(clones_of(record(to), current, DAY), str) is (to is Side.HOT)
    current = between(ONE, (*BOTH, *parts(b7_7_0="c")), to)
    current = current._replace(clones=KnownClones(frozenset(map(name, ("5_5_0", "7_7_0"))), complete=True))
    if to is Side.HOT:
        assert clones_of(record(to), current, DAY) == {
            name("1_1_0"): name("5_5_0"),
            name("2_2_0"): name("7_7_0"),
        }
