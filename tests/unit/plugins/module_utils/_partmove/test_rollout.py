# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The order of a rollout."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError, PlanError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.rollout import (
    ROLLING,
    TOGETHER,
    Order,
    Server,
    Wave,
    pause_of,
    servers_of,
    table,
    waves,
)


def batches(servers: list[Server], *, canary: str, size: str, within: str) -> list[list[str]]:
    found = waves(servers, Order(canary, size, within))
    return [[server.name for server in wave.servers] for wave in found]


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


def test_unknown_ways_within_a_shard_are_refused() -> None:
    with pytest.raises(PlanError, match=r"'parallel'.*Give rolling or together"):
        batches(cluster(2, 1), canary="", size="1", within="parallel")


def with_steps(servers: list[Server], *done: str) -> list[Server]:
    return [each if each.name in done else each._replace(steps=("restart",)) for each in servers]


def pauses(servers: list[Server], size: str = "1", within: str = ROLLING) -> dict[str, int]:
    """First server of each wave → the pause before it."""
    return {wave.servers[0].name: wave.pause for wave in waves(servers, Order("", size, within, 60))}


def test_a_pause_is_between_shards_and_not_between_the_servers_of_one() -> None:
    assert pauses(with_steps(cluster(3, 2))) == {
        "ch-1-1": 0,
        "ch-1-2": 0,
        "ch-2-1": 60,
        "ch-2-2": 0,
        "ch-3-1": 60,
        "ch-3-2": 0,
    }
    assert pauses(with_steps(cluster(3, 2)), "2", TOGETHER) == {"ch-1-1": 0, "ch-2-1": 60}


def test_no_pause_for_what_is_done_already() -> None:
    assert set(pauses(cluster(3, 2)).values()) == {0}
    done = ["ch-1-1", "ch-1-2", "ch-2-1"]
    assert pauses(with_steps(cluster(3, 2), *done)) == {
        "ch-1-1": 0,
        "ch-1-2": 0,
        "ch-2-1": 0,
        "ch-2-2": 0,
        "ch-3-1": 60,
        "ch-3-2": 0,
    }
    # Shard 2 is done: the pause is before the next server that is changed.
    assert pauses(with_steps(cluster(3, 1), "ch-2-1")) == {"ch-1-1": 0, "ch-2-1": 0, "ch-3-1": 60}
    assert pauses(with_steps(cluster(2, 2), "ch-2-1")) == {
        "ch-1-1": 0,
        "ch-1-2": 0,
        "ch-2-1": 0,
        "ch-2-2": 60,
    }


@pytest.mark.parametrize(("text", "seconds"), [("0", 0), ("90", 90), ("10m", 600)])
def test_a_pause_is_a_duration(text: str, seconds: int) -> None:
    assert pause_of(text) == seconds


def test_a_pause_that_is_no_duration_is_refused() -> None:
    with pytest.raises(FormatError, match="rollout_pause is 'long', which is no duration"):
        pause_of("long")


def test_the_table_shows_waves_pauses_and_what_is_done() -> None:
    first = Server("ch1", "1", 7, "20.12.3.3", ("install clickhouse-server=20.12.3.3-cold1", "restart"))
    second, third = Server("ch2", "1", 0, "20.12.3.3"), Server("ch10", "2", 0, "", ("restart",))
    assert table([Wave([first]), Wave([second]), Wave([third], 600)]) == [
        "wave  server            shard  version    lag  to do",
        "1     ch1               1      20.12.3.3  7    install clickhouse-server=20.12.3.3-cold1, restart",
        "2     ch2               1      20.12.3.3  0    nothing",
        "      a pause of 600 s",
        "3     ch10              2      ?          0    restart",
        "Several versions run: an unknown version: ch10; 20.12.3.3: ch1, ch2.",
    ]


def test_one_version_is_no_mix() -> None:
    assert len(table([Wave([Server("a", "1", 0, "24.8", ()), Server("b", "1", 0, "24.8", ())])])) == 3


def row(name: str, shard: int) -> dict[str, object]:
    return {"name": name, "shard": shard, "lag": 0, "version": "24.8", "steps": ["restart"]}


def test_rows_are_read() -> None:
    assert servers_of([row("a", 1)]) == [Server("a", "1", 0, "24.8", ("restart",))]


@pytest.mark.parametrize(("rows", "message"), [([], "no server"), ([row("a", 1), row("a", 2)], "two shards")])
def test_rows_that_are_no_cluster_are_refused(rows: list[dict[str, object]], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        servers_of(rows)
