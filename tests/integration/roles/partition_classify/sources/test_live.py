# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The data source ``zookeeper`` on real ensembles and a real local Spark."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.security import OPEN_ACL_UNSAFE, make_acl
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from olap_partmove._partmove.shard.inventory import InventoryRow, read_inventory
from olap_partmove._zookeeper.settings import options_of
from olap_partmove._zookeeper.store import connect as open_store
from partition_classify.sources.live import InventoryReader, ZooKeeperSource
from partition_classify.spark_errors import message_of
from support.memory.synthetic import SyntheticTable
from support.servers.replicated import wait_for
from support.servers.zookeeper import Ensemble

Connect = Callable[[str], KazooClient]


def settings(ensemble: Ensemble, **more: Any) -> dict[str, Any]:
    return {"hosts": ensemble.connect_string.split(","), **more}


def load(spark: SparkSession, root: str, *, sessions: int = 32, **connections: dict[str, Any]) -> DataFrame:
    spark.dataSource.register(ZooKeeperSource)
    secrets = {f"{name}_secret": json.dumps(each) for name, each in connections.items()}
    return (
        spark.read.format("zookeeper")
        .options(root=root, sessions=sessions, latency_target=0, **secrets)
        .load()
    )


@pytest.fixture
def tables(hot: Ensemble, cold: Ensemble, connect: Connect, base: str) -> list[str]:
    """Three shard paths of both formats, with parts of both forms, in hot and in cold."""
    hot_client, cold_client = connect(hot.connect_string), connect(cold.connect_string)
    events = SyntheticTable(hot_client, f"{base}/01/events").create()
    events.add_part("r1", "202611_0_4_1")
    events.add_legacy_part("r2", "202610_0_0_0_7")
    events.set_state("202609", b"COLD")
    SyntheticTable(cold_client, events.path).add_legacy_part("r1", "202609_0_0_0")
    old = SyntheticTable(hot_client, f"{base}/02/old", format_version=0).create()
    old.add_legacy_part("r1", "20191201_20191220_0_5_2_9")
    SyntheticTable(hot_client, f"{base}/empty").create()
    return [events.path, old.path, f"{base}/empty"]


@pytest.mark.parametrize("sessions", [32, 2])
def test_rows_are_those_of_the_inventory(
    spark: SparkSession, hot: Ensemble, cold: Ensemble, base: str, tables: list[str], sessions: int
) -> None:
    found = load(spark, base, sessions=sessions, hot=settings(hot), cold=settings(cold))

    with (
        open_store(options_of("hot", settings(hot))) as hot_store,
        open_store(options_of("cold", settings(cold))) as cold_store,
    ):
        expected = [row for path in tables for row in read_inventory(hot_store, path, cold=cold_store)]
    assert {row.ensemble for row in expected} == {"hot", "cold"}
    assert sorted(InventoryRow(*row) for row in found.collect()) == sorted(expected)
    assert found.rdd.getNumPartitions() == min(sessions, len(tables))


def test_cold_may_be_left_out(spark: SparkSession, hot: Ensemble, base: str, tables: list[str]) -> None:
    rows = load(spark, base, hot=settings(hot)).collect()
    assert sorted((row.shard_path, row.ensemble) for row in rows) == [
        (tables[0], "hot"),
        (tables[0], "hot"),
        (tables[1], "hot"),
    ]


def test_more_rows_than_a_batch_arrive(
    spark: SparkSession, hot: Ensemble, connect: Connect, base: str
) -> None:
    client = connect(hot.connect_string)
    table = SyntheticTable(client, base).create()
    table.add_part("r1", "0_0_0_0")
    for start in range(1, 12_000, 2_000):
        batch = client.transaction()
        for number in range(start, start + 2_000):
            batch.create(f"{base}/replicas/r1/parts/{number}_0_0_0", b"x")
        batch.commit()
    found = load(spark, base, hot=settings(hot))
    assert found.select("part").distinct().count() == 12_001


@pytest.mark.usefixtures("tables")
def test_sessions_end_with_the_read(spark: SparkSession, hot: Ensemble, base: str) -> None:
    def connections() -> int:
        return int(hot.leader().monitor()["zk_num_alive_connections"])

    before = connections()
    load(spark, base, hot=settings(hot)).collect()
    # Those of earlier tests may end meanwhile.
    wait_for(lambda: connections() <= before)


@pytest.mark.usefixtures("tables")
def test_no_plan_shows_a_credential(spark: SparkSession, hot: Ensemble, base: str) -> None:
    with_identity = settings(hot, auth={"scheme": "digest", "credential": "mover:hunter2"})
    found = load(spark, base, hot=with_identity)
    assert found.count() == 3
    query: Any = found._jdf.queryExecution()
    jvm: Any = spark._jvm
    formatted = jvm.org.apache.spark.sql.execution.ExplainMode.fromString("formatted")
    shown = query.toString() + query.logical().toJSON() + query.explainString(formatted)
    assert "zookeeper" in shown
    assert "hunter2" not in shown


def refusal(frame: Callable[[], DataFrame]) -> str:
    with pytest.raises(PySparkException) as error:
        frame().collect()
    return message_of(error.value)


@contextmanager
def kept_from_all(client: KazooClient, *paths: str) -> Iterator[None]:
    """Nobody may read these znodes meanwhile; later all may, so that other tests can read the whole tree."""
    for path in paths:
        client.set_acls(path, [make_acl("world", "anyone", admin=True, create=True, delete=True, write=True)])
    try:
        yield
    finally:
        for path in paths:
            client.set_acls(path, OPEN_ACL_UNSAFE)


def unread(spark: SparkSession, hot: Ensemble, cold: Ensemble, base: str) -> tuple[list[Any], list[Any]]:
    """What rows without a state are of, as path, partition, part and ensemble; and the rest of the rows."""
    rows = load(spark, base, hot=settings(hot), cold=settings(cold)).collect()
    places = [(row.shard_path, row.partition_id, row.part, row.ensemble) for row in rows if row.state is None]
    return sorted(places), sorted(row for row in rows if row.state is not None)


def test_parts_and_states_that_may_not_be_read_are_told(
    spark: SparkSession, hot: Ensemble, cold: Ensemble, connect: Connect, base: str, tables: list[str]
) -> None:
    events, old, _empty = tables
    _none, before = unread(spark, hot, cold, base)
    hot_client, cold_client = connect(hot.connect_string), connect(cold.connect_string)
    part = f"{events}/replicas/r1/parts/202611_0_4_1"
    child = f"{old}/replicas/r1/parts/20191201_20191220_0_5_2_9/columns"
    with kept_from_all(hot_client, part, child, f"{events}/block_numbers/202609/State"):
        found, rest = unread(spark, hot, cold, base)
    assert found == [
        (events, "202609", "202609_0_0_0", "cold"),
        (events, "202611", "202611_0_4_1", "hot"),
        (old, "201912", "20191201_20191220_0_5_2_9", "hot"),
    ]
    assert rest == [row for row in before if row.partition_id == "202610"]
    with kept_from_all(cold_client, f"{events}/replicas/r1/parts/202609_0_0_0/checksums"):
        found, rest = unread(spark, hot, cold, base)
    assert found == [(events, "202609", "202609_0_0_0", "cold")]
    assert rest == [row for row in before if row.partition_id != "202609"]


@pytest.mark.parametrize(
    "znode", ["metadata", "block_numbers", "replicas", "replicas/r1/parts", "cold: replicas/r1/parts"]
)
def test_a_table_that_may_not_be_read_is_told_and_others_are_read(
    spark: SparkSession,
    hot: Ensemble,
    cold: Ensemble,
    connect: Connect,
    base: str,
    tables: list[str],
    znode: str,
) -> None:
    events, old, _empty = tables
    where, _colon, path = znode.rpartition(": ")
    client = connect((cold if where else hot).connect_string)
    client.ensure_path(f"{base}/folder/secret")
    with kept_from_all(client, f"{events}/{path}", f"{base}/folder/secret"):
        found, rest = unread(spark, hot, cold, base)
    folders = [] if where else [(f"{base}/folder/secret", "", "", "hot")]
    assert found == [(events, "", "", "hot"), *folders]
    assert {row.shard_path for row in rest} == {old}


def test_where_no_table_may_be_read_the_job_ends(
    spark: SparkSession, hot: Ensemble, connect: Connect, base: str, tables: list[str]
) -> None:
    client = connect(hot.connect_string)
    for paths in ([base], [f"{path}/metadata" for path in tables]):
        with kept_from_all(client, *paths):
            sentence = refusal(lambda: load(spark, base, hot=settings(hot)))
        assert f" may not read {min(paths)}. Give the identity that its ACL names" in sentence


def test_unknown_root_is_refused_in_one_sentence(spark: SparkSession, hot: Ensemble, base: str) -> None:
    assert refusal(lambda: load(spark, base, hot=settings(hot))) == (
        f"There is no znode {base} in the hot ensemble. "
        "Give a path above all tables, without the chroot of the connection."
    )


def test_root_without_tables_is_refused(
    spark: SparkSession, hot: Ensemble, connect: Connect, base: str
) -> None:
    connect(hot.connect_string).create(base)
    assert refusal(lambda: load(spark, base, hot=settings(hot))).startswith(
        f"There is no replicated table at or below {base} in the hot ensemble. "
    )


@pytest.mark.usefixtures("tables")
def test_hot_given_as_cold_is_refused(spark: SparkSession, hot: Ensemble, base: str) -> None:
    again = {"hosts": [hot.connect_string.replace("127.0.0.1", "localhost")]}
    assert "Hot and cold are one ensemble" in refusal(
        lambda: load(spark, base, hot=settings(hot), cold=settings(hot))
    )
    assert "Hot and cold are one ensemble" in refusal(
        lambda: load(spark, base, hot=settings(hot), cold=again)
    )


def test_name_that_is_no_part_is_refused_with_its_path(
    spark: SparkSession, hot: Ensemble, connect: Connect, base: str
) -> None:
    path = SyntheticTable(connect(hot.connect_string), base).create().add_part("r1", "tmp_insert")
    assert refusal(lambda: load(spark, base, hot=settings(hot))).startswith(
        f"{path}: 'tmp_insert' is not the name of a part"
    )


def test_ensemble_that_does_not_answer_is_named(spark: SparkSession, base: str) -> None:
    nowhere = {"hosts": ["127.0.0.1:1"], "connect_timeout": 0.5}
    assert "127.0.0.1:1" in refusal(lambda: load(spark, base, hot=nowhere))


def test_table_dropped_after_it_was_found_is_left_out(
    hot: Ensemble, connect: Connect, base: str, tables: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    reader = InventoryReader(root=base, hot=options_of("hot", settings(hot)), cold=None, sessions=1)
    (partition,) = reader.partitions()
    connect(hot.connect_string).delete(tables[0], recursive=True)

    rows = [row for batch in reader.read(partition) for row in batch.to_pylist()]

    assert [row["shard_path"] for row in rows] == [tables[1]]
    assert f"{tables[0]} was dropped in the meantime and is left out" in capsys.readouterr().err
