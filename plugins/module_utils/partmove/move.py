# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Moves partitions of a shard path to the cold ensemble: gates, copy, verify, switch, aftermath.

The truth is in the two ensembles alone. Whatever a killed run left behind is one of: nothing, copies
of partitions that hot still registers, or partitions that are cold. Running again starts from there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from .aftermath import Aftermath
from .coordination import Lease, LeaseKeeper, confirm_lease
from .copies import ColdCopies
from .errors import EnsembleError, FormatError, LeaseHeld, LeaseLost
from .facts import PartitionFacts, ShardFacts
from .gates import GateOptions, Refusal, refuse_partitions, refuse_shard
from .layout import ShardLayout
from .location import Location, locate, refusal_of
from .ports import Clock, Journal, ZnodeStore
from .report import MovedPartition, ShardReport
from .server_gates import Readiness, ServerCheck
from .shard_reader import ShardReader
from .switch import Switch, SwitchResult
from .verify import compare_copies

_LEASES = 3
"""How often a run takes a shard path up again after its session ended."""
_ROUNDS = 3
"""How often partitions that changed after they were copied are copied again."""


class MoveOptions(NamedTuple):
    """What the operator may set."""

    min_age: float
    """Seconds since the newest part of a partition was registered."""
    max_parts: int
    """Parts of a partition that a replica may have."""


class World(NamedTuple):
    """All that a move works with."""

    hot: ZnodeStore
    cold: ZnodeStore
    clock: Clock
    journal: Journal
    leases: LeaseKeeper
    readiness: Readiness
    servers: ServerCheck


def move_shard(
    world: World,
    shard_path: str,
    partition_ids: Sequence[str],
    options: MoveOptions,
    report: ShardReport | None = None,
) -> ShardReport:
    """Move the partitions of one shard path that every gate lets pass.

    Raises EnsembleError and its kin when an ensemble cannot be used, and NoSuchTable; nothing is
    half done then, and running again goes on. Give an empty report to keep what was done until then.
    """
    layout = ShardLayout(shard_path)
    report = ShardReport(shard_path) if report is None else report
    wanted = sorted(set(partition_ids))
    reader = ShardReader(world.hot, world.cold, layout)
    switched: dict[str, PartitionFacts] = {}
    try:
        _first_look(world, reader, wanted, report)
    except FormatError as error:
        _give_up(report, wanted, (), Refusal("readable", error.message, error.remedy))
    if not report.open(wanted):
        return report
    refusal = Refusal("lock_kept", "", "")
    for _lease in range(_LEASES):
        try:
            lease = world.leases.acquire(shard_path)
        except LeaseHeld as error:
            refusal = Refusal("lock_free", error.message, error.remedy)
            break
        except LeaseLost as error:
            refusal = Refusal("lock_kept", error.message, error.remedy)
            continue
        try:
            move = _ShardMove(world, reader, lease, options, report, switched)
            move.run(report.open(wanted))
            return report
        except LeaseLost as error:
            refusal = Refusal("lock_kept", error.message, error.remedy)
        except FormatError as error:
            refusal = Refusal("readable", error.message, error.remedy)
            break
        finally:
            world.leases.release(lease)
    _give_up(report, wanted, switched.keys(), refusal)
    return report


def _first_look(world: World, reader: ShardReader, wanted: Sequence[str], report: ShardReport) -> None:
    """Sort out what can be told by reading alone, so that a run with nothing to do writes nothing."""
    world.hot.sync(report.shard_path)
    world.cold.sync(report.shard_path)
    shard = reader.shard()
    for each, partition in reader.whereabouts(shard, wanted).items():
        location = locate(partition)
        if location is Location.COLD:
            report.unchanged.add(each)
        elif location is not Location.HOT:
            report.deferred[each] = refusal_of(partition)
    refusal = world.readiness.refusal(shard) or refuse_shard(shard)
    if refusal is not None:
        report.deferred.update(dict.fromkeys(report.open(wanted), refusal))


def _give_up(
    report: ShardReport, wanted: Sequence[str], unchecked: Collection[str], refusal: Refusal
) -> None:
    """Defer what was not reached; what was switched and not looked at again is for a person to see."""
    for each in sorted(report.moved.keys() & unchecked):
        del report.moved[each]
        reason = f"it was switched, but not looked at again: {refusal.reason}"
        report.failed[each] = Refusal(refusal.gate, reason, refusal.remedy)
    report.deferred.update(dict.fromkeys(report.open(wanted), refusal))


class _ShardMove:
    """One pass over a shard path under one lease."""

    def __init__(
        self,
        world: World,
        reader: ShardReader,
        lease: Lease,
        options: MoveOptions,
        report: ShardReport,
        switched: dict[str, PartitionFacts],
    ) -> None:
        self._world = world
        self._layout = layout = ShardLayout(report.shard_path)
        self._lease = lease
        self._options = GateOptions(world.clock.now(), options.min_age, options.max_parts)
        self._report = report
        self._switched = switched
        self._detached: Mapping[str, frozenset[str]] = {}
        self._reader = reader
        self._copies = ColdCopies(world.cold, layout, lease)

    def run(self, partition_ids: Sequence[str]) -> None:
        """Fill the report. Raises LeaseLost, FormatError, EnsembleError."""
        pending = list(partition_ids)
        for _round in range(_ROUNDS):
            if not pending:
                break
            pending = self._round(pending)
        self._defer({each: _keeps_changing() for each in pending})
        if self._switched:
            world = self._world
            aftermath = Aftermath(world.hot, self._reader, self._layout, self._lease, world.servers)
            aftermath.check(self._switched, self._detached, self._report)
            self._switched.clear()

    def _round(self, partition_ids: Sequence[str]) -> list[str]:
        """Gates, copy, verify, switch; returns the partitions that changed after they were copied."""
        shard, passed = self._gated(partition_ids)
        if not passed:
            return []
        self._detached = self._detached or self._world.servers.detached(shard)
        verified = self._copied(shard, passed)
        switch = Switch(self._world.hot, self._reader, self._layout, self._lease, self._world.clock)
        result = SwitchResult()
        try:
            switch.run(verified, self._options, result)
        finally:
            # What was switched is known even where the lease or the ensemble was lost on the way.
            for each in sorted(result.switched):
                self._record_moved(verified[each])
                self._switched[each] = verified[each]
        self._defer(result.refused)
        return sorted(result.changed)

    def _gated(self, partition_ids: Sequence[str]) -> tuple[ShardFacts, dict[str, PartitionFacts]]:
        """Read the shard path and keep the partitions that every gate lets pass."""
        self._world.hot.sync(self._layout.path)
        self._world.cold.sync(self._layout.path)
        shard = self._reader.shard()
        found = self._reader.partitions(shard, partition_ids)
        confirm_lease(self._world.hot, self._lease, self._layout.path)
        movable: dict[str, PartitionFacts] = {}
        for each, partition in found.items():
            whereabouts = partition.whereabouts
            location = locate(whereabouts)
            if location is Location.HOT:
                movable[each] = partition
            elif location is Location.COLD:
                self._report.unchanged.add(each)
            elif self._take_back([each]):
                self._report.deferred[each] = _dropped()
            else:
                self._report.deferred[each] = refusal_of(whereabouts)
        refused = self._refusals(shard, movable)
        self._defer(refused, movable)
        return shard, {each: movable[each] for each in sorted(movable.keys() - refused.keys())}

    def _refusals(self, shard: ShardFacts, movable: Mapping[str, PartitionFacts]) -> dict[str, Refusal]:
        unready = self._world.readiness.refusal(shard)
        if unready is not None:
            return dict.fromkeys(movable, unready)
        partitions = [movable[each] for each in sorted(movable)]
        refused = refuse_partitions(shard, partitions, self._options)
        passed = [each for each in partitions if each.partition_id not in refused]
        if passed:
            refused.update(self._world.servers.refusals(shard, passed))
        return refused

    def _copied(self, shard: ShardFacts, passed: Mapping[str, PartitionFacts]) -> dict[str, PartitionFacts]:
        """Copy the partitions and keep those that every member of the cold ensemble has as hot has."""
        partitions = [passed[each] for each in sorted(passed)]
        self._copies.make(shard, partitions)
        originals = [part for partition in partitions for part in partition.hot_parts]
        comparison = compare_copies(
            self._world.cold.members(), originals, self._layout, shard.metadata.format_version
        )
        if comparison.failed_partitions:
            refusal = Refusal(
                "copies_equal",
                f"the copies in the cold ensemble are not equal: {'; '.join(comparison.samples)}",
                "See that every member of the cold ensemble is up and has caught up, then run again",
            )
            failed = dict.fromkeys(comparison.failed_partitions, refusal)
            self._take_back(failed)
            self._report.failed.update(failed)
        return {each: passed[each] for each in passed if each not in comparison.failed_partitions}

    def _record_moved(self, partition: PartitionFacts) -> None:
        moved = MovedPartition.to_cold(partition, partition.state_text)
        self._report.moved[partition.partition_id] = moved
        self._world.journal.record(
            "moved",
            shard_path=self._layout.path,
            partition=moved.partition,
            parts=moved.parts,
            znodes=moved.znodes,
            bytes=moved.data_bytes,
        )

    def _defer(
        self,
        refused: Mapping[str, Refusal],
        facts: Mapping[str, PartitionFacts] | None = None,
    ) -> None:
        """Report the refusals and take back copies that would be left behind."""
        copied = [each for each in refused if facts is None or facts[each].cold_parts]
        self._take_back(copied)
        self._report.deferred.update(refused)

    def _take_back(self, partition_ids: Collection[str]) -> bool:
        """Remove the copies of the partitions; whether there were any. Raises EnsembleError."""
        removed = False
        ids = sorted(partition_ids)
        for _attempt in range(_ROUNDS):
            if not ids:
                return removed
            self._world.hot.sync(self._layout.path)
            self._world.cold.sync(self._layout.path)
            found = self._reader.partitions(self._reader.shard(), ids)
            ids = sorted(self._copies.take_back(found.values()))
            removed = removed or bool(ids)
        raise EnsembleError(
            f"Copies of partition {ids[0]} of {self._layout.path} could not be removed from cold",
            remedy="They do no harm while the partition stays in hot; run again to remove them",
        )


def _dropped() -> Refusal:
    return Refusal(
        "partition_exists",
        "its parts left the hot ensemble while they were copied; the copies were removed",
        "Leave the partition out of the plan if it was dropped, or else run again",
    )


def _keeps_changing() -> Refusal:
    return Refusal(
        "quiet_table",
        f"its parts changed {_ROUNDS} times after they had been copied",
        "Run again when the partition is not merged or mutated any more",
    )
