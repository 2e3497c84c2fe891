# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The task of twin_audit_info: says of every partition of tables with cold twins what it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .._clickhouse.options import ClickHouseOptions
from .._clickhouse.twin_witnesses import HttpTwinWitnesses, statements_of
from .._partmove.errors import NoSuchTable
from .._partmove.formats.layout import ShardLayout
from .._partmove.tree.ports import ZnodeReader
from .._partmove.twin.audit.audit import TwinAudit, TwinRow, audit_twins
from .._partmove.twin.audit.evidence import TwinWitnesses
from .._partmove.twin.audit.reader import TwinReader
from .._partmove.twin.audit.report import TwinAuditReport
from .._partmove.twin.move.record import recorded_shard_paths
from .audit_answer import answer_of, finding_of
from .pacing import PaceOptions
from .resources import SERVERS_AT_ONCE, Resources, coordination_root
from .shard_paths import DeniedZnodes, shard_paths_below


class AuditTwins:
    """Implements Task for twin_audit_info."""

    failure = ""

    def __init__(self, params: Mapping[str, Any], servers: TwinWitnesses | None = None) -> None:
        """Take the options of the module; raises PartMoveError for those that cannot be.

        ``servers`` are asked in place of those that the options name.
        """
        self._root: str | None = params["root"]
        self._shard_paths = sorted({ShardLayout(path).path for path in params["shard_paths"] or ()})
        self._coordination_root = coordination_root(params)
        self._pace = PaceOptions.of(params)
        self._with_sound = params["details"] == "all"
        self._servers = servers or HttpTwinWitnesses(
            ClickHouseOptions.of(params["clickhouse"]), params["twin"]
        )
        self._audits: list[TwinAudit] = []
        self._denied = DeniedZnodes()
        self._is_whole = False
        self._now = 0.0

    def result(self) -> dict[str, Any]:
        """What was found so far; complete, and with metrics, only once everything was looked at."""
        result = result_of(self._audits, self._now, with_sound=self._with_sound, unread=self._unread())
        return result if self._is_whole else {**result, "complete": False, "metrics": ""}

    def run(self, resources: Resources) -> None:
        """Audit one shard path after the other, and wait between them while hot is slow."""
        hot = resources.open_ensemble("hot")
        progress = resources.open_progress("shard paths", "partitions")
        progress.expect(len(self._shard_paths))
        pace = resources.open_pace(self._pace, progress.announce, ensembles=("hot",), members=False)
        reader = TwinReader(
            hot, self._servers, resources.clock, self._coordination_root, at_once=SERVERS_AT_ONCE
        )
        for shard_path in self._paths(hot):
            pace.wait(0, resources.clock)
            partitions = self._audit(reader, shard_path)
            progress.add(1, partitions, f"done with {shard_path}")
        self._is_whole, self._now = True, resources.clock.now()

    def _audit(self, reader: TwinReader, shard_path: str) -> int:
        """Audit one shard path; return how many partitions were judged."""
        try:
            audit = audit_twins(reader, shard_path)
        except NoSuchTable:
            if self._root is None:
                raise
            # The table was dropped after it was found below the root.
            return 0
        self._audits.append(audit)
        return len(audit.rows)

    def _paths(self, hot: ZnodeReader) -> Iterator[str]:
        if self._root is None:
            yield from self._shard_paths
            return
        seen = set()
        for path in shard_paths_below(hot, self._root, self._coordination_root, self._denied.tell):
            seen.add(path)
            yield path
        below = self._root.rstrip("/")
        # Records may be left of tables that are gone.
        for path in recorded_shard_paths(hot, self._coordination_root):
            if path not in seen and (path == below or path.startswith(f"{below}/")):
                yield path

    def _unread(self) -> list[TwinAudit]:
        """Stands for tables that nobody can find, as a znode above them may not be read."""
        found = self._denied.besides(audit.shard_path for audit in self._audits)
        return [TwinAudit(each.path, (), f"{each.reason}. {each.remedy}.") for each in found]


def result_of(
    audits: Sequence[TwinAudit],
    now: float,
    *,
    with_sound: bool = False,
    unread: Sequence[TwinAudit] = (),
) -> dict[str, Any]:
    """The result of the module; ``now`` is the time of the audit in seconds since 1970."""
    report = TwinAuditReport(audits, unread)
    by_path = {audit.shard_path: audit for audit in audits}
    return {
        **answer_of(report, now),
        "findings": [
            _finding(row, by_path[row.shard_path]) for row in (report.rows if with_sound else report.findings)
        ],
        "seen_twice": [
            {"shard_path": row.shard_path, "partition": row.partition} for row in report.seen_twice()
        ],
    }


def _finding(row: TwinRow, audit: TwinAudit) -> dict[str, Any]:
    verdict = row.verdict
    doubt, tables = verdict.doubt, audit.tables
    return {
        **finding_of(row),
        "statements": [] if doubt is None or tables is None else statements_of(tables, doubt),
        "record": verdict.record,
        "seen_twice": verdict.kind.is_seen_twice,
    }
