# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The switch: one multi takes partitions out of the hot ensemble and marks them COLD, or back and HOT.

States of a partition: verified → switched, changed or refused.

- verified: whichever ensemble is to have the partition alone loses nothing, for the other still has it.
- switched: the multi was applied. State and parts change at the same instant for every server.
- changed: something else is registered by now; it has to be verified again.
- refused: a gate tripped on a new look, or the table was too busy.

The multi carries the lease, the versions that were read before the gates looked, and what else the
direction asks for, so it cannot be applied to anything but what the gates saw.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import NamedTuple, Protocol

from ..aligned import aligned
from ..formats.layout import ShardLayout
from ..gates.gate import Refusal
from ..lease.lease import Lease, confirm_lease, raise_if_lease_lost
from ..shard.facts import HOT, PartitionFacts, ShardFacts
from ..shard.reader import ShardReader
from ..tree.batches import Batch, fits, pack
from ..tree.paths import refuse_unwritable
from ..tree.ports import Clock, ZnodeStore
from ..tree.znodes import Committed, Create, Op, Rejected, Znode

MAX_GROUP = 4096
"""Partitions between one look at the shard path and the multis that rely on it."""
_SHRINK = 8
_ATTEMPTS = 12
_FIRST_PAUSE_SECONDS = 0.01
_LONGEST_PAUSE_SECONDS = 1.0


@dataclass
class SwitchResult:
    """Each verified partition ends up in exactly one of the first three."""

    switched: set[str] = field(default_factory=set)
    changed: set[str] = field(default_factory=set)
    refused: dict[str, Refusal] = field(default_factory=dict)
    unclear: set[str] = field(default_factory=set)
    """Those whose answer was lost, where an error came before it was found out what became of them."""


class Verdict(NamedTuple):
    """What the gates say to a look at partitions, and what the multi has to check for that to hold."""

    refused: Mapping[str, Refusal]
    checks: tuple[Op, ...] = ()


class Direction(Protocol):
    """Which way partitions are switched, and what that takes."""

    @property
    def state(self) -> bytes:
        """The State of a partition that was switched; it is not the State of one that was not."""

    @property
    def needs_cold(self) -> bool:
        """Whether what cold has registered is looked at once more."""

    @property
    def too_large(self) -> str:
        """What to do about a partition whose operations do not fit one multi."""

    def judge(self, shard: ShardFacts, partitions: Sequence[PartitionFacts]) -> Verdict:
        """Let the gates look at what was just read."""

    def is_changed(self, verified: PartitionFacts, now: PartitionFacts) -> bool:
        """Whether the partition is not what was verified."""

    def ops(self, partition: PartitionFacts, state: Znode) -> list[Op]:
        """What switches the partition."""


class Switch:
    """Switches verified partitions of one shard path under one lease, in one direction."""

    def __init__(
        self,
        hot: ZnodeStore,
        reader: ShardReader,
        layout: ShardLayout,
        lease: Lease,
        clock: Clock,
        direction: Direction,
    ) -> None:
        self._hot = hot
        self._reader = reader
        self._layout = layout
        self._lease = lease
        self._clock = clock
        self._direction = direction

    def run(self, verified: Mapping[str, PartitionFacts], result: SwitchResult) -> None:
        """Switch in groups; a group that collides with the table's own work is tried again in smaller ones.

        Fills the result. Raises LeaseLost, EnsembleError, AccessDenied; what was switched until then
        is in the result.
        """
        self._create_markers(verified.values())
        waiting = deque(sorted(verified))
        attempts: Counter[str] = Counter()
        size = MAX_GROUP
        while waiting:
            group = [waiting.popleft() for _each in range(min(size, len(waiting)))]
            collided = self._switch_group({each: verified[each] for each in group}, result)
            size = max(1, len(group) // _SHRINK) if collided else min(MAX_GROUP, size * 2)
            attempts.update(collided)
            for each in collided:
                if attempts[each] >= _ATTEMPTS:
                    result.refused[each] = _too_busy(attempts[each])
                else:
                    waiting.append(each)
            if collided:
                self._pause(max(attempts[each] for each in collided))

    def _pause(self, attempt: int) -> None:
        self._clock.sleep(min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2**attempt))

    def _create_markers(self, partitions: Iterable[PartitionFacts]) -> None:
        """Create State as HOT where there is none. Creating uses up a block number, so it is done once."""
        checks = self._lease.hot_checks
        groups = [
            (each.partition_id, [Create(self._layout.state(each.partition_id), HOT)])
            for each in partitions
            if each.state is None
        ]
        batches = pack(checks, groups)
        outcomes = self._hot.commit([batch.multi for batch in batches])
        for batch, outcome in aligned(batches, outcomes):
            if isinstance(outcome, Rejected):
                raise_if_lease_lost(outcome, len(checks), self._layout.path)
                refuse_unwritable(self._hot, batch.multi[outcome.op_index].path, outcome)

    def _switch_group(self, verified: Mapping[str, PartitionFacts], result: SwitchResult) -> list[str]:
        """Look at the group once more and switch what may be; returns what has to be tried again."""
        direction = self._direction
        self._hot.sync(self._layout.path)
        shard = self._reader.shard()
        if direction.needs_cold:
            # After the fence was read: whatever was taken from cold before that is seen to be gone.
            self._reader.sync_cold()
        fresh = self._reader.partitions(shard, sorted(verified), with_cold=direction.needs_cold)
        verdict = direction.judge(shard, list(fresh.values()))
        confirm_lease(self._hot, self._lease, self._layout.path)
        result.refused.update(verdict.refused)
        checks = (*self._lease.hot_checks, *shard.fence, *verdict.checks)
        groups: list[tuple[str, list[Op]]] = []
        unmarked: list[PartitionFacts] = []
        for each, partition in fresh.items():
            if each in verdict.refused:
                continue
            if direction.is_changed(verified[each], partition):
                result.changed.add(each)
            elif partition.state is None:
                unmarked.append(partition)
            else:
                groups.append((each, direction.ops(partition, partition.state)))
        for each, ops in groups:
            # To undo the switch takes as many operations, and the bytes of the parts besides.
            if not fits(checks, ops, sum(part.data_bytes for part in fresh[each].hot_parts)):
                result.refused[each] = _too_large(ops, direction.too_large)
        groups = [(each, ops) for each, ops in groups if each not in result.refused]
        self._create_markers(unmarked)
        collided = [partition.partition_id for partition in unmarked]
        return collided + self._commit(checks, groups, result)

    def _commit(
        self,
        checks: Sequence[Op],
        groups: Sequence[tuple[str, Sequence[Op]]],
        result: SwitchResult,
    ) -> list[str]:
        batches = pack(checks, groups)
        outcomes = self._hot.commit([batch.multi for batch in batches])
        unclear: list[str] = []
        collided: list[str] = []
        rejections: list[tuple[Rejected, Batch]] = []
        for batch, outcome in aligned(batches, outcomes):
            keys = [str(key) for key in batch.keys]
            if isinstance(outcome, Committed):
                result.switched.update(keys)
            elif isinstance(outcome, Rejected):
                rejections.append((outcome, batch))
                collided += keys
            else:
                unclear += keys
        if unclear:
            result.unclear.update(unclear)
            collided += self._find_out(unclear, result)
            result.unclear.clear()
        # Only now that all outcomes are in the result may this raise.
        for outcome, batch in rejections:
            self._raise_if_hopeless(outcome, batch.multi)
        return collided

    def _raise_if_hopeless(self, outcome: Rejected, multi: Sequence[Op]) -> None:
        raise_if_lease_lost(outcome, len(self._lease.hot_checks), self._layout.path)
        refuse_unwritable(self._hot, multi[outcome.op_index].path, outcome)

    def _find_out(self, unclear: Sequence[str], result: SwitchResult) -> list[str]:
        """The answer was lost: State, which was another one before, tells whether the multi was applied."""
        self._hot.sync(self._layout.path)
        states = self._hot.read([self._layout.state(each) for each in unclear])
        applied = [state is not None and state.data == self._direction.state for state in states]
        result.switched.update(compress(unclear, applied))
        return [each for each, was_applied in aligned(unclear, applied) if not was_applied]


def _too_busy(attempts: int) -> Refusal:
    return Refusal(
        "quiet_table",
        f"the table's own merges, mutations or inserts came in between {attempts} times",
        "Run again at a quieter time",
    )


def _too_large(ops: Sequence[Op], remedy: str) -> Refusal:
    return Refusal(
        "fits_one_multi",
        f"its {len(ops)} operations do not fit one multi, so it cannot be switched and back at one instant",
        remedy,
    )
