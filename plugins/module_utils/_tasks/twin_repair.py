# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The task of twin_repair: repair the findings of one kind in tables with cold twins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._clickhouse.options import ClickHouseOptions
from .._clickhouse.reader_servers import HttpReaderServers
from .._clickhouse.repair_servers import HttpRepairServers
from .._partmove.errors import EnsembleError, PartMoveError, PausedTooLong
from .._partmove.formats.names import check_partition_id
from .._partmove.text import first_few
from .._partmove.twin.audit.kind import TwinKind
from .._partmove.twin.move.run import OpenReaders, without_readers
from .._partmove.twin.move.tables import Side
from .._partmove.twin.readers.prepare import ReadersOptions
from .._partmove.twin.readers.recorded_readers import OpenRecordedReaders
from .._partmove.twin.repair.context import TwinRepairContext
from .._partmove.twin.repair.kept_removal import KIND as KEPT_PARTS, remove_kept_parts
from .._partmove.twin.repair.report import RepairedTwin, TwinRepairReport
from .._partmove.twin.repair.run import repair_twins
from .._partmove.twin.repair.servers import RepairServers
from .journal_file import journalled_run
from .pacing import PaceOptions
from .progress import Progress
from .resources import SERVERS_AT_ONCE, LockOptions, Resources, servers_as_result
from .shard_paths import given_shard_paths


class TwinRepair:
    """Implements Task for twin_repair."""

    def __init__(self, params: Mapping[str, Any], servers: RepairServers | None = None) -> None:
        """Read the options of the module. Raises PartMoveError for invalid values.

        servers: used instead of the servers that the options name.
        """
        real = HttpRepairServers(ClickHouseOptions.of(params["clickhouse"]), params["twin"])
        self._clients = real.clients if servers is None else None
        self._servers = servers or real
        self._readers: OpenReaders = without_readers
        if servers is None:
            self._readers = OpenRecordedReaders(HttpReaderServers(real.clients), ReadersOptions())
        self._kind: str = params["kind"]
        self._are_unneeded: bool = params["kept_parts_are_unneeded"]
        only = params["partitions"]
        self._only = None if only is None else [check_partition_id(each, "partitions") for each in only]
        self._locks = LockOptions.of(params)
        self._pace = PaceOptions.of(params)
        self._reports = [TwinRepairReport(each) for each in given_shard_paths(params["shard_paths"])]
        self._errors: dict[str, PartMoveError] = {}
        """Shard path → why it could not be repaired; other shard paths go on."""
        self._check_mode = False

    @property
    def failure(self) -> str:
        """A sentence about shard paths that could not be repaired; empty without any."""
        if not self._errors:
            return ""
        texts = first_few([f"{path}: {error}" for path, error in sorted(self._errors.items())])
        return f"{len(self._errors)} of {len(self._reports)} shard paths could not be repaired: {texts}"

    def result(self) -> dict[str, Any]:
        """Return the result so far."""
        counts = self._counts()
        statements = [each for report in self._reports for each in report.statements]
        would = "would be " if self._check_mode else ""
        return {
            "changed": any(report.is_changed for report in self._reports),
            "msg": f"{counts['repaired']} {would}repaired, {counts['left']} left",
            "counts": counts,
            "repaired": [
                _repaired_as_result(report.shard_path, self._kind, each)
                for report in self._reports
                for _id, each in sorted(report.repaired.items())
            ],
            "left": [
                {
                    "shard_path": report.shard_path,
                    "partition": partition,
                    "kind": self._kind,
                    "reason": why.reason,
                    "remedy": why.remedy,
                }
                for report in self._reports
                for partition, why in sorted(report.left.items())
            ],
            "failed_shard_paths": [
                {"shard_path": path, "reason": error.message, "remedy": error.remedy}
                for path, error in sorted(self._errors.items())
            ],
            "statements": statements,
            "records_removed": [each for report in self._reports for each in report.records_removed],
            "servers": [] if self._clients is None else servers_as_result(self._clients),
            "diff": {"before": "", "after": "".join(f"{each}\n" for each in statements)},
        }

    def run(self, resources: Resources) -> None:
        """Repair the partitions of the kind, one shard path after the other."""
        self._check_mode = resources.check_mode
        hot, journal = resources.open_ensemble("hot"), resources.open_journal()
        progress = resources.open_progress("partitions", "parts")
        context = TwinRepairContext(
            hot,
            resources.clock,
            journal,
            self._locks.keeper("twin_repair", hot, None, resources.clock),
            self._servers,
            self._readers,
            resources.open_pace(self._pace, progress.announce, ensembles=("hot",)),
            self._check_mode,
            SERVERS_AT_ONCE,
        )
        paths = [report.shard_path for report in self._reports]
        work = {"work": f"{self._kind} of {first_few(paths)}", "shard_paths": len(paths)}
        with journalled_run(journal, "twin_repair", (hot, None), work, self._counts):
            for number, path in enumerate(paths):
                self._repair(context, number, path, progress)

    def _repair(self, context: TwinRepairContext, number: int, path: str, progress: Progress) -> None:
        """Repair a shard path. Its error is kept, unless it concerns all shard paths."""

        def report_progress(expected: int, done: int) -> None:
            progress.expect(expected)
            progress.add(done, 0, f"of the kind {self._kind} at {path}")

        own = context._replace(on_progress=report_progress)
        try:
            report = self._reports[number] = self._carry_out(own, path)
            if report.error is not None:
                self._errors[path] = report.error
        except (EnsembleError, PausedTooLong):
            raise
        except PartMoveError as error:
            if len(self._reports) == 1:
                raise
            self._errors[path] = error

    def _carry_out(self, context: TwinRepairContext, path: str) -> TwinRepairReport:
        if self._kind == KEPT_PARTS:
            return remove_kept_parts(context, path, are_unneeded=self._are_unneeded, only=self._only)
        return repair_twins(context, path, TwinKind(self._kind), self._only)

    def _counts(self) -> dict[str, int]:
        """Return the numbers of repaired and left partitions."""
        return {
            "repaired": sum(len(report.repaired) for report in self._reports),
            "left": sum(len(report.left) for report in self._reports),
        }


def _repaired_as_result(shard_path: str, kind: str, repaired: RepairedTwin) -> dict[str, Any]:
    """Return a repaired partition as a value of the module's result."""
    return {
        "shard_path": shard_path,
        "partition": repaired.partition,
        "kind": kind,
        "what": repaired.what,
        "rows_before": {side.value: rows for side, rows in repaired.rows_before.items()},
        "rows_after": {side.value: rows for side, rows in repaired.rows_after.items()},
        "kept": {side.value: list(repaired.kept.get(side, ())) for side in Side},
    }
