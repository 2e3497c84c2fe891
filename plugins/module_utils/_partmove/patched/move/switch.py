# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The switch: one multi moves partitions out of hot and marks them COLD, or back into hot and marks them HOT.

States of a partition: prepared → switched, changed or refused.

- prepared: either ensemble may lose the partition now, because the other one has it.
- switched: the multi was applied. State and part znodes change at the same instant for every server.
- changed: the part znodes have changed since the preparation; the partition has to be prepared again.
- refused: a gate is closed at the new read, or the table was too busy.

Steps of a switch: read again → judge → make the operations → announce → unclear → send. No partition is sent
before its announcement, so the journal on disk names every partition that may have been switched.

The multi carries the checks of the lease, the versions read before the gates judged, and the checks requested
by the direction. So it can be applied only to the state seen by the gates.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

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

MAX_BATCH = 4096
"""Partitions between one read of the shard path and the multis that rely on this read."""
ANNOUNCED_AT_ONCE = 512
"""Partitions whose operations are made at once, while the servers apply earlier operations."""
_SHRINK = 8
_ATTEMPTS = 12
_FIRST_PAUSE_SECONDS = 0.01
_LONGEST_PAUSE_SECONDS = 1.0


@dataclass
class SwitchResult:
    """The outcome of a switch; each prepared partition ends up in exactly one of the first three."""

    switched: set[str] = field(default_factory=set)
    changed: set[str] = field(default_factory=set)
    refused: dict[str, Refusal] = field(default_factory=dict)
    unclear: set[str] = field(default_factory=set)
    """Partitions without an answer, if the run ended before their State was read again."""
    shard: ShardFacts | None = field(default=None, compare=False)
    """The facts of the shard path by which the last batch was judged."""
    zxids: dict[str, int] = field(default_factory=dict, compare=False)
    """Partition id → transaction of its switch; 0 if unknown."""


class _Sendable(NamedTuple):
    """A partition that fits one multi, with the operations of its switch."""

    partition: PartitionFacts
    ops: list[Op]


class Switch:
    """Switches prepared partitions of one shard path under one lease, in one direction.

    ``announce`` takes the partitions right before they are switched. When it returns, the partitions are in
    the journal, on disk. If it raises, neither these partitions nor later ones are switched.
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

    def batches(self, prepared: Mapping[str, PartitionFacts], result: SwitchResult) -> Iterator[None]:
        """Switch in batches; after a collision with the table's own work, retry in smaller batches.

        Yields after each batch, when its outcome is in the result. Raises LeaseLost, EnsembleError,
        AccessDenied; the result then has all switched partitions.
        """
        self._create_markers(prepared.values())
        waiting = deque(sorted(prepared))
        attempts: Counter[str] = Counter()
        size = MAX_BATCH
        while waiting:
            batch = [waiting.popleft() for _each in range(min(size, len(waiting)))]
            first = not any(attempts[each] for each in batch)
            collided = self._switch_batch({each: prepared[each] for each in batch}, result, first=first)
            yield
            size = max(1, len(batch) // _SHRINK) if collided else min(MAX_BATCH, size * 2)
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
        """Create missing States as HOT; once per partition, because each creation uses up a block number."""
        groups = [
            (each.partition_id, [Create(self._layout.state(each.partition_id), State.HOT.data)])
            for each in partitions
            if each.state is None
        ]
        self._hot.commit(groups).raise_problem()

    def _switch_batch(
        self, prepared: Mapping[str, PartitionFacts], result: SwitchResult, *, first: bool
    ) -> list[str]:
        """Read the batch again, judge it, and switch what passes; return the partitions to retry."""
        direction = self._direction
        ids = sorted(prepared)
        if direction.deletes_read_parts:
            # After a collision, the version of a part may differ from the last read.
            read = self._leased.read_hot(ids, reread=not first)
        else:
            read = self._leased.read(ids)
        result.shard = read.shard
        judgement = direction.judge(read, ids, self._leased.taken_at)
        result.refused.update(judgement.refused)
        checks = (*read.shard.fence, *judgement.checks)
        marked: list[tuple[PartitionFacts, Znode]] = []
        unmarked: list[PartitionFacts] = []
        for each, partition in read.partitions.items():
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
        sendable = self._make_ops(marked, self._hot.room(checks), result)
        announced = self._announce_before_sending(sendable, result)
        return collided + self._send(announced, checks, result)

    def _make_ops(
        self, marked: Sequence[tuple[PartitionFacts, Znode]], room: MultiRoom, result: SwitchResult
    ) -> Iterator[list[_Sendable]]:
        """Yield the partitions with their operations, `ANNOUNCED_AT_ONCE` at a time, made upon request.

        Partitions whose operations do not fit one multi are refused.
        """
        direction = self._direction
        for begin in range(0, len(marked), ANNOUNCED_AT_ONCE):
            sendable: list[_Sendable] = []
            for partition, state in marked[begin : begin + ANNOUNCED_AT_ONCE]:
                ops = direction.ops(partition, state)
                # Undoing the switch takes as many operations, and the bytes of the parts besides.
                if room.holds(ops, sum([part.data_bytes for part in partition.hot_parts])):
                    sendable.append(_Sendable(partition, ops))
                else:
                    refusal = _too_large(ops, direction.refusals.too_large)
                    result.refused[partition.partition_id] = refusal
            yield sendable

    def _announce_before_sending(
        self, batches: Iterable[Sequence[_Sendable]], result: SwitchResult
    ) -> Iterator[tuple[str, list[Op]]]:
        """Yield partition id and operations for `_send`, each only after the journal names the partition.

        For every batch the order is: announce → unclear → send.

        - announce: when ``announce`` has returned, the journal is on disk. If it raises, this batch and later
          batches are not sent.
        - unclear: from here on, a signal may end the run between the request and its answer.
        - send: the caller can send only the yielded operations.

        Lazy, because the next batch is made and announced while the servers apply earlier multis.
        """
        for batch in batches:
            self._announce([each.partition for each in batch])
            result.unclear.update([each.partition.partition_id for each in batch])
            for each in batch:
                yield each.partition.partition_id, each.ops

    def _send(
        self, announced: Iterable[tuple[str, Sequence[Op]]], checks: Sequence[Op], result: SwitchResult
    ) -> list[str]:
        """Send the announced operations as they come; return the partitions to retry."""
        written = self._hot.commit(announced, checks)
        result.switched.update(written.committed)
        result.zxids.update(written.zxids)
        collided = written.rejected
        result.unclear.intersection_update(written.unknown)
        if written.unknown:
            collided += self._resolve_unknown(written.unknown, result)
            result.unclear.clear()
        # Raise only now, when all outcomes are in the result.
        written.raise_problem()
        return collided

    def _resolve_unknown(self, unclear: Sequence[str], result: SwitchResult) -> list[str]:
        """Read State after a lost answer; return the partitions to retry.

        State was different before the switch, so it shows whether the multi was applied.
        """
        store = self._hot.store
        store.sync(self._layout.path)
        states = store.read([self._layout.state(each) for each in unclear])
        state_after = self._direction.state.data
        applied = {
            each: state.stat.mzxid
            for each, state in zip_strict(unclear, states)
            if state is not None and state.data == state_after
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
        f"its {len(ops)} operations do not fit one multi, so the partition cannot be switched, or switched"
        " back, at one instant",
        remedy,
    )
