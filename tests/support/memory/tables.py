# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whole replicated tables without servers, whose partitions every gate lets pass until a test breaks them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from itertools import islice

from kazoo.client import KazooClient
from kazoo.exceptions import NoAuthError, NoNodeError
from kazoo.interfaces import IAsyncResult
from kazoo.retry import KazooRetry

from support.memory.synthetic import LEGACY, MINIMALISTIC, SyntheticTable
from support.servers.kazoo_client import START_SECONDS

_OPS_OF_A_MULTI = 500
_FIRST_DAY = date(2019, 1, 1)


def days(count: int) -> tuple[str, ...]:
    """Return ids of that many partitions of one day each, sorted."""
    return tuple(f"{_FIRST_DAY + timedelta(days=number):%Y%m%d}" for number in range(count))


@dataclass(frozen=True)
class TableOptions:
    """What a table consists of.

    parts: of each partition, on each replica.
    legacy: whether parts are registered with the children columns and checksums, as 18.16 does.
    active: whether the replicas' servers seem to run, as long as the client's session lasts.
    """

    replicas: Sequence[str] = ("r1", "r2")
    partitions: Sequence[str] = days(3)
    parts: int = 1
    legacy: bool = False
    active: bool = True


@dataclass
class Table:
    """A table that was built in one ensemble."""

    client: KazooClient
    path: str
    options: TableOptions = field(default_factory=TableOptions)

    def part_names(self, partition: str) -> list[str]:
        """Return the names of the partition's parts."""
        return [f"{partition}_{number}_{number}_0" for number in range(self.options.parts)]

    def parts_path(self, replica: str) -> str:
        """Return the path of the parent of a replica's parts."""
        return f"{self.path}/replicas/{replica}/parts"

    def state_path(self, partition: str) -> str:
        """Return the path of a partition's State."""
        return f"{self.path}/block_numbers/{partition}/State"

    def state(self, partition: str) -> bytes | None:
        """Return the data of a partition's State; None where there is none."""
        path = self.state_path(partition)
        self.client.sync(path)
        return None if self.client.exists(path) is None else bytes(self.client.get(path)[0])

    def registered(self, client: KazooClient, partition: str) -> dict[str, list[str]]:
        """Return replica → sorted names of the partition's parts, as the ensemble of `client` has them."""
        client.sync(self.path)
        return {
            replica: sorted(
                name
                for name in (client.get_children(path) if client.exists(path) else ())
                if name.startswith(f"{partition}_")
            )
            for replica, path in ((name, self.parts_path(name)) for name in self.options.replicas)
        }


def build_table(client: KazooClient, path: str, options: TableOptions | None = None) -> Table:
    """Create a table of data format version 1 with all its partitions registered.

    Its replicas are active while the session of `client` lasts.
    """
    table = Table(client, path, options or TableOptions())
    SyntheticTable(client, path).create()
    metadata, columns = (client.get(f"{path}/{name}")[0] for name in ("metadata", "columns"))
    for replica in table.options.replicas:
        _build_replica(table, replica, metadata, columns)
    apply(client, [(f"{path}/block_numbers/{partition}", b"") for partition in table.options.partitions])
    for replica in table.options.replicas:
        register(client, table, replica, table.options.partitions)
    return table


def activate(table: Table, replica: str) -> None:
    """Let the replica seem to run, as long as the session of the table's client lasts."""
    table.client.create(f"{table.path}/replicas/{replica}/is_active", b"pid: 1, random: 1", ephemeral=True)


def register(client: KazooClient, table: Table, replica: str, partitions: Iterable[str]) -> None:
    """Register the parts of the partitions for one replica in the ensemble of `client`."""
    client.ensure_path(table.parts_path(replica))
    names = (name for partition in partitions for name in table.part_names(partition))
    apply(client, (znode for name in names for znode in _part(f"{table.parts_path(replica)}/{name}", table)))


def apply(client: KazooClient, znodes: Iterable[tuple[str, bytes]]) -> None:
    """Create the znodes, parents first as given, many at once."""
    remaining = iter(znodes)
    while batch := list(islice(remaining, _OPS_OF_A_MULTI)):
        transaction = client.transaction()
        for path, data in batch:
            transaction.create(path, data)
        failed = [result for result in transaction.commit() if isinstance(result, Exception)]
        if failed:
            raise failed[0]


def read_tree(
    client: KazooClient, path: str = "/", without: Collection[str] = ()
) -> Mapping[str, tuple[object, ...]]:
    """Return every znode at and below `path`: data, then what changes whenever it is written to.

    Leaves out what ZooKeeper keeps itself, what lies below a znode that may not be read, the znodes
    `without` with all below them, and what somebody else deletes meanwhile. Begins again where the
    connection is lost: a test may have killed the member at its other end just now.

    Raises:
        RetryFailedError: there was none for START_SECONDS.
    """
    again = KazooRetry(max_tries=-1, max_delay=1.0, deadline=START_SECONDS)
    tree: Mapping[str, tuple[object, ...]] = again(_read_once, client, path, without)
    return tree


def _read_once(client: KazooClient, path: str, without: Collection[str]) -> Mapping[str, tuple[object, ...]]:
    # The member that the client is connected to may be behind.
    client.sync(path)
    tree: dict[str, tuple[object, ...]] = {}
    level = [path]
    while level:
        parents = []
        for each, znode in [(each, client.get_async(each)) for each in level]:
            try:
                data, stat = znode.get()
            except NoAuthError:
                tree[each] = ("not readable",)
                continue
            except NoNodeError:
                if each == path:
                    raise
                continue
            tree[each] = (data, stat.czxid, stat.mzxid, stat.pzxid, stat.ephemeralOwner)
            # Most have none.
            if stat.numChildren:
                parents.append((each.rstrip("/"), client.get_children_async(each)))
        below = [f"{prefix}/{name}" for prefix, children in parents for name in _names(children)]
        level = [each for each in below if each != "/zookeeper" and each not in without]
    return tree


def _names(children: IAsyncResult) -> list[str]:
    try:
        return sorted(children.get())
    except NoNodeError:
        return []


def _build_replica(table: Table, replica: str, metadata: bytes, columns: bytes) -> None:
    path = f"{table.path}/replicas/{replica}"
    table.client.create(path)
    apply(
        table.client,
        [
            (f"{path}/columns", columns),
            (f"{path}/flags", b""),
            (f"{path}/host", f"host: {replica}.example\nport: 9009\ntcp_port: 9000\n".encode()),
            (f"{path}/is_lost", b"0"),
            (f"{path}/log_pointer", b"0"),
            (f"{path}/metadata", metadata),
            (f"{path}/mutation_pointer", b""),
            (f"{path}/parts", b""),
            (f"{path}/queue", b""),
        ],
    )
    if table.options.active:
        activate(table, replica)


def _part(path: str, table: Table) -> Iterator[tuple[str, bytes]]:
    if not table.options.legacy:
        yield path, MINIMALISTIC
        return
    yield path, b""
    for name, data in LEGACY.items():
        yield f"{path}/{name}", data
