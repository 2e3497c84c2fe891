# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The configuration files of a ClickHouse server that listens on loopback only and calls nobody else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

# Seconds. Outdated parts and old log entries go within a few seconds instead of minutes.
FAST_MERGE_TREE: Mapping[str, int | str] = {
    "old_parts_lifetime": 1,
    "cleanup_delay_period": 1,
    "cleanup_delay_period_random_add": 0,
}

# A request that a test holds back is no reason to give the session up.
_OPERATION_MS = 60_000

# A server of the tests holds a few kilobytes of data.
_CACHE_BYTES = 16 * 1024 * 1024

_USERS = """\
<?xml version="1.0"?>
<yandex>
    <profiles>
        <default>
            <max_memory_usage>1000000000</max_memory_usage>
            <max_threads>2</max_threads>
            <background_pool_size>4</background_pool_size>
            <background_schedule_pool_size>4</background_schedule_pool_size>
        </default>
    </profiles>
    <users>
        <default>
            <password></password>
            <networks><ip>127.0.0.1</ip></networks>
            <profile>default</profile>
            <quota>default</quota>
        </default>
    </users>
    <quotas><default/></quotas>
</yandex>
"""


@dataclass(frozen=True)
class ServerPorts:
    """The loopback ports of one server."""

    http: int
    tcp: int
    interserver: int


@dataclass(frozen=True)
class ZooKeeperSource:
    """The ensemble of a server, as its <zookeeper> element (or another `element`) says it.

    connect: host:port, separated by commas.
    root: a chroot; the znode must exist before the server starts.
    identity: "user:password" of digest authentication; ClickHouse then gives its znodes an ACL.
    session_ms: the session timeout.
    sessions_path: where servers of modern releases note their sessions.
    """

    connect: str
    root: str | None = None
    identity: str | None = None
    session_ms: int = 30_000
    sessions_path: str | None = None

    def xml(self, element: str = "zookeeper") -> str:
        """Return the element as text."""
        lines = [f"    <{element}>"]
        for number, address in enumerate(self.connect.split(","), start=1):
            host, _colon, port = address.rpartition(":")
            lines.append(f'        <node index="{number}"><host>{host}</host><port>{port}</port></node>')
        lines.append(f"        <session_timeout_ms>{self.session_ms}</session_timeout_ms>")
        lines.append(f"        <operation_timeout_ms>{_OPERATION_MS}</operation_timeout_ms>")
        if self.root is not None:
            lines.append(f"        <root>{escape(self.root)}</root>")
        if self.identity is not None:
            lines.append(f"        <identity>{escape(self.identity)}</identity>")
        if self.sessions_path is not None:
            lines.append(f"        <sessions_path>{escape(self.sessions_path)}</sessions_path>")
        lines.append(f"    </{element}>")
        return "\n".join(lines)


def server_elements(folder: Path, ports: ServerPorts) -> str:
    """Return elements of config.xml: the server listens on 127.0.0.1, and has its files below `folder`."""
    return f"""\
    <listen_host>127.0.0.1</listen_host>
    <http_port>{ports.http}</http_port>
    <tcp_port>{ports.tcp}</tcp_port>
    <interserver_http_port>{ports.interserver}</interserver_http_port>
    <interserver_http_host>127.0.0.1</interserver_http_host>
    <path>{folder}/data/</path>
    <tmp_path>{folder}/data/tmp/</tmp_path>
    <user_files_path>{folder}/data/user_files/</user_files_path>
    <format_schema_path>{folder}/data/format_schemas/</format_schema_path>
    <users_config>users.xml</users_config>
    <distributed_ddl><path>/clickhouse/task_queue/ddl</path></distributed_ddl>
"""


def config_xml(
    folder: Path,
    ports: ServerPorts,
    zookeeper: ZooKeeperSource,
    macros: Mapping[str, str],
    merge_tree: Mapping[str, int | str],
    extra_xml: str,
) -> str:
    """Return the text of config.xml for a server whose files all lie below `folder`."""
    return f"""\
<?xml version="1.0"?>
<yandex>
    <logger>
        <level>debug</level>
        <log>{folder}/clickhouse-server.log</log>
        <errorlog>{folder}/clickhouse-server.err.log</errorlog>
        <size>100M</size>
        <count>2</count>
    </logger>
{server_elements(folder, ports)}\
    <default_profile>default</default_profile>
    <default_database>default</default_database>
    <timezone>UTC</timezone>
    <max_connections>256</max_connections>
    <max_open_files>4096</max_open_files>
    <keep_alive_timeout>3</keep_alive_timeout>
    <uncompressed_cache_size>{_CACHE_BYTES}</uncompressed_cache_size>
    <mark_cache_size>{_CACHE_BYTES}</mark_cache_size>
    <mlock_executable>false</mlock_executable>
{zookeeper.xml()}
    <macros>
{_elements(macros)}
    </macros>
    <merge_tree>
{_elements(merge_tree)}
    </merge_tree>
{extra_xml}
</yandex>
"""


def users_xml() -> str:
    """Return the text of users.xml: the user `default` without a password, from this machine only."""
    return _USERS


def _elements(values: Mapping[str, int | str]) -> str:
    return "\n".join(f"        <{name}>{escape(str(value))}</{name}>" for name, value in values.items())
