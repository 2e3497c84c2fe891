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


def reload(server: ModernServer, member: Member, *, check: bool = False) -> dict[str, Any]:
    """What config_reload answers once the file of the server has the ensemble."""
    port = member.files.ports.client
    source = ZooKeeperSource(f"127.0.0.1:{port}")
    (server.folder / "config.d" / "cold.xml").write_text(
        '<clickhouse><auxiliary_zookeepers replace="replace">'
        f"{source.xml('cold')}</auxiliary_zookeepers></clickhouse>"
    )
    options = {
        "clickhouse": {"host": "127.0.0.1", "port": server.http_port},
        "name": "cold",
        "nodes": [{"host": "127.0.0.1", "port": port}],
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
    member, other, _third = cold.members
    # Servers that read their files every two seconds have read this one by now, or have not.
    changed = {True} if server.knows("config_reload_interval_ms") else {True, False}
    assert reload(server, member, check=True)["changed"] in changed
    if changed == {True}:
        with pytest.raises(QueryError):
            server.execute(table)
    done = reload(server, member)
    assert done["changed"] in changed
    assert (done["restart_needed"], done["read"]) == (False, True), done
    server.execute(table)
    server.execute("INSERT INTO t VALUES (1)")
    assert not reload(server, member)["changed"]
    member.kill()
    done = reload(server, other)
    assert done["changed"] in changed
    assert (done["restart_needed"], done["read"]) == (False, True), done
    server.execute("INSERT INTO t VALUES (2)")
    assert (server.value("SELECT count() FROM t"), server.pid) == (2, pid)
