# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The location of a partition, by State and the names of its parts in both ensembles."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.names import (
    PartName,
    parse_part_name,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.facts import RegisteredNames
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.location import (
    Location,
    locate,
    never_was_cold,
    partitions_only_in_cold,
    was_brought_back,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Stat, Znode
from ansible_collections.olap.partmove.plugins.module_utils._partmove.zip_strict import zip_strict

NOTHING, SOME, OTHER = (), ("p_0_0_0",), ("p_1_1_0",)


def registered(
    state: bytes | None,
    hot: tuple[tuple[str, ...], ...],
    cold: tuple[tuple[str, ...], ...],
    version: int = 0,
) -> RegisteredNames:
    """Return the names of parts of r1 and r2 in each ensemble."""
    znode = None if state is None else Znode("/State", state, Stat(*[0] * 11)._replace(version=version))
    names = ("r1", "r2")
    return RegisteredNames(znode, dict(zip_strict(names, hot)), dict(zip_strict(names, cold)))


@pytest.mark.parametrize("state", [None, b"HOT", b"", b"MOVING", b"COLD\n", b"cold", b"\xff"])
@pytest.mark.parametrize(
    ("hot", "cold", "location"),
    [
        ((SOME, SOME), (NOTHING, NOTHING), Location.HOT),
        ((SOME, SOME), (SOME, NOTHING), Location.COPIED),
        ((SOME, SOME), (SOME, SOME), Location.COPIED),
        ((SOME, NOTHING), (NOTHING, SOME), Location.COPIED),
        ((NOTHING, NOTHING), (NOTHING, NOTHING), Location.ABSENT),
    ],
)
def test_a_partition_that_servers_treat_as_hot(
    state: bytes | None,
    hot: tuple[tuple[str, ...], ...],
    cold: tuple[tuple[str, ...], ...],
    location: Location,
) -> None:
    assert locate(registered(state, hot, cold)) is location


@pytest.mark.parametrize(
    ("hot", "cold", "location"),
    [
        ((NOTHING, NOTHING), (SOME, SOME), Location.COLD),
        ((NOTHING, NOTHING), (SOME, OTHER), Location.UNEVEN),
        ((NOTHING, NOTHING), (SOME, NOTHING), Location.UNEVEN),
        ((NOTHING, NOTHING), (NOTHING, NOTHING), Location.ABSENT),
        ((SOME, NOTHING), (SOME, SOME), Location.MIXED),
        ((SOME, SOME), (NOTHING, NOTHING), Location.MIXED),
    ],
)
def test_a_partition_that_servers_treat_as_cold(
    hot: tuple[tuple[str, ...], ...], cold: tuple[tuple[str, ...], ...], location: Location
) -> None:
    assert locate(registered(b"COLD", hot, cold)) is location


@pytest.mark.parametrize(
    ("state", "version", "location"),
    [
        (b"HOT", 2, Location.DROPPED),
        (b"HOT", 0, Location.DROPPED),
        (None, 0, Location.DROPPED),
        (b"COLD\n", 2, Location.STRAY),
        (b"", 2, Location.STRAY),
        (b"MOVING", 0, Location.STRAY),
    ],
)
def test_copies_alone_are_a_dropped_partition_only_by_state(
    state: bytes | None, version: int, location: Location
) -> None:
    names = registered(state, (NOTHING, NOTHING), (SOME, NOTHING), version)
    assert locate(names) is location


def test_a_location_is_summarized_in_four_words() -> None:
    told = {each: each.summary for each in Location}
    assert {each for each in told if told[each] == "hot"} == {Location.HOT, Location.COPIED}
    assert {each for each in told if told[each] == "cold"} == {Location.COLD}
    assert {each for each in told if told[each] == "absent"} == {Location.ABSENT}
    assert set(told.values()) == {"hot", "cold", "absent", "drifted"}


@pytest.mark.parametrize(
    ("hot", "cold", "ids"),
    [
        ({}, {}, set()),
        ({"r1": ["a_0_0_0"]}, {"r1": ["a_0_0_0"]}, set()),
        ({"r1": ["a_0_0_0"]}, {"r1": ["b_0_0_0"]}, {"b"}),
        ({"r1": ["a_0_4_1"]}, {"r1": ["a_0_0_0", "a_4_4_0"]}, set()),
        ({"r1": ["a_0_4_1"]}, {"r1": ["a_0_0_0", "a_5_5_0"]}, {"a"}),
        # Another replica may have the part, but not this one.
        ({"r1": ["a_0_0_0"]}, {"r2": ["a_0_0_0"]}, {"a"}),
        ({"r1": ["2019-12_0_0_0"]}, {"r1": ["2019-1_0_0_0"]}, {"2019-1"}),
    ],
)
def test_partitions_with_a_part_only_in_cold(
    hot: dict[str, list[str]], cold: dict[str, list[str]], ids: set[str]
) -> None:
    assert partitions_only_in_cold(by_partition(hot), by_partition(cold)) == ids


def by_partition(names: dict[str, list[str]]) -> dict[str, dict[str, list[PartName]]]:
    """Replica → partition id → the names of its parts."""
    found: dict[str, dict[str, list[PartName]]] = {}
    for replica, texts in names.items():
        for text in texts:
            name = parse_part_name(text, 1, "a test")
            found.setdefault(replica, {}).setdefault(name.partition_id, []).append(name)
    return found


@pytest.mark.parametrize(
    ("state", "version", "never", "back"),
    [
        (b"HOT", 0, True, False),
        (b"HOT", 1, False, True),
        # It was created by somebody who says so of copies that were there before.
        (b"COLD", 0, False, False),
        (b"COLD", 1, False, False),
    ],
)
def test_state_shows_the_history_of_a_partition(state: bytes, version: int, never: bool, back: bool) -> None:
    znode = registered(state, (NOTHING, NOTHING), (NOTHING, NOTHING), version).state
    assert znode is not None
    assert (never_was_cold(znode), was_brought_back(znode)) == (never, back)
