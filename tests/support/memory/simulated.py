# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the servers of one table do to its znodes, one step at a time, and what they then have on disk.

Every method does what the source of ClickHouse 20.12, with the patch for a cold ensemble, does in one
request or in one uninterrupted series of them. Nothing happens by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from support.memory.queues import CREATED, DROP_LEVEL, ServerQueues
from support.memory.tables import Table, build_table


class SimulatedServers(ServerQueues):
    """The servers of a table that `build_table` made, as far as znodes and parts go."""

    def __init__(self, table: Table, hot: Any, cold: Any, *, raises_log_version: bool = True) -> None:
        super().__init__(table, hot, cold, raises_log_version=raises_log_version)
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
        mutated = [f"_{version}" for version in sorted(int(each) for fields in blocks for each in fields[4:])]
        result = f"{partition}_{blocks[0][1]}_{blocks[-1][2]}_{level}{''.join(mutated[-1:])}"
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
            f"format version: 1\ncreate time: {CREATED}\nsource replica: r1\nblock numbers count: 1\n"
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
        self._assign(f"drop\n{partition}_0_{last}_{DROP_LEVEL}")

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

    def restart(self, replica: str = "r2") -> None:
        """Restart the server of a replica."""
        self.assigned += 1
        if self.is_active(replica):
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
        self._queued[replica] = 0
        for part in self._hot.get_children(f"{other}/parts"):
            transaction.create(self._next_in_queue(replica), self._entry(f"get\n{part}", "r1"))
        for name in self._hot.get_children(f"{other}/queue"):
            transaction.create(self._next_in_queue(replica), self._hot.get(f"{other}/queue/{name}")[0])
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

    def _settle_in(self) -> None:
        """Note what was built, and give each part a header of its own."""
        options = self.table.options
        names = [name for partition in options.partitions for name in self.table.part_names(partition)]
        self.disk = {replica: set(names) for replica in options.replicas}
        self._blocks = Counter(dict.fromkeys(options.partitions, options.parts))
        self._entries = 0
        self._queued.clear()
        self._outdated.clear()
        for replica in options.replicas:
            for name in names:
                path, data = self._znodes(replica, name)[-1]
                self._hot.set(path, data)

    def _activate(self, replica: str) -> None:
        path = f"{self.table.path}/replicas/{replica}/is_active"
        self._hot.create(path, b"pid: 2, random: 2", ephemeral=True)
