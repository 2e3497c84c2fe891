# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The number of processes, and what is divided among them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._tasks.process_count import (
    divided,
    part_of,
    process_option,
    processes_for,
)


def chosen(
    partitions: Sequence[int], *, given: int = 0, workers: int = 0, rate: int = 0, processors: int = 4
) -> int:
    return processes_for(given, partitions, workers=workers, parts_per_second=rate, processors=processors)


@pytest.mark.parametrize("text", ["0", "17", "many", "-1", "1.5", ""])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(PartMoveError, match="processes is"):
        process_option(text)


def test_auto_is_limited_by_everything() -> None:
    assert process_option("auto") == 0
    assert chosen([1] * 10_000) == 4
    assert chosen([1] * 10_000, processors=64) == 8
    assert chosen([1] * 10_000, workers=2) == 2
    assert chosen([1] * 10_000, rate=1_500) == 2
    assert chosen([1] * 200) == 1
    assert chosen([1_000_000]) == 1
    assert chosen([]) == 1


def test_a_number_is_taken_unless_shard_paths_are_fewer() -> None:
    assert chosen([1, 1, 1], given=2) == 2
    assert chosen([1], given=2) == 1
    with pytest.raises(PartMoveError, match="max_parts_per_second is 1"):
        chosen([1, 1], given=2, rate=1)


def test_work_and_limits_are_divided() -> None:
    shares = divided([1, 1, 100, 1, 1], 2)
    assert sorted(shares) == [[0, 1, 3, 4], [2]]
    assert [part_of(5, number, 2) for number in range(2)] == [3, 2]
