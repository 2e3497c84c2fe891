# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A running server gets to know an auxiliary ensemble, and other members of it, by a reload alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.ansible.calls import Call, run_modules
from support.servers.clickhouse_config import ZooKeeperSource
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


def reload(server: ModernServer, member: Member, *, check: bool = False) -> dict[str, Any]:
    """What config_reload answers."""
    options = {
        "clickhouse": {"host": "127.0.0.1", "port": server.http_port},
        "name": "cold",
        "nodes": [{"host": "127.0.0.1", "port": member.files.ports.client}],
        "preprocessed": [str(server.data_dir / "preprocessed_configs" / "config.xml")],
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
