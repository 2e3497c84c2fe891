# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A table gives up parts only if the other one has each of their rows."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.repair.doubtful import Doubtful
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.repair.report import LeftAsIs
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.repair.servers import RowCounts
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.repair.way import (
    Way,
    is_proven,
    way_of,
)

BOTH = Doubtful(("a",), ("b",))
CLONES = Doubtful(("a",), ("b",), are_clones=True, problem="too many")


@pytest.mark.parametrize(
    ("doubtful", "counts", "destination", "way"),
    [
        (BOTH, None, Side.COLD, Way.NOTHING),
        (BOTH, RowCounts(0, 5, 5, 5, 0), Side.COLD, Way.NOTHING),
        (BOTH, RowCounts(5, 0, 0, 0, 0), Side.COLD, Way.DETACH_HOT),
        (BOTH, RowCounts(5, 0, 0, 0, 0), Side.HOT, Way.DETACH_COLD),
        (BOTH, RowCounts(5, 0, 2, 2, 0), Side.HOT, Way.DETACH_HOT),
        (BOTH, RowCounts(5, 0, 2, 2, 3), Side.COLD, Way.DETACH_HOT),
        (BOTH, RowCounts(5, 2, 0, 0, 0), Side.COLD, Way.DETACH_COLD),
        (BOTH, RowCounts(5, 2, 1, 0, 0), Side.COLD, Way.BUILD),
        (BOTH, RowCounts(5, 2, 1, 1, 0), Side.HOT, Way.BUILD),
        (CLONES, RowCounts(5, 0, 5, 0, 5), Side.COLD, Way.DETACH_COLD),
        (CLONES, RowCounts(5, 1, 5, 0, 5), Side.COLD, Way.DETACH_COLD),
        (BOTH._replace(problem="too many"), RowCounts(5, 0, 1, 1, 0), Side.COLD, Way.DETACH_HOT),
        (BOTH._replace(most=5), RowCounts(5, 0, 0, 0, 0), Side.COLD, Way.DETACH_HOT),
        (BOTH._replace(is_mutated=True), RowCounts(5, 0, 0, 0, 0), Side.COLD, Way.DETACH_HOT),
        (BOTH._replace(is_mutated=True), None, Side.COLD, Way.NOTHING),
    ],
)
def test_way(doubtful: Doubtful, counts: RowCounts | None, destination: Side, way: Way) -> None:
    assert way_of(doubtful, counts, destination) is way


@pytest.mark.parametrize(
    ("doubtful", "counts"),
    [
        (BOTH._replace(problem="too many"), None),
        (BOTH._replace(problem="too many"), RowCounts(0, 5, 5, 5, 1)),
        (BOTH._replace(problem="too many"), RowCounts(5, 0, 1, 1, 1)),
        (BOTH._replace(problem="too many"), RowCounts(5, 1, 1, 1, 1)),
        (CLONES, RowCounts(5, 0, 5, 1, 5)),
        (BOTH._replace(most=4), RowCounts(5, 0, 0, 0, 0)),
        (BOTH._replace(is_mutated=True), RowCounts(0, 5, 5, 5, 0)),
        (BOTH._replace(is_mutated=True), RowCounts(3, 2, 2, 2, 0)),
    ],
)
def test_rows_that_nothing_explains_are_left(doubtful: Doubtful, counts: RowCounts | None) -> None:
    with pytest.raises(LeftAsIs):
        way_of(doubtful, counts, Side.COLD)


@pytest.mark.parametrize(
    ("way", "doubtful", "counts", "proven"),
    [
        (Way.DETACH_HOT, BOTH, RowCounts(5, 0, 3, 3, 0), True),
        (Way.DETACH_HOT, BOTH, RowCounts(5, 1, 0, 0, 0), False),
        (Way.BUILD, BOTH, RowCounts(5, 1, 0, 0, 0), False),
        (Way.DETACH_COLD, BOTH, RowCounts(5, 1, 0, 0, 0), True),
        (Way.DETACH_COLD, BOTH, RowCounts(5, 0, 1, 0, 0), False),
        (Way.DETACH_COLD, CLONES, RowCounts(5, 0, 1, 0, 0), True),
        (Way.DETACH_COLD, CLONES, RowCounts(5, 0, 1, 1, 0), False),
    ],
)
def test_proof(way: Way, doubtful: Doubtful, counts: RowCounts, *, proven: bool) -> None:
    assert is_proven(way, doubtful, counts) is proven
