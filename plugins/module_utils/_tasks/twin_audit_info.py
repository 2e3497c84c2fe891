# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The task of twin_audit_info: report the state of every partition of tables with cold twins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .._clickhouse.options import ClickHouseOptions
from .._clickhouse.sent_settings import KnownSettings
from .._clickhouse.twin_witnesses import HttpTwinWitnesses, statements_of
from .._partmove.errors import NoSuchTable
from .._partmove.text import shown_time
from .._partmove.tree.ports import ZnodeReader
from .._partmove.twin.audit.audit import TwinAudit, TwinRow, audit_twins
from .._partmove.twin.audit.evidence import TwinWitnesses
from .._partmove.twin.audit.kind import TwinKind
from .._partmove.twin.audit.reader import TwinReader
from .._partmove.twin.audit.report import TwinAuditReport
from .._partmove.twin.move.record import recorded_shard_paths
from .audit_answer import audit_result, finding_as_result
from .pacing import PaceOptions
from .resources import SERVERS_AT_ONCE, Resources, coordination_root, servers_as_result
from .shard_paths import DeniedZnodes, UnreadPath, given_shard_paths, no_table_below, shard_paths_below


class TwinAuditInfo:
    """Implements Task for twin_audit_info."""

    failure = ""

    def __init__(self, params: Mapping[str, Any], servers: TwinWitnesses | None = None) -> None:
        """Read the options of the module. Raises PartMoveError for invalid values.

        servers: used instead of the servers that the options name.
        """
        self._root: str | None = params["root"]
        self._shard_paths = given_shard_paths(params["shard_paths"])
        self._twin: str = params["twin"]
        self._coordination_root = coordination_root(params)
        self._pace = PaceOptions.of(params)
        self._with_consistent = params["details"] == "all"
        real = HttpTwinWitnesses(ClickHouseOptions.of(params["clickhouse"]), params["twin"])
        self._clients = real.clients if servers is None else None
        self._servers = servers or real
        self._audits: list[TwinAudit] = []
        self._denied = DeniedZnodes()
        self._has_table_in_hot = False
        self._is_finished = False
        self._now = 0.0

    def result(self) -> dict[str, Any]:
        """Return the findings so far. Complete, and with metrics, only after the whole audit."""
        result = result_of(
            self._audits,
            self._now,
            with_consistent=self._with_consistent,
            unread=self._unread(),
            settings=None if self._clients is None else self._clients.settings,
        )
        result["servers"] = [] if self._clients is None else servers_as_result(self._clients)
        return result if self._is_finished else {**result, "complete": False, "metrics": ""}

    def run(self, resources: Resources) -> None:
        """Audit one shard path after the other, with pauses while hot is slow."""
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
        self._is_finished, self._now = True, resources.clock.now()

    def _audit(self, reader: TwinReader, shard_path: str) -> int:
        """Audit one shard path; return the number of judged partitions."""
        try:
            audit = audit_twins(reader, shard_path)
        except NoSuchTable:
            if self._root is None:
                raise
            # The table was dropped after the search below the root found it.
            return 0
        self._audits.append(audit)
        return len(audit.rows)

    def _paths(self, hot: ZnodeReader) -> Iterator[str]:
        if self._root is None:
            yield from self._shard_paths
            return
        seen = set()
        for path in shard_paths_below(hot, self._root, self._coordination_root, self._denied.add):
            seen.add(path)
            self._has_table_in_hot = True
            yield path
        below = self._root.rstrip("/")
        # Records of dropped tables may remain.
        for path in recorded_shard_paths(hot, self._coordination_root):
            if path not in seen and (path == below or path.startswith(f"{below}/")):
                yield path

    def _unread(self) -> list[TwinAudit]:
        """Return audits that stand for the tables that were not audited, and for those that are not there."""
        found = self._denied.outside(audit.shard_path for audit in self._audits)
        missing = self._missing() if self._is_finished and not found else []
        return [TwinAudit(each.path, (), f"{each.reason}. {each.remedy}.") for each in (*found, *missing)]

    def _missing(self) -> list[UnreadPath]:
        """Return the root without a table in hot; also the reason why no partition was compared at all."""
        if self._root is not None and not self._has_table_in_hot:
            return [no_table_below(self._root)]
        return [] if any(map(_has_twin, self._audits)) else [self._no_twin()]

    def _no_twin(self) -> UnreadPath:
        return UnreadPath(
            self._root or self._shard_paths[0],
            f"No table has a twin named {self._twin}, and there is no record, so no partition was compared",
            "Correct the option twin, or create the twins",
        )


def result_of(
    audits: Sequence[TwinAudit],
    now: float,
    *,
    with_consistent: bool = False,
    unread: Sequence[TwinAudit] = (),
    settings: KnownSettings | None = None,
) -> dict[str, Any]:
    """Return the result of the module.

    now: time of the audit in seconds since 1970. settings: the names of settings on the servers.
    """
    report = TwinAuditReport(audits, unread)
    by_path = {audit.shard_path: audit for audit in audits}
    holds = [(path, audit.hold) for path, audit in sorted(by_path.items()) if audit.hold is not None]
    alters = [(path, audit.alter) for path, audit in sorted(by_path.items()) if audit.alter is not None]
    return {
        **audit_result(report, now),
        "findings": [
            _finding(row, by_path[row.shard_path], settings)
            for row in (report.rows if with_consistent else report.findings)
        ],
        "seen_twice": _places(report.seen_twice()),
        "missing": _places(report.missing()),
        "blocked": report.blocked(),
        "holds": [
            {"shard_path": path, **hold.as_result(), "is_over": hold.is_over(now)} for path, hold in holds
        ],
        "unfinished_alters": [
            {
                "shard_path": path,
                "record": alter.path,
                "began": shown_time(alter.began),
                "in_progress": alter.is_in_progress,
            }
            for path, alter in alters
        ],
    }


def _places(rows: Sequence[TwinRow]) -> list[dict[str, str]]:
    return [{"shard_path": row.shard_path, "partition": row.partition} for row in rows]


def _has_twin(audit: TwinAudit) -> bool:
    """Return whether a table of the audit has a twin or a record, or may have one."""
    of_twins = (row.verdict.kind is not TwinKind.WITHOUT_TWIN for row in audit.rows)
    return bool(audit.unjudged) or audit.tables is not None or any(of_twins)


def _finding(row: TwinRow, audit: TwinAudit, settings: KnownSettings | None) -> dict[str, Any]:
    verdict = row.verdict
    check, tables = verdict.manual_check, audit.tables
    return {
        **finding_as_result(row),
        "statements": [] if check is None or tables is None else statements_of(tables, check, settings),
        "record": verdict.record,
        "began": shown_time(audit.began[row.partition]) if row.partition in audit.began else "",
        "seen_twice": verdict.kind.is_seen_twice,
    }
