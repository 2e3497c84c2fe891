# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The way back: registers cold partitions in hot again, and later removes their copies from cold.

Phases of a partition, each of which a run can end after:

- COLD: cold alone registers it. One multi creates its parts in hot and sets State to HOT.
- HOT with copies: hot registers it, as does cold. A server that is starting may have read hot before the
  multi and has yet to read cold, so the copies stay until no such server can be left. A DROP PARTITION
  takes the parts out of hot only; their copies go at the same time as others, once the servers say that
  they have none of these parts.
- HOT: done.

Servers read hot first and cold after it, so at no moment does one find a part in neither.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from math import isinf
from typing import NamedTuple

from ..aligned import aligned
from ..errors import EnsembleError, PartMoveError
from ..formats.layout import ShardLayout
from ..formats.names import PartName
from ..gates.judge import REHEAT_GATES, STRAY_COPIES, GateOptions, Refusal, refuse_partitions, refuse_shard
from ..gates.servers import server_silent
from ..gates.whereabouts import refusal_of
from ..lease.lease import Lease, confirm_lease
from ..shard.facts import COLD, HOT, PartitionFacts, ShardFacts, Whereabouts
from ..shard.reader import ShardReader
from ..tree.znodes import Znode
from .copies import ColdCopies, never_was_cold, seconds_needed
from .detached import detached_since
from .direction import ToHot, as_returned, returning_parts
from .report import MovedPartition, ShardReport
from .run import World, work_on_shard
from .switch import Switch, SwitchResult

_ROUNDS = 3
"""How often partitions that changed after the servers were asked are looked at again."""


class _Phase(Enum):
    COLD = "cold"
    WITH_COPIES = "hot, with copies in cold"
    HOT = "hot"
    OTHER = "other"
    """Registered nowhere, or not as State says."""


def find_reheatable(world: World, shard_path: str) -> list[str]:
    """Partitions of a shard path that are not only in hot, sorted. Raises NoSuchTable, FormatError."""
    world.hot.sync(shard_path)
    world.cold.sync(shard_path)
    reader = ShardReader(world.hot, world.cold, ShardLayout(shard_path))
    return reader.partitions_not_only_in_hot(reader.shard())


def reheat_shard(
    world: World, shard_path: str, partition_ids: Sequence[str], report: ShardReport | None = None
) -> ShardReport:
    """Bring the partitions of one shard path back to hot.

    ``report.moved`` has those that hot registers again, ``copies_removed`` those that were so before and
    that cold has no copies of any more. Raises EnsembleError and its kin when an ensemble cannot be used,
    and NoSuchTable; nothing is half done then, and running again goes on. Give an empty report to keep
    what was done until then.
    """
    report = ShardReport(shard_path) if report is None else report
    progress = _Progress(ShardReader(world.hot, world.cold, ShardLayout(shard_path)), {}, {})
    wanted = sorted(set(partition_ids))
    try:
        work_on_shard(
            world.leases,
            wanted,
            report,
            lambda: _first_look(world, progress.reader, wanted, report),
            lambda lease, ids: _ShardReheat(world, lease, report, progress).run(ids),
        )
    finally:
        for each in sorted(progress.returned.keys() & report.moved.keys()):
            del report.moved[each]
            report.failed[each] = _not_looked_at_again()
    return report


def _first_look(world: World, reader: ShardReader, wanted: Sequence[str], report: ShardReport) -> None:
    """Sort out what can be told by reading alone, so that a run with nothing to do writes nothing."""
    world.hot.sync(report.shard_path)
    world.cold.sync(report.shard_path)
    shard = reader.shard()
    for each, where in reader.whereabouts(shard, wanted).items():
        phase = _phase(where)
        if phase is _Phase.HOT:
            report.unchanged.add(each)
        elif phase is _Phase.OTHER:
            report.deferred[each] = refusal_of(where)
        elif phase is _Phase.WITH_COPIES:
            needed = seconds_needed(shard, where.state, world.clock.now())
            if needed:
                report.deferred[each] = _copies_needed(needed)
    refusal = refuse_shard(shard, REHEAT_GATES)
    if refusal is not None:
        report.deferred.update(dict.fromkeys(report.open(wanted), refusal))


def _phase(where: Whereabouts) -> _Phase:
    in_hot, in_cold = any(where.hot.values()), any(where.cold.values())
    if where.is_cold and (in_hot or in_cold):
        return _Phase.COLD
    if in_hot and not where.is_cold:
        return _Phase.WITH_COPIES if in_cold else _Phase.HOT
    if in_cold and _was_brought_back(where.state):
        return _Phase.WITH_COPIES
    return _Phase.OTHER


def _was_brought_back(state: Znode | None) -> bool:
    """Whether the partition was cold and is hot: a drop leaves its copies in cold then."""
    return state is not None and state.data == HOT and not never_was_cold(state)


class _Progress(NamedTuple):
    """What a run knows of a shard path, under whatever lease."""

    reader: ShardReader
    returned: dict[str, PartitionFacts]
    """Partitions that hot registers again and that were not looked at since, as they were before."""
    detached: dict[str, frozenset[str]]
    """Replica → names in its ``detached`` folder before anything was switched."""


class _ShardReheat:
    """One pass over a shard path under one lease."""

    def __init__(self, world: World, lease: Lease, report: ShardReport, progress: _Progress) -> None:
        self._world = world
        self._layout = layout = ShardLayout(report.shard_path)
        self._lease = lease
        self._options = GateOptions(world.clock.now(), 0.0, 1)
        self._report = report
        self._progress = progress
        self._reader = progress.reader
        self._dropped: dict[str, PartName] = {}
        """Copies of parts that neither hot nor a server has any more, by path."""
        self._copies = ColdCopies(world.cold, layout, lease, self._dropped)

    def run(self, partition_ids: Sequence[str]) -> None:
        """Fill the report. Raises LeaseLost, FormatError, NoSuchTable, EnsembleError."""
        pending = list(partition_ids)
        for _round in range(_ROUNDS):
            if not pending:
                break
            pending = self._round(pending)
        self._report.deferred.update({each: _keeps_changing() for each in pending})
        if self._progress.returned:
            self._look_at_disks()

    def _round(self, partition_ids: Sequence[str]) -> list[str]:
        """Gates, switch, removal of copies; returns the partitions that changed in between."""
        shard, found = self._read(partition_ids)
        phases = {each: _phase(partition.whereabouts) for each, partition in found.items()}
        for each, phase in phases.items():
            if phase is _Phase.HOT:
                self._report.unchanged.add(each)
            elif phase is _Phase.OTHER:
                self._report.deferred[each] = refusal_of(found[each].whereabouts)
        self._remove_copies(
            shard, {each: found[each] for each, phase in phases.items() if phase is _Phase.WITH_COPIES}
        )
        cold = {each: found[each] for each, phase in phases.items() if phase is _Phase.COLD}
        return self._bring_back(shard, cold)

    def _read(self, partition_ids: Sequence[str]) -> tuple[ShardFacts, dict[str, PartitionFacts]]:
        self._world.hot.sync(self._layout.path)
        self._world.cold.sync(self._layout.path)
        shard = self._reader.shard()
        found = self._reader.partitions(shard, partition_ids)
        confirm_lease(self._world.hot, self._lease, self._layout.path)
        return shard, found

    def _bring_back(self, shard: ShardFacts, cold: Mapping[str, PartitionFacts]) -> list[str]:
        refused = self._refusals(shard, cold)
        self._report.deferred.update(refused)
        passed = {each: cold[each] for each in sorted(cold.keys() - refused.keys())}
        if not passed:
            return []
        try:
            if not self._progress.detached:
                self._progress.detached.update(self._world.servers.detached(shard))
        except PartMoveError as error:
            self._report.deferred.update(dict.fromkeys(passed, server_silent(error)))
            return []
        world, result = self._world, SwitchResult()
        switch = Switch(world.hot, self._reader, self._layout, self._lease, world.clock, ToHot(self._options))
        try:
            switch.run(passed, result)
        finally:
            # What was switched is known even where the lease or the ensemble was lost on the way.
            self._report.failed.update(dict.fromkeys(sorted(result.unclear), _not_found_out()))
            self._record([passed[each] for each in sorted(result.switched)])
        self._report.deferred.update(result.refused)
        return sorted(result.changed)

    def _refusals(self, shard: ShardFacts, cold: Mapping[str, PartitionFacts]) -> dict[str, Refusal]:
        """Of the gates, and of the servers: a part that no disk has must not be in both ensembles."""
        returned = [as_returned(cold[each]) for each in sorted(cold)]
        refused = refuse_partitions(shard, returned, self._options, REHEAT_GATES)
        passed = [each for each in returned if each.partition_id not in refused]
        if passed:
            refused.update(self._world.servers.refusals(shard, passed))
        return refused

    def _record(self, partitions: Sequence[PartitionFacts]) -> None:
        rows = [MovedPartition.to_hot(each.partition_id, returning_parts(each)) for each in partitions]
        # All of them in the report first: writing the journal may fail.
        self._report.moved.update({row.partition: row for row in rows})
        self._progress.returned.update({each.partition_id: each for each in partitions})
        self._world.journal.record("reheated", [row.event(self._layout.path) for row in rows])

    def _remove_copies(self, shard: ShardFacts, partitions: Mapping[str, PartitionFacts]) -> None:
        """Remove copies that no server can need any more, and defer the partitions of all others."""
        refused: dict[str, Refusal] = {}
        for each, partition in partitions.items():
            needed = seconds_needed(shard, partition.state, self._world.clock.now())
            if needed:
                refused[each] = _copies_needed(needed)
        waited = [partition for each, partition in partitions.items() if each not in refused]
        refused.update(self._find_dropped(shard, waited))
        passed = sorted(partitions.keys() - refused.keys())
        # A member that has no State where there is none is not behind.
        refused.update(self._behind([each for each in passed if partitions[each].state is not None]))
        self._report.deferred.update(refused)
        passed = [each for each in passed if each not in refused]
        now = self._world.clock.now()
        removed = sorted(self._copies.take_back_all(self._world.hot, self._reader, passed, now))
        self._report.copies_removed.update(removed)
        rows = [{"shard_path": self._layout.path, "partition": each} for each in removed]
        self._world.journal.record("copies_removed", rows)
        if passed != removed:
            # Where nothing was written, nothing has checked the lease.
            confirm_lease(self._world.hot, self._lease, self._layout.path)
            changed = sorted(set(passed) - set(removed))
            self._report.deferred.update({each: _copies_changed() for each in changed})

    def _find_dropped(self, shard: ShardFacts, partitions: Sequence[PartitionFacts]) -> dict[str, Refusal]:
        """Note the copies of parts that were dropped since; refuse what a server still has, or may have.

        A server that was killed before it could delete such a part from its disk has it in the table again.
        """
        refused = refuse_partitions(shard, partitions, self._options, STRAY_COPIES)
        if not self._world.servers.asks:
            return refused
        dropped = [
            each for each in partitions if each.partition_id in refused and _was_brought_back(each.state)
        ]
        if dropped:
            for each in dropped:
                del refused[each.partition_id]
                self._dropped.update({part.znode.path: part.name for part in returning_parts(each)})
            refused.update(self._world.servers.refusals(shard, dropped))
        return refused

    def _behind(self, partition_ids: Sequence[str]) -> dict[str, Refusal]:
        """Partition id → which member of hot has not applied the multi yet, which State alone can tell."""
        behind: dict[str, Refusal] = {}
        if not partition_ids:
            return behind
        paths = [self._layout.state(each) for each in partition_ids]
        try:
            for member in self._world.hot.members():
                member.sync(self._layout.path)
                for each, state in aligned(partition_ids, member.read(paths)):
                    if state is None or state.data == COLD:
                        behind[each] = _member_behind(f"{member.name} still takes it for cold")
        except EnsembleError as error:
            return dict.fromkeys(partition_ids, _member_behind(error.message))
        return behind

    def _look_at_disks(self) -> None:
        """Whether a server took a part out of the table before hot had it again."""
        returned = self._progress.returned
        parts = [part.name for each in returned.values() for part in returning_parts(each)]
        self._world.hot.sync(self._layout.path)
        shard = self._reader.shard()
        failures = detached_since(self._world.servers, shard, parts, self._progress.detached)
        for each in sorted(failures.keys() & self._report.moved.keys()):
            del self._report.moved[each]
            self._report.failed[each] = failures[each]
        returned.clear()


def _copies_needed(seconds: float) -> Refusal:
    if isinf(seconds):
        return Refusal(
            "copies_needed",
            "it is hot again, and a replica that is not active may still look for its copies",
            "Start the replica and run again; the copies are removed then",
        )
    return Refusal(
        "copies_needed",
        "it is hot again, and a server that is starting may still look for its copies",
        f"Run again in {max(1, round(seconds))} s; the copies are removed then",
    )


def _copies_changed() -> Refusal:
    return Refusal(
        "copies_needed",
        "something happened to the table just when its copies were to be removed",
        "Run again; the copies are removed then",
    )


def _member_behind(reason: str) -> Refusal:
    return Refusal(
        "hot_members",
        f"it is registered in hot again, but not every member of the ensemble can tell so: {reason}",
        "See that every member of the hot ensemble is up and has caught up, then run again",
    )


def _not_looked_at_again() -> Refusal:
    return Refusal(
        "aftermath",
        "it is registered in hot again, but the run ended before the servers were looked at",
        "See with replica_info that no server has detached a part of it",
    )


def _not_found_out() -> Refusal:
    return Refusal(
        "aftermath",
        "the answer to its switch was lost, and the run ended before it was found out",
        "Run again: it is either in hot by now or will be brought back then",
    )


def _keeps_changing() -> Refusal:
    return Refusal(
        "quiet_table",
        f"its parts changed {_ROUNDS} times after the servers had been asked about them",
        "Run again when the partition is not dropped, merged or mutated any more",
    )
