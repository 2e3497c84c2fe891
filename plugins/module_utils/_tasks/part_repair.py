# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The task of part_repair: repair the findings of one kind at one shard path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._partmove.errors import PartMoveError
from .._partmove.formats.layout import ShardLayout
from .._partmove.formats.names import check_partition_id
from .._partmove.gates.servers import AskServers
from .._partmove.journal.events import Event
from .._partmove.journal.port import Journal
from .._partmove.lease.two_ensembles import check_different_history
from .._partmove.patched.audit.kind import FindingKind
from .._partmove.patched.parts.pair import read_pair
from .._partmove.patched.repair.backup import BackupHeader, PartitionLeft
from .._partmove.patched.repair.case import RepairContext, RepairOptions
from .._partmove.patched.repair.run import REMEDIES, RepairReport, repair_shard
from .._partmove.patched.repair.saving import SavedWrite, SavingStore
from .._partmove.shard.fence import no_table
from .._partmove.text import format_time, parse_duration
from .._partmove.tree.ports import ZnodeStore
from .backup_file import BackupFile
from .journal_file import journalled_run
from .pacing import PaceOptions
from .registrations_file import read_registrations
from .resources import SERVERS_AT_ONCE, LockOptions, Resources, probe_of


class PartRepair:
    """Implements Task for part_repair."""

    failure = ""

    def __init__(self, params: Mapping[str, Any]) -> None:
        """Read the options of the module. Raises PartMoveError for invalid values."""
        self._params = params
        self._layout = ShardLayout(params["shard_path"])
        self._kind = FindingKind(params["kind"])
        given = params["partitions"]
        self._only = None if given is None else [_partition_id(each) for each in given]
        self._locks = LockOptions.of(params)
        self._pace = PaceOptions.of(params)
        self._options = self._read_options()
        self._done: list[str] = []
        self._backup: BackupFile | None = None
        self._report: RepairReport | None = None
        self._check_mode = False

    def result(self) -> dict[str, Any]:
        """Return the result so far."""
        report = self._report
        rows = [] if report is None else report.repaired
        left = {} if report is None else report.left
        names = [f"{self._layout.path} {row.partition} {row.replica}" for row in rows]
        return {
            "changed": bool(self._done),
            "msg": self._message(len({row.partition for row in rows}), len(left)),
            "repaired": [
                {
                    "partition": row.partition,
                    "replica": row.replica,
                    "kind": row.verdict.kind.value,
                    "parts": list(row.verdict.parts),
                }
                for row in rows
            ],
            "left": [
                {"partition": each, "reason": why.reason, "remedy": why.remedy}
                for each, why in sorted(left.items())
            ],
            "operations": list(self._done),
            "backup": "" if self._backup is None else self._backup.path,
            "diff": {
                "before": "".join(f"{name}: {self._kind.value}\n" for name in names),
                "after": "".join(f"{name}: repaired\n" for name in names),
            },
        }

    def run(self, resources: Resources) -> None:
        """Repair the partitions whose finding is of the kind."""
        self._check_mode = resources.check_mode
        hot, cold = resources.open_pair()
        journal = resources.open_journal()
        check_different_history(hot, cold, self._layout.path)
        in_hot, in_cold = (each.read([self._layout.path])[0] for each in (hot, cold))
        if in_hot is None and in_cold is None:
            raise no_table(self._layout)
        moment = format_time(int(resources.clock.now() * 1000))
        czxid, ctime = (0, 0) if in_hot is None else (in_hot.stat.czxid, in_hot.stat.ctime)
        pair = read_pair(hot, cold, self._locks.root)
        header = BackupHeader(
            moment, self._layout.path, czxid, self._kind.value, ctime, pair.hot_id, pair.cold_id
        )
        if not self._check_mode:
            self._backup = BackupFile(self._params["backup"], header)
            resources.close_at_end(self._backup)
        probe = probe_of(self._params["clickhouse"])
        progress = resources.open_progress("partitions", "parts")

        def report_progress(expected: int, done: int) -> None:
            progress.expect(expected)
            progress.add(done, 0, f"of the kind {self._kind.value} at {self._layout.path}")

        context = RepairContext(
            self._saving(hot, "hot", journal),
            self._saving(cold, "cold", journal),
            resources.clock,
            journal,
            self._locks.keeper("part_repair", hot, cold, resources.clock),
            AskServers(probe, SERVERS_AT_ONCE),
            probe,
            "" if self._backup is None else self._backup.planned,
            resources.open_pace(self._pace, progress.announce),
            SERVERS_AT_ONCE,
            report_progress,
            self._save_left,
        )
        work = {"work": f"{self._kind.value} of {self._layout.path}", "shard_paths": 1}
        with journalled_run(journal, "part_repair", (hot, cold), work, self._counts):
            self._report = repair_shard(
                context, self._layout.path, self._kind, self._options, only=self._only
            )

    def _saving(self, store: ZnodeStore, name: str, journal: Journal) -> SavingStore:
        def announce(multis: Sequence[Sequence[str]]) -> None:
            rows = ({"shard_path": self._layout.path, "operations": list(each)} for each in multis)
            journal.record(Event.WRITING, rows)

        return SavingStore(store, name, self._save, announce, self._done)

    def _save(self, writes: Sequence[SavedWrite]) -> None:
        if self._backup is not None:
            self._backup.save(writes)

    def _save_left(self, partitions: Sequence[PartitionLeft]) -> None:
        if self._backup is not None:
            self._backup.save_left(partitions)

    def _counts(self) -> dict[str, int]:
        """Return the numbers of repaired and left partitions."""
        report = self._report
        if report is None:
            return {}
        return {"repaired": len({row.partition for row in report.repaired}), "left": len(report.left)}

    def _message(self, repaired: int, left: int) -> str:
        would = "would be " if self._check_mode else ""
        return f"{repaired} {would}repaired, {left} left"

    def _read_options(self) -> RepairOptions:
        params = self._params
        if self._kind not in REMEDIES:
            raise PartMoveError(
                f"Partitions of the kind {self._kind.value} are not repaired by a module",
                remedy=self._kind.remedy or "They are consistent",
            )
        path = params["registrations"]
        return RepairOptions(
            registrations=() if path is None else read_registrations(path, self._layout),
            quiet=parse_duration(params["quiet"], "quiet"),
            cold_is_lost=params["cold_is_lost"],
            replica_is_gone=params["replica_is_gone"],
            without_hashes=params["without_hashes"],
        )


def _partition_id(text: str) -> str:
    """Check an id. An empty text is valid: it stands for registrations whose names are not part names."""
    return check_partition_id(text, "partitions") if text else text
