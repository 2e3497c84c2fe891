# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files in config.d of a server that is not started yet: a cluster, disks, settings of tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from support.servers.modern.server import ModernServer


def write_drop_in(server: ModernServer, name: str, elements: str) -> None:
    """Write a file that the server reads with its configuration when it starts."""
    folder = server.folder / "config.d"
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.xml").write_text(f"<clickhouse>{elements}</clickhouse>\n")


def cluster_element(name: str, shards: Sequence[Sequence[ModernServer]]) -> str:
    """Return <remote_servers> with a cluster of these servers, whose shards replicate by themselves."""
    written = "".join(
        "<shard><internal_replication>true</internal_replication>"
        + "".join(
            f"<replica><host>127.0.0.1</host><port>{server.ports.tcp}</port></replica>" for server in servers
        )
        + "</shard>"
        for servers in shards
    )
    return f"<remote_servers><{name}>{written}</{name}></remote_servers>"


def disks_element(server: ModernServer, policies: Mapping[str, Mapping[str, Sequence[str]]]) -> str:
    """Return <storage_configuration> with policies, as name → volume → disks.

    Each disk but the one called default is a folder of that name beside the data.
    """
    names = {disk for volumes in policies.values() for disks in volumes.values() for disk in disks}
    disks = "".join(
        f"<{name}><path>{server.folder / name}/</path></{name}>" for name in sorted(names - {"default"})
    )
    written = "".join(f"<{name}>{_volumes(volumes)}</{name}>" for name, volumes in policies.items())
    return (
        f"<storage_configuration><disks>{disks}</disks><policies>{written}</policies></storage_configuration>"
    )


def merge_tree_element(settings: Mapping[str, int]) -> str:
    """Return <merge_tree> with these settings, beside those that the server has."""
    written = "".join(f"<{name}>{value}</{name}>" for name, value in settings.items())
    return f"<merge_tree>{written}</merge_tree>"


def _volumes(volumes: Mapping[str, Sequence[str]]) -> str:
    written = "".join(
        f"<{name}>{''.join(f'<disk>{disk}</disk>' for disk in disks)}</{name}>"
        for name, disks in volumes.items()
    )
    return f"<volumes>{written}</volumes>"
