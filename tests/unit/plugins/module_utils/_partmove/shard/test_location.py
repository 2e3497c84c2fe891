# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where a partition is, by State and the names of its parts in either ensemble."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.facts import Whereabouts
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.location import Location, locate
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Stat, Znode

NOTHING, SOME, OTHER = (), ("p_0_0_0",), ("p_1_1_0",)


def whereabouts(
    state: bytes | None, hot: tuple[tuple[str, ...], ...], cold: tuple[tuple[str, ...], ...]
) -> Whereabouts:
    """Each ensemble with the parts of r1 and r2."""
    znode = None if state is None else Znode("/State", state, Stat(*[0] * 11))
    names = ("r1", "r2")
    return Whereabouts(znode, dict(zip(names, hot, strict=True)), dict(zip(names, cold, strict=True)))


@pytest.mark.parametrize("state", [None, b"HOT", b"", b"MOVING", b"COLD\n", b"cold", b"\xff"])
@pytest.mark.parametrize(
    ("hot", "cold", "location"),
    [
        ((SOME, SOME), (NOTHING, NOTHING), Location.HOT),
        ((SOME, SOME), (SOME, NOTHING), Location.HOT),
        ((SOME, SOME), (SOME, SOME), Location.HOT),
        ((SOME, NOTHING), (NOTHING, SOME), Location.HOT),
        ((NOTHING, NOTHING), (NOTHING, NOTHING), Location.ABSENT),
        ((NOTHING, NOTHING), (SOME, SOME), Location.DRIFTED),
    ],
)
def test_a_partition_that_servers_take_for_hot(
    state: bytes | None,
    hot: tuple[tuple[str, ...], ...],
    cold: tuple[tuple[str, ...], ...],
    location: Location,
) -> None:
    assert locate(whereabouts(state, hot, cold)) is location


@pytest.mark.parametrize(
    ("hot", "cold", "location"),
    [
        ((NOTHING, NOTHING), (SOME, SOME), Location.COLD),
        ((NOTHING, NOTHING), (SOME, OTHER), Location.DRIFTED),
        ((NOTHING, NOTHING), (SOME, NOTHING), Location.DRIFTED),
        ((NOTHING, NOTHING), (NOTHING, NOTHING), Location.ABSENT),
        ((SOME, NOTHING), (SOME, SOME), Location.DRIFTED),
        ((SOME, SOME), (NOTHING, NOTHING), Location.DRIFTED),
    ],
)
def test_a_partition_that_servers_take_for_cold(
    hot: tuple[tuple[str, ...], ...], cold: tuple[tuple[str, ...], ...], location: Location
) -> None:
    assert locate(whereabouts(b"COLD", hot, cold)) is location
