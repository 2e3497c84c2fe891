# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Simulates a restore over overlays, and compares the findings before and after.

A restored partition has to be consistent. The one exception is a part that the next restart would take out of
the table: a restore may register it again, exactly as it is on disk, in a partition that is not to stay cold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ...errors import PartMoveError
from ...formats.layout import ShardLayout
from ...text import first_few
from ...tree.overlay import OverlayStore
from ...tree.paths import creates_of_missing, parent_of
from ...tree.ports import Clock, ZnodeStore
from ...tree.znodes import Committed
from ..audit.evidence import DiskParts, Disks
from ..audit.judge import Verdict, judge
from ..audit.kind import FindingKind
from ..audit.reader import EvidenceReader, ShardEvidence
from .case import NotRepaired
from .restore_rows import PartitionRows

_EMPTY = Verdict(FindingKind.EMPTY)
_REGISTERED_AS_ON_DISK = frozenset(
    {FindingKind.UNEVEN, FindingKind.SEVERAL_COLD_PARTS, FindingKind.COPIES_LEFT}
)
"""Findings of partitions whose parts are all registered with the data on disk, where State says."""


class RecordedDisks:
    """Implements Disks with the first answer of each server, so that two reads differ by znodes alone."""

    def __init__(self, disks: Disks) -> None:
        self._disks = disks
        self._answers: dict[tuple[str, str], DiskParts | PartMoveError] = {}

    def parts(self, shard_path: str, replica: str, host: str) -> DiskParts:
        """Return the first answer for the replica. Raises PartMoveError if the server did not answer."""
        key = (shard_path, replica)
        if key not in self._answers:
            try:
                self._answers[key] = self._disks.parts(shard_path, replica, host)
            except PartMoveError as error:
                self._answers[key] = error
        answer = self._answers[key]
        if isinstance(answer, PartMoveError):
            raise answer
        return answer


class Simulation:
    """Restores of partitions of one shard path, in memory."""

    def __init__(
        self,
        hot: ZnodeStore,
        cold: ZnodeStore,
        disks: Disks,
        clock: Clock,
        root: str,
        *,
        at_once: int = 1,
    ) -> None:
        """``root``: the coordination root; at most ``at_once`` servers are asked at the same time."""
        self._hot, self._cold, self._clock, self._root = hot, cold, clock, root
        self._disks = RecordedDisks(disks)
        self._at_once = at_once

    def refused(self, layout: ShardLayout, partitions: Sequence[PartitionRows]) -> dict[str, NotRepaired]:
        """Return partition id → why its restore is refused. Raises as `EvidenceReader.read` does."""
        ids = [each.partition_id for each in partitions]
        hot, cold = OverlayStore(self._hot, self._clock), OverlayStore(self._cold, self._clock)
        before = self._evidence(hot, cold, layout, ids)
        refused: dict[str, NotRepaired] = {}
        for each in partitions:
            problem = _applied(hot, cold, each)
            if problem:
                refused[each.partition_id] = NotRepaired(problem, "Run part_audit_info")
        after = self._evidence(hot, cold, layout, ids)
        for name in ids:
            finding = refuse_findings(_verdicts(before, name), _verdicts(after, name))
            if finding is not None:
                refused.setdefault(name, finding)
        return refused

    def _evidence(
        self, hot: ZnodeStore, cold: ZnodeStore, layout: ShardLayout, ids: Iterable[str]
    ) -> ShardEvidence:
        reader = EvidenceReader(hot, cold, self._disks, self._clock, self._root, at_once=self._at_once)
        return reader.read(layout.path, content_of=[*ids])


def _applied(hot: OverlayStore, cold: OverlayStore, partition: PartitionRows) -> str:
    """Apply the writes of a partition in memory; return why they would be rejected, or ""."""
    in_cold, in_hot = ([row.op for row in partition.of(each)] for each in ("cold", "hot"))
    parents = creates_of_missing(cold, {parent_of(op.path) for op in in_cold} - {op.path for op in in_cold})
    state = [] if partition.state is None else [partition.state.op]
    for store, multi in ((cold, (*parents, *in_cold)), (hot, (*in_hot, *state))):
        if multi and not isinstance(store.commit([multi])[0], Committed):
            return f"{store.name} would not take {first_few([op.path for op in multi])}: a parent is gone"
    return ""


def _verdicts(evidence: ShardEvidence, partition_id: str) -> Mapping[str, Verdict]:
    partition = evidence.partitions.get(partition_id)
    return {} if partition is None else judge(partition)


def refuse_findings(before: Mapping[str, Verdict], after: Mapping[str, Verdict]) -> NotRepaired | None:
    """Return a refusal if a replica would have a finding after the restore, or cannot be judged.

    The verdict of a replica is its worst finding, and may hide others. So a finding that is there before is
    no excuse for one afterwards.
    """
    for replica, verdict in sorted(after.items()):
        if verdict.kind is FindingKind.NOT_JUDGED:
            return NotRepaired(
                f"replica {replica} cannot be judged: {verdict.reason}",
                "Start the server, or find out why it does not answer, and run part_restore again",
            )
        if not _is_acceptable(before.get(replica, _EMPTY), verdict):
            return NotRepaired(
                f"restored, replica {replica} would be {verdict.kind.value}: {verdict.kind.means}",
                "Nothing, if the partition is consistent now. Otherwise run part_repair with the kind that"
                " part_audit_info reports",
            )
    return None


def _is_acceptable(before: Verdict, after: Verdict) -> bool:
    if after.restart_unsafe:
        return False
    return after.kind.is_consistent or (before.restart_unsafe and after.kind in _REGISTERED_AS_ON_DISK)
