# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A running server gets to know an auxiliary ensemble, and other members of it, by a reload alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kazoo.security import make_digest_acl

from support.ansible.calls import Call, run_modules
from support.servers.clickhouse_config import ZooKeeperSource
from support.servers.kazoo_client import connected
from support.servers.ladder.rungs import Rung
from support.servers.modern.server import ModernServer, modern_shard
from support.servers.sql_server import QueryError
from support.servers.zookeeper import Ensemble, Member

pytestmark = pytest.mark.ladder


# Otherwise a server reads a changed file by itself, within two seconds.
SELDOM = "<clickhouse><config_reload_interval_ms>3600000</config_reload_interval_ms></clickhouse>"


@pytest.fixture
def server(real_rung: Rung, hot: Ensemble, tmp_path: Path) -> Iterator[ModernServer]:
    """A server that knows no auxiliary ensemble, and reads its files when it is told to."""
    shard = modern_shard(tmp_path, ZooKeeperSource(hot.connect_string), replicas=1, version=real_rung.name)
    folder = shard.servers[0].folder / "config.d"
    folder.mkdir()
    (folder / "seldom.xml").write_text(SELDOM)
    with shard:
        yield shard.servers[0]


def write(server: ModernServer, member: Member) -> None:
    """Let the file of the server have the ensemble, by this member of it."""
    source = ZooKeeperSource(member.address)
    (server.folder / "config.d" / "cold.xml").write_text(
        '<clickhouse><auxiliary_zookeepers replace="replace">'
        f"{source.xml('cold')}</auxiliary_zookeepers></clickhouse>"
    )


def reload(server: ModernServer, member: Member, *, check: bool = False, **more: Any) -> dict[str, Any]:
    """What config_reload answers."""
    options: dict[str, Any] = {
        "clickhouse": {"host": "127.0.0.1", "port": server.http_port},
        "name": "cold",
        "nodes": [{"host": "127.0.0.1", "port": int(member.address.split(":")[1])}],
        "preprocessed": [str(server.data_dir / "preprocessed_configs" / "config.xml")],
        **more,
    }
    (result,) = run_modules(Call("config_reload", options, check_mode=check))
    return result


def test_a_server_takes_over_an_ensemble_and_its_other_members_without_a_restart(
    server: ModernServer, cold: Ensemble, base: str
) -> None:
    table = f"CREATE TABLE t (id UInt32) ENGINE = ReplicatedMergeTree('cold:{base}/t', 'r1') ORDER BY id"
    with pytest.raises(QueryError):
        server.execute(table)
    pid = server.pid
    with connected(cold.connect_string) as client:
        # Of other software, which keeps it to itself.
        client.create(f"{base}-private", acl=[make_digest_acl("alice", "wonder", all=True)])
    # Without the leader the others would serve nobody for a moment.
    member, other = cold.followers()
    # Servers that read their files every two seconds have read this one by now, or have not.
    reads_seldom = server.knows("config_reload_interval_ms")
    changed = {True} if reads_seldom else {True, False}
    write(server, member)
    checked = reload(server, member, check=True)
    assert checked["changed"] in changed, checked
    if reads_seldom:
        with pytest.raises(QueryError):
            server.execute(table)
    done = reload(server, member)
    assert done["changed"] in changed, done
    assert (done["restart_needed"], done["read"]) == (False, True), done
    server.execute(table)
    server.execute("INSERT INTO t VALUES (1)")
    again = reload(server, member)
    assert (again["failed"], again["changed"]) == (False, False), again

    other.kill()
    write(server, other)
    refused = reload(server, other)
    assert refused["failed"], refused
    assert "cannot connect to an ensemble of its new configuration: " in refused["msg"]
    cold.heal()
    # The one member does not serve any more, and nobody else makes the server try the other.
    member.kill()
    done = reload(server, other)
    assert (done["failed"], done["changed"]) == (False, True), done
    assert (done["restart_needed"], done["read"], done["connected"]) == (False, True, [other.address]), done
    server.execute("INSERT INTO t VALUES (2)")
    assert (server.value("SELECT count() FROM t"), server.pid) == (2, pid)
    with connected(cold.connect_string) as client:
        client.delete(f"{base}-private")


def test_what_a_server_has_not_read_cannot_read_and_does_not_report(
    server: ModernServer, cold: Ensemble
) -> None:
    member = cold.members[0]
    checked, asked = reload(server, member, check=True), reload(server, member, reload=False)
    assert (checked["changed"], checked["restart_needed"], checked["read"]) == (True, False, False)
    in_vain = reload(server, member)
    for each in (asked, in_vain):
        assert (each["changed"], each["restart_needed"]) == (False, True)
        assert each["reason"] == "its preprocessed configuration does not have the desired element"

    silent = reload(server, member, preprocessed=[], reload=False)
    if server.query("SELECT name FROM system.columns WHERE table = 'zookeeper' AND name = 'zookeeperName'"):
        assert silent["restart_needed"]
        assert "Unknown auxiliary ZooKeeper name" in silent["reason"]
    else:
        assert silent["failed"]
        assert silent["msg"].startswith(
            f"ClickHouse at 127.0.0.1:{server.http_port} does not report whether it knows the auxiliary"
            " ensemble cold. Run the module on the host of the server, and give as preprocessed the file in"
        )

    write(server, member)
    (server.folder / "config.d" / "broken.xml").write_text("<clickhouse><path>")
    refused = reload(server, cold.members[1])
    assert refused["failed"]
    assert "refused a query with code" in refused["msg"]
    assert "broken.xml" in refused["msg"]
    assert refused["msg"].endswith("the server would not start with the file either.")
