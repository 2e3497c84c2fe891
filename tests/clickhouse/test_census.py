# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A census of what real servers keep in an ensemble: nothing is unknown, and the advice is what happened."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kazoo.client import KazooClient

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.census_servers import query_servers
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.settings import clients_of
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.advice import (
    Advice,
    AdviceKind,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.census import Census, Places
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.judge import judge
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.kind import ZnodeKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.servers import (
    ServerAnswer,
    Servers,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.settings import CensusLimits
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.walk import take_census
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from partition_classify.census import census_of
from support.ansible.calls import Call, run_modules
from support.memory.tables import build_table
from support.servers.clickhouse import ClickHouseServer, ClusterMaker, QueryError, ZooKeeperSource
from support.servers.clickhouse_config import users_xml
from support.servers.moving import open_stores
from support.servers.replicated import WITHOUT_MERGES, ReplicatedTable, wait_for
from support.servers.zookeeper import Ensemble

pytestmark = pytest.mark.clickhouse

DAYS = ("2019-12-01", "2019-12-02", "2019-12-03")
AT_ONCE = CensusLimits(inactive_after=0, unused_after=0)


def taken(ensemble: Ensemble) -> Census:
    address = ensemble.connect_string
    with open_stores(address, address) as (hot, _same):
        return take_census(hot, Places(DEFAULT_ROOT))


def advice_of(census: Census, path: str) -> dict[AdviceKind, Advice]:
    found = judge(census, AT_ONCE, census.newest + 1)
    return {each.kind: each for each in found if each.path == path}


def test_what_servers_keep_and_what_is_left(start_cluster: ClusterMaker, hot: Ensemble, base: str) -> None:
    servers = start_cluster(ZooKeeperSource(hot.connect_string)).servers
    table = ReplicatedTable("hits", f"{base}/hits", servers).create()
    table.fill(DAYS)
    table.settle()
    servers[0].execute("ALTER TABLE hits DELETE WHERE id = 1")
    table.settle()
    servers[0].execute("ALTER TABLE hits DROP PARTITION 20191203")
    table.settle()

    census = taken(hot)
    found = census.tables[table.path]
    parts = sum(len(names) for names in table.active_parts().values())
    assert ZnodeKind.UNKNOWN not in found.kinds
    assert found.kinds[ZnodeKind.PART].znodes >= 2 * parts == 4
    # This version always writes legacy headers.
    assert found.kinds[ZnodeKind.PART_CHILD].znodes == 2 * found.kinds[ZnodeKind.PART].znodes
    assert found.kinds[ZnodeKind.MUTATION].znodes == 1
    assert all(replica.has_session for replica in found.replicas.values())
    assert sorted(found.replicas) == sorted(table.replicas)
    advice = advice_of(census, table.path)
    assert advice.keys() == {AdviceKind.LEGACY_HEADERS, AdviceKind.PARTITIONS_GONE}
    assert "20191203" in advice[AdviceKind.PARTITIONS_GONE].evidence

    away = servers[1].options.macros["replica"]
    servers[1].stop()
    census = taken(hot)
    assert not census.tables[table.path].replicas[away].has_session
    told = advice_of(census, table.path)[AdviceKind.REPLICA_WITHOUT_SESSION]
    assert told.replica == away
    assert told.znodes == census.tables[table.path].replicas[away].total.znodes


def test_servers_are_asked_which_tables_they_have(
    start_cluster: ClusterMaker, connect: Callable[[str], KazooClient], tmp_path: Path
) -> None:
    former = "/clickhouse/tables/02/former"
    with Ensemble(tmp_path / "own") as ensemble:
        (server,) = start_cluster(ZooKeeperSource(ensemble.connect_string), replicas=1).servers
        table = ReplicatedTable("hits", "/clickhouse/tables/01/hits", [server]).create(WITHOUT_MERGES)
        table.fill(DAYS)
        client = connect(ensemble.connect_string)
        build_table(client, former)
        # Files are as old as their newest change: were that one of this table, it would have no age.
        time.sleep(0.01)
        client.create("/later")
        # It ends the session of the replicas, too.
        client.stop()
        asked = f"127.0.0.1:{server.http_port}"
        hot = {"hosts": [member.address for member in ensemble.members]}

        def census(*hosts: str) -> dict[str, Any]:
            # Of a table that has changed lately it would not be told.
            options = {"hot": hot, "clickhouse": {"hosts": hosts}, "stuck_after": "0s"}
            (result,) = run_modules(Call("census_info", options, False))
            return result

        judged = census(asked)
        assert judged["servers"] == {"asked": 1, "unjudged": ""}
        assert on_no_server(judged) == [former]

        unjudged = census(asked, "127.0.0.1:1")
        assert unjudged["servers"]["unjudged"].startswith(
            "1 of 2 servers did not answer. ClickHouse at 127.0.0.1:1 cannot be reached"
        )
        assert on_no_server(unjudged) == []

        (member,) = ensemble.members
        shutil.copytree(member.data_dir, tmp_path / "copy")
        files = {
            "files": {"data_dir": str(tmp_path / "copy")},
            "clickhouse": {"hosts": [asked]},
            "stuck_after": "0s",
        }
        by_files = census_of(files)
        assert (by_files["servers"], on_no_server(by_files)) == (judged["servers"], [former])


def on_no_server(census: dict[str, Any]) -> list[str]:
    """Paths of tables that no server has. At this age a queue that was just used is told as well."""
    return [each["path"] for each in census["advice"] if each["kind"] == "table_on_no_server"]


def test_a_user_who_does_not_see_all_tables_is_found_out(
    start_cluster: ClusterMaker, connect: Callable[[str], KazooClient], tmp_path: Path
) -> None:
    former = "/clickhouse/tables/02/former"
    with Ensemble(tmp_path / "own") as ensemble:
        (server,) = start_cluster(ZooKeeperSource(ensemble.connect_string), replicas=1).servers
        server.execute("CREATE DATABASE seen")
        for name in ("hits", "seen.hits"):
            ReplicatedTable(name, f"/clickhouse/tables/01/{name}", [server]).create(WITHOUT_MERGES)
        build_table(connect(ensemble.connect_string), former)
        wait_for(lambda: _is_admitted(server, "restricted"))

        def answer_to(user: str) -> ServerAnswer:
            hosts = [f"127.0.0.1:{server.http_port}"]
            (answer,) = query_servers(clients_of({"hosts": hosts, "user": user}))
            return answer

        assert answer_to("default").hidden == ""
        restricted = answer_to("restricted")
        assert [path for path, _name in restricted.replicas] == ["/clickhouse/tables/01/seen.hits"]
        assert "shows the user only tables of certain databases" in restricted.hidden
        tables = taken(ensemble).tables
        assert Servers([restricted], tables).unjudged == restricted.hidden
        # Even without that, the session of the table that is not shown is seen, and its server named.
        unjudged = Servers([restricted._replace(hidden="")], tables).unjudged
        assert "names a server that was queried, ClickHouse at 127.0.0.1:" in unjudged


_RESTRICTED = """<restricted><password></password><networks><ip>127.0.0.1</ip></networks>
<profile>default</profile><quota>default</quota>
<allow_databases><database>system</database><database>seen</database></allow_databases></restricted>
"""


def _is_admitted(server: ClickHouseServer, user: str) -> bool:
    # A server does not notice a change in the second in which it read the file, so the file is written again.
    (server.folder / "users.xml").write_text(users_xml().replace("</users>", f"{_RESTRICTED}</users>"))
    try:
        server.execute("SELECT 1", user=user)
    except QueryError:
        return False
    return True


def test_an_operators_own_queue_of_distributed_ddl_is_known(
    start_cluster: ClusterMaker, connect: Callable[[str], KazooClient], tmp_path: Path
) -> None:
    with Ensemble(tmp_path / "own") as ensemble:
        (server,) = start_cluster(ZooKeeperSource(ensemble.connect_string), replicas=1).servers
        server.stop()
        config = server.config_path.read_text()
        one = f"<replica><host>127.0.0.1</host><port>{server.ports.tcp}</port></replica>"
        cluster = f"<remote_servers><all><shard>{one}</shard></all></remote_servers></yandex>"
        server.config_path.write_text(
            config.replace("/clickhouse/task_queue/ddl", "/prod/ddl").replace("</yandex>", cluster)
        )
        server.start()
        # The queue exists once the server can take tasks.
        client = connect(ensemble.connect_string)
        wait_for(lambda: client.exists("/prod/ddl") is not None)
        for number in range(3):
            server.execute(f"CREATE DATABASE made{number} ON CLUSTER all")
        census = taken(ensemble)
        assert sorted(census.queues["/prod/ddl"]) == [f"query-{number:010}" for number in range(3)]
        assert set(census.others.by_name) <= {"/prod"}
        (advice,) = judge(census, CensusLimits(ddl_tasks=1), census.newest)
        assert (advice.kind, advice.path) == (AdviceKind.DDL_QUEUE, "/prod/ddl")
