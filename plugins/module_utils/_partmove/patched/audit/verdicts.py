# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The verdicts on all partitions of a shard path, in little memory."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from ...findings.two_reads import confirmed
from .evidence import PartitionEvidence
from .judge import Verdict, judge
from .kind import FindingKind
from .reader import ShardEvidence
from .settled import SettledPartitions

_OF_CONTENT = frozenset({FindingKind.UNREADABLE, FindingKind.UNLIKE_DISK, FindingKind.COPIES_DIFFER})
"""Kinds found by the second read alone, because the first read compares no content."""


class Verdicts(Mapping[str, Mapping[str, Verdict]]):
    """Partition id → replica → verdict.

    settled: settled partition → its verdict, the same for each of the ``replicas``.
    of_rules: the verdicts on all other partitions, by the rules.
    """

    def __init__(
        self,
        settled: Mapping[str, Verdict],
        replicas: tuple[str, ...],
        of_rules: Mapping[str, Mapping[str, Verdict]],
    ) -> None:
        self.settled = settled
        self.replicas = replicas
        self.of_rules = of_rules

    def __getitem__(self, partition_id: str) -> Mapping[str, Verdict]:
        """Return replica → verdict. Raises KeyError for an unknown partition."""
        settled = self.settled.get(partition_id)
        if settled is None:
            return self.of_rules[partition_id]
        return dict.fromkeys(self.replicas, settled)

    def __iter__(self) -> Iterator[str]:
        """Yield the ids, in no order."""
        yield from self.of_rules
        yield from self.settled

    def __len__(self) -> int:
        """Return the number of partitions."""
        return len(self.of_rules) + len(self.settled)

    def by_rules(self) -> Iterator[Verdict]:
        """Yield the verdicts on partitions that are not settled."""
        for replicas in self.of_rules.values():
            yield from replicas.values()

    def judged_replicas(self) -> set[str]:
        """Return the replicas with a verdict on any partition."""
        return set(self.replicas if self.settled else ()).union(*self.of_rules.values())

    def doubtful(self) -> frozenset[str]:
        """Return the partitions with a verdict that is not consistent. A settled partition is consistent."""
        return frozenset(
            each
            for each, replicas in self.of_rules.items()
            if not all(verdict.kind.is_consistent for verdict in replicas.values())
        )

    def confirmed_by(self, second: Verdicts, doubtful: Collection[str]) -> Verdicts:
        """Return the verdicts of this first read; for doubtful partitions, those of both reads together.

        An inconsistent partition or replica is left out unless both reads have it.
        """
        settled = {each: verdict for each, verdict in self.settled.items() if each not in doubtful}
        of_rules = {each: verdicts for each, verdicts in self.of_rules.items() if each not in doubtful}
        same_replicas = self.replicas == second.replicas
        for each in doubtful:
            before = self.settled.get(each)
            if before is not None and same_replicas and each in second.settled:
                settled[each] = before
            else:
                of_rules[each] = self._confirmed(each, second)
        return Verdicts(settled, self.replicas, of_rules)

    def _confirmed(self, partition_id: str, second: Verdicts) -> dict[str, Verdict]:
        first = self[partition_id]
        return {
            name: verdict
            for name, after in second.get(partition_id, {}).items()
            if (verdict := confirmed(first.get(name), after, only_in_second=_OF_CONTENT)) is not None
        }


def verdicts_of(shard: ShardEvidence) -> Verdicts:
    """Judge all partitions of one read."""
    partitions = shard.partitions
    shortcut = SettledPartitions(partitions)
    replicas = tuple(sorted(partitions.names.replicas))
    settled: dict[str, Verdict] = {}
    of_rules: dict[str, Mapping[str, Verdict]] = {}
    for each in partitions:
        verdict = shortcut.verdict(each)
        if verdict is not None:
            settled[each] = verdict
        else:
            of_rules[each] = _judged(partitions[each], shard.lock)
    return Verdicts(settled, replicas, of_rules)


def _judged(partition: PartitionEvidence, lock: str) -> dict[str, Verdict]:
    verdicts = judge(partition)
    if not lock:
        return verdicts
    reason = f"a run works on the table: {lock}"
    return {name: _under_lock(verdict, reason) for name, verdict in verdicts.items()}


def _under_lock(verdict: Verdict, reason: str) -> Verdict:
    """Replace an inconsistency by NOT_JUDGED, because the running move may cause it.

    A verdict with an unsafe restart stays: the operator has to know it in any case.
    """
    if not verdict.kind.is_inconsistent or verdict.restart_unsafe:
        return verdict
    return Verdict(FindingKind.NOT_JUDGED, verdict.parts, reason)
