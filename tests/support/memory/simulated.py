# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the servers of one table do to its znodes, one step at a time, and what they then have on disk.

Every method does what the source of ClickHouse 20.12, with the patch for a cold ensemble, does in one
request or in one uninterrupted series of them. Nothing happens by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from hashlib import sha512
from typing import Any

from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.ports import ActivePart
from support.memory.tables import Table, build_table

_CREATED = "2026-11-21 00:23:24"
_DROP_LEVEL = 999_999_999


class SimulatedServers:
    """The servers of a table that `build_table` made, as far as znodes and parts go.

    disk: replica → names of its active parts.
    assigned: how often something happened that a switch has to notice up to its very moment.
    times_made: how often the table was dropped and made again.
    cold_expired: whether the session of the servers with cold has ended, which none of them renews.
    raises_log_version: whether assigning work raises the version of /log, as servers from 20.x on do.
    """

    def __init__(self, table: Table, hot: Any, cold: Any, *, raises_log_version: bool = True) -> None:
        self.table = table
        self.raises_log_version = raises_log_version
        self.disk: dict[str, set[str]] = {}
        self._hot = hot
        self._cold = cold
        self._blocks: Counter[str] = Counter()
        self.assigned = 0
        self._entries = 0
        self._mutations = 0
        self.times_made = 0
        self.cold_expired = False
        self._settle_in()

    def insert(self, partition: str, replica: str = "r1") -> None:
        """Insert a part on one replica; the others have it once they catch up."""
        self.begin_insert(partition, replica)()

    def begin_insert(self, partition: str, replica: str = "r1") -> Callable[[], None]:
        """Take a block number; the function that is returned commits the part."""
        number = self._next_block(partition)
        folder = f"{self.table.path}/block_numbers/{partition}"
        lock = self._hot.create(f"{folder}/block-{number:010}", b"", ephemeral=True)
        name = f"{partition}_{number}_{number}_0"

        def commit() -> None:
            transaction = self._hot.transaction()
            self._register(transaction, replica, name)
            transaction.create(self._next_log(), self._entry(f"get\n{name}", replica))
            transaction.delete(lock)
            transaction.commit()
            self.disk[replica].add(name)

        return commit

    def assign_merge(self, partition: str) -> None:
        """Decide to merge all parts of a partition, as OPTIMIZE FINAL does also with one."""
        self.begin_merge(partition)()

    def begin_merge(self, partition: str) -> Callable[[], None]:
        """See that the parts are registered; the function that is returned writes the log entry."""
        sources = self.parts_of(partition, "r1")
        if not sources or any(self._hot.exists(self._part("r1", name)) is None for name in sources):
            return lambda: None
        log = f"{self.table.path}/log"
        version = self._hot.exists(log).stat.version
        blocks = [name.split("_") for name in sources]
        level = 1 + max(int(fields[3]) for fields in blocks)
        result = f"{partition}_{blocks[0][1]}_{blocks[-1][2]}_{level}"
        body = "\n".join(("merge", *sources, "into", result, "deduplicate: 0"))

        def assign() -> None:
            if self.raises_log_version and self._hot.exists(log).stat.version != version:
                return
            self._assign(body)

        return assign

    def mutate(self, partition: str) -> None:
        """Ask for a mutation of the partition, as ALTER … DELETE does."""
        self.assigned += 1
        number = self._next_block(partition)
        self._mutations += 1
        text = (
            f"format version: 1\ncreate time: {_CREATED}\nsource replica: r1\nblock numbers count: 1\n"
            f"{partition}\t{number}\ncommands: DELETE WHERE 1\nalter version: -1\n"
        )
        mutations = f"{self.table.path}/mutations"
        transaction = self._hot.transaction()
        transaction.set_data(mutations, b"")
        transaction.create(f"{mutations}/{self._mutations:010}", text.encode())
        transaction.commit()

    def assign_drop(self, partition: str) -> None:
        """Decide to drop a partition; the replicas do it once they catch up."""
        last = self._next_block(partition)
        self._assign(f"drop\n{partition}_0_{last}_{_DROP_LEVEL}")

    def drop(self, partition: str) -> None:
        """Drop a partition on every replica."""
        self.assign_drop(partition)
        self.catch_up()

    def begin_drop(self, partition: str) -> Callable[[], None]:
        """Let every replica look at State for a drop; the function that is returned removes the parts."""
        self.assign_drop(partition)
        self.pull()
        cold = self._is_cold(partition)
        return lambda: self.catch_up(lambda _partition: cold)

    def pull(self) -> None:
        """Let every replica take over the new entries of the log."""
        for replica in sorted(self.disk):
            path = f"{self.table.path}/replicas/{replica}"
            pointer = int(self._hot.get(f"{path}/log_pointer")[0] or b"0")
            if pointer >= self._entries:
                continue
            transaction = self._hot.transaction()
            for number in range(pointer, self._entries):
                data = self._hot.get(f"{self.table.path}/log/log-{number:010}")[0]
                transaction.create(f"{path}/queue/queue-{number:010}", data)
            transaction.set_data(f"{path}/log_pointer", str(self._entries).encode())
            transaction.commit()

    def catch_up(self, is_cold: Callable[[str], bool] | None = None) -> None:
        """Let every replica take over the new entries of the log and carry out its queue.

        `is_cold`: what State said when that was not just now.
        """
        self.pull()
        for replica in sorted(self.disk):
            queue = f"{self.table.path}/replicas/{replica}/queue"
            for name in self._hot.get_children(queue):
                body = self._hot.get(f"{queue}/{name}")[0].decode().splitlines()[4:]
                self._carry_out(replica, body, is_cold or self._is_cold)
                self._hot.delete(f"{queue}/{name}")

    def restart(self, replica: str = "r2") -> None:
        """Restart the server of a replica."""
        self.assigned += 1
        self.stop(replica)
        self._hot.set(f"{self.table.path}/replicas/{replica}/host", f"host: {replica}.example\n".encode())
        self._activate(replica)

    def stop(self, replica: str = "r2") -> None:
        """Stop the server of a replica, or detach the table there."""
        self._hot.delete(f"{self.table.path}/replicas/{replica}/is_active")

    def lose(self, replica: str = "r2") -> None:
        """Mark a replica as lost, as the others do after it has been away for long."""
        self.assigned += 1
        self.stop(replica)
        self._hot.set(f"{self.table.path}/replicas/{replica}/is_lost", b"1")

    def add_replica(self, replica: str = "r3") -> None:
        """Add a replica that has yet to fetch what the first one has registered in hot."""
        self.assigned += 1
        own, other = (f"{self.table.path}/replicas/{name}" for name in (replica, "r1"))
        transaction = self._hot.transaction()
        transaction.create(own, b"")
        for name in ("columns", "metadata", "log_pointer", "is_lost"):
            transaction.create(f"{own}/{name}", self._hot.get(f"{other}/{name}")[0])
        for name in ("flags", "parts", "queue", "mutation_pointer"):
            transaction.create(f"{own}/{name}", b"")
        transaction.create(f"{own}/host", f"host: {replica}.example\n".encode())
        transaction.set_data(f"{self.table.path}/replicas", f"last added replica: {replica}".encode())
        for number, part in enumerate(self._hot.get_children(f"{other}/parts")):
            transaction.create(f"{own}/queue/queue-{number:010}", self._entry(f"get\n{part}", "r1"))
        transaction.commit()
        self._activate(replica)
        self.disk[replica] = set()

    def remove_replica(self, replica: str = "r2") -> None:
        """Drop the table on one replica, which leaves the cold ensemble as it is."""
        self.assigned += 1
        self._hot.delete(f"{self.table.path}/replicas/{replica}", recursive=True)
        del self.disk[replica]

    def drop_table(self) -> None:
        """Drop the table on every replica, which leaves the cold ensemble as it is."""
        self.assigned += 1
        self._hot.delete(self.table.path, recursive=True)
        self.disk = {}

    def recreate(self) -> None:
        """Drop the table and make it again, with other data in parts of the same names."""
        self.drop_table()
        build_table(self._hot, self.table.path, self.table.options)
        self.times_made += 1
        self._settle_in()

    def parts_of(self, partition: str, replica: str) -> list[str]:
        """Names of the active parts of a partition, by their blocks."""
        names = [name for name in self.disk[replica] if name.split("_")[0] == partition]
        return sorted(names, key=lambda name: int(name.split("_")[1]))

    def _settle_in(self) -> None:
        """Note what was built, and give each part a header of its own."""
        options = self.table.options
        names = [name for partition in options.partitions for name in self.table.part_names(partition)]
        self.disk = {replica: set(names) for replica in options.replicas}
        self._blocks = Counter(dict.fromkeys(options.partitions, options.parts))
        self._entries = 0
        for replica in options.replicas:
            for name in names:
                path, data = self._znodes(replica, name)[-1]
                self._hot.set(path, data)

    def _next_block(self, partition: str) -> int:
        self._blocks[partition] += 1
        return self._blocks[partition]

    def _next_log(self) -> str:
        self._entries += 1
        return f"{self.table.path}/log/log-{self._entries - 1:010}"

    def _assign(self, body: str) -> None:
        self.assigned += 1
        transaction = self._hot.transaction()
        if self.raises_log_version:
            transaction.set_data(f"{self.table.path}/log", b"")
        transaction.create(self._next_log(), self._entry(body, "r1"))
        transaction.commit()
        if not self.raises_log_version:
            # The fence of old servers is that the replicas take the entry over.
            self.pull()

    def _entry(self, body: str, replica: str) -> bytes:
        head = f"format version: 4\ncreate_time: {_CREATED}\nsource replica: {replica}\nblock_id: \n"
        return f"{head}{body}\n".encode()

    def _carry_out(self, replica: str, body: list[str], is_cold: Callable[[str], bool]) -> None:
        kind, *names = body
        if kind == "drop":
            partition, _first, last, _level = names[0].split("_")
            self._remove_range(replica, partition, int(last), self._cold if is_cold(partition) else self._hot)
        elif kind == "get":
            self._replace(replica, [], names[0])
        else:
            end = names.index("into")
            self._replace(replica, names[:end], names[end + 1])

    def _replace(self, replica: str, sources: Iterable[str], result: str) -> None:
        if result not in self.disk[replica]:
            transaction = self._hot.transaction()
            self._register(transaction, replica, result)
            transaction.commit()
        self.disk[replica] = self.disk[replica] - set(sources) | {result}
        for name in sources:
            self._unregister(self._hot, replica, name)

    def _is_cold(self, partition: str) -> bool:
        state = self.table.state_path(partition)
        return self._hot.exists(state) is not None and bool(self._hot.get(state)[0] == b"COLD")

    def _remove_range(self, replica: str, partition: str, last: int, client: Any) -> None:
        """Remove parts where State says that they are registered: that is what the patch is about."""
        for name in self.parts_of(partition, replica):
            if int(name.split("_")[2]) <= last:
                self.disk[replica].discard(name)
                self._unregister(client, replica, name)

    def _unregister(self, client: Any, replica: str, name: str) -> None:
        if client is self._cold and self.cold_expired:
            return
        path = self._part(replica, name)
        if client.exists(path) is not None:
            client.delete(path, recursive=True)

    def _register(self, transaction: Any, replica: str, name: str) -> None:
        for path, data in self._znodes(replica, name):
            transaction.create(path, data)

    def _znodes(self, replica: str, name: str) -> list[tuple[str, bytes]]:
        """The znodes of a part with bytes that no other part has, the parent first."""
        path = self._part(replica, name)
        unique = sha512(f"{name} {self.times_made}".encode()).digest()
        if self.table.options.legacy:
            columns = b"columns format version: 1\n1 columns:\n`d` Date\n"
            checksums = b"checksums format version: 5\n\x01\x01" + unique[:48]
            return [(path, b""), (f"{path}/columns", columns), (f"{path}/checksums", checksums)]
        return [(path, b"part header format version: 1\n" + unique[-16:] + b"\x03\x02" + unique[:48])]

    def _part(self, replica: str, name: str) -> str:
        return f"{self.table.parts_path(replica)}/{name}"

    def _activate(self, replica: str) -> None:
        path = f"{self.table.path}/replicas/{replica}/is_active"
        self._hot.create(path, b"pid: 2, random: 2", ephemeral=True)


class SimulatedProbe:
    """Implements ReplicaProbe: tells what the simulated servers have on disk."""

    def __init__(self, servers: SimulatedServers) -> None:
        self._servers = servers

    def active_parts(
        self, _shard_path: str, replica: str, _host: str, partitions: Collection[str]
    ) -> Mapping[str, tuple[ActivePart, ...]]:
        """The active parts of a replica; none where the replica is not there any more."""
        there = replica in self._servers.disk
        return {
            each: tuple(
                ActivePart(name, 1, None) for name in (self._servers.parts_of(each, replica) if there else ())
            )
            for each in partitions
        }

    def detached_parts(self, _shard_path: str, _replica: str, _host: str) -> frozenset[str]:
        """Nothing is ever detached."""
        return frozenset()
