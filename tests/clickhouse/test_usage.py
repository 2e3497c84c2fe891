# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What real servers say of their partitions, and what the classification makes of it."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.settings import clients_of
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.usage import (
    PartitionUsage,
    read_usage,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.file import read_plan
from partition_classify import job
from partition_classify.arguments import parser
from support.servers.clickhouse import ClickHouseCluster, ClickHouseServer
from support.servers.replicated import WITHOUT_MERGES, ReplicatedTable, TableMaker, wait_for
from support.servers.spark import kept_spark, spark
from support.servers.zookeeper import Ensemble

__all__ = ["kept_spark", "spark"]

HOUR = 3_600_000
DAY = 24 * HOUR
DAYS = ("20191201", "20191202", "20191203")


def usage(server: ClickHouseServer, table: ReplicatedTable, *windows: int) -> list[PartitionUsage]:
    """What the server says of the table, and of its reads in windows that end now."""
    (client,) = clients_of({"hosts": [f"127.0.0.1:{server.http_port}"]})
    begins = {window: int(time.time()) - window // 1000 for window in windows}
    return [row for row in read_usage(client, begins) if row.shard_path == table.path]


def reads_within(rows: list[PartitionUsage], window: int) -> dict[str, int]:
    """Partition id → how often it was read within the window, of those of which it is known."""
    found: Counter[str] = Counter()
    for row in rows:
        if row.reads_within and window in row.reads_within:
            found[row.partition_id] += row.reads_within[window]
    return dict(found)


def known(rows: list[PartitionUsage], field: str) -> dict[str, object]:
    """Partition id → value of the field, where it has one."""
    return {row.partition_id: value for row in rows if (value := getattr(row, field)) is not None}


@pytest.fixture
def table(make_table: TableMaker) -> ReplicatedTable:
    """A table with three partitions, of which the second has two parts."""
    table = make_table(WITHOUT_MERGES)
    table.fill(["2019-12-01", "2019-12-02", "2019-12-03"])
    table.fill(["2019-12-02"], rows=2)
    table.settle()
    return table


@contextmanager
def query_log(server: ClickHouseServer) -> Iterator[None]:
    """While it is entered, the server has a log of queries such as later versions keep."""
    server.execute(
        "CREATE TABLE system.query_log (type Enum8('QueryStart' = 1, 'QueryFinish' = 2), event_time DateTime,"
        " partitions Array(String), event_date Date MATERIALIZED toDate(event_time)) ENGINE = Memory"
    )
    try:
        yield
    finally:
        server.execute("DROP TABLE system.query_log")


@pytest.fixture
def log(replicas: ClickHouseCluster, table: ReplicatedTable) -> Iterator[ClickHouseServer]:
    """A server with such a log, and someone else's query in it."""
    server = replicas.servers[0]
    with query_log(server):
        server.execute("INSERT INTO system.query_log VALUES ('QueryFinish', now(), ['default.gone.all'])")
        yield server


def test_size_is_that_of_the_active_parts(replicas: ClickHouseCluster, table: ReplicatedTable) -> None:
    rows = usage(replicas.servers[0], table)
    assert known(rows, "active_parts") == dict(zip(DAYS, (1, 2, 1), strict=True))
    assert known(rows, "rows") == dict(zip(DAYS, (3, 5, 3), strict=True))
    on_disk = replicas.servers[0].query(
        f"SELECT partition_id, sum(bytes_on_disk) FROM system.parts WHERE active AND table = '{table.name}'"
        " GROUP BY partition_id"
    )
    assert known(rows, "bytes_on_disk") == dict(on_disk)
    assert {row.sql_table for row in rows} == {f"default.{table.name}"}
    assert known(rows, "is_queued") == known(rows, "mutation") == known(rows, "reads") == {}
    # This version does not log which partitions a query reads.
    assert set(known(rows, "has_log").values()) == {False}


def test_merge_that_waits_is_seen(replicas: ClickHouseCluster, table: ReplicatedTable) -> None:
    number = table.leader()
    leader, other = table.servers[number], table.servers[1 - number]
    other.execute(f"SYSTEM STOP REPLICATION QUEUES {table.name}")
    try:
        leader.execute(
            f"OPTIMIZE TABLE {table.name} PARTITION ID '20191202' FINAL", replication_alter_partitions_sync=0
        )
        wait_for(lambda: known(usage(other, table), "is_queued") == {"20191202": 1})
        assert known(usage(other, table), "active_parts")["20191202"] == 2
    finally:
        other.execute(f"SYSTEM START REPLICATION QUEUES {table.name}")
    table.settle()
    assert known(usage(other, table), "is_queued") == {}
    assert known(usage(other, table), "active_parts")["20191202"] == 1


def test_mutation_that_waits_is_seen(replicas: ClickHouseCluster, table: ReplicatedTable) -> None:
    server = replicas.servers[0]
    server.execute(f"ALTER TABLE {table.name} DELETE WHERE id = 1 AND day = '2019-12-01'")
    table.fill(["2019-12-04"])
    numbers = {"20191201": 1, "20191202": 2, "20191203": 1}
    wait_for(lambda: known(usage(server, table), "mutation") == numbers)
    versions = known(usage(server, table), "data_version")
    assert versions == dict.fromkeys((*DAYS, "20191204"), 0)


def test_mutation_that_is_done_is_not_seen(replicas: ClickHouseCluster, make_table: TableMaker) -> None:
    table = make_table()
    table.fill(["2019-12-01"])
    table.settle()
    table.servers[0].execute(f"ALTER TABLE {table.name} DELETE WHERE id = 1")
    wait_for(lambda: known(usage(table.servers[1], table), "rows") == {"20191201": 2})
    wait_for(lambda: known(usage(table.servers[1], table), "mutation") == {})
    assert known(usage(table.servers[1], table), "data_version") == {"20191201": 1}


def test_reads_are_those_in_the_log(log: ClickHouseServer, table: ReplicatedTable) -> None:
    name = f"default.{table.name}"
    log.execute(
        "INSERT INTO system.query_log VALUES"
        f" ('QueryFinish', now(), ['{name}.20191201', '{name}.20191202']),"
        f" ('QueryFinish', now() - 7 * 86400, ['{name}.20191201', 'default.other.20191201']),"
        f" ('QueryFinish', now() - 8 * 86400, ['{name}.20191201']),"
        f" ('QueryStart', now(), ['{name}.20191203'])"
    )
    rows = usage(log, table)
    assert known(rows, "reads") == {"20191201": 2, "20191202": 1}
    assert set(known(rows, "has_log").values()) == {True}


def test_reads_in_a_window_are_known_where_the_log_covers_it(
    log: ClickHouseServer, table: ReplicatedTable
) -> None:
    name = f"default.{table.name}"
    log.execute(
        "INSERT INTO system.query_log VALUES"
        f" ('QueryFinish', now() - 1800, ['{name}.20191201', '{name}.20191202']),"
        f" ('QueryStart', now() - 1800, ['{name}.20191203']),"
        f" ('QueryFinish', now() - 5400, ['{name}.20191201']),"
        f" ('QueryFinish', now() - 9 * 86400, ['{name}.20191202'])"
    )
    rows = usage(log, table, HOUR, 2 * HOUR, 8 * DAY, 10 * DAY)
    assert reads_within(rows, HOUR) == {"20191201": 1, "20191202": 1, "20191203": 0}
    assert reads_within(rows, 2 * HOUR) == {"20191201": 2, "20191202": 1, "20191203": 0}
    assert reads_within(rows, 8 * DAY) == {"20191201": 2, "20191202": 1, "20191203": 0}
    # The log begins later.
    assert reads_within(rows, 10 * DAY) == {}
    assert known(rows, "reads") == {"20191201": 2, "20191202": 1}
    assert {row.replica for row in rows} == {"r1"}


def test_reads_are_not_known_since_the_log_was_switched_off(
    log: ClickHouseServer, table: ReplicatedTable
) -> None:
    log.execute("TRUNCATE TABLE system.query_log")
    name = f"default.{table.name}"
    log.execute(f"INSERT INTO system.query_log VALUES ('QueryFinish', now() - 5400, ['{name}.20191201'])")
    rows = usage(log, table, HOUR, 2 * HOUR)
    assert set(known(rows, "has_log").values()) == {True}
    assert reads_within(rows, HOUR) == reads_within(rows, 2 * HOUR) == {}


def test_log_without_queries_is_no_log(log: ClickHouseServer, table: ReplicatedTable) -> None:
    log.execute("TRUNCATE TABLE system.query_log")
    assert set(known(usage(log, table), "has_log").values()) == {False}


def test_names_are_quoted_where_sql_needs_it(replicas: ClickHouseCluster, base: str) -> None:
    table = ReplicatedTable("`a.b \\`c`", f"{base}/odd", replicas.servers[:1]).create()
    table.fill(["2019-12-01"])
    (row,) = usage(replicas.servers[0], table)
    assert row.sql_table == "default.`a.b \\`c`"
    replicas.servers[0].execute(f"OPTIMIZE TABLE {row.sql_table} PARTITION ID '20191201' FINAL")


def test_server_that_cannot_be_asked_is_named() -> None:
    (client,) = clients_of({"hosts": ["127.0.0.1:1"]})
    with pytest.raises(PartMoveError, match=r"ClickHouse at 127\.0\.0\.1:1 cannot be reached"):
        list(read_usage(client))


@pytest.mark.usefixtures("kept_spark")
def test_job_proposes_nothing_that_servers_work_on(
    hot_ensemble: Ensemble,
    replicas: ClickHouseCluster,
    table: ReplicatedTable,
    make_table: TableMaker,
    tmp_path: Path,
) -> None:
    mutated = make_table(WITHOUT_MERGES)
    mutated.fill(["2019-12-01"])
    # This version can crash where it learns of a mutation before it has the insert that this covers.
    mutated.settle()
    replicas.servers[0].execute(f"ALTER TABLE {mutated.name} DELETE WHERE id = 1")
    mutated.fill(["2019-12-02"])
    wait_for(lambda: bool(known(usage(replicas.servers[1], mutated), "mutation")))
    root = table.path.rpartition("/")[0]

    summary = classify(tmp_path, root, hot_ensemble, replicas.servers)

    counts = {name: summary[name]["partitions"] for name in ("to_move", "to_merge", "busy")}
    assert counts == {"to_move": 4, "to_merge": 1, "busy": 1}
    (merge,) = summary["to_merge"]["statements"]
    assert (merge["shard_path"], merge["partition"]) == (table.path, "20191202")
    gates = {(row.shard_path, row.partition): row.gate for row in read_plan(summary["plan"]).rows()}
    assert {key: gate for key, gate in gates.items() if gate} == {
        (table.path, "20191202"): "one_part",
        (mutated.path, "20191201"): "mutations_applied",
    }
    analysis = pyarrow.parquet.read_table(tmp_path / "rows").to_pylist()
    sizes = {
        row["partition"]: (row["rows"], row["reads"]) for row in analysis if row["shard_path"] == table.path
    }
    assert sizes == {"20191201": (3, None), "20191202": (5, None), "20191203": (3, None)}

    # What the summary says is what there is to do.
    replicas.servers[0].execute(merge["statement"])
    table.settle()
    assert len(table.active_parts()["20191202"]) == 1


@pytest.mark.usefixtures("kept_spark")
def test_job_leaves_hot_what_is_read(
    hot_ensemble: Ensemble, replicas: ClickHouseCluster, table: ReplicatedTable, tmp_path: Path
) -> None:
    name = f"default.{table.name}"
    root = table.path.rpartition("/")[0]
    policy = "version: 1\ndefaults: {max_reads: 1, reads_within: 36h}\n"

    def reasons() -> list[str]:
        summary = classify(tmp_path, root, hot_ensemble, replicas.servers, policy)
        return [row.reason.partition("; ")[2] or row.reason for row in read_plan(summary["plan"]).rows()]

    with query_log(replicas.servers[0]), query_log(replicas.servers[1]):
        for server in replicas.servers:
            server.execute(
                "INSERT INTO system.query_log VALUES ('QueryFinish', now() - 2 * 86400, []),"
                f" ('QueryFinish', now() - 86400, ['{name}.20191201'])"
            )
        replicas.servers[1].execute(
            f"INSERT INTO system.query_log VALUES ('QueryFinish', now(), ['{name}.20191202'])"
        )
        assert reasons() == [
            "read 2 times within 36 hours, max_reads is 1",
            "read 1 times within 36 hours, max_reads is 1",
            "read 0 times within 36 hours, max_reads is 1",
        ]
        replicas.servers[1].execute("TRUNCATE TABLE system.query_log")
        unknown = "number of reads within 36 hours unknown: a server has no query log"
        assert [each.startswith(unknown) for each in reasons()] == [True, True, True]


def classify(
    folder: Path,
    root: str,
    hot: Ensemble,
    servers: Sequence[ClickHouseServer],
    policy: str = "version: 1\n",
) -> dict[str, Any]:
    """Run the job, which asks the servers, for a moment when everything is old; returns its summary."""
    connections = {
        "hot": {"hosts": hot.connect_string.split(",")},
        "clickhouse": {"hosts": [f"127.0.0.1:{server.http_port}" for server in servers]},
    }
    (folder / "connections.json").write_text(json.dumps(connections))
    (folder / "policy.yml").write_text(policy)
    given = {
        "policy": "policy.yml",
        "connections": "connections.json",
        "plan": "plan.jsonl",
        "parquet": "rows",
    }
    options = [f"--{name}={folder / file}" for name, file in given.items()]
    arguments = parser().parse_args([*options, f"--root={root}", "--as-of=2100-01-01T00:00:00Z", "--future"])
    return job.classify(arguments)
