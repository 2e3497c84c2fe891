# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The task of partition_merge: merge partitions one after the other, at the pace of their servers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from .._clickhouse.merge_servers import HttpMergeServers, PartitionOnReplica
from .._clickhouse.options import ClickHouseOptions
from .._partmove.errors import EnsembleUnreachable, LeaseHeld, LeaseLost, NoSuchTable, PartMoveError
from .._partmove.lease.confirmation import confirm_lease
from .._partmove.lease.lease import (
    LeaseKeeper,
)
from .._partmove.shard.location import Location
from .._partmove.text import count_of, first_few, parse_duration
from .._partmove.tree.ports import Clock, ZnodeStore
from .merge_table import MergeTable, Replica
from .merges_file import Merge, requested_merges
from .replica_set import ReplicaSet, RunningMerge
from .resources import LockOptions, Resources


class PartitionMerge:
    """Implements Task for partition_merge."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        """Read the options of the module. Raises PartMoveError for invalid values."""
        self._servers = HttpMergeServers(ClickHouseOptions.of(params["clickhouse"]))
        self._locks = LockOptions.of(params)
        self._requested = list(requested_merges(params))
        self._max_queue: int = params["max_queue"]
        self._max_merges: int = params["max_merges"]
        self._timeout = parse_duration(params["timeout"], "timeout")
        self._patience = parse_duration(params["patience"], "patience")
        self._poll = parse_duration(params["poll"], "poll")
        self._limit: int = params["limit"] or len(self._requested)
        self._hot: ZnodeStore
        self._leases: LeaseKeeper
        self._tables: dict[str, MergeTable] = {}
        self._merged: list[Merge] = []
        self._started = 0
        self._already = 0
        self._passed_by: list[dict[str, str]] = []
        self._failed: dict[Merge, PartMoveError] = {}
        self._stopped = ""

    @property
    def failure(self) -> str:
        """Why the run is not complete: servers were too busy, or merges failed; empty otherwise."""
        if not self._failed:
            return self._stopped
        (merge, error), *others = self._failed.items()
        more = f" ({count_of(len(others), 'other')} failed too)" if others else ""
        failed = f"Partition {merge.partition} of {merge.shard_path}{more}: {error}"
        return f"{failed} {self._stopped}".rstrip()

    def result(self) -> dict[str, Any]:
        """Return the merges so far, in order."""
        done = len(self._merged) + self._already + len(self._passed_by) + len(self._failed)
        return {
            "changed": bool(self._started),
            "merged": [each._asdict() for each in self._merged],
            "merged_already": self._already,
            "passed_by": self._passed_by,
            "failed_partitions": [
                {**merge._asdict(), "reason": error.message, "remedy": error.remedy}
                for merge, error in self._failed.items()
            ],
            "left": len(self._requested) - done,
        }

    def run(self, resources: Resources) -> None:
        """Merge the partitions; in check mode only list them."""
        hot, cold = resources.open_pair()
        sets = self._replica_sets(hot, cold)
        if self._requested and not sets and not self._failed:
            paths = first_few(dict.fromkeys(each.shard_path for each in self._requested))
            raise NoSuchTable(
                f"There is no replicated table at {paths} in the hot ensemble",
                remedy="Correct the chroot of hot, or make a new report",
            )
        if resources.check_mode:
            self._simulate()
            return
        self._hot = hot
        self._leases = self._locks.keeper("partition_merge", hot, cold, resources.clock)
        while True:
            for each in sets:
                self._advance_or_end(each, resources.clock)
            if not any(map(self._is_at_work, sets)):
                return
            resources.clock.sleep(self._poll)

    def _is_at_work(self, replica_set: ReplicaSet) -> bool:
        is_waiting = replica_set.busy_until is not None and not self._stopped and self._started < self._limit
        return replica_set.running is not None or is_waiting

    def _simulate(self) -> None:
        failed: set[str] = set()
        for merge in self._requested:
            if self._started >= self._limit:
                return
            if merge.shard_path not in self._tables or merge.shard_path in failed:
                continue
            try:
                self._simulate_one(merge)
            except EnsembleUnreachable:
                raise
            except PartMoveError as error:
                # Its servers would be waited for once more.
                failed.add(merge.shard_path)
                self._failed[merge] = error

    def _simulate_one(self, merge: Merge) -> None:
        if _is_merged([now for _replica, now in self._read_replicas(merge)]):
            self._already += 1
        elif self._is_in_hot(merge, self._tables[merge.shard_path].listed_location(merge.partition)):
            self._started += 1
            self._merged.append(merge)

    def _replica_sets(self, hot: ZnodeStore, cold: ZnodeStore) -> list[ReplicaSet]:
        """Group the merges by the servers of their replicas. Each group keeps the order."""
        sets: dict[frozenset[str], ReplicaSet] = {}
        for merge in self._requested:
            path = merge.shard_path
            try:
                if path not in self._tables:
                    self._tables[path] = MergeTable(hot, cold, path, self._locks.root)
                servers = frozenset(
                    self._servers.server(path, each.name, each.host) for each in self._tables[path].replicas
                )
            except EnsembleUnreachable:
                raise
            except NoSuchTable as error:
                # The table may have been dropped since the report was made.
                self._passed_by.append({**merge._asdict(), "reason": error.message})
            except PartMoveError as error:
                self._failed[merge] = error
            else:
                sets.setdefault(servers, ReplicaSet()).waiting.append(merge)
        return list(sets.values())

    def _advance_or_end(self, replica_set: ReplicaSet, clock: Clock) -> None:
        """Start the next merge if the running merge is done; an error ends the set, and no other one."""
        try:
            self._advance(replica_set, clock)
        except EnsembleUnreachable:
            raise
        except PartMoveError as error:
            self._failed[replica_set.end()] = error

    def _advance(self, replica_set: ReplicaSet, clock: Clock) -> None:
        """Start the next merge if the running merge is done."""
        if replica_set.running is not None:
            if not self._is_done(replica_set.running, clock):
                return
            self._merged.append(replica_set.running.merge)
            replica_set.running = None
        while replica_set.waiting and not self._stopped and self._started < self._limit:
            replica_set.running = self._start(replica_set, clock)
            if replica_set.running is not None or replica_set.busy_until is not None:
                return

    def _start(self, replica_set: ReplicaSet, clock: Clock) -> RunningMerge | None:
        """Give the statement to the leader. Returns None if no merge is needed or servers are too busy."""
        merge = replica_set.waiting[0]
        states = self._read_replicas(merge)
        is_merged = _is_merged([now for _replica, now in states])
        busy = (
            "" if is_merged else next(filter(None, (self._busy_reason(now) for _replica, now in states)), "")
        )
        if busy:
            self._wait_or_stop(replica_set, busy, clock.now())
            return None
        if is_merged:
            replica_set.busy_until = None
            replica_set.waiting.popleft()
            self._already += 1
            return None
        # With several leaders, or none known, any replica may run the statement.
        replica = next((replica for replica, now in states if now.is_leader), states[0][0])
        running = RunningMerge(merge, replica, clock.now() + self._timeout)
        try:
            location = self._optimize(running)
        except (LeaseHeld, LeaseLost) as error:
            self._wait_or_stop(replica_set, error.message, clock.now())
            return None
        replica_set.busy_until = None
        replica_set.waiting.popleft()
        if not self._is_in_hot(merge, location):
            return None
        self._started += 1
        return running

    def _is_in_hot(self, merge: Merge, location: Location) -> bool:
        """Return whether the partition is in hot only; otherwise list the partition with the reason."""
        if location is Location.HOT:
            return True
        reason = (
            "the partition has no parts"
            if location is Location.ABSENT
            else "the partition is not in hot only"
        )
        self._passed_by.append({**merge._asdict(), "reason": reason})
        return False

    def _optimize(self, running: RunningMerge) -> Location:
        """Give the statement if the partition is in hot only. Returns the location.

        The lease keeps moves away meanwhile: OPTIMIZE of a cold partition would remove its rows from the
        table.
        """
        merge, replica = running.merge, running.replica
        path = merge.shard_path
        with self._lease(path) as confirm:
            location = self._tables[path].location(merge.partition)
            if location is Location.HOT:
                confirm()
                running.refused = self._servers.optimize(path, replica.name, replica.host, merge.partition)
        return location

    @contextmanager
    def _lease(self, shard_path: str) -> Iterator[Callable[[], None]]:
        """Hold the lease of the shard path. Yields a check that raises LeaseLost if the lease is lost."""
        lease = self._leases.acquire(shard_path)
        try:
            yield lambda: confirm_lease(self._hot, lease, shard_path)
        finally:
            self._leases.release(lease)

    def _busy_reason(self, now: PartitionOnReplica) -> str:
        """Return why no merge may start now; empty if a merge may start."""
        if now.queue > self._max_queue:
            return (
                f"{now.server} has {now.queue} entries in its queue for the table, more than max_queue,"
                f" {self._max_queue}"
            )
        if now.merges > self._max_merges:
            return f"{now.server} runs {now.merges} merges, more than max_merges, {self._max_merges}"
        return ""

    def _wait_or_stop(self, replica_set: ReplicaSet, busy: str, now: float) -> None:
        """Wait until servers have finished the follow-up work of the last merge; stop after the patience."""
        if replica_set.busy_until is None:
            replica_set.busy_until = now + self._patience
        if now >= replica_set.busy_until:
            merge = replica_set.waiting[0]
            self._stopped = (
                f"Stopped before partition {merge.partition} of {merge.shard_path}: {busy}. All started"
                " merges are done; run again when the servers are less busy."
            )

    def _is_done(self, running: RunningMerge, clock: Clock) -> bool:
        merge = running.merge
        states = self._read_replicas(merge)
        if _is_merged([now for _replica, now in states]):
            return True
        if clock.now() > running.until:
            said = f"; the server says: {running.refused}" if running.refused else ""
            raise PartMoveError(
                f"Partition {merge.partition} of {merge.shard_path} is not merged on every replica yet{said}",
                remedy="See system.merges and system.replication_queue there, and run again to continue",
            )
        if running.refused:
            # If another run holds the lease, the next poll tries again.
            with suppress(LeaseHeld, LeaseLost):
                self._optimize(running)
        return False

    def _read_replicas(self, merge: Merge) -> list[tuple[Replica, PartitionOnReplica]]:
        path = merge.shard_path
        return [
            (each, self._servers.read_state(path, each.name, each.host, merge.partition))
            for each in self._tables[path].replicas
        ]


def _is_merged(replicas: Sequence[PartitionOnReplica]) -> bool:
    """Return whether all replicas have the same single part, or no parts."""
    return len({each.parts for each in replicas}) == 1 and len(replicas[0].parts) <= 1
