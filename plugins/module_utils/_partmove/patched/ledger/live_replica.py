# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A replica as its own znodes show it: the server that activated it last, and whether that is alive."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ...errors import NoSuchReplica
from ...formats.layout import ReplicaLayout, ShardLayout
from ...formats.znode_text import ZnodeText, unescape
from ...tree.ports import ZnodeReader
from ...tree.znodes import Znode


class ReplicaAddress(NamedTuple):
    """What a server writes to ``host`` whenever it activates the replica.

    ``interserver_port`` and ``table`` (``database.table``, as that server calls it) are None where the
    version of the server does not tell.
    """

    host: str
    interserver_port: int | None
    table: str | None


class ServerName(NamedTuple):
    """The name under which a server registers its replicas, and the port if that is to be looked at too."""

    host: str
    interserver_port: int | None

    def is_of(self, replica: LiveReplica) -> bool:
        """Whether the replica was activated last by this server. Raises FormatError."""
        address = replica.address
        if address is None or address.host.lower() != self.host.lower():
            return False
        return self.interserver_port in (None, address.interserver_port)

    def unknown(self, where: str) -> NoSuchReplica:
        """The error for a server that has registered no replica ``where`` it was looked for."""
        return NoSuchReplica(
            f"No replica {where} in hot is registered by {self}",
            remedy="Give host as the znode host of a replica has it, which may be its full name",
        )

    def __str__(self) -> str:
        return self.host if self.interserver_port is None else f"{self.host}:{self.interserver_port}"


class LiveReplica(NamedTuple):
    """A replica of a table. None stands for a znode that is not there."""

    name: str
    host: Znode | None
    is_active: Znode | None

    @property
    def address(self) -> ReplicaAddress | None:
        """Where its server is; None where it was never activated. Raises FormatError."""
        # A server creates the znode empty, and writes to it when it activates the replica.
        return None if self.host is None or not self.host.data else parse_address(self.host)


def parse_address(host: Znode) -> ReplicaAddress:
    """Take a ``host`` znode apart; raises FormatError."""
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
    """The replicas of a shard path, sorted by name; none where there is no table."""
    names = hot.children([layout.replicas])[0] or ()
    return tuple(live_replicas(hot, [layout.replica(name) for name in names]))


def live_replicas(hot: ZnodeReader, layouts: Sequence[ReplicaLayout]) -> list[LiveReplica]:
    """What hot has of the replicas, in order; of one that it does not know, no znode."""
    found = iter(hot.read([path for each in layouts for path in (each.host, each.is_active)]))
    return [LiveReplica(each.name, next(found), next(found)) for each in layouts]


def table_of(replicas: Iterable[LiveReplica]) -> str:
    """``database.table`` as the first replica that tells it; empty where none does. Raises FormatError."""
    addresses = (each.address for each in replicas)
    return next((each.table for each in addresses if each is not None and each.table), "")
