# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Statements that people give to the servers of a table, besides inserts and drops.

Each does to the znodes what ClickHouse 20.12 with the patch for a cold ensemble does.
"""

from __future__ import annotations

from support.memory.queues import DROP_LEVEL
from support.memory.simulated import SimulatedServers


class Statements(SimulatedServers):
    """The servers of a table, and what else they may be told."""

    def alter(self) -> None:
        """Add a column; the replicas do it once they catch up."""
        path = f"{self.table.path}/columns"
        number = self.version_of_columns() + 1
        names = ["`d` Date", *(f"`c{each}` UInt8" for each in range(number))]
        columns = "\n".join(("columns format version: 1", f"{len(names)} columns:", *names, ""))
        metadata = self._hot.get(f"{self.table.path}/metadata")[0].decode()
        body = (
            f"alter\nalter_version\n{number}\nhave_mutation\n0\n"
            f"columns_str_size:\n{len(columns)}\n{columns}\nmetadata_str_size:\n{len(metadata)}\n{metadata}"
        )
        transaction = self._hot.transaction()
        transaction.set_data(path, columns.encode())
        transaction.set_data(f"{self.table.path}/metadata", metadata.encode())
        transaction.create(self._next_log(), self._entry(body, "r1"))
        transaction.commit()

    def version_of_columns(self) -> int:
        """How many ALTERs there were."""
        return int(self._hot.exists(f"{self.table.path}/columns").stat.version)

    def assign_mutation(self, partition: str) -> None:
        """Ask for a mutation, and let each part of the partition that is registered be mutated."""
        self.mutate(partition)
        number = self._blocks[partition]
        for name in self.parts_of(partition, "r1"):
            if self._hot.exists(self._part("r1", name)) is not None:
                result = f"{'_'.join(name.split('_')[:4])}_{number}"
                self._assign(f"mutate\n{name}\nto\n{result}")

    def assign_detach(self, partition: str) -> None:
        """Decide to detach a partition; the replicas do it once they catch up."""
        last = self._next_block(partition)
        self._assign(f"detach\n{partition}_0_{last}_{DROP_LEVEL}")

    def detach(self, partition: str) -> None:
        """Detach a partition on every replica."""
        self.assign_detach(partition)
        self.catch_up()

    def attach(self, partition: str) -> None:
        """Detach a partition and attach it again, which makes new parts of it, as an insert does."""
        parts = len(self.parts_of(partition, "r1"))
        self.detach(partition)
        for _part in range(parts):
            self.insert(partition)

    def replace(self, partition: str) -> None:
        """Replace a partition by a part of another table; other replicas do so once they catch up."""
        number = self._next_block(partition)
        name = f"{partition}_{number}_{number}_0"
        dropped = f"{partition}_0_{number - 1}_{DROP_LEVEL}"
        body = (
            f"REPLACE_RANGE\ndrop_range_name: {dropped}\nfrom_database: default\nfrom_table: other\n"
            f"source_parts: ['{name}']\nnew_parts: ['{name}']\npart_checksums: ['0']\ncolumns_version: -1"
        )
        self._assign(body)
        self._remove_range("r1", dropped, self._hot)
        self._replace("r1", [], name)

    def move_away(self, partition: str) -> None:
        """Move a partition to another table; other replicas drop it once they catch up."""
        dropped = f"{partition}_0_{self._next_block(partition)}_{DROP_LEVEL}"
        self._assign(f"drop\n{dropped}")
        self._remove_range("r1", dropped, self._hot)

    def insert_with_quorum(self, partition: str) -> None:
        """Insert a part that waits until the second replica has it, unless another one waits."""
        status = f"{self.table.path}/quorum/status"
        if self._hot.exists(status) is not None:
            return
        number = self._next_block(partition)
        name = f"{partition}_{number}_{number}_0"
        transaction = self._hot.transaction()
        self._register(transaction, "r1", name)
        transaction.create(self._next_log(), self._entry(f"get\n{name}\nquorum: 2", "r1"))
        entry = f"version: 1\npart_name: {name}\nrequired_number_of_replicas: 2\n"
        transaction.create(status, f"{entry}actual_number_of_replicas: 1\nreplicas:\nr1\n".encode())
        transaction.commit()
        self.disk["r1"].add(name)

    def add_again(self, replica: str = "r2") -> None:
        """Remove a replica and add it under the same name, so that its queue is numbered anew."""
        self.remove_replica(replica)
        self.add_replica(replica)

    def expire_cold(self) -> None:
        """End the session of the servers with cold, which none of them renews before it starts anew."""
        self.cold_expired = True
