# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the data source ``zookeeper`` asks of an ensemble, and what it does when that is lost."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr
from dataclasses import replace
from io import StringIO

import pytest
from kazoo.client import KazooClient

from olap_partmove._partmove.errors import EnsembleUnreachable
from olap_partmove._zookeeper.options import EnsembleOptions
from partition_classify.sources.live import (
    DEFAULT_LATENCY_TARGET,
    RETRIES,
    InventoryReader,
    LiveInputPartition,
)
from support.memory.synthetic import SyntheticTable
from support.memory.tables import TableOptions, build_table, days
from support.servers.proxy import ZooKeeperProxy
from support.servers.zookeeper import Ensemble

Connect = Callable[[str], KazooClient]

REPLICAS = ("r1", "r2")
PARTITIONS = days(4_000)


@pytest.fixture
def proxy(hot: Ensemble) -> Iterator[ZooKeeperProxy]:
    with ZooKeeperProxy(hot.leader().address) as proxy:
        yield proxy


@pytest.fixture
def client(hot: Ensemble, connect: Connect) -> KazooClient:
    return connect(hot.connect_string)


def reader_of(
    address: str,
    root: str,
    *,
    sessions: int = 32,
    znodes_per_second: float = 0,
    latency_target: float = DEFAULT_LATENCY_TARGET,
) -> InventoryReader:
    hot = EnsembleOptions("hot", (address,), connect_timeout=5.0, operation_timeout=5.0)
    return InventoryReader(
        root=root,
        hot=hot,
        cold=None,
        sessions=sessions,
        znodes_per_second=znodes_per_second,
        latency_target=latency_target,
        first_delay=0.2,
    )


class Restorer(StringIO):
    """Takes what is told to people, and lets the proxy pass everything on again once a try follows."""

    def __init__(self, proxy: ZooKeeperProxy) -> None:
        super().__init__()
        self._proxy = proxy

    def write(self, text: str) -> int:
        if "; try 1 of 3 follows" in text:
            self._proxy.restore()
        return super().write(text)


def parts_of(reader: InventoryReader, partition: LiveInputPartition) -> Iterator[tuple[str, str, str]]:
    for batch in reader.read(partition):
        for row in batch.to_pylist():
            yield row["shard_path"], row["replica"], row["part"]


def test_ensemble_lost_for_longer_than_a_session_bridges_costs_no_row(
    client: KazooClient, proxy: ZooKeeperProxy, base: str
) -> None:
    tables = [
        build_table(client, f"{base}/{name}", TableOptions(REPLICAS, PARTITIONS)) for name in ("a", "b")
    ]
    reader = reader_of(proxy.address, base, sessions=1)
    (partition,) = reader.partitions()
    rows = parts_of(reader, partition)

    found = Counter([next(rows)])
    proxy.cut()
    with redirect_stderr(Restorer(proxy)) as told:
        found.update(rows)

    expected = {
        (table.path, replica, part)
        for table in tables
        for replica in REPLICAS
        for each in PARTITIONS
        for part in table.part_names(each)
    }
    assert set(found) == expected
    assert set(found.values()) == {1}
    assert "; try 1 of 3 follows" in told.getvalue()


def test_large_table_is_read_by_several_tasks(client: KazooClient, hot: Ensemble, base: str) -> None:
    table = build_table(client, f"{base}/a", TableOptions(REPLICAS, days(50)))
    reader = replace(reader_of(hot.leader().address, base), parts_per_share=20)
    partitions = reader.partitions()
    found = [part for partition in partitions for part in parts_of(reader, partition)]
    assert [share.replica for each in partitions for _path, share in each.shares] == ["r1", "r2", ""]
    assert sorted(found) == sorted(
        (table.path, replica, part)
        for replica in REPLICAS
        for each in days(50)
        for part in table.part_names(each)
    )


def test_ensemble_that_stays_away_is_named_in_the_end(
    client: KazooClient, proxy: ZooKeeperProxy, base: str, capsys: pytest.CaptureFixture[str]
) -> None:
    build_table(client, f"{base}/a", TableOptions(REPLICAS, PARTITIONS))
    reader = reader_of(proxy.address, base)
    (partition,) = reader.partitions()
    rows = parts_of(reader, partition)
    next(rows)
    proxy.cut()

    begin = time.monotonic()
    with pytest.raises(EnsembleUnreachable, match=f"No answer from ensemble hot .*{proxy.address}"):
        list(rows)

    # The delays alone are 0.2, 0.4 and 0.8 seconds.
    assert time.monotonic() - begin > 1.4
    assert capsys.readouterr().err.count("follows") == RETRIES


def test_rate_is_shared_among_the_tasks(client: KazooClient, hot: Ensemble, base: str) -> None:
    for number in range(3):
        build_table(client, f"{base}/{number}", TableOptions(("r1",), days(400)))
    reader = reader_of(hot.connect_string, base, sessions=4, znodes_per_second=1_000)

    partitions = reader.partitions()

    assert [each.znodes_per_second for each in partitions] == [500, 500]
    slowest = max(partitions, key=lambda each: len(each.shares))
    begin = time.monotonic()
    assert len(list(parts_of(reader, slowest))) == 800
    # 800 parts and as many states at 500 znodes a second; the last request does not wait for its own.
    assert time.monotonic() - begin > 2


@pytest.mark.parametrize(("sessions", "target"), [(2, 0.0), (4, 0.005), (5, 0.005)])
def test_no_more_sessions_than_asked_for(
    client: KazooClient, hot: Ensemble, base: str, sessions: int, target: float
) -> None:
    for number in range(5):
        SyntheticTable(client, f"{base}/{number}").create().add_part("r1", "202611_0_0_0")
    reader = reader_of(hot.connect_string, base, sessions=sessions, latency_target=target)
    partitions = reader.partitions()
    assert sorted(len(each.shares) for each in partitions) == [2, 3]

    # The sessions of `partitions` end a moment later.
    before = min(_connections(hot) for _each in range(20))
    readers = [parts_of(reader, each) for each in partitions]
    for each in readers:
        next(each)
    during = _connections(hot)
    assert [len(list(each)) for each in readers] == [len(each.shares) - 1 for each in partitions]
    assert during - before <= sessions


def test_a_single_session_measures_nothing(client: KazooClient, hot: Ensemble, base: str) -> None:
    SyntheticTable(client, base).create().add_part("r1", "202611_0_0_0")
    reader = reader_of(hot.connect_string, base, sessions=1)
    (partition,) = reader.partitions()
    before = min(_connections(hot) for _each in range(20))
    rows = parts_of(reader, partition)
    next(rows)
    assert _connections(hot) - before <= 1
    assert [*rows] == []


def _connections(hot: Ensemble) -> int:
    return int(hot.leader().monitor()["zk_num_alive_connections"])
