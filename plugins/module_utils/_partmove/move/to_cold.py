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

from ..aligned import aligned
from ..errors import FormatError, NoSuchTable, PartMoveError
from ..formats.layout import ShardLayout
from ..formats.names import PartName
from ..gates.judge import GateOptions, Refusal, refuse_partitions, refuse_shard
from ..gates.servers import server_silent
from ..gates.whereabouts import refusal_of
from ..lease.lease import Lease, confirm_lease
from ..shard.facts import PartitionFacts, ShardFacts
from ..shard.location import Location, locate
from ..shard.reader import ShardReader
from .aftermath import Aftermath
from .compare import compare_copies
from .copies import ColdCopies, never_was_cold
from .direction import ToCold
from .report import MovedPartition, ShardReport
from .run import World, work_on_shard
from .switch import Switch, SwitchResult

_ROUNDS = 3
"""How often partitions that changed after they were copied are copied again."""


class MoveOptions(NamedTuple):
    """What the operator may set."""

    min_age: float
    """Seconds since the newest part of a partition was registered."""
    max_parts: int
    """Parts of a partition that a replica may have."""


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
    report = ShardReport(shard_path) if report is None else report
    progress = _Progress(ShardReader(world.hot, world.cold, ShardLayout(shard_path)), {}, {}, {})
    wanted = sorted(set(partition_ids))
    try:
        work_on_shard(
            world.leases,
            wanted,
            report,
            lambda: _first_look(world, progress.reader, wanted, report),
            lambda lease, ids: _ShardMove(world, lease, options, report, progress).run(ids),
        )
    finally:
        for each in sorted(progress.switched.keys() & report.moved.keys()):
            del report.moved[each]
            report.failed[each] = _not_looked_at_again()
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
    refusal = world.readiness.look(shard).refusal or refuse_shard(shard)
    if refusal is not None:
        report.deferred.update(dict.fromkeys(report.open(wanted), refusal))


class _Progress(NamedTuple):
    """What a run knows of a shard path, under whatever lease."""

    reader: ShardReader
    switched: dict[str, PartitionFacts]
    """Partitions that were switched and not looked at again, as they were before."""
    created: dict[str, PartName]
    """Paths of the copies that were created."""
    detached: dict[str, frozenset[str]]
    """Replica → names in its ``detached`` folder before anything was switched."""


class _ShardMove:
    """One pass over a shard path under one lease."""

    def __init__(
        self, world: World, lease: Lease, options: MoveOptions, report: ShardReport, progress: _Progress
    ) -> None:
        self._world = world
        self._layout = layout = ShardLayout(report.shard_path)
        self._lease = lease
        self._options = GateOptions(world.clock.now(), options.min_age, options.max_parts)
        self._report = report
        self._progress = progress
        self._reader = progress.reader
        self._copies = ColdCopies(world.cold, layout, lease, progress.created)

    def run(self, partition_ids: Sequence[str]) -> None:
        """Fill the report. Raises LeaseLost, FormatError, NoSuchTable, EnsembleError."""
        try:
            pending = list(partition_ids)
            for _round in range(_ROUNDS):
                if not pending:
                    break
                pending = self._round(pending)
            self._defer({each: _keeps_changing() for each in pending})
        except (FormatError, NoSuchTable):
            self._withdraw()
            raise
        switched = self._progress.switched
        if switched:
            world = self._world
            aftermath = Aftermath(world.hot, self._reader, self._layout, self._lease, world.servers)
            aftermath.check(switched, self._progress.detached, self._report)
            switched.clear()

    def _withdraw(self) -> None:
        """Remove the copies that this run made, without a look at what cannot be read any more."""
        self._world.hot.sync(self._layout.path)
        copied = self._copies.created_partitions
        states = self._world.hot.read([self._layout.state(each) for each in copied])
        pairs = aligned(copied, states)
        never = [each for each, state in pairs if state is None or never_was_cold(state)]
        self._copies.withdraw([each for each in never if each not in self._report.moved])

    def _round(self, partition_ids: Sequence[str]) -> list[str]:
        """Gates, copy, verify, switch; returns the partitions that changed after they were copied."""
        shard, passed = self._gated(partition_ids)
        if not passed:
            return []
        try:
            self._note_detached(shard)
        except PartMoveError as error:
            self._defer(dict.fromkeys(passed, server_silent(error)), passed)
            return []
        verified = self._copied(shard, passed)
        world = self._world
        direction = ToCold(world.readiness, self._options)
        switch = Switch(world.hot, self._reader, self._layout, self._lease, world.clock, direction)
        result = SwitchResult()
        try:
            switch.run(verified, result)
        finally:
            # What was switched is known even where the lease or the ensemble was lost on the way.
            self._report.failed.update(dict.fromkeys(sorted(result.unclear), _not_found_out()))
            self._record_moved([verified[each] for each in sorted(result.switched)])
        self._defer(result.refused)
        return sorted(result.changed)

    def _note_detached(self, shard: ShardFacts) -> None:
        if not self._progress.detached:
            self._progress.detached.update(self._world.servers.detached(shard))

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
        unready = self._world.readiness.look(shard).refusal
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

    def _record_moved(self, partitions: Sequence[PartitionFacts]) -> None:
        rows = [MovedPartition.to_cold(each, each.state_text) for each in partitions]
        # All of them in the report first: writing the journal may fail.
        self._report.moved.update({row.partition: row for row in rows})
        self._progress.switched.update({each.partition_id: each for each in partitions})
        self._world.journal.record("moved", [row.event(self._layout.path) for row in rows])

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
        hot, now = self._world.hot, self._options.now
        return bool(self._copies.take_back_all(hot, self._reader, partition_ids, now))


def _dropped() -> Refusal:
    return Refusal(
        "partition_exists",
        "its parts left the hot ensemble while they were copied; the copies were removed",
        "Leave the partition out of the plan if it was dropped, or else run again",
    )


def _not_looked_at_again() -> Refusal:
    return Refusal(
        "aftermath",
        "it was switched, but the run ended before it was looked at again",
        "Audit the partition: no part of it may be registered in hot while State is COLD",
    )


def _not_found_out() -> Refusal:
    return Refusal(
        "aftermath",
        "the answer to its switch was lost, and the run ended before it was found out",
        "Run again: it is either cold by now or will be moved then; audit it in any case",
    )


def _keeps_changing() -> Refusal:
    return Refusal(
        "quiet_table",
        f"its parts changed {_ROUNDS} times after they had been copied",
        "Run again when the partition is not merged or mutated any more",
    )
