# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether a partition may be switched, by the tree of the leader and the disks at that very instant."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple
from urllib.parse import quote

from support.memory.memory import MemoryEnsemble
from support.memory.simulated import SimulatedServers
from support.memory.trees import Trees
from support.memory.violation import Violation

_NO_KEEPING_OUT = frozenset({"get", "attach"})
"""What an insert assigns, which nothing can keep out."""


class Entry(NamedTuple):
    """An entry that a replica has yet to carry out."""

    where: str
    kind: str
    names: tuple[str, ...]

    def is_about(self, partition: str) -> bool:
        """Whether it names a part or a range of the partition, or the whole table."""
        return self.kind == "alter" or any(partition_of(name) == partition for name in self.names)


def partition_of(part: str) -> str:
    """The partition of a part or a range."""
    return part.split("_", maxsplit=1)[0]


def pending(trees: Trees) -> Iterator[Entry]:
    """What the replicas have in their queues, and what of the log one of them has not taken over."""
    replicas = [f"{trees.path}/replicas/{each}" for each in sorted(trees.hot_names(f"{trees.path}/replicas"))]
    paths = [f"{each}/queue/{name}" for each in replicas for name in trees.hot_names(f"{each}/queue")]
    oldest = min((int(trees.hot_data(f"{each}/log_pointer") or b"0") for each in replicas), default=0)
    log = f"{trees.path}/log"
    paths += [f"{log}/{name}" for name in trees.hot_names(log) if int(name.split("-")[1]) >= oldest]
    for path in paths:
        _version, _time, _source, _block, kind, *body = trees.hot_data(path).decode().splitlines()
        yield Entry(path, kind, tuple(re.findall(r"\b\w+_\d+_\d+_\d+(?:_\d+)?\b", " ".join(body))))


def locks(trees: Trees, partition: str) -> list[str]:
    """Names of the block numbers of a partition that inserts hold."""
    folder = f"{trees.path}/block_numbers/{partition}"
    return sorted(name for name in trees.hot_names(folder) if name.startswith("block-"))


class Switches:
    """Judges the switches of one table."""

    def __init__(
        self, servers: SimulatedServers, hot: MemoryEnsemble, cold: MemoryEnsemble, *, by_ledger: bool
    ) -> None:
        self._servers = servers
        self._hot = hot
        self._cold = cold
        self._by_ledger = by_ledger
        self._late: dict[str, object] = {}
        """Partition → the run that switched it although something was on its way that nothing keeps out."""

    def judge_cold(
        self, run: object, partition: str, deleted: Mapping[str, Collection[str]], before: Trees
    ) -> None:
        """Judge a switch that deletes parts from hot, by replica."""
        late = bool(locks(before, partition))
        for entry in pending(before):
            if entry.is_about(partition):
                if entry.kind not in _NO_KEEPING_OUT:
                    raise Violation(f"{partition} was made COLD while {entry.where} waits: {entry.kind}")
                late = True
        replicas = sorted(before.hot_names(f"{before.path}/replicas"))
        for replica in replicas:
            self._judge_replica(replica, before)
            left = self._judge_parts(replica, partition, set(deleted.get(replica, ())), before)
            late = late or bool(left)
        if len({frozenset(deleted.get(replica, ())) for replica in replicas}) > 1:
            raise Violation(f"{partition} was made COLD with other parts on each replica: {deleted}")
        self._judge_mutations(partition, {each for names in deleted.values() for each in names}, before)
        for marker in before.markers():
            if marker.get("hot_czxid") != before.table_czxid():
                raise Violation(
                    f"{partition} was made COLD while cold has the parts of another table: {marker}"
                )
        self._late.pop(partition, None)
        if late:
            self._late[partition] = run

    def judge_hot(self, partition: str, before: Trees) -> None:
        """Judge a switch back: nothing waits that looks at State, and hot has all that is on disk."""
        after = before.now()
        for replica, disk in self._servers.disk.items():
            in_hot = after.hot_names(self._servers.table.parts_path(replica))
            missing = {name for name in disk if partition_of(name) == partition} - in_hot
            if missing:
                raise Violation(f"I3: State=HOT was set, and hot has not {sorted(missing)} of {replica}")
        was = before.hot_data(self._servers.table.state_path(partition))
        for entry in pending(before) if was == b"COLD" else ():
            if entry.kind not in (*_NO_KEEPING_OUT, "alter") and entry.is_about(partition):
                raise Violation(f"{partition} was made HOT while {entry.where} waits: {entry.kind}")
        self._late.pop(partition, None)

    def end(self, run: object, moved: Collection[str]) -> None:
        """Raise Violation where a run tells that it has moved what is mixed, or will be."""
        now = Trees.of(self._hot, self._cold, self._servers.table.path)
        for partition in sorted(moved):
            if self._late.get(partition) is run and self._is_late(partition, now):
                raise Violation(f"{partition} was reported as moved, and something was on its way")

    def _is_late(self, partition: str, now: Trees) -> bool:
        names = (now.hot_names(self._servers.table.parts_path(each)) for each in self._servers.disk)
        return (
            bool(locks(now, partition))
            or any(partition_of(name) == partition for each in names for name in each)
            or any(entry.is_about(partition) for entry in pending(now))
        )

    def _judge_replica(self, replica: str, before: Trees) -> None:
        path = f"{before.path}/replicas/{replica}"
        if before.hot_data(f"{path}/is_lost") != b"0":
            raise Violation(f"a partition was made COLD while {replica} is lost")
        for name in ("columns", "metadata"):
            if before.hot_data(f"{path}/{name}") != before.hot_data(f"{before.path}/{name}"):
                raise Violation(f"a partition was made COLD while {replica} has other {name}")
        if self._by_ledger:
            entry = before.hot_data(f"/partmove/ledger/{quote(before.path, safe='')}/{replica}")
            host = before.hot_znode(f"{path}/host")
            if not entry or host is None or json.loads(entry)["host_mzxid"] != host.stat.mzxid:
                raise Violation(f"a partition was made COLD while {replica} is not known to be patched")

    def _judge_parts(self, replica: str, partition: str, deleted: set[str], before: Trees) -> set[str]:
        """Judge one replica; returns the names of parts that the switch leaves in hot."""
        parts = self._servers.table.parts_path(replica)
        in_hot = {name for name in before.hot_names(parts) if partition_of(name) == partition}
        on_disk = set(self._servers.parts_of(partition, replica)) - (in_hot - deleted)
        for name in sorted(on_disk | deleted):
            path = f"{parts}/{name}"
            if name in deleted and name not in on_disk:
                raise Violation(f"I7: {path} was deleted, and the disk has it not")
            copies = before.in_members_of_cold(path)
            if None in copies or (name in deleted and any(each != before.in_hot(path) for each in copies)):
                raise Violation(f"I2: {path} was made COLD, and not every member of cold has it as it is")
        return in_hot - deleted

    def _judge_mutations(self, partition: str, deleted: Collection[str], before: Trees) -> None:
        folder = f"{before.path}/mutations"
        for name in before.hot_names(folder):
            found = re.search(
                rf"^{partition}\t(\d+)$", before.hot_data(f"{folder}/{name}").decode(), re.MULTILINE
            )
            for part in deleted if found is not None else ():
                numbers = part.split("_")[1:]
                version = int(numbers[3] if len(numbers) > 3 else numbers[0])
                if found is not None and version < int(found[1]):
                    raise Violation(f"{part} was made COLD while mutation {name} has yet to reach it")
        status = before.hot_data(f"{before.path}/quorum/status").decode()
        if any(f"part_name: {part}\n" in status for part in deleted):
            raise Violation(f"{partition} was made COLD while a part of it waits for a quorum")
