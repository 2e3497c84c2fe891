# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""After the switch: did a part or a replica arrive that nothing could keep out? Then the switch is undone.

An insert takes no lock that a move could check, so one can be committed between the last look and
the switch. Its part is found here, and the partition is registered in hot again in one multi, before
a merge of the new part with the cold ones can do harm. The copies stay in cold: a server that is
starting right now may have read hot before that and must still find them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..formats.layout import ShardLayout
from ..formats.log_entry import EntryKind
from ..gates.gate import Refusal
from ..gates.partition import is_registered_or_replaced
from ..gates.servers import ServerCheck
from ..lease.lease import Lease, confirm_lease, raise_if_lease_lost
from ..shard.facts import PartitionFacts, ShardFacts
from ..shard.reader import ShardReader
from ..text import few
from ..tree.batches import fits
from ..tree.paths import refuse_unwritable
from ..tree.ports import ZnodeStore
from ..tree.znodes import Committed, Rejected
from .copies import restoring
from .detached import detached_since
from .report import ShardReport

_ATTEMPTS = 100
"""To undo a switch: each insert into the table that comes in between makes one fail."""


class Aftermath:
    """Looks at the partitions that one run switched, under the lease of that run."""

    def __init__(
        self,
        hot: ZnodeStore,
        reader: ShardReader,
        layout: ShardLayout,
        lease: Lease,
        servers: ServerCheck,
    ) -> None:
        self._hot = hot
        self._reader = reader
        self._layout = layout
        self._lease = lease
        self._servers = servers

    def check(
        self,
        switched: Mapping[str, PartitionFacts],
        detached_before: Mapping[str, frozenset[str]],
        report: ShardReport,
    ) -> None:
        """Move what is not as it must be from ``report.moved`` to deferred (undone) or failed.

        ``switched`` holds the facts as of before the switch. Looks at what is in ``report.moved`` only,
        so that it can be called again. Raises LeaseLost, EnsembleError.
        """
        self._hot.sync(self._layout.path)
        moved = [switched[each] for each in sorted(switched.keys() & report.moved.keys())]
        # Before hot is read: a part that a server has made active is in hot by then, and so is found late.
        failures = self._server_failures(self._reader.shard(), moved, detached_before)
        self._hot.sync(self._layout.path)
        shard = self._reader.shard()
        late = self._late(shard, switched)
        gone = self._gone(shard, switched)
        confirm_lease(self._hot, self._lease, self._layout.path)
        for each in sorted(switched.keys() & report.moved.keys() & late.keys()):
            undone = self._undo(each, switched[each])
            del report.moved[each]
            if undone:
                report.deferred[each] = _late_insert(late[each])
            else:
                report.failed[each] = _not_undone(late[each])
        for each in sorted(report.moved.keys() & gone.keys()):
            del report.moved[each]
            report.failed[each] = _copies_gone(gone[each])
        for each in sorted(report.moved.keys() & failures.keys()):
            del report.moved[each]
            report.failed[each] = failures[each]

    def _late(self, shard: ShardFacts, switched: Mapping[str, PartitionFacts]) -> dict[str, str]:
        """Partition id → what is in hot, or on its way there, although the partition is cold."""
        late: dict[str, str] = {}
        for replica, parts in self._reader.names_in_hot(shard).items():
            for each in parts.keys() & switched.keys():
                late.setdefault(each, f"replica {replica} registered {few(parts[each])}")
        for each in shard.pending.keys() & switched.keys():
            entries = few(entry.where for entry in shard.pending[each])
            late.setdefault(each, f"entries for the partition wait: {entries}")
        for each, before in switched.items():
            added = [replica.name for replica in shard.replicas if replica.name not in before.hot]
            if added:
                late.setdefault(each, f"replica {few(added)} was added, which does not get cold parts")
        return late

    def _gone(self, shard: ShardFacts, switched: Mapping[str, PartitionFacts]) -> dict[str, list[str]]:
        """Partition id → paths of copies that are not there any more, of replicas that still are."""
        cold = self._reader.names_in_cold(shard)
        gone = {
            each: [
                part.znode.path
                for part in before.hot_parts
                if part.replica in cold and part.name.text not in cold[part.replica].get(each, ())
            ]
            for each, before in switched.items()
        }
        return {each: paths for each, paths in gone.items() if paths}

    def _undo(self, partition_id: str, before: PartitionFacts) -> bool:
        """Register the parts in hot again and set State to HOT, in one multi.

        Not where an entry other than an insert waits: it may replace the parts on disk, and a part
        that both ensembles have and the disk has not keeps a table from starting. Not where copies are
        gone either: a DROP PARTITION that has been carried out took them away, and the parts with them.
        """
        for _attempt in range(_ATTEMPTS):
            self._hot.sync(self._layout.path)
            shard = self._reader.shard()
            # After the fence was read: whatever was taken from cold before that is seen to be gone.
            self._reader.sync_cold()
            pending = shard.pending.get(partition_id, ())
            if any(entry.kind is not EntryKind.GET for entry in pending):
                return False
            now = self._reader.partitions(shard, [partition_id])[partition_id]
            if now.state is None:
                return False
            parts = [part for part in before.hot_parts if part.replica in now.hot]
            if not now.is_cold:
                return all(is_registered_or_replaced(part, now.hot[part.replica]) for part in parts)
            checks = (*self._lease.hot_checks, *shard.fence)
            ops = restoring(parts, now.state)
            gone = {part.znode.path for part in parts} - {part.znode.path for part in now.cold_parts}
            if gone or not fits(checks, ops):
                return False
            multi = (*checks, *ops)
            outcome = self._hot.commit([multi])[0]
            if isinstance(outcome, Committed):
                return True
            if isinstance(outcome, Rejected):
                raise_if_lease_lost(outcome, len(self._lease.hot_checks), self._layout.path)
                refuse_unwritable(self._hot, multi[outcome.op_index].path, outcome)
        return False

    def _server_failures(
        self,
        shard: ShardFacts,
        moved: Sequence[PartitionFacts],
        detached_before: Mapping[str, frozenset[str]],
    ) -> dict[str, Refusal]:
        """Partition id → what is wrong with it on disk."""
        failures = dict(self._servers.refusals(shard, moved))
        parts = [part.name for each in moved for part in each.hot_parts]
        return detached_since(self._servers, shard, parts, detached_before) | failures


def _copies_gone(paths: Sequence[str]) -> Refusal:
    return Refusal(
        "copies_kept",
        f"copies that were verified are gone from the cold ensemble: {few(paths)}",
        "Find out what deleted them and repair the partition now, before a server restarts",
    )


def _late_insert(reason: str) -> Refusal:
    return Refusal(
        "late_insert",
        f"while it was switched, {reason}; it is registered in hot again",
        "Run again once the partition gets no inserts any more and every replica has its parts",
    )


def _not_undone(reason: str) -> Refusal:
    return Refusal(
        "late_insert",
        f"it was switched, but {reason}, and the switch could not be undone",
        "Audit the partition now and repair it before anything merges it",
    )
