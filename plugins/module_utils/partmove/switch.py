# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The switch: one multi takes partitions out of the hot ensemble and marks them COLD.

States of a partition: verified → switched, changed or refused.

- verified: copies equal what hot registered; whatever happens, hot still has it.
- switched: the multi was applied. State and parts change at the same instant for every server.
- changed: hot registers something else by now; it has to be copied and verified again.
- refused: a gate tripped on a new look, or the table was too busy.

The multi carries the lease, the versions that were read before the gates looked, and those of the entries
that make the replicas ready, so it cannot be applied to anything but what the gates saw.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress

from .batches import Batch, fits, pack
from .coordination import Lease, confirm_lease, raise_if_lease_lost, refuse_unwritable
from .facts import COLD, HOT, PartitionFacts
from .gate import GateOptions, Refusal
from .gates import refuse_partitions
from .layout import ShardLayout
from .ports import Clock, ZnodeStore
from .server_gates import Readiness
from .shard_reader import ShardReader
from .znodes import Committed, Create, Delete, Op, Rejected, SetData, Znode

MAX_GROUP = 4096
"""Partitions between one look at the shard path and the multis that rely on it."""
_SHRINK = 8
_ATTEMPTS = 12
_FIRST_PAUSE_SECONDS = 0.01
_LONGEST_PAUSE_SECONDS = 1.0


@dataclass(slots=True)
class SwitchResult:
    """Each verified partition ends up in exactly one of the first three."""

    switched: set[str] = field(default_factory=set)
    changed: set[str] = field(default_factory=set)
    refused: dict[str, Refusal] = field(default_factory=dict)
    unclear: set[str] = field(default_factory=set)
    """Those whose answer was lost, where an error came before it was found out what became of them."""


class Switch:
    """Switches verified partitions of one shard path under one lease."""

    def __init__(
        self,
        hot: ZnodeStore,
        reader: ShardReader,
        layout: ShardLayout,
        lease: Lease,
        clock: Clock,
        readiness: Readiness,
    ) -> None:
        self._hot = hot
        self._reader = reader
        self._layout = layout
        self._lease = lease
        self._clock = clock
        self._readiness = readiness

    def run(self, verified: Mapping[str, PartitionFacts], options: GateOptions, result: SwitchResult) -> None:
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
            collided = self._switch_group({each: verified[each] for each in group}, options, result)
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
        for batch, outcome in zip(batches, outcomes, strict=True):
            if isinstance(outcome, Rejected):
                raise_if_lease_lost(outcome, len(checks), self._layout.path)
                refuse_unwritable(self._hot, batch.multi[outcome.op_index].path, outcome)

    def _switch_group(
        self, verified: Mapping[str, PartitionFacts], options: GateOptions, result: SwitchResult
    ) -> list[str]:
        """Look at the group once more and switch what may be; returns what has to be tried again."""
        self._hot.sync(self._layout.path)
        shard = self._reader.shard()
        fresh = self._reader.partitions(shard, sorted(verified), with_cold=False)
        ready = self._readiness.look(shard)
        confirm_lease(self._hot, self._lease, self._layout.path)
        if ready.refusal is not None:
            result.refused.update(dict.fromkeys(fresh, ready.refusal))
            return []
        refused = refuse_partitions(shard, list(fresh.values()), options)
        result.refused.update(refused)
        checks = (*self._lease.hot_checks, *shard.fence, *ready.checks)
        groups: list[tuple[str, list[Op]]] = []
        unmarked: list[PartitionFacts] = []
        for each, partition in fresh.items():
            if each in refused:
                continue
            if partition.is_cold or partition.hot != verified[each].hot:
                result.changed.add(each)
            elif partition.state is None:
                unmarked.append(partition)
            else:
                groups.append((each, _switching(partition, partition.state)))
        for each, ops in groups:
            # To undo the switch takes as many operations, and the bytes of the parts besides.
            if not fits(checks, ops, sum(part.data_bytes for part in fresh[each].hot_parts)):
                result.refused[each] = _too_large(ops)
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
        for batch, outcome in zip(batches, outcomes, strict=True):
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
        """The answer was lost: State, which was not COLD before, tells whether the multi was applied."""
        self._hot.sync(self._layout.path)
        states = self._hot.read([self._layout.state(each) for each in unclear])
        applied = [state is not None and state.data == COLD for state in states]
        result.switched.update(compress(unclear, applied))
        return [each for each, was_applied in zip(unclear, applied, strict=True) if not was_applied]


def _switching(partition: PartitionFacts, state: Znode) -> list[Op]:
    """State first, then every part of every replica, children before their parent."""
    ops: list[Op] = [SetData(state.path, COLD, state.stat.version)]
    for part in partition.hot_parts:
        ops += [Delete(each.path, each.stat.version) for each in (*part.children, part.znode)]
    return ops


def _too_busy(attempts: int) -> Refusal:
    return Refusal(
        "quiet_table",
        f"the table's own merges, mutations or inserts came in between {attempts} times",
        "Run again at a quieter time",
    )


def _too_large(ops: Sequence[Op]) -> Refusal:
    return Refusal(
        "fits_one_multi",
        f"its {len(ops)} operations do not fit one multi, so it cannot be switched and back at one instant",
        "Merge the partition into fewer parts and run again",
    )
