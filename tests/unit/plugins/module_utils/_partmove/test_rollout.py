# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The order of a rollout."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PlanError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.rollout import (
    ROLLING,
    TOGETHER,
    Server,
    batches,
    servers_of,
)


def cluster(shards: int, replicas: int) -> list[Server]:
    return [Server(f"ch-{s}-{r}", str(s), 0) for s in range(1, shards + 1) for r in range(1, replicas + 1)]


@pytest.mark.parametrize(
    ("canary", "size", "within", "expected"),
    [
        ("", "1", ROLLING, ["ch-1-1", "ch-1-2", "ch-2-1", "ch-2-2", "ch-3-1", "ch-3-2"]),
        ("2", "1", ROLLING, ["ch-2-1", "ch-2-2", "ch-1-1", "ch-1-2", "ch-3-1", "ch-3-2"]),
        ("", "2", ROLLING, ["ch-1-1", "ch-1-2", "ch-2-1 ch-3-1", "ch-2-2 ch-3-2"]),
        ("", "67%", ROLLING, ["ch-1-1", "ch-1-2", "ch-2-1 ch-3-1", "ch-2-2 ch-3-2"]),
        ("", "1%", ROLLING, ["ch-1-1", "ch-1-2", "ch-2-1", "ch-2-2", "ch-3-1", "ch-3-2"]),
        ("", "1", TOGETHER, ["ch-1-1 ch-1-2", "ch-2-1 ch-2-2", "ch-3-1 ch-3-2"]),
        ("3", "100%", TOGETHER, ["ch-3-1 ch-3-2", "ch-1-1 ch-1-2 ch-2-1 ch-2-2"]),
    ],
)
def test_the_canary_comes_first_and_alone(canary: str, size: str, within: str, expected: list[str]) -> None:
    found = batches(cluster(3, 2), canary=canary, size=size, within=within)
    assert [" ".join(batch) for batch in found] == expected


def test_the_server_with_the_largest_lag_comes_first_in_its_shard() -> None:
    servers = [Server("a", "1", 3), Server("b", "1", 9), Server("c", "1", 3), Server("d", "2", 100)]
    found = batches(servers, canary="", size="1", within=ROLLING)
    assert found == [["b"], ["a"], ["c"], ["d"]]


def test_shards_are_ordered_by_number() -> None:
    servers = [Server("x", "10", 0), Server("y", "2", 0), Server("z", "b", 0)]
    assert batches(servers, canary="", size="1", within=ROLLING) == [["y"], ["x"], ["z"]]


@given(
    st.dictionaries(
        st.sampled_from("abcdefghij"), st.tuples(st.sampled_from("123"), st.integers(0, 3)), min_size=1
    ),
    st.sampled_from(["1", "2", "50%", "100%"]),
    st.sampled_from([ROLLING, TOGETHER]),
)
def test_every_server_is_changed_once_and_rolling_changes_one_server_of_a_shard(
    rows: dict[str, tuple[str, int]], size: str, within: str
) -> None:
    servers = [Server(name, shard, lag) for name, (shard, lag) in rows.items()]
    found = batches(servers, canary="", size=size, within=within)
    assert sorted(name for batch in found for name in batch) == sorted(rows)
    assert all(found)
    if within == ROLLING:
        for batch in found:
            shards = [rows[name][0] for name in batch]
            assert len(set(shards)) == len(shards)
    first = min(shard for shard, _lag in rows.values())
    alone = [name for name, (shard, _lag) in rows.items() if shard == first]
    steps = len(alone) if within == ROLLING else 1
    assert sorted(name for batch in found[:steps] for name in batch) == sorted(alone)


@pytest.mark.parametrize("size", ["0", "", "101%", "-1", "1.5", "all"])
def test_a_size_that_is_no_number_of_shards_is_refused(size: str) -> None:
    with pytest.raises(PlanError, match=r"size of a batch.*25%"):
        batches(cluster(2, 2), canary="", size=size, within=ROLLING)


def test_a_canary_that_is_no_shard_is_refused() -> None:
    with pytest.raises(PlanError, match=r"'7' is no shard.*1, 2"):
        batches(cluster(2, 1), canary="7", size="1", within=ROLLING)


def test_rows_are_read() -> None:
    assert servers_of([{"name": "a", "shard": 1, "lag": 0}]) == [Server("a", "1", 0)]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "no server"),
        ([{"name": "a", "shard": 1, "lag": 0}, {"name": "a", "shard": 2, "lag": 0}], "two shards"),
    ],
)
def test_rows_that_are_no_cluster_are_refused(rows: list[dict[str, object]], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        servers_of(rows)
