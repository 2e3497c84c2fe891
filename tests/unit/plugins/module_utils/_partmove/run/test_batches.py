# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How partitions are divided into portions."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from ansible_collections.olap.partmove.plugins.module_utils._partmove.run import batches
from ansible_collections.olap.partmove.plugins.module_utils._partmove.run.batches import (
    memory_batches,
    paced_batches,
)
from support.memory.bench import Bench
from support.memory.tables import TableOptions, days

PARTS = {"a": 3, "b": 3, "c": 6, "d": 1, "e": 0}


@pytest.mark.parametrize(
    ("most", "portions"),
    [
        (100, [(["a", "b", "c", "d", "e", "f"], 15)]),
        (6, [(["a", "b"], 6), (["c"], 6), (["d", "e", "f"], 3)]),
        (5, [(["a"], 3), (["b"], 3), (["c"], 6), (["d", "e", "f"], 3)]),
        (1, [(["a"], 3), (["b"], 3), (["c"], 6), (["d"], 1), (["e"], 1), (["f"], 1)]),
    ],
)
def test_partitions_go_together_as_long_as_they_have_few_parts(
    most: int, portions: list[tuple[list[str], int]]
) -> None:
    assert list(paced_batches(["a", "b", "c", "d", "e", "f"], PARTS, most)) == portions


@given(st.dictionaries(st.text(), st.integers(0, 50)), st.integers(1, 100))
def test_each_partition_is_in_one_portion(parts: dict[str, int], most: int) -> None:
    portions = list(paced_batches(list(parts), parts, most))
    assert [each for portion, _count in portions for each in portion] == list(parts)
    assert all(count <= most or len(portion) == 1 for portion, count in portions)
    assert all(portion for portion, _count in portions)


@pytest.fixture
def small_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "MOST_PARTITIONS", 2)


@pytest.mark.usefixtures("small_stages")
@pytest.mark.parametrize(
    ("given_ids", "stages"), [("", []), ("a", ["a"]), ("ba", ["ab"]), ("cadab", ["ab", "cd"])]
)
def test_stages_are_sorted_and_have_each_partition_once(given_ids: str, stages: list[str]) -> None:
    assert [*memory_batches(given_ids)] == [[*each] for each in stages]


@pytest.mark.usefixtures("small_stages")
def test_all_stages_are_gone_through_in_one_report() -> None:
    wanted = days(5)
    bench = Bench(TableOptions(partitions=wanted))
    assert bench.move(*wanted[:1], wanted[3]).moved.keys() == {wanted[0], wanted[3]}
    report = bench.move(*wanted, "19700101")
    assert report.unchanged == {wanted[0], wanted[3]}
    assert report.moved.keys() == {wanted[1], wanted[2], wanted[4]}
    assert report.deferred.keys() == {"19700101"}
    assert bench.reheat(*wanted).moved.keys() == set(wanted)
