# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The check after a switch to cold: if a part or a replica arrived meanwhile, the switch is undone.

No lock keeps an insert out, so an insert can be committed between the last read and the switch. The check
finds its part, and registers the partition in hot again in one multi, before a merge of the new part with the
cold parts can do harm. The copies stay in cold: a starting server may have read hot before this multi, and
must still find the copies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...formats.log_entry import EntryKind
from ...formats.names import is_covered
from ...gates.gate import Refusal
from ...gates.names import GateName
from ...gates.servers import ServerCheck
from ...shard.facts import PartitionFacts, ShardFacts
from ...shard.reader import NamesRead
from ...text import first_few
from ..parts.leased_shard import LeasedShard
from ..parts.operations import returning_to_hot
from .detached import detached_since
from .report import PatchedReport

_ATTEMPTS = 100
"""Attempts to undo a switch; each insert into the table in between makes an attempt fail."""


class PostSwitchCheck:
    """Checks the partitions switched to cold by a run, under the lease of the run."""

    def __init__(self, leased: LeasedShard, servers: ServerCheck) -> None:
        self._leased = leased
        self._servers = servers

    def check(
        self,
        asked: ShardFacts,
        switched: Mapping[str, PartitionFacts],
        detached_before: Mapping[str, frozenset[str]],
        report: PatchedReport,
    ) -> None:
        """Move inconsistent partitions from ``report.moved`` to deferred (switch undone) or failed.

        ``asked``: the replicas whose servers are asked; for a replica added since, the switch is undone
        anyway. ``switched``: the facts before the switch. Only partitions in ``report.moved`` are checked, so
        the method can be called again. Raises LeaseLost, EnsembleError.
        """
        moved = [switched[each] for each in sorted(switched.keys() & report.moved.keys())]
        # Ask the servers before hot is read: a late part that is active then is in hot by now, and so found.
        failures = self._server_failures(asked, moved, detached_before)
        read = self._leased.read_names(sorted(switched))
        late = self._late(read, switched)
        gone = self._gone(read, switched)
        for each in sorted(switched.keys() & report.moved.keys() & late.keys()):
            undone = self._undo(each, switched[each])
            if undone:
                report.undo(each, _late_insert(late[each]))
            else:
                report.fail(each, _not_undone(late[each]))
        for each in sorted(report.moved.keys() & gone.keys()):
            report.fail(each, _copies_gone(gone[each]))
        for each in sorted(report.moved.keys() & failures.keys()):
            report.fail(each, failures[each])

    def _late(self, read: NamesRead, switched: Mapping[str, PartitionFacts]) -> dict[str, str]:
        """Return partition id → the late part or replica of a cold partition, in hot or on its way there."""
        late: dict[str, str] = {}
        shard = read.shard
        for each, before in sorted(switched.items()):
            held = read.block_numbers.in_flight.get(each)
            registered = {name: parts for name, parts in read.partitions[each].hot.items() if parts}
            entries = shard.pending.get(each)
            added = [replica.name for replica in shard.replicas if replica.name not in before.hot]
            if held:
                late[each] = f"an insert holds a block number ({first_few(held)})"
            elif registered:
                replica, parts = next(iter(registered.items()))
                late[each] = f"replica {replica} registered {first_few(parts)}"
            elif entries:
                late[each] = f"entries for the partition wait: {first_few(entry.where for entry in entries)}"
            elif added:
                names = first_few(added)
                late[each] = f"replica {names} was added, and a new replica does not get cold parts"
        return late

    def _gone(self, read: NamesRead, switched: Mapping[str, PartitionFacts]) -> dict[str, list[str]]:
        """Return partition id → paths of missing copies, of replicas that still exist."""
        gone: dict[str, list[str]] = {}
        for each, before in switched.items():
            cold = read.partitions[each].cold
            gone[each] = [
                part.znode.path
                for replica, parts in before.hot.items()
                if replica in cold
                for part in parts
                if part.name.text not in cold[replica]
            ]
        return {each: paths for each, paths in gone.items() if paths}

    def _undo(self, partition_id: str, before: PartitionFacts) -> bool:
        """Register the parts in hot again and set State to HOT, in one multi; return whether hot has them.

        The switch is not undone in these cases:

        - A queue entry other than an insert waits. It may replace the parts on disk, and a table does not
          start with a part in both ensembles but not on disk.
        - Copies are gone: an executed DROP PARTITION removed them, and the parts with them.
        - A server answers that the parts are gone: a REPLACE PARTITION leaves the copies as they are.

        A server without an answer stops nothing, because a merge with the late part may be near.
        """
        for _attempt in range(_ATTEMPTS):
            shard, partitions = self._leased.read([partition_id])
            now = partitions[partition_id]
            pending = shard.pending.get(partition_id, ())
            if now.state is None or any(entry.kind is not EntryKind.GET for entry in pending):
                return False
            parts = [part for part in before.hot_parts if part.replica in now.hot]
            if not now.is_cold:
                return all(
                    is_covered(part.name, [each.name for each in now.hot[part.replica]]) for part in parts
                )
            ops = returning_to_hot(parts, now.state)
            gone = {part.znode.path for part in parts} - {part.znode.path for part in now.cold_parts}
            if gone or not self._leased.hot.room(shard.fence).holds(ops):
                return False
            if self._servers.lacking(shard, parts):
                return False
            if self._leased.hot.commit([(partition_id, ops)], shard.fence).is_whole():
                return True
        return False

    def _server_failures(
        self,
        shard: ShardFacts,
        moved: Sequence[PartitionFacts],
        detached_before: Mapping[str, frozenset[str]],
    ) -> dict[str, Refusal]:
        """Return partition id → the problem on a disk."""
        failures = dict(self._servers.refusals(shard, moved))
        parts = [part.name for each in moved for part in each.hot_parts]
        return detached_since(self._servers, shard, parts, detached_before) | failures


def _copies_gone(paths: Sequence[str]) -> Refusal:
    return Refusal(
        GateName.COPIES_KEPT,
        f"verified copies are gone from the cold ensemble: {first_few(paths)}",
        "Run part_audit_info, then part_repair, now and before a server restarts; find out which program"
        " deleted the copies",
    )


def _late_insert(reason: str) -> Refusal:
    return Refusal(
        GateName.LATE_INSERT,
        f"while the partition was switched, {reason}; the partition is registered in hot again",
        "Run again once the partition gets no inserts any more and every replica has its parts",
    )


def _not_undone(reason: str) -> Refusal:
    return Refusal(
        GateName.LATE_INSERT,
        f"the partition was switched, but {reason}, and the switch could not be undone",
        "Run part_audit_info on the shard path now, and part_repair before a merge of the partition",
    )
