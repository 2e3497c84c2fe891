# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The advice of a census, carried out on real servers: nothing that lives is deleted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.census_servers import query_servers
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.client import ClickHouseClient
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.options import ClickHouseOptions
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.advice import (
    Advice,
    AdviceKind,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.census import Census, Places
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.judge import judge
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.kind import ZnodeKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.removal import (
    DETACHED_DATABASES,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.servers import Servers
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.settings import CensusLimits
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.walk import take_census
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from support.servers.clickhouse_config import ZooKeeperSource
from support.servers.kazoo_client import connected
from support.servers.modern.server import ModernServer, ModernShard, ModernShardMaker
from support.servers.moving import open_stores
from support.servers.replicated import wait_for
from support.servers.sql_server import QueryError
from support.servers.zookeeper import Ensemble

AT_ONCE = CensusLimits(inactive_after=0, stuck_after=0, unused_after=0, passed_log_entries=5)
DELETES = ("DROP", "FORGET")
TABLE = (
    "(day Date, id UInt64) ENGINE = ReplicatedMergeTree('{path}', '{{replica}}') PARTITION BY day ORDER BY id"
)


def create(servers: Sequence[ModernServer], name: str, path: str, settings: str = "") -> None:
    for server in servers:
        server.execute(f"CREATE TABLE {name} {TABLE.format(path=path)} {settings}")


def taken(ensemble: Ensemble) -> Census:
    with open_stores(ensemble.connect_string, ensemble.connect_string) as (hot, _same):
        return take_census(hot, Places(DEFAULT_ROOT))


def advice_of(ensemble: Ensemble, servers: Sequence[ModernServer]) -> list[Advice]:
    census = taken(ensemble)
    clients = [ClickHouseClient("127.0.0.1", each.http_port, ClickHouseOptions()) for each in servers]
    answers = Servers(query_servers(clients), census.tables)
    return judge(census, AT_ONCE, census.newest + 1, answers)


def deleting(advice: Sequence[Advice]) -> dict[str, list[str]]:
    """The statements that delete, by path."""
    found: dict[str, list[str]] = {}
    for each in advice:
        statements = [sql for sql in each.statements if any(word in sql for word in DELETES)]
        if statements:
            found.setdefault(each.path, []).extend(statements)
    return found


def leave_znodes(ensemble: Ensemble, servers: Sequence[ModernServer], name: str, path: str) -> None:
    """Drop a table whose znodes stay, as if the servers had dropped it without ZooKeeper."""
    with connected(ensemble.connect_string) as client:
        kept: dict[str, bytes] = {}
        below = [path]
        for each in below:
            data, stat = client.get(each)
            if not stat.ephemeralOwner:
                kept[each] = data
            below += [f"{each}/{child}" for child in client.get_children(each)]
        for server in servers:
            server.execute(f"DROP TABLE {name} SYNC")
        for each, data in kept.items():
            client.create(each, data, makepath=True)


def test_only_what_no_server_has_is_dropped(start_modern: ModernShardMaker, tmp_path: Path) -> None:
    with Ensemble(tmp_path / "own") as own:
        shard = start_modern(ZooKeeperSource(own.connect_string))
        first, second = shard.servers
        shard.execute("CREATE DATABASE own ENGINE = Atomic")
        for name in ("kept", "left", "parked"):
            create(shard.servers, f"own.{name}", f"/t/{name}")
        create(shard.servers, "default.stays", "/t/stays")
        create([first], "own.inner", "/t/kept/replicas/inner")
        first.execute("INSERT INTO own.inner VALUES ('2024-01-01', 1)")
        leave_znodes(own, shard.servers, "own.left", "/t/left")
        drops = [f"SYSTEM DROP REPLICA '{name}' FROM ZKPATH '/t/left'" for name in ("r1", "r2")]

        advice = advice_of(own, shard.servers)
        assert deleting(advice) == {"/t/left": drops}
        (below,) = [each for each in advice if each.kind is AdviceKind.TABLE_BELOW_TABLE]
        assert (below.path, "/t/kept/replicas/inner" in below.evidence) == ("/t/kept", True)

        # One server alone does not prove that the other has no such table.
        assert deleting(advice_of(own, [first])) == {}

        # A detached table looks like a table that was dropped.
        shard.execute("DETACH TABLE own.parked PERMANENTLY")
        advice = advice_of(own, shard.servers)
        assert deleting(advice) == {}
        parked = {each.path: each for each in advice}["/t/parked"]
        assert "A detached table may have the znodes: own.parked on ClickHouse" in parked.evidence

        shard.execute("ATTACH TABLE own.parked")

        # No system table has a detached database, so a statement never comes without the condition.
        shard.execute("DETACH DATABASE own")
        wait_for(lambda: "/t/parked" in deleting(advice_of(own, shard.servers)), 30)
        advice = [each for each in advice_of(own, shard.servers) if each.statements]
        assert all(DETACHED_DATABASES in each.evidence for each in advice)
        shard.execute("ATTACH DATABASE own")
        wait_for(lambda: deleting(advice_of(own, shard.servers)) == {"/t/left": drops})
        for statement in drops:
            second.execute(statement)
        assert sorted(taken(own).tables) == ["/t/kept", "/t/parked", "/t/stays"]
        first.execute("INSERT INTO own.inner VALUES ('2024-01-02', 1)")
        assert first.value("SELECT count() FROM own.inner") == 2


def _is_done(server: ModernServer, statement: str) -> bool:
    try:
        server.execute(statement)
    except QueryError as error:
        if "is not empty" not in str(error):
            raise
        return False
    return True


def test_partitions_of_a_twin_and_detached_ones_are_not_forgotten(
    start_modern: ModernShardMaker, cold: Ensemble, base: str, tmp_path: Path
) -> None:
    with Ensemble(tmp_path / "own") as own:
        shard = start_modern(
            ZooKeeperSource(own.connect_string), {"cold": ZooKeeperSource(cold.connect_string)}
        )
        first, _second = shard.servers
        create(shard.servers, "hits", "/t/hits", "SETTINGS old_parts_lifetime = 1")
        create(shard.servers, "hits_cold", f"cold:{base}/hits")
        first.execute("INSERT INTO hits SELECT toDate('2024-01-01') + number, number FROM numbers(4)")
        first.execute("ALTER TABLE hits_cold ATTACH PARTITION ID '20240101' FROM hits")
        first.execute("ALTER TABLE hits DROP PARTITION ID '20240101'")
        first.execute("ALTER TABLE hits DETACH PARTITION ID '20240102'")
        first.execute("ALTER TABLE hits DROP PARTITION ID '20240103'")
        forget = "ALTER TABLE … FORGET PARTITION ID '20240103'"

        wait_for(lambda: deleting(advice_of(own, shard.servers)) == {"/t/hits": [forget]})
        (gone,) = [each for each in advice_of(own, shard.servers) if each.kind is AdviceKind.PARTITIONS_GONE]
        assert gone.znodes == 1
        assert "2 further partitions without a part are needed, such as 20240101: default.hits_cold" in (
            gone.evidence
        )
        # A server refuses while it still has files of the dropped parts.
        wait_for(lambda: _is_done(first, forget.replace("…", "hits")))
        with connected(own.connect_string) as client:
            left = sorted(client.get_children("/t/hits/block_numbers"))
        assert left == ["20240101", "20240102", "20240104"]
        assert deleting(advice_of(own, shard.servers)) == {}


def test_entries_that_all_replicas_have_passed_are_reported(
    start_modern: ModernShardMaker, tmp_path: Path
) -> None:
    with Ensemble(tmp_path / "own") as own:
        shard: ModernShard = start_modern(ZooKeeperSource(own.connect_string))
        create(shard.servers, "hits", "/t/hits", "SETTINGS min_replicated_logs_to_keep = 1000")
        for number in range(8):
            shard.servers[0].execute(f"INSERT INTO hits VALUES ('2024-01-01', {number})")

        def kinds() -> set[AdviceKind]:
            return {each.kind for each in advice_of(own, shard.servers)}

        wait_for(lambda: AdviceKind.LOG_PASSED in kinds())
        for server in shard.servers:
            server.execute("ALTER TABLE hits MODIFY SETTING min_replicated_logs_to_keep = 1")
        # As the advice says: the servers clear the log.
        wait_for(lambda: AdviceKind.LOG_PASSED not in kinds())


def test_databases_and_sessions_of_servers_are_known(start_modern: ModernShardMaker, tmp_path: Path) -> None:
    with Ensemble(tmp_path / "own") as own:
        shard = start_modern(ZooKeeperSource(own.connect_string), replicas=1)
        shard.execute("CREATE DATABASE usual ENGINE = Replicated('/clickhouse/databases/usual', 's', 'r')")
        shard.execute("CREATE DATABASE own ENGINE = Replicated('/prod/own', 's', 'r')")
        census = taken(own)
        assert set(census.others.by_name) == {"/prod"}
        assert census.others.by_name["/prod"].znodes == 1
        assert census.outside_tables[ZnodeKind.DATABASE].znodes > 10
        assert census.outside_tables[ZnodeKind.SERVER].znodes >= 2
