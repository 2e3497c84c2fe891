# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Real servers with HTTPS, and with users by SQL whose rights are checked as in the usual configuration."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from support.servers.clickhouse_config import ZooKeeperSource
from support.servers.modern.server import ModernServer, ModernShard, modern_shard
from support.servers.ports import ReservedPorts
from support.servers.tls import TlsFiles

# As in the config.xml of the packages: without it everybody may read the database system.
_MORE = """\
<clickhouse>
    <user_directories>
        <users_xml><path>users.xml</path></users_xml>
        <local_directory><path>{folder}/access/</path></local_directory>
    </user_directories>
    <access_control_improvements>
        <users_without_row_policies_can_read_rows>{without_policies}</users_without_row_policies_can_read_rows>
        <on_cluster_queries_require_cluster_grant>true</on_cluster_queries_require_cluster_grant>
        <select_from_system_db_requires_grant>true</select_from_system_db_requires_grant>
        <select_from_information_schema_requires_grant>true</select_from_information_schema_requires_grant>
        <settings_constraints_replace_previous>true</settings_constraints_replace_previous>
        <table_engines_require_grant>true</table_engines_require_grant>
    </access_control_improvements>
    <query_log>
        <database>system</database>
        <table>query_log</table>
        <flush_interval_milliseconds>200</flush_interval_milliseconds>
    </query_log>
    <config_reload_interval_ms>3600000</config_reload_interval_ms>
    <https_port>{https}</https_port>
    <openSSL>
        <server>
            <certificateFile>{tls.server}</certificateFile>
            <privateKeyFile>{tls.server}</privateKeyFile>
            <verificationMode>none</verificationMode>
        </server>
    </openSSL>
</clickhouse>
"""


class GuardedShard:
    """Two replicas of a shard.

    tls: the files of their certificates, which are for 127.0.0.1 alone.
    https: the port of HTTPS of each replica.
    """

    def __init__(self, shard: ModernShard, tls: TlsFiles, https: Mapping[str, int]) -> None:
        self.shard = shard
        self.tls = tls
        self.https = https

    @property
    def first(self) -> ModernServer:
        """The replica r1."""
        return self.shard.servers[0]

    def user(self, *, grants: str = "CURRENT GRANTS(ALL ON *.*)", settings: str = "") -> str:
        """Create a user without a password on both servers, and return the name."""
        name = f"u_{uuid.uuid4().hex[:8]}"
        self.shard.execute(f"CREATE USER {name}{f' SETTINGS {settings}' if settings else ''}")
        if grants:
            self.shard.execute(f"GRANT {grants} TO {name}")
        return name


@contextmanager
def guarded_shard(
    folder: Path,
    zookeeper: ZooKeeperSource,
    auxiliary: Mapping[str, ZooKeeperSource],
    version: str,
    *,
    rows_without_policies: bool = True,
) -> Iterator[GuardedShard]:
    """Start the servers; they are stopped at the end of the context.

    rows_without_policies: whether users without a permissive row policy read a table with other policies.

    Raises:
        NotToBeHad: this machine does not have the version.
    """
    tls = TlsFiles.create(folder / "tls", "127.0.0.1")
    reserved = ReservedPorts()
    try:
        shard = modern_shard(folder, zookeeper, auxiliary, version=version)
        https = {server.name: reserved.take() for server in shard.servers}
        for server in shard.servers:
            more = server.folder / "config.d" / "guarded.xml"
            more.parent.mkdir()
            values = {
                "https": https[server.name],
                "tls": tls,
                "without_policies": str(rows_without_policies).lower(),
            }
            more.write_text(_MORE.format(folder=server.folder, **values))
        with shard:
            yield GuardedShard(shard, tls, https)
    finally:
        reserved.release()
