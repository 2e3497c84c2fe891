# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""replica_info on real servers that are made ill."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from support.servers.clickhouse import ClickHouseCluster, QueryError, ServerOptions, ZooKeeperSource, cluster
from support.servers.health import ask, finding, symptoms
from support.servers.proxy import ZooKeeperProxy
from support.servers.replicated import BY_DAY, ReplicatedTable, wait_for
from support.servers.zookeeper import Ensemble

SETTINGS = {
    "zookeeper_session_expiration_check_period": 1,
    "parts_to_delay_insert": 8,
    "parts_to_throw_insert": 10,
}
ROOT = f"/health-{uuid.uuid4().hex[:8]}"

NewTable = Callable[[], ReplicatedTable]


@pytest.fixture(scope="module")
def zookeeper(hot_ensemble: Ensemble) -> Iterator[KazooClient]:
    """A client whose root is that of the servers."""
    client = KazooClient(hot_ensemble.connect_string, timeout=30)
    client.start(60)
    client.create(ROOT)
    client.chroot = ROOT
    yield client
    client.stop()
    client.close()


@pytest.fixture(scope="module")
def road(hot_ensemble: Ensemble) -> Iterator[ZooKeeperProxy]:
    """What r1 reaches ZooKeeper through."""
    with ZooKeeperProxy(hot_ensemble.connect_string) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def pair(
    clickhouse: str,
    zookeeper: KazooClient,
    road: ZooKeeperProxy,
    hot_ensemble: Ensemble,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[ClickHouseCluster]:
    """Servers r1 and r2, with a ZooKeeper root of their own; r1 looks after its session each second."""
    source = ZooKeeperSource(hot_ensemble.connect_string, root=ROOT)
    options = ServerOptions(program=clickhouse, merge_tree=SETTINGS)
    servers = cluster(tmp_path_factory.mktemp("health"), source, options=options)
    first, second = servers.servers
    for server, address in ((first, road.address), (second, hot_ensemble.connect_string)):
        server.write_config(
            # As long as an ensemble allows: a session that is lost has to be alive for ZooKeeper for a while.
            ZooKeeperSource(address, root=ROOT, session_ms=60_000),
            _cluster_of(first.ports.tcp, second.ports.tcp),
        )
    with servers:
        yield servers


def _cluster_of(*ports: int) -> str:
    replicas = "".join(
        f"<replica><host>127.0.0.1</host><port>{port}</port></replica>" for port in (*ports, 1)
    )
    return f"<remote_servers><all><shard>{replicas}</shard></all></remote_servers>"


@pytest.fixture
def make(pair: ClickHouseCluster) -> Iterator[NewTable]:
    """Return a function that makes a table on both servers, which the test leaves nothing of."""
    made: list[ReplicatedTable] = []

    def new() -> ReplicatedTable:
        name = f"t_{uuid.uuid4().hex[:8]}"
        made.append(ReplicatedTable(name, f"/tables/{name}", pair.servers).create(BY_DAY))
        return made[-1]

    yield new
    for table in made:
        for server in pair.servers:
            server.execute(f"DROP TABLE IF EXISTS {table.name}")


def where_of(table: ReplicatedTable) -> str:
    return f"default.{table.name}"


def test_a_healthy_server(pair: ClickHouseCluster, make: NewTable) -> None:
    table = make()
    table.fill(["2019-12-01", "2019-12-02"])
    table.settle()

    result = ask(pair.servers[0])

    assert (result["findings"], result["healthy"], result["caught_up"]) == ([], True, True)
    assert result["server"]["version"].startswith("18.16.1")
    assert result["server"]["patched"] is None
    assert result["replicas"] == [
        {
            "database": "default",
            "table": table.name,
            "engine": "ReplicatedMergeTree",
            "ensemble": "default",
            "shard_path": table.path,
            "replica": "r1",
            "leader": result["replicas"][0]["leader"],
            "read_only": False,
            "session_expired": False,
            "delay": 0,
            "queue": 0,
            "queue_age": 0,
            "log_lag": 0,
            "total_replicas": 2,
            "active_replicas": 2,
        }
    ]
    assert result["parts"] == [
        {
            "database": "default",
            "table": table.name,
            "engine": "ReplicatedMergeTree",
            "ttl": False,
            "partitions": {
                "20191201": {"rows": 3, "parts": ["20191201_0_0_0"]},
                "20191202": {"rows": 3, "parts": ["20191202_0_0_0"]},
            },
        }
    ]
    assert result["detached"] == [{"database": "default", "table": table.name, "names": []}]


def test_detached_is_unknown_where_nobody_can_tell(pair: ClickHouseCluster, make: NewTable) -> None:
    make()
    before = ask(pair.servers[0], read_disk=False)
    assert [each["names"] for each in before["detached"]] == [None]
    after = ask(pair.servers[0], before=before)
    assert symptoms(after) == ["detached_unknown"]
    assert (after["healthy"], after["caught_up"]) == (True, True)


def test_detached_parts_of_a_server_that_tells_them(pair: ClickHouseCluster, make: NewTable) -> None:
    table = make()
    first = pair.servers[0]
    # As later versions have it; 18.16 lets one add tables to the database system.
    first.execute(
        "CREATE TABLE system.detached_parts (database String, table String, name String) ENGINE = Memory"
    )
    try:
        first.execute(
            "INSERT INTO system.detached_parts VALUES"
            f" ('default', '{table.name}', 'unexpected_all_0_0_0'), ('other', '{table.name}', 'x')"
        )
        result = ask(first, read_disk=False)
    finally:
        first.execute("DROP TABLE system.detached_parts")
    assert [each["names"] for each in result["detached"]] == [["unexpected_all_0_0_0"]]
    assert symptoms(result) == ["detached_parts"]


def test_a_folder_that_cannot_be_read_is_no_empty_one(pair: ClickHouseCluster, make: NewTable) -> None:
    table = make()
    first = pair.servers[0]
    folder = first.data_dir / "data" / "default" / table.name / "detached"
    folder.rename(folder.with_name("elsewhere"))
    try:
        with pytest.raises(PartMoveError, match=f"The folder {folder} cannot be read: No such file"):
            ask(first)
    finally:
        folder.with_name("elsewhere").rename(folder)


def test_inserts_merges_and_mutations_are_no_loss(pair: ClickHouseCluster, make: NewTable) -> None:
    table = make()
    table.fill(["2019-12-01", "2019-12-02", "2019-12-03"])
    table.fill(["2019-12-01"], rows=2)
    table.settle()
    before = ask(pair.servers[0])

    table.fill(["2019-12-02", "2019-12-04"], rows=4)
    table.settle()
    table.servers[0].execute(f"OPTIMIZE TABLE {table.name} PARTITION 20191201 FINAL")
    table.servers[0].execute(f"ALTER TABLE {table.name} DELETE WHERE day = '2019-12-03' AND id = 0")
    wait_for(lambda: "rows_merged" in symptoms(ask(pair.servers[0], before=before, sample_interval="0")))
    table.settle()

    after = ask(pair.servers[0], before=before)
    assert symptoms(after) == ["rows_merged"]
    assert finding(after, "rows_merged")["what"] == "partitions have fewer rows: 20191203 from 3 to 2"
    assert after["healthy"]


def test_what_was_dropped_replaced_and_detached_since(pair: ClickHouseCluster, make: NewTable) -> None:
    table, gone = make(), make()
    for each in (table, gone):
        each.fill(["2019-12-01", "2019-12-02", "2019-12-03"])
        each.settle()
    before = ask(pair.servers[1])

    table.servers[0].execute(f"ALTER TABLE {table.name} DETACH PARTITION 20191201")
    table.servers[0].execute(f"ALTER TABLE {table.name} DROP PARTITION 20191202")
    # As many rows as before, but not the same.
    table.fill(["2019-12-02"])
    for server in pair.servers:
        server.execute(f"DROP TABLE {gone.name}")
    table.settle()

    after = ask(pair.servers[1], before=before)
    assert [(each["symptom"], each["where"], each["what"]) for each in after["findings"]] == [
        ("table_lost", where_of(gone), "the table is gone; it had 9 rows"),
        ("partition_lost", where_of(table), "partitions are gone: 20191201 with 3 rows"),
        ("part_lost", where_of(table), "neither active nor merged into an active part: 20191202_0_0_0"),
        ("detached_new", where_of(table), "new in its folder detached: 20191201_0_0_0"),
    ]
    assert not after["healthy"]


def test_a_part_that_zookeeper_forgot_is_ignored_at_the_next_start(
    pair: ClickHouseCluster, make: NewTable, zookeeper: KazooClient
) -> None:
    table = make()
    table.fill(["2019-12-01", "2019-12-02", "2019-12-03"])
    table.settle()
    first = pair.servers[0]
    before = ask(first)

    zookeeper.delete(f"{table.path}/replicas/r1/parts/20191202_0_0_0", recursive=True)
    first.restart()

    after = ask(first, before=before)
    assert symptoms(after) == ["partition_lost", "detached_new", "detached_parts"]
    assert finding(after, "detached_new")["what"].endswith(": ignored_20191202_0_0_0")
    alone = ask(first)
    assert (symptoms(alone), alone["healthy"]) == (["detached_parts"], True)


def test_a_replica_that_falls_behind(pair: ClickHouseCluster, make: NewTable) -> None:
    table = make()
    first = pair.servers[0]
    first.execute("SYSTEM STOP FETCHES")
    try:
        table.insert("('2019-12-01', 1)", server=1)
        wait_for(lambda: any(each["delay"] for each in ask(first, sample_interval="0")["replicas"]))
        behind = ask(first, sample_interval="1s")
        too_long = ask(first, max_delay="0s", max_queue_age="0s", sample_interval="0")
    finally:
        first.execute("SYSTEM START FETCHES")

    assert symptoms(behind) == ["delay_growing"]
    assert (behind["healthy"], behind["caught_up"]) == (True, False)
    assert symptoms(too_long) == ["delay_too_long", "queue_backlog"]
    assert not too_long["healthy"]
    wait_for(lambda: bool(ask(first, sample_interval="0")["caught_up"]))


def test_zookeeper_that_does_not_answer(
    pair: ClickHouseCluster, make: NewTable, road: ZooKeeperProxy
) -> None:
    make()
    first = pair.servers[0]
    road.pause()
    try:
        result = ask(first, timeout=8)
    finally:
        road.restore()
    assert symptoms(result) == ["no_zookeeper"]
    assert finding(result, "no_zookeeper")["what"].endswith("for longer than a query may take")
    assert [each["log_lag"] for each in result["replicas"]] == [None]
    wait_for(lambda: bool(ask(first)["caught_up"]))


def test_an_outage_of_zookeeper_and_what_it_can_leave_behind(
    pair: ClickHouseCluster, make: NewTable, zookeeper: KazooClient, road: ZooKeeperProxy
) -> None:
    first = pair.servers[0]
    healthy, gone, taken = make(), make(), make()
    is_active = f"{taken.path}/replicas/r1/is_active"

    road.cut()
    wait_for(lambda: first.value("SELECT min(is_session_expired) FROM system.replicas") == 1)
    during = ask(first)
    zookeeper.delete(gone.path, recursive=True)
    # The session that r1 lost has not ended for ZooKeeper yet; another one takes its place.
    zookeeper.delete(is_active)
    zookeeper.create(is_active, b"pid: 1, random: 2", ephemeral=True)
    road.restore()
    # A server tries to get its tables back every ten seconds.
    wait_for(lambda: first.value("SELECT max(is_session_expired) FROM system.replicas") == 0)
    wait_for(lambda: symptoms(ask(first), where_of(healthy)) == [])
    after = ask(first)
    zookeeper.delete(is_active)

    assert symptoms(during) == ["no_zookeeper"]
    assert during["findings"][0]["where"] == during["server"]["address"]
    assert "All connection tries failed" in during["findings"][0]["what"]
    assert (during["healthy"], during["caught_up"]) == (False, False)
    assert symptoms(after) == ["metadata_lost", "replica_exists"]
    what = finding(after, "metadata_lost")["what"]
    assert what == f"the table is read-only, and there is no {gone.path}/replicas/r1 in ZooKeeper"
    what = finding(after, "replica_exists")["what"]
    assert what.endswith(f"another session has {taken.path}/replicas/r1 active; 127.0.0.1 had it last")
    lags = {each["table"]: each["log_lag"] for each in after["replicas"]}
    assert lags == {healthy.name: 0, gone.name: None, taken.name: 0}

    # Servers can neither drop a table without znodes, nor would they start with it.
    for server in pair.servers:
        server.execute(f"DETACH TABLE {gone.name}")
        (server.data_dir / "metadata" / "default" / f"{gone.name}.sql").unlink()
    first.restart()
    assert symptoms(ask(first)) == []


def test_replicas_that_should_be_there(pair: ClickHouseCluster, make: NewTable) -> None:
    table = make()
    second = pair.servers[1]
    with pytest.raises(QueryError, match="replicas/r1 already exists"):
        second.execute(
            f"CREATE TABLE {table.name}_too (day Date, id UInt32) ENGINE = ReplicatedMergeTree("
            f"'{table.path}', 'r1') PARTITION BY toYYYYMMDD(day) ORDER BY id"
        )
    expected = [
        {"shard_path": table.path, "replica": "r1"},
        {"shard_path": table.path, "replica": "r2"},
        {"shard_path": f"{table.path}_none", "replica": "r2"},
    ]
    result = ask(second, replicas=expected)
    assert [(each["symptom"], each["where"]) for each in result["findings"]] == [
        ("replica_exists", f"{table.path}/replicas/r1"),
        ("replica_missing", f"{table.path}_none/replicas/r2"),
    ]
    assert finding(result, "replica_exists")["what"].endswith("; 127.0.0.1 had it last")


def test_partitions_of_too_many_parts(pair: ClickHouseCluster, make: NewTable) -> None:
    table = make()
    first = pair.servers[0]
    pair.execute(f"SYSTEM STOP MERGES {table.name}")
    for number in range(8):
        table.insert(f"('2019-12-01', {number})")
    assert symptoms(ask(first)) == ["many_parts"]
    for number in range(8, 10):
        table.insert(f"('2019-12-01', {number})")
    with pytest.raises(QueryError, match="Too many parts"):
        table.insert("('2019-12-01', 10)")
    result = ask(first)
    assert symptoms(result) == ["too_many_parts"]
    what = finding(result, "too_many_parts")["what"]
    assert what.endswith("from 10 active parts of a partition on: 20191201 with 10 parts")


def test_statements_that_were_not_executed_everywhere(pair: ClickHouseCluster) -> None:
    first, second = pair.servers
    later = {"distributed_ddl_task_timeout": 0}
    assert symptoms(ask(first)) == []
    first.execute("CREATE TABLE secret ON CLUSTER all (id UInt32) ENGINE = Memory", **later)
    second.execute("DROP TABLE secret_not_there ON CLUSTER all", **later)

    def is_over() -> bool:
        found = ask(first, ddl_grace="0s")["findings"]
        return len(found) == 3 and all(each["what"].endswith(" on 127.0.0.1:1") for each in found[:2])

    wait_for(is_over)
    assert symptoms(ask(first, ddl_grace="1d")) == ["ddl_failed"]
    result = ask(first, ddl_grace="0s")
    assert symptoms(result) == ["ddl_unfinished", "ddl_unfinished", "ddl_failed"]
    unfinished = result["findings"][0]
    assert unfinished["where"] == "/clickhouse/task_queue/ddl/query-0000000000"
    assert unfinished["what"].endswith("is not executed on 127.0.0.1:1")
    failed = finding(result, "ddl_failed")["what"]
    hosts = f"127.0.0.1:{first.ports.tcp}, 127.0.0.1:{second.ports.tcp}"
    assert failed.startswith(f"DROP TABLE default.secret_not_there failed on {hosts}: Code: 60")
    assert result["healthy"]


def test_what_is_no_statement_of_on_cluster_is_refused(
    pair: ClickHouseCluster, zookeeper: KazooClient
) -> None:
    first = pair.servers[0]
    assert symptoms(ask(first, ddl_path="/not/there")) == []
    zookeeper.create("/other/query-0000000000/finished", makepath=True)
    with pytest.raises(PartMoveError, match="/other/query-0000000000 is no statement of ON CLUSTER"):
        ask(first, ddl_path="/other")
    # One that is being removed has lost its children already.
    zookeeper.delete("/other/query-0000000000/finished")
    assert symptoms(ask(first, ddl_path="/other")) == []


def test_a_replica_whose_server_is_down(pair: ClickHouseCluster, make: NewTable) -> None:
    table = make()
    first, second = pair.servers
    first.execute("SYSTEM STOP FETCHES")
    table.insert("('2019-12-01', 1)", server=1)
    wait_for(lambda: bool(first.value("SELECT sum(queue_size) FROM system.replicas")))
    second.stop()
    try:
        first.execute("SYSTEM START FETCHES")
        wait_for(lambda: "queue_failing" in symptoms(ask(first, sample_interval="0")))
        result = ask(first, ddl_grace="1d")
    finally:
        second.start()
    assert "replicas_inactive" in symptoms(result)
    assert "GET_PART of 20191201_0_0_0 failed" in finding(result, "queue_failing")["what"]


def test_a_process_older_than_its_configuration(pair: ClickHouseCluster, tmp_path: Path) -> None:
    first = pair.servers[0]
    before = time.time()
    first.restart()
    after = ask(first, config_changed_at=time.time() + 5)
    assert "old_process" in symptoms(after)
    assert "old_process" not in symptoms(ask(first, config_changed_at=before - 5))


@pytest.mark.parametrize(
    ("sign", "patched"),
    [
        ("SELECT 1", True),
        ("SELECT 0", False),
        ("SELECT nothing_of_the_kind()", False),
        ("SELECT 1, 1", False),
    ],
)
def test_the_sign_of_the_patch(pair: ClickHouseCluster, sign: str, patched: bool) -> None:
    result = ask(pair.servers[0], patched_sign=sign)
    assert result["server"]["patched"] is patched
    assert result["healthy"]
