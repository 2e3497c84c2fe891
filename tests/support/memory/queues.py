# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What replicas have registered and on disk, and how they carry out the log of their table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from hashlib import sha512
from typing import Any

from support.memory.tables import Table

CREATED = "2026-11-21 00:23:24"
DROP_LEVEL = 999_999_999


class ServerQueues:
    """The queues and the disks of the replicas of one table.

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
        self._queued: Counter[str] = Counter()
        self._outdated: list[tuple[str, str]] = []
        self._mutations = 0
        self.times_made = 0
        self.cold_expired = False

    def is_active(self, replica: str) -> bool:
        """Whether the server of a replica runs and has the table."""
        path = f"{self.table.path}/replicas/{replica}/is_active"
        return replica in self.disk and self._hot.exists(path) is not None

    def is_lost(self, replica: str) -> bool:
        """Whether a replica is marked as lost."""
        return bool(self._hot.get(f"{self.table.path}/replicas/{replica}/is_lost")[0] == b"1")

    def at_work(self) -> list[str]:
        """The replicas whose servers run, sorted."""
        return [each for each in sorted(self.disk) if self.is_active(each)]

    def pull(self) -> None:
        """Let every replica take over the new entries of the log."""
        for replica in self.at_work():
            path = f"{self.table.path}/replicas/{replica}"
            pointer = int(self._hot.get(f"{path}/log_pointer")[0] or b"0")
            if pointer >= self._entries:
                continue
            transaction = self._hot.transaction()
            for number in range(pointer, self._entries):
                data = self._hot.get(f"{self.table.path}/log/log-{number:010}")[0]
                transaction.create(self._next_in_queue(replica), data)
            transaction.set_data(f"{path}/log_pointer", str(self._entries).encode())
            transaction.commit()

    def catch_up(self, is_cold: Callable[[str], bool] | None = None) -> None:
        """Let every replica take over the new entries of the log and carry out its queue.

        `is_cold`: what State said when that was not just now.
        """
        self._clean_up()
        self.pull()
        for replica in self.at_work():
            queue = f"{self.table.path}/replicas/{replica}/queue"
            for name in self._hot.get_children(queue):
                body = self._hot.get(f"{queue}/{name}")[0].decode().splitlines()[4:]
                self._carry_out(replica, body, is_cold or self._is_cold)
                self._hot.delete(f"{queue}/{name}")

    def parts_of(self, partition: str, replica: str) -> list[str]:
        """Names of the active parts of a partition, by their blocks."""
        names = [name for name in self.disk[replica] if name.split("_")[0] == partition]
        return sorted(names, key=lambda name: int(name.split("_")[1]))

    def _next_block(self, partition: str) -> int:
        self._blocks[partition] += 1
        return self._blocks[partition]

    def _next_in_queue(self, replica: str) -> str:
        self._queued[replica] += 1
        return f"{self.table.path}/replicas/{replica}/queue/queue-{self._queued[replica] - 1:010}"

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
        head = f"format version: 4\ncreate_time: {CREATED}\nsource replica: {replica}\nblock_id: \n"
        return f"{head}{body}\n".encode()

    def _clean_up(self) -> None:
        """Unregister from hot what was dropped before that, as the thread does that deletes the folders."""
        outdated, self._outdated = self._outdated, []
        for replica, name in outdated:
            if replica in self.disk and name not in self.disk[replica]:
                self._unregister(self._hot, replica, name)

    def _carry_out(self, replica: str, body: list[str], is_cold: Callable[[str], bool]) -> None:
        kind, *names = body
        if kind in ("drop", "detach"):
            self._remove_range(
                replica, names[0], self._cold if is_cold(names[0].split("_")[0]) else self._hot
            )
        elif kind == "get":
            self._fetch(replica, names[0])
        elif kind == "alter":
            self._apply_alter(replica, names)
        elif kind == "REPLACE_RANGE":
            # Whatever State says, it looks for what it replaces in hot.
            self._remove_range(replica, names[0].split(": ")[1], self._hot)
            self._fetch(replica, names[4].split("'")[1])
        else:
            end = names.index("into" if kind == "merge" else "to")
            self._replace(replica, names[:end], names[end + 1])

    def _apply_alter(self, replica: str, names: list[str]) -> None:
        sizes = [names.index(f"{each}_str_size:") for each in ("columns", "metadata")]
        text = "\n".join(names[sizes[0] + 2 : sizes[1]])
        self._hot.set(f"{self.table.path}/replicas/{replica}/columns", text.encode())

    def _fetch(self, replica: str, name: str) -> None:
        """Fetch a part from a replica that has it registered in hot, for in no other does it look for one."""
        others = [each for each in self.disk if each != replica and name in self.disk[each]]
        if name not in self.disk[replica] and any(
            self._hot.exists(self._part(each, name)) is not None for each in others
        ):
            self._replace(replica, [], name)
            self._reach_quorum(name)

    def _replace(self, replica: str, sources: Iterable[str], result: str) -> None:
        if result not in self.disk[replica]:
            transaction = self._hot.transaction()
            self._register(transaction, replica, result)
            transaction.commit()
        self.disk[replica] = self.disk[replica] - set(sources) | {result}
        for name in sources:
            self._unregister(self._hot, replica, name)

    def _reach_quorum(self, name: str) -> None:
        path = f"{self.table.path}/quorum/status"
        if self._hot.exists(path) is not None and f"part_name: {name}\n".encode() in self._hot.get(path)[0]:
            self._hot.delete(path)

    def _is_cold(self, partition: str) -> bool:
        state = self.table.state_path(partition)
        return self._hot.exists(state) is not None and bool(self._hot.get(state)[0] == b"COLD")

    def _remove_range(self, replica: str, dropped: str, client: Any) -> None:
        """Remove parts from one ensemble, as State says where they are: that is what the patch is about."""
        partition, _first, last, *_level = dropped.split("_")
        for name in self.parts_of(partition, replica):
            if int(name.split("_")[2]) <= int(last):
                self.disk[replica].discard(name)
                self._unregister(client, replica, name)
                self._outdated.append((replica, name))

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
