# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The comparison on every member, and the report of differences."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.parts.compare import (
    Comparison,
    CopyComparison,
)
from support.memory.arrange import create_cold
from support.memory.behind import Behind
from support.memory.bench import DAY, OTHER, PART, PATH
from support.memory.copying import LAYOUT, Copying
from support.memory.memory import MemoryStore
from support.memory.tables import TableOptions


class TestComparison:
    """What is compared on every member."""

    @pytest.fixture(params=[0, 2])
    def some(self, request: pytest.FixtureRequest) -> int:
        """How many parts are compared before the others."""
        return int(request.param)

    def compare(self, copying: Copying, some: int, members: Sequence[MemoryStore] = ()) -> Comparison:
        _shard, found = copying.read([DAY, OTHER])
        originals = [part for partition in found.values() for part in partition.hot_parts]
        members, lists = members or [copying.bench.cold_store], copying.reader.cold_lists
        first, rest = originals[:some], originals[some:]
        comparison = CopyComparison(members, originals, LAYOUT, 1, lists)
        if first:
            comparison.add(first)
        return comparison.finish(rest)

    @pytest.fixture
    def copying(self) -> Copying:
        copying = Copying(TableOptions(partitions=(DAY, OTHER), legacy=True))
        copying.make(DAY, OTHER)
        return copying

    def test_equal_copies(self, copying: Copying, some: int) -> None:
        members = [copying.bench.cold_store] * 3

        assert self.compare(copying, some, members) == Comparison(12, 0, 0, 0, (), frozenset())

    def test_a_copy_that_is_missing(self, copying: Copying, some: int) -> None:
        copying.bench.cold.delete(f"{PATH}/replicas/r2/parts/{PART}", recursive=True)

        assert self.compare(copying, some) == Comparison(
            3, 0, 1, 0, (f"{PATH}/replicas/r2/parts/{PART} is missing on cold",), frozenset({DAY})
        )

    def test_a_copy_without_a_child(self, copying: Copying, some: int) -> None:
        copying.bench.cold.delete(f"{PATH}/replicas/r2/parts/{PART}/columns")

        assert self.compare(copying, some) == Comparison(
            3, 1, 0, 0, (f"{PATH}/replicas/r2/parts/{PART} differs on cold",), frozenset({DAY})
        )

    @pytest.mark.parametrize("child", ["", "/columns", "/checksums"])
    def test_a_copy_that_differs(self, copying: Copying, some: int, child: str) -> None:
        copying.bench.cold.set(f"{PATH}/replicas/r1/parts/{PART}{child}", b"other")

        assert self.compare(copying, some) == Comparison(
            3, 1, 0, 0, (f"{PATH}/replicas/r1/parts/{PART} differs on cold",), frozenset({DAY})
        )

    def test_a_member_that_is_behind_catches_up_first(self, copying: Copying, some: int) -> None:
        """It shows the copies as they were before another program wrote them."""
        behind = Behind(copying.bench.cold_ensemble)
        behind.fall_behind()
        copying.bench.cold.set(f"{PATH}/replicas/r1/parts/{PART}", b"other")

        assert self.compare(copying, some, [behind]).failed_partitions == {DAY}

    def test_a_part_without_an_original(self, copying: Copying, some: int) -> None:
        create_cold(f"replicas/r1/parts/{OTHER}_7_7_0")(copying.bench)
        create_cold("replicas/r1/parts/20300101_7_7_0")(copying.bench)

        assert self.compare(copying, some) == Comparison(
            4,
            0,
            0,
            1,
            (f"{PATH}/replicas/r1/parts/{OTHER}_7_7_0 has no original on cold",),
            frozenset({OTHER}),
        )

    def test_no_more_than_ten_samples(self, copying: Copying, some: int) -> None:
        for name in ("r1", "r2"):
            copying.bench.cold.delete(f"{PATH}/replicas/{name}/parts", recursive=True)

        found = self.compare(copying, some, [copying.bench.cold_store] * 3)

        assert (found.missing, len(found.samples)) == (12, 10)
