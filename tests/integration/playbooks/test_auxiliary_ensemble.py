# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Running servers of a modern ClickHouse get to know a second ensemble, and then other members of it.

Those of 26.9 cannot read their configuration again, so each has to be restarted, one after the other. Real
servers of other versions need no restart.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from kazoo.client import KazooClient

from support.ansible.calls import Call, PlaybookRun, run_modules, run_playbook
from support.ansible.role_runs import changed
from support.servers.clickhouse_config import ZooKeeperSource
from support.servers.ladder.rungs import rung
from support.servers.modern.server import ENGINE, ModernServer, ModernShard, ModernShardMaker
from support.servers.replicated import wait_for
from support.servers.sql_server import QueryError
from support.servers.zookeeper import Ensemble, Member

UNKNOWN = "Unknown auxiliary ZooKeeper name 'cold'"


class Restarts:
    """Restarts servers for whoever asks over HTTP, as a service manager does on its host."""

    def __init__(self, shard: ModernShard) -> None:
        servers = {each.name: each for each in shard.servers}
        self.done: list[tuple[str, bool]] = []
        """Which server was restarted, and whether all others answered then."""
        done = self.done

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                name = self.path.strip("/")
                done.append((name, all(each.serving() for other, each in servers.items() if other != name)))
                servers[name].restart()
                self.send_response(204)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the parent has it
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Listen no more."""
        self._server.shutdown()
        self._server.server_close()


class Ground:
    """Two replicas that know the hot ensemble alone, and the playbook for them."""

    def __init__(self, shard: ModernShard, restarts: Restarts, folder: Path, base: str) -> None:
        self.shard = shard
        self.restarts = restarts
        self._base = base
        self._folder = folder
        (folder / "restart.yml").write_text(
            json.dumps(
                [
                    {
                        "name": "Have the server restarted",
                        "ansible.builtin.uri": {
                            "url": f"http://127.0.0.1:{restarts.port}/{{{{ inventory_hostname }}}}",
                            "method": "POST",
                            "status_code": 204,
                            "timeout": 600,
                        },
                        "changed_when": True,
                    }
                ]
            )
        )

    def root(self, server: ModernServer) -> str:
        """Where the sessions of a server are: those of one UUID would end each other's."""
        return f"{self._base}/{server.name}"

    def run(self, nodes: list[dict[str, Any]], *options: str, **variables: Any) -> PlaybookRun:
        hosts = {
            each.name: {
                "clickhouse_shard": "01",
                "auxiliary_ensemble_config_path": str(each.folder / "config.xml"),
                "auxiliary_ensemble_clickhouse": {"host": "127.0.0.1", "port": each.http_port},
                "auxiliary_ensemble_preprocessed": preprocessed(each),
                "cold_zookeeper_config_root": self.root(each),
            }
            for each in self.shard.servers
        }
        given = {
            "auxiliary_ensemble_nodes": nodes,
            "auxiliary_ensemble_restart_tasks": str(self._folder / "restart.yml"),
            "auxiliary_ensemble_wait_delay": 1,
            "cold_zookeeper_config_packages": [],
            "ansible_become": False,
            **variables,
        }
        inventory = self._folder / "hosts.yml"
        inventory.write_text(json.dumps({"clickhouse": {"hosts": hosts, "vars": given}}))
        playbook = self._folder / "site.yml"
        playbook.write_text(json.dumps([{"ansible.builtin.import_playbook": PLAYBOOK}]))
        return run_playbook(playbook, "-i", str(inventory), *options)


PLAYBOOK = "olap.partmove.auxiliary_ensemble"


@pytest.fixture
def ground(
    start_modern: ModernShardMaker,
    hot: Ensemble,
    cold: Ensemble,
    connect: Callable[[str], KazooClient],
    base: str,
    tmp_path: Path,
) -> Iterator[Ground]:
    shard = start_modern(ZooKeeperSource(hot.connect_string))
    with closing(Restarts(shard)) as restarts:
        ground = Ground(shard, restarts, tmp_path, base)
        for server in shard.servers:
            connect(cold.connect_string).ensure_path(ground.root(server))
        yield ground


def node(member: Member) -> dict[str, Any]:
    return {"host": "127.0.0.1", "port": member.files.ports.client}


def config(server: ModernServer) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in server.folder.rglob("*.xml")}


def preprocessed(server: ModernServer) -> list[str]:
    """Where a real server writes what it has read; that of 26.9 writes it nowhere."""
    if server.options.version == ENGINE:
        return []
    return [str(server.data_dir / "preprocessed_configs" / "config.xml")]


def connected_to(server: ModernServer) -> list[int]:
    rows = server.query("SELECT port FROM system.zookeeper_connection WHERE name = 'cold'")
    return [int(port) for (port,) in rows]


def create(server: ModernServer, base: str) -> None:
    server.execute(
        f"CREATE TABLE t (id UInt32) ENGINE = ReplicatedMergeTree('cold:{base}/t', '{{replica}}') ORDER BY id"
    )


def reload(server: ModernServer, *nodes: dict[str, Any], **options: Any) -> Call:
    asked = {"clickhouse": {"host": "127.0.0.1", "port": server.http_port}, "preprocessed": []}
    return Call("config_reload", {**asked, "name": "cold", "nodes": list(nodes), **options})


def test_servers_get_to_know_the_ensemble_and_its_other_members(
    ground: Ground, cold: Ensemble, base: str
) -> None:
    first, second = ground.shard.servers
    member, other, _third = cold.members
    before = config(first)

    checked = ground.run([node(member)], "--check", "--diff")
    # On each server a file, and the reload.
    assert changed(checked) == 2
    assert (config(first), ground.restarts.done) == (before, [])
    with pytest.raises(QueryError, match=UNKNOWN):
        create(first, base)

    done = ground.run([node(member)])
    assert changed(done) == 2
    assert ground.restarts.done == [("r1", True), ("r2", True)]
    for server in (first, second):
        assert connected_to(server) == [member.files.ports.client]
        create(server, base)
        server.execute("INSERT INTO t VALUES (1)")

    assert changed(ground.run([node(member)])) == 0
    assert len(ground.restarts.done) == 2

    # What is wrong with the tables there is no reason not to restart for it.
    member.kill()
    again = ground.run([node(other)])
    assert changed(again) == 2
    # The one that is further behind comes first, and that may be either.
    assert sorted(ground.restarts.done[2:]) == [("r1", True), ("r2", True)]
    for server in (first, second):
        assert connected_to(server) == [other.files.ports.client]
        assert server.query("SELECT id FROM t") == [(1,)]
        assert server.value("SELECT is_readonly FROM system.replicas WHERE table = 't'") == 0


@pytest.mark.ladder
def test_real_servers_need_no_restart(ground: Ground, cold: Ensemble, base: str, modern_version: str) -> None:
    if modern_version == ENGINE or not rung(modern_version).real:
        pytest.skip("the servers of this version cannot read their configuration again")
    first, second = ground.shard.servers
    # Without the leader the others would serve nobody for a moment.
    member, other = cold.followers()
    done = ground.run([node(member)])
    # A server may have read the file by itself before it was told to.
    assert changed(done) in (1, 2)
    for server in (first, second):
        create(server, base)
        server.execute("INSERT INTO t VALUES (1)")
    assert changed(ground.run([node(member)])) == 0

    again = ground.run([node(other)])
    assert changed(again) in (1, 2)
    for server in (first, second):
        wait_for(lambda each=server: connected_to(each) == [other.files.ports.client])  # type: ignore[misc]
        assert server.query("SELECT DISTINCT id FROM t") == [(1,)]
    assert ground.restarts.done == []


def test_an_ensemble_that_does_not_answer_is_no_reason_for_a_restart(
    ground: Ground, cold: Ensemble, base: str
) -> None:
    """And what these servers make of a reload, which the module tells."""
    first, _second = ground.shard.servers
    with pytest.raises(QueryError, match=r"Code: 1\. .*SYSTEM RELOAD CONFIG query is not supported"):
        first.execute("SYSTEM RELOAD CONFIG")
    here, root = node(cold.members[0]), f"{base}/nowhere"
    (written,) = run_modules(
        Call(
            "clickhouse_config",
            {
                "path": str(first.folder / "config.xml"),
                "element": "auxiliary_zookeepers",
                "name": "cold",
                "nodes": [here],
                "root": root,
            },
        )
    )
    assert written["changed"]
    (needed,) = run_modules(reload(first, here))
    assert (needed["restart_needed"], needed["changed"], needed["read"]) == (True, False, None)
    assert "SYSTEM RELOAD CONFIG query is not supported" in needed["reason"]
    first.restart()
    (failed,) = run_modules(reload(first, here, reload=False))
    assert failed["failed"]
    assert "knows the auxiliary ensemble cold and cannot work with it: " in failed["msg"]
    assert failed["msg"].endswith(
        "Check that its members serve this server, and that the znode of its root exists."
    )


@pytest.mark.ladder
def test_what_is_refused_before_a_server_is_touched(ground: Ground, cold: Ensemble) -> None:
    here = [node(cold.members[0])]
    before = [config(each) for each in ground.shard.servers]
    missing = ground.run([])
    assert "auxiliary_ensemble_nodes has to name every member of the ensemble" in missing.output
    nobody = ground.run([{"host": "127.0.0.1", "port": 1}])
    assert "1 of 1 members do not serve this host: 127.0.0.1:1 cannot be reached" in nobody.output
    strange = ground.run(here, auxiliary_ensemble_canary="02")
    assert "The canary '02' is no shard. Name one of 01." in strange.output
    for run in (missing, nobody, strange):
        assert run.status != 0
    assert [config(each) for each in ground.shard.servers] == before
    assert ground.restarts.done == []
