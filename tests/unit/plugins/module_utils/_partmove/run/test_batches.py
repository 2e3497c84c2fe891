# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Memory batches and paced batches."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from ansible_collections.olap.partmove.plugins.module_utils._partmove.run import batches
from ansible_collections.olap.partmove.plugins.module_utils._partmove.run.batches import (
    FIRST_PARTS,
    LEAST_PARTS,
    BatchLimit,
    memory_batches,
    paced_batches,
)
from support.memory.bench import Bench
from support.memory.tables import TableOptions, days

PARTS = {"a": 3, "b": 3, "c": 6, "d": 1, "e": 0}


@pytest.mark.parametrize(
    ("most", "batches"),
    [
        (100, [(["a", "b", "c", "d", "e", "f"], 15)]),
        (6, [(["a", "b"], 6), (["c"], 6), (["d", "e", "f"], 3)]),
        (5, [(["a"], 3), (["b"], 3), (["c"], 6), (["d", "e", "f"], 3)]),
        (1, [(["a"], 3), (["b"], 3), (["c"], 6), (["d"], 1), (["e"], 1), (["f"], 1)]),
    ],
)
def test_a_paced_batch_has_a_limited_number_of_parts(most: int, batches: list[tuple[list[str], int]]) -> None:
    assert list(paced_batches(["a", "b", "c", "d", "e", "f"], PARTS, lambda: most)) == batches


@given(st.dictionaries(st.text(), st.integers(0, 50)), st.integers(1, 100))
def test_each_partition_is_in_one_paced_batch(parts: dict[str, int], most: int) -> None:
    batches = list(paced_batches(list(parts), parts, lambda: most))
    assert [each for batch, _count in batches for each in batch] == list(parts)
    assert all(count <= most or len(batch) == 1 for batch, count in batches)
    assert all(batch for batch, _count in batches)


@pytest.fixture
def small_memory_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "MOST_PARTITIONS", 2)


@pytest.mark.usefixtures("small_memory_batches")
@pytest.mark.parametrize(
    ("given_ids", "expected"), [("", []), ("a", ["a"]), ("ba", ["ab"]), ("cadab", ["ab", "cd"])]
)
def test_memory_batches_are_sorted_and_without_duplicates(given_ids: str, expected: list[str]) -> None:
    assert [*memory_batches(given_ids)] == [[*each] for each in expected]


@pytest.mark.usefixtures("small_memory_batches")
def test_one_report_covers_all_memory_batches() -> None:
    requested = days(5)
    bench = Bench(TableOptions(partitions=requested))
    assert bench.move(*requested[:1], requested[3]).moved.keys() == {requested[0], requested[3]}
    report = bench.move(*requested, "19700101")
    assert report.unchanged == {requested[0], requested[3]}
    assert report.moved.keys() == {requested[1], requested[2], requested[4]}
    assert report.deferred.keys() == {"19700101"}
    assert bench.reheat(*requested).moved.keys() == set(requested)


def test_a_batch_takes_as_many_parts_as_fit_into_two_seconds() -> None:
    limit = BatchLimit(50_000)
    assert limit.parts() == FIRST_PARTS

    limit.took(10_000, 4.0)
    assert limit.parts() == 5_000
    limit.took(5_000, 0.5)
    assert limit.parts() == 20_000


@pytest.mark.parametrize(
    ("parts", "seconds", "expected"),
    [(10_000, 0.1, 50_000), (10, 60.0, LEAST_PARTS), (10_000, 0.0, FIRST_PARTS)],
    ids=["fast", "slow", "no time"],
)
def test_the_parts_of_a_batch_have_bounds(parts: int, seconds: float, expected: int) -> None:
    limit = BatchLimit(50_000)
    limit.took(parts, seconds)
    assert limit.parts() == expected


def test_a_limit_of_the_user_is_not_exceeded() -> None:
    limit = BatchLimit(100)
    assert limit.parts() == 100
    limit.took(100, 0.001)
    assert limit.parts() == 100
