# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""After the switch: did a part arrive that nothing could keep out? Then the switch is undone.

An insert takes no lock that a move could check, so one can be committed between the last look and
the switch. Its part is found here, and the partition is registered in hot again in one multi, before
a merge of the new part with the cold ones can do harm. The copies stay in cold: a server that is
starting right now may have read hot before that and must still find them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from .batches import fits
from .coordination import Lease, raise_if_lease_lost, refuse_unwritable
from .facts import HOT, PartitionFacts, ShardFacts
from .gate import Refusal, few
from .layout import ShardLayout
from .log_entry import EntryKind
from .ports import ZnodeStore
from .report import ShardReport
from .server_gates import ServerCheck
from .shard_reader import ShardReader
from .znodes import Committed, Create, Op, Rejected, SetData

_ATTEMPTS = 5
_DETACHED = re.compile(r"[a-z-]+_(.+?)(?:_try[0-9]+)?")


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

        ``switched`` holds the facts as of before the switch. Raises LeaseLost, EnsembleError.
        """
        self._hot.sync(self._layout.path)
        shard = self._reader.shard()
        for each, reason in sorted(self._late(shard, switched).items()):
            del report.moved[each]
            if self._undo(each, switched[each]):
                report.deferred[each] = _late_insert(reason)
            else:
                report.failed[each] = _not_undone(reason)
        self._check_copies(shard, switched, report)
        self._check_servers(shard, switched, detached_before, report)

    def _late(self, shard: ShardFacts, switched: Mapping[str, PartitionFacts]) -> dict[str, str]:
        """Partition id → what is in hot, or on its way there, although the partition is cold."""
        late: dict[str, str] = {}
        for replica, parts in self._reader.names_in_hot(shard).items():
            for each in parts.keys() & switched.keys():
                late.setdefault(each, f"replica {replica} registered {few(parts[each])}")
        for each in shard.pending.keys() & switched.keys():
            entries = few(entry.where for entry in shard.pending[each])
            late.setdefault(each, f"entries for the partition wait: {entries}")
        return late

    def _undo(self, partition_id: str, before: PartitionFacts) -> bool:
        """Register the parts in hot again and set State to HOT, in one multi.

        Not where an entry other than an insert waits: it may replace the parts on disk, and a part
        that both ensembles have and the disk has not keeps a table from starting.
        """
        for _attempt in range(_ATTEMPTS):
            self._hot.sync(self._layout.path)
            shard = self._reader.shard()
            pending = shard.pending.get(partition_id, ())
            if any(entry.kind is not EntryKind.GET for entry in pending):
                return False
            now = self._reader.partitions(shard, [partition_id], with_cold=False)[partition_id]
            if now.state is None:
                return False
            if not now.is_cold:
                return True
            checks = (*self._lease.hot_checks, *shard.fence)
            ops: list[Op] = [
                Create(znode.path, znode.data)
                for part in before.hot_parts
                for znode in (part.znode, *part.children)
            ]
            ops.append(SetData(now.state.path, HOT, now.state.stat.version))
            if not fits(checks, ops):
                return False
            multi = (*checks, *ops)
            outcome = self._hot.commit([multi])[0]
            if isinstance(outcome, Committed):
                return True
            if isinstance(outcome, Rejected):
                raise_if_lease_lost(outcome, len(self._lease.hot_checks), self._layout.path)
                refuse_unwritable(self._hot, multi[outcome.op_index].path, outcome)
        return False

    def _check_copies(
        self, shard: ShardFacts, switched: Mapping[str, PartitionFacts], report: ShardReport
    ) -> None:
        cold = self._reader.names_in_cold(shard)
        for each in sorted(switched.keys() & report.moved.keys()):
            missing = [
                part.znode.path
                for part in switched[each].hot_parts
                if part.name.text not in cold[part.replica].get(each, ())
            ]
            if missing:
                del report.moved[each]
                report.failed[each] = Refusal(
                    "copies_kept",
                    f"copies that were verified are gone from the cold ensemble: {few(missing)}",
                    "Find out what deleted them and repair the partition now, before a server restarts",
                )

    def _check_servers(
        self,
        shard: ShardFacts,
        switched: Mapping[str, PartitionFacts],
        detached_before: Mapping[str, frozenset[str]],
        report: ShardReport,
    ) -> None:
        moved = [switched[each] for each in sorted(switched.keys() & report.moved.keys())]
        failures = dict(self._servers.refusals(shard, moved))
        detached_now = self._servers.detached(shard) if detached_before else {}
        owners = {part.name.text: part.name.partition_id for each in moved for part in each.hot_parts}
        for replica, names in detached_now.items():
            for name in sorted(names - detached_before.get(replica, frozenset())):
                partition_id = owners.get(name) or owners.get(_part_of(name))
                if partition_id is not None:
                    failures.setdefault(partition_id, _detached(replica, name))
        for each, refusal in failures.items():
            del report.moved[each]
            report.failed[each] = refusal


def _part_of(folder: str) -> str:
    """Name of the part in a detached folder named ``<reason>_<part>`` or ``<reason>_<part>_try<N>``."""
    match = _DETACHED.fullmatch(folder)
    return folder if match is None else match[1]


def _late_insert(reason: str) -> Refusal:
    return Refusal(
        "late_insert",
        f"while it was switched, {reason}; it is registered in hot again",
        "Run again once the partition gets no inserts any more",
    )


def _not_undone(reason: str) -> Refusal:
    return Refusal(
        "late_insert",
        f"it was switched, but {reason}, and the switch could not be undone",
        "Audit the partition now and repair it before anything merges it",
    )


def _detached(replica: str, name: str) -> Refusal:
    return Refusal(
        "active_on_disk",
        f"replica {replica} detached {name} during the move",
        "Audit the partition now and repair it before the server restarts",
    )
