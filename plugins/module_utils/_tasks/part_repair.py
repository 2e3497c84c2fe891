# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The task of part_repair: repair the findings of one kind, one shard path after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

from .._partmove.errors import AccessDenied, EnsembleError, PartMoveError, PausedTooLong, SessionRefused
from .._partmove.formats.layout import ShardLayout
from .._partmove.formats.names import check_partition_id
from .._partmove.gates.servers import AskServers
from .._partmove.journal.events import Event
from .._partmove.lease.two_ensembles import check_different_history
from .._partmove.patched.audit.kind import FindingKind
from .._partmove.patched.parts.pair import read_pair
from .._partmove.patched.repair.backup import BackupHeader, PartitionLeft, SavedZnode
from .._partmove.patched.repair.case import RepairContext, RepairOptions
from .._partmove.patched.repair.run import REMEDIES, RepairReport, repair_shard
from .._partmove.patched.repair.saving import SavedWrite, SavingStore
from .._partmove.shard.fence import no_table
from .._partmove.text import first_few, format_time, parse_duration
from .._partmove.tree.ports import ZnodeStore
from .backup_file import BackupFile
from .journal_file import journalled_run
from .pacing import PaceOptions
from .progress import Progress
from .registrations_file import read_registrations
from .resources import SERVERS_AT_ONCE, LockOptions, Resources, probe_of


class _ShardRepair:
    """The repair of one shard path, with a backup file of its own.

    Implements what `SavingStore` and `RepairContext` call to save znodes before they change.
    """

    def __init__(self, shard_path: str) -> None:
        self.layout = ShardLayout(shard_path)
        self.backup: BackupFile | None = None
        self.report = RepairReport(self.layout.path)
        self.error: PartMoveError | None = None
        """Why the shard path could not be repaired; other shard paths go on."""

    def save(self, writes: Sequence[SavedWrite]) -> None:
        """Save znodes before they are changed."""
        if self.backup is not None:
            self.backup.save(writes)

    def save_left(self, partitions: Sequence[PartitionLeft]) -> None:
        """Save how the repair leaves partitions."""
        if self.backup is not None:
            self.backup.save_left(partitions)

    def close(self) -> None:
        """Close the backup file."""
        if self.backup is not None:
            self.backup.close()

    def repaired(self) -> list[dict[str, Any]]:
        """Return the repaired findings, as the module returns them."""
        return [
            {
                "shard_path": row.shard_path,
                "partition": row.partition,
                "replica": row.replica,
                "kind": row.verdict.kind.value,
                "parts": list(row.verdict.parts),
            }
            for row in self.report.repaired
        ]

    def left(self, kind: FindingKind) -> list[dict[str, str]]:
        """Return the partitions of the kind that were left, as the module returns them."""
        of_all = {"shard_path": self.layout.path, "kind": kind.value}
        return [
            {**of_all, "partition": each, "reason": why.reason, "remedy": why.remedy}
            for each, why in sorted(self.report.left.items())
        ]


class PartRepair:
    """Implements Task for part_repair."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        """Read the options of the module. Raises PartMoveError for invalid values."""
        self._params = params
        given = params["shard_paths"]
        self._is_single = given is None
        paths = [params["shard_path"]] if given is None else sorted(set(given))
        self._shards = [_ShardRepair(each) for each in paths]
        self._kind = FindingKind(params["kind"])
        partitions = params["partitions"]
        self._only = None if partitions is None else [_partition_id(each) for each in partitions]
        self._locks = LockOptions.of(params)
        self._pace = PaceOptions.of(params)
        self._options = self._read_options()
        self._done: list[str] = []
        self._seconds = 0.0
        self._check_mode = False

    @property
    def failure(self) -> str:
        """A sentence about shard paths that could not be repaired; empty without any."""
        failed = [each for each in self._shards if each.error is not None]
        if not failed:
            return ""
        texts = first_few([f"{each.layout.path}: {each.error}" for each in failed])
        return f"{len(failed)} of {len(self._shards)} shard paths could not be repaired: {texts}"

    def result(self) -> dict[str, Any]:
        """Return the result so far."""
        repaired = [row for each in self._shards for row in each.repaired()]
        left = [row for each in self._shards for row in each.left(self._kind)]
        names = [f"{row['shard_path']} {row['partition']} {row['replica']}" for row in repaired]
        backups = [each.backup.path for each in self._shards if each.backup is not None and each.backup.path]
        counts = self._counts()
        return {
            "changed": bool(self._done),
            "msg": self._message(counts["repaired"], counts["left"]),
            "counts": counts,
            "repaired": repaired,
            "left": left,
            "failed_shard_paths": [
                {"shard_path": each.layout.path, "reason": each.error.message, "remedy": each.error.remedy}
                for each in self._shards
                if each.error is not None
            ],
            "operations": list(self._done),
            "seconds": round(self._seconds, 1),
            "backup": backups[0] if self._is_single and backups else "",
            "backups": backups,
            "diff": {
                "before": "".join(f"{name}: {self._kind.value}\n" for name in names),
                "after": "".join(f"{name}: repaired\n" for name in names),
            },
        }

    def run(self, resources: Resources) -> None:
        """Repair the partitions whose finding is of the kind, one shard path after the other.

        With several shard paths, one that cannot be repaired does not keep the others.
        """
        self._check_mode = resources.check_mode
        hot, cold = resources.open_pair()
        journal = resources.open_journal()
        self._check_ensembles(hot, cold)
        probe = probe_of(self._params["clickhouse"])
        progress = resources.open_progress("partitions", "parts")
        context = RepairContext(
            hot,
            cold,
            resources.clock,
            journal,
            self._locks.keeper("part_repair", hot, cold, resources.clock),
            AskServers(probe, SERVERS_AT_ONCE),
            probe,
            pace=resources.open_pace(self._pace, progress.announce),
            at_once=SERVERS_AT_ONCE,
        )
        paths = first_few([each.layout.path for each in self._shards])
        work = {"work": f"{self._kind.value} of {paths}", "shard_paths": len(self._shards)}
        with journalled_run(journal, "part_repair", (hot, cold), work, self._counts):
            for shard in self._shards:
                if shard.error is None:
                    begun = resources.clock.now()
                    self._repair(context, shard, progress)
                    self._seconds += max(0.0, resources.clock.now() - begun)

    def _check_ensembles(self, hot: ZnodeStore, cold: ZnodeStore) -> None:
        """Check before the first write that hot and cold are two ensembles with at least one of the tables.

        With several shard paths, one that may not be read is left out. Raises SameEnsemble; NoSuchTable if
        neither ensemble has any of the tables: then the chroot is wrong.
        """
        is_there = False
        for shard in self._shards:
            path = shard.layout.path
            with self._of(shard):
                check_different_history(hot, cold, path)
                is_there = is_there or any(each.read([path])[0] is not None for each in (hot, cold))
        # A table that was dropped since its audit is in neither ensemble, and must not keep the others. Only
        # a znode that exists can be denied.
        if self._shards and not is_there and not any(each.error for each in self._shards):
            raise no_table(self._shards[0].layout)

    @contextmanager
    def _of(self, shard: _ShardRepair) -> Iterator[None]:
        """Keep an error of one shard path of several; raise an error that concerns all of them."""
        try:
            yield
        except PartMoveError as error:
            concerns_all = isinstance(error, (EnsembleError, PausedTooLong)) and (
                not isinstance(error, AccessDenied) or isinstance(error, SessionRefused)
            )
            if self._is_single or concerns_all:
                raise
            shard.error = error

    def _repair(self, context: RepairContext, shard: _ShardRepair, progress: Progress) -> None:
        """Repair one shard path. With several, its error is kept, unless it concerns all of them."""
        path = shard.layout.path

        def report_progress(expected: int, done: int) -> None:
            progress.expect(expected)
            progress.add(done, 0, f"of the kind {self._kind.value} at {path}")

        with self._of(shard), closing(shard):
            if not self._check_mode:
                shard.backup = BackupFile(self._params["backup"], self._header(context, path))
            own = context._replace(
                hot=self._saving(context, context.hot, "hot", shard),
                cold=self._saving(context, context.cold, "cold", shard),
                backup="" if shard.backup is None else shard.backup.planned,
                on_progress=report_progress,
                save_left=shard.save_left,
            )
            options = replace(self._options, registrations=self._registrations(shard.layout))
            shard.report = repair_shard(own, path, self._kind, options, only=self._only)

    def _header(self, context: RepairContext, path: str) -> BackupHeader:
        in_hot = context.hot.read([path])[0]
        czxid, ctime = (0, 0) if in_hot is None else (in_hot.stat.czxid, in_hot.stat.ctime)
        pair = read_pair(context.hot, context.cold, self._locks.root)
        moment = format_time(int(context.clock.now() * 1000))
        return BackupHeader(moment, path, czxid, self._kind.value, ctime, pair.hot_id, pair.cold_id)

    def _saving(
        self, context: RepairContext, store: ZnodeStore, name: str, shard: _ShardRepair
    ) -> SavingStore:
        def announce(multis: Sequence[Sequence[str]]) -> None:
            rows = ({"shard_path": shard.layout.path, "operations": list(each)} for each in multis)
            context.journal.record(Event.WRITING, rows)

        return SavingStore(store, name, shard.save, announce, self._done)

    def _counts(self) -> dict[str, int]:
        """Return the numbers of repaired and left partitions."""
        reports = [each.report for each in self._shards]
        return {
            "repaired": sum(len({row.partition for row in report.repaired}) for report in reports),
            "left": sum(len(report.left) for report in reports),
        }

    def _message(self, repaired: int, left: int) -> str:
        would = "would be " if self._check_mode else ""
        return f"{repaired} {would}repaired, {left} left"

    def _read_options(self) -> RepairOptions:
        """Return the options, without registrations."""
        params = self._params
        if self._kind not in REMEDIES:
            raise PartMoveError(
                f"Partitions of the kind {self._kind.value} are not repaired by a module",
                remedy=self._kind.remedy or "They are consistent",
            )
        # A file that cannot be read ends the run before its first write.
        for shard in self._shards[:1]:
            self._registrations(shard.layout)
        return RepairOptions(
            quiet=parse_duration(params["quiet"], "quiet"),
            cold_is_lost=params["cold_is_lost"],
            replica_is_gone=params["replica_is_gone"],
            disks_are_mounted=params["disks_are_mounted"],
            without_hashes=params["without_hashes"],
        )

    def _registrations(self, layout: ShardLayout) -> Sequence[SavedZnode]:
        path = self._params["registrations"]
        return () if path is None else read_registrations(path, layout)


def _partition_id(text: str) -> str:
    """Check an id. An empty text is valid: it stands for registrations whose names are not part names."""
    return check_partition_id(text, "partitions") if text else text
