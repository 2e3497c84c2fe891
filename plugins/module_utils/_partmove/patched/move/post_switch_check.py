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
"""To undo a switch: each insert into the table that comes in between makes one fail."""


class PostSwitchCheck:
    """Looks at the partitions that one run switched to cold, under the lease of that run."""

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
        """Move what is not as it must be from ``report.moved`` to deferred (undone) or failed.

        ``asked`` has the replicas whose servers are asked; one that was added since makes a switch undone
        anyway. ``switched`` holds the facts as of before the switch. Looks at what is in ``report.moved``
        only, so that it can be called again. Raises LeaseLost, EnsembleError.
        """
        moved = [switched[each] for each in sorted(switched.keys() & report.moved.keys())]
        # Before hot is read: a part that a server has made active is in hot by then, and so is found late.
        failures = self._server_failures(asked, moved, detached_before)
        survey = self._leased.read_names(sorted(switched))
        late = self._late(survey, switched)
        gone = self._gone(survey, switched)
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

    def _late(self, survey: NamesRead, switched: Mapping[str, PartitionFacts]) -> dict[str, str]:
        """Partition id → what is in hot, or on its way there, although the partition is cold."""
        late: dict[str, str] = {}
        shard = survey.shard
        for each, before in sorted(switched.items()):
            held = survey.block_numbers.in_flight.get(each)
            registered = {name: parts for name, parts in survey.partitions[each].hot.items() if parts}
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
                late[each] = f"replica {first_few(added)} was added, which does not get cold parts"
        return late

    def _gone(self, survey: NamesRead, switched: Mapping[str, PartitionFacts]) -> dict[str, list[str]]:
        """Partition id → paths of copies that are not there any more, of replicas that still are."""
        gone: dict[str, list[str]] = {}
        for each, before in switched.items():
            cold = survey.partitions[each].cold
            gone[each] = [
                part.znode.path
                for replica, parts in before.hot.items()
                if replica in cold
                for part in parts
                if part.name.text not in cold[replica]
            ]
        return {each: paths for each, paths in gone.items() if paths}

    def _undo(self, partition_id: str, before: PartitionFacts) -> bool:
        """Register the parts in hot again and set State to HOT, in one multi.

        Not where an entry other than an insert waits: it may replace the parts on disk, and a part
        that both ensembles have and the disk has not keeps a table from starting. Not where copies are
        gone either: a DROP PARTITION that has been carried out took them away, and the parts with them. Nor
        where a server says that it has them no more: a REPLACE PARTITION leaves the copies as they are. One
        that does not answer stops nothing, as a merge with the late part may be near.
        """
        for _attempt in range(_ATTEMPTS):
            shard, found = self._leased.read([partition_id])
            now = found[partition_id]
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
        """Partition id → what is wrong with it on disk."""
        failures = dict(self._servers.refusals(shard, moved))
        parts = [part.name for each in moved for part in each.hot_parts]
        return detached_since(self._servers, shard, parts, detached_before) | failures


def _copies_gone(paths: Sequence[str]) -> Refusal:
    return Refusal(
        GateName.COPIES_KEPT,
        f"copies that were verified are gone from the cold ensemble: {first_few(paths)}",
        "Find out what deleted them; run part_audit_info and part_repair now, before a server restarts",
    )


def _late_insert(reason: str) -> Refusal:
    return Refusal(
        GateName.LATE_INSERT,
        f"while it was switched, {reason}; it is registered in hot again",
        "Run again once the partition gets no inserts any more and every replica has its parts",
    )


def _not_undone(reason: str) -> Refusal:
    return Refusal(
        GateName.LATE_INSERT,
        f"it was switched, but {reason}, and the switch could not be undone",
        "Run part_audit_info on the shard path now, and part_repair before anything is merged",
    )
