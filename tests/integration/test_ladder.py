# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Real servers of the ladder: their programs, and a server with any configuration file."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from support.servers.downloads import NotToBeHad
from support.servers.ladder import rungs
from support.servers.ladder.programs import ProgramFailed, client, extract_from_config
from support.servers.ladder.real_server import RealServer
from support.servers.ladder.rungs import Rung, rung

pytestmark = pytest.mark.ladder

_CONFIG = """\
<clickhouse>
    <http_port>8123</http_port>
    <tcp_port>9000</tcp_port>
    <mysql_port>9004</mysql_port>
    <https_port>8443</https_port>
    <listen_host>0.0.0.0</listen_host>
    <users_config>users.xml</users_config>
    <macros><shard>one</shard><shard>two</shard></macros>
</clickhouse>
"""
_USERS = """\
<clickhouse>
    <profiles><default/></profiles>
    <quotas><default/></quotas>
    <users>
        <default>
            <password/><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota>
        </default>
    </users>
</clickhouse>
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A configuration of a server that would listen on the usual ports of every address."""
    path = tmp_path / "config.xml"
    path.write_text(_CONFIG)
    (tmp_path / "users.xml").write_text(_USERS)
    return path


def test_a_server_reads_what_is_put_together(config: Path, real_rung: Rung) -> None:
    (config.parent / "config.d").mkdir()
    (config.parent / "config.d" / "more.xml").write_text(
        "<clickhouse><macros replace='1'><shard>three</shard></macros></clickhouse>"
    )
    assert extract_from_config(real_rung.name, config, "macros.shard") == "three"
    assert extract_from_config(real_rung.name, config, "macros.shard[1]") is None
    assert extract_from_config(real_rung.name, config, "tcp_port") == "9000"


def test_what_no_server_can_read_is_an_error(config: Path, real_rung: Rung) -> None:
    config.write_text("<clickhouse><zookeeper></clickhouse>")
    with pytest.raises(ProgramFailed, match=r"Failed to (parse|preprocess)|SAXParseException"):
        extract_from_config(real_rung.name, config, "zookeeper")


def test_a_server_listens_on_its_own_loopback_ports_alone(config: Path, real_rung: Rung) -> None:
    with RealServer(real_rung.name, config) as server:
        assert server.value("SELECT version()") == real_rung.version
        statement = "SELECT 1 + 1 INTO OUTFILE '/dev/stdout' APPEND"
        assert client(real_rung.name, server.ports["tcp_port"], statement) == "2\n"
        assert _listened(server.pid) == {("127.0.0.1", port) for port in server.ports.values()}
        server.restart()
        assert server.value("SELECT 1") == 1


def test_a_reload_reads_the_file_again_and_keeps_the_ports(config: Path, real_rung: Rung) -> None:
    with RealServer(real_rung.name, config) as server:
        config.write_text(_CONFIG.replace("one", "another").replace("8123", "8124"))
        server.execute("SYSTEM RELOAD CONFIG")
        assert server.configuration().findtext("macros/shard") == "another"
        assert server.serving()


def test_a_second_address_is_refused(config: Path, real_rung: Rung) -> None:
    config.write_text(_CONFIG.replace("<tcp_port>", "<listen_host>::</listen_host><tcp_port>", 1))
    with pytest.raises(
        ValueError, match=r"tests listen on 127\.0\.0\.1 alone: leave <listen_host>0\.0\.0\.0 out"
    ):
        RealServer(real_rung.name, config)


def test_a_version_that_nobody_has_is_named() -> None:
    with pytest.raises(ValueError, match=r"no server of ClickHouse 19\.1: there are those of 22\.12, 23\.6"):
        rung("19.1")


def test_a_wheel_with_another_hash_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rungs, "FOLDER", tmp_path)
    (tmp_path / "index").mkdir()
    wheel = tmp_path / "index" / "chdb-2.0.4-cp311-cp311-manylinux2014_x86_64.whl"
    wheel.write_bytes(b"PK")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    assert rung("24.5").provide().startswith("servers: NOT RUN: tests of ClickHouse 24.5.1.1, because ")
    with pytest.raises(NotToBeHad, match=r"DO NOT MATCH THE HASHES|Expected sha256|Got"):
        rung("24.5").library()
    assert not rung("24.5").folder.exists()


def test_a_version_that_was_never_got_says_how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rungs, "FOLDER", tmp_path)
    with pytest.raises(NotToBeHad, match="`make servers RUNGS=24.8` gets it"):
        rung("24.8").library()


def _listened(pid: int) -> set[tuple[str, int]]:
    found = subprocess.run(["ss", "-Hltnp"], capture_output=True, text=True, check=True).stdout
    own = [line.split()[3] for line in found.splitlines() if f"pid={pid}," in line]
    return {(host, int(port)) for host, _colon, port in (each.rpartition(":") for each in own)}
