# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The switch: one multi takes partitions out of the hot ensemble and marks them COLD, or back and HOT.

States of a partition: prepared → switched, changed or refused.

- prepared: whichever ensemble is to have the partition alone loses nothing, for the other still has it.
- switched: the multi was applied. State and parts change at the same instant for every server.
- changed: something else is registered by now; it has to be prepared again.
- refused: a gate tripped on a new look, or the table was too busy.

The multi carries the lease, the versions that were read before the gates looked, and what else the
direction asks for, so it cannot be applied to anything but what the gates saw.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ...formats.state import State
from ...gates.gate import Refusal
from ...gates.names import GateName
from ...shard.facts import PartitionFacts, ShardFacts
from ...tree.multi_batches import MultiRoom
from ...tree.ports import Clock
from ...tree.znodes import Create, Op, Znode
from ...zip_strict import zip_strict
from ..parts.leased_shard import LeasedShard
from .direction import Direction

MAX_GROUP = 4096
"""Partitions between one look at the shard path and the multis that rely on it."""
ANNOUNCED_AT_ONCE = 512
"""Partitions of a group whose operations are made while the servers apply those before them."""
_SHRINK = 8
_ATTEMPTS = 12
_FIRST_PAUSE_SECONDS = 0.01
_LONGEST_PAUSE_SECONDS = 1.0


@dataclass
class SwitchResult:
    """Each prepared partition ends up in exactly one of the first three."""

    switched: set[str] = field(default_factory=set)
    changed: set[str] = field(default_factory=set)
    refused: dict[str, Refusal] = field(default_factory=dict)
    unclear: set[str] = field(default_factory=set)
    """Those whose answer did not come, where the run ended before it was found out what became of them."""
    shard: ShardFacts | None = field(default=None, compare=False)
    """The shard path as the last group was judged by it."""
    zxids: dict[str, int] = field(default_factory=dict, compare=False)
    """Partition id → transaction that switched it; 0 where nothing tells."""


class Switch:
    """Switches prepared partitions of one shard path under one lease, in one direction.

    ``announce`` is told what is about to be switched, as it is right before, and may raise: then none of that
    is, and nothing after it.
    """

    def __init__(
        self,
        leased: LeasedShard,
        clock: Clock,
        direction: Direction,
        announce: Callable[[Sequence[PartitionFacts]], None],
    ) -> None:
        self._leased = leased
        self._hot = leased.hot
        self._layout = leased.layout
        self._clock = clock
        self._direction = direction
        self._announce = announce

    def groups(self, prepared: Mapping[str, PartitionFacts], result: SwitchResult) -> Iterator[None]:
        """Switch in groups; a group that collides with the table's own work is tried again in smaller ones.

        Yields whenever the result has grown by a group. Raises LeaseLost, EnsembleError, AccessDenied; what
        was switched until then is in the result.
        """
        self._create_markers(prepared.values())
        waiting = deque(sorted(prepared))
        attempts: Counter[str] = Counter()
        size = MAX_GROUP
        while waiting:
            group = [waiting.popleft() for _each in range(min(size, len(waiting)))]
            first = not any(attempts[each] for each in group)
            collided = self._switch_group({each: prepared[each] for each in group}, result, first=first)
            yield
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
        groups = [
            (each.partition_id, [Create(self._layout.state(each.partition_id), State.HOT.data)])
            for each in partitions
            if each.state is None
        ]
        self._hot.commit(groups).raise_problem()

    def _switch_group(
        self, prepared: Mapping[str, PartitionFacts], result: SwitchResult, *, first: bool
    ) -> list[str]:
        """Look at the group once more and switch what may be; returns what has to be tried again."""
        direction = self._direction
        ids = sorted(prepared)
        if direction.deletes_what_was_read:
            # What collided may be a part that has another version than the last look has read.
            look = self._leased.read_hot(ids, reread=not first)
        else:
            look = self._leased.read(ids)
        result.shard = look.shard
        judgement = direction.judge(look, ids, self._leased.taken_at)
        result.refused.update(judgement.refused)
        checks = (*look.shard.fence, *judgement.checks)
        marked: list[tuple[PartitionFacts, Znode]] = []
        unmarked: list[PartitionFacts] = []
        for each, partition in look.partitions.items():
            if each in judgement.refused:
                continue
            if direction.is_changed(prepared[each], partition):
                result.changed.add(each)
            elif partition.state is None:
                unmarked.append(partition)
            else:
                marked.append((partition, partition.state))
        self._create_markers(unmarked)
        collided = [partition.partition_id for partition in unmarked]
        groups = self._announced(marked, self._hot.room(checks), result)
        return collided + self._commit(checks, groups, result)

    def _announced(
        self, marked: Sequence[tuple[PartitionFacts, Znode]], room: MultiRoom, result: SwitchResult
    ) -> Iterator[tuple[str, list[Op]]]:
        """The operations of each partition that a multi has room for, which were announced before."""
        direction = self._direction
        for begin in range(0, len(marked), ANNOUNCED_AT_ONCE):
            announced: list[PartitionFacts] = []
            groups: list[tuple[str, list[Op]]] = []
            for partition, state in marked[begin : begin + ANNOUNCED_AT_ONCE]:
                ops = direction.ops(partition, state)
                # To undo the switch takes as many operations, and the bytes of the parts besides.
                if room.holds(ops, sum([part.data_bytes for part in partition.hot_parts])):
                    announced.append(partition)
                    groups.append((partition.partition_id, ops))
                else:
                    refusal = _too_large(ops, direction.refusals.too_large)
                    result.refused[partition.partition_id] = refusal
            self._announce(announced)
            # A signal may end the run between the request and its answer.
            result.unclear.update([each for each, _ops in groups])
            yield from groups

    def _commit(
        self, checks: Sequence[Op], groups: Iterable[tuple[str, Sequence[Op]]], result: SwitchResult
    ) -> list[str]:
        written = self._hot.commit(groups, checks)
        result.switched.update(written.committed)
        result.zxids.update(written.zxids)
        collided = written.rejected
        result.unclear.intersection_update(written.unknown)
        if written.unknown:
            collided += self._find_out(written.unknown, result)
            result.unclear.clear()
        # Only now that all outcomes are in the result may this raise.
        written.raise_problem()
        return collided

    def _find_out(self, unclear: Sequence[str], result: SwitchResult) -> list[str]:
        """The answer was lost: State, which was another one before, tells whether the multi was applied."""
        store = self._hot.store
        store.sync(self._layout.path)
        states = store.read([self._layout.state(each) for each in unclear])
        wanted = self._direction.state.data
        applied = {
            each: state.stat.mzxid
            for each, state in zip_strict(unclear, states)
            if state is not None and state.data == wanted
        }
        result.switched.update(applied)
        result.zxids.update(applied)
        return [each for each in unclear if each not in applied]


def _too_busy(attempts: int) -> Refusal:
    return Refusal(
        GateName.QUIET_TABLE,
        f"the table's own merges, mutations or inserts came in between {attempts} times",
        "Run again at a quieter time",
    )


def _too_large(ops: Sequence[Op], remedy: str) -> Refusal:
    return Refusal(
        GateName.FITS_ONE_MULTI,
        f"its {len(ops)} operations do not fit one multi, so it cannot be switched and back at one instant",
        remedy,
    )
