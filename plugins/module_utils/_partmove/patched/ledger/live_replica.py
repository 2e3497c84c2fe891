# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A replica as described by its own znodes: the server of its last activation, and whether it is active."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ...errors import NoSuchReplica
from ...formats.layout import ReplicaLayout, ShardLayout
from ...formats.znode_text import ZnodeText, unescape
from ...tree.ports import ZnodeReader
from ...tree.znodes import Znode


class ReplicaAddress(NamedTuple):
    """The content of ``host``, written by a server whenever it activates the replica.

    ``interserver_port`` and ``table`` (``database.table`` on that server) are None if the version of the
    server does not write them.
    """

    host: str
    interserver_port: int | None
    table: str | None


class ServerName(NamedTuple):
    """The host name of a server in its replicas' ``host`` znodes, and a port if the host has more servers."""

    host: str
    interserver_port: int | None

    def is_of(self, replica: LiveReplica) -> bool:
        """Return whether this server activated the replica last. Raises FormatError."""
        address = replica.address
        if address is None or address.host.lower() != self.host.lower():
            return False
        return self.interserver_port in (None, address.interserver_port)

    def unknown(self, where: str) -> NoSuchReplica:
        """Return the error for a server without a replica at the place ``where``."""
        return NoSuchReplica(
            f"No replica {where} in hot is registered by {self}",
            remedy="Give host exactly as in the znode host of a replica; this may be the full host name",
        )

    def __str__(self) -> str:
        return self.host if self.interserver_port is None else f"{self.host}:{self.interserver_port}"


class LiveReplica(NamedTuple):
    """A replica of a table. None stands for a missing znode."""

    name: str
    host: Znode | None
    is_active: Znode | None

    @property
    def address(self) -> ReplicaAddress | None:
        """The address of its server; None if the replica was never activated. Raises FormatError."""
        # A server creates the znode empty, and fills it when it activates the replica.
        return None if self.host is None or not self.host.data else parse_address(self.host)


def parse_address(host: Znode) -> ReplicaAddress:
    """Parse a ``host`` znode; raises FormatError."""
    text = ZnodeText(host.data, host.path)
    name = unescape(text.field("host: "))
    port = text.optional_field("port: ")
    number = None if port is None else text.count(port)
    text.optional_field("tcp_port: ")
    database, table = (text.optional_field(key) for key in ("database: ", "table: "))
    if database is None or table is None:
        return ReplicaAddress(name, number, None)
    return ReplicaAddress(name, number, f"{unescape(database)}.{unescape(table)}")


def read_live_replicas(hot: ZnodeReader, layout: ShardLayout) -> tuple[LiveReplica, ...]:
    """Return the replicas of a shard path, sorted by name; () without a table."""
    names = hot.children([layout.replicas])[0] or ()
    return tuple(live_replicas(hot, [layout.replica(name) for name in names]))


def live_replicas(hot: ZnodeReader, layouts: Sequence[ReplicaLayout]) -> list[LiveReplica]:
    """Return the replicas as in hot, in order; a replica unknown to hot has no znodes."""
    znodes = iter(hot.read([path for each in layouts for path in (each.host, each.is_active)]))
    return [LiveReplica(each.name, next(znodes), next(znodes)) for each in layouts]


def table_of(replicas: Iterable[LiveReplica]) -> str:
    """Return ``database.table`` of the first replica with a known table, or "". Raises FormatError."""
    addresses = (each.address for each in replicas)
    return next((each.table for each in addresses if each is not None and each.table), "")
