# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The result of table_move, from the reports of tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._partmove.text import count_of, first_few
from .._partmove.twin.move.report import MovedTwin, TwinReport
from .._partmove.twin.table.pair import TableContents
from .._partmove.twin.table.switch_report import FinalCounts, TableSwitchReport
from .resources import servers_as_result
from .table_run import TableRun, TableWork
from .twin_move_result import TwinTally
from .twin_table import twin_as_result

_OF_PARTITIONS_ALONE = ("readers", "unchanged", "other_state", "unfinished")
"""Values of twin_move that whole tables do not have: they change no row policy, and have no plan."""
_NAMES_IN_MESSAGE = 10


def tally_of(runs: Sequence[TableRun], max_listed: int) -> TwinTally:
    """Return the outcomes of the partitions of all tables, each counted by its last step."""
    tally = TwinTally(max_listed)
    for run in runs:
        of_run = run.tally or _tally_of_run(run, max_listed)
        tally.expected += of_run.expected
        tally.merge(of_run)
    return tally


def close_run(run: TableRun, max_listed: int) -> None:
    """Keep the tally of a table in place of its partitions, to limit memory."""
    run.tally = _tally_of_run(run, max_listed)
    for report in run.reports:
        report.before = report.after = None


def _tally_of_run(run: TableRun, max_listed: int) -> TwinTally:
    tally = TwinTally(max_listed)
    for report in run.reports:
        merged = merge_reports(report)
        tally.expected += len(merged.moved) + len(merged.deferred) + len(merged.failed)
        tally.add(merged)
    return tally


def tables_as_result(
    runs: Sequence[TableRun], work: TableWork, max_listed: int, *, check_mode: bool, seconds: float
) -> dict[str, Any]:
    """Return the result of table_move for the tables. Lists have at most ``max_listed`` entries."""
    moved = tally_of(runs, max_listed).result(check_mode=check_mode, seconds=seconds)
    for name in _OF_PARTITIONS_ALONE:
        del moved[name]
    reports = _reports(runs)
    twins = [twin_as_result(path, steps) for run in runs for path, steps in run.twins]
    created = [each for each in twins if each["created"]]
    exchanged = [
        {"shard_path": report.shard_path, "table": report.name, **each._asdict()}
        for report in reports
        for each in report.exchanged
    ]
    statements = "".join(f"{each['statement']}\n" for each in (*created, *exchanged))
    return {
        **moved,
        "changed": moved["changed"] or bool(statements),
        "msg": _message(reports, len(exchanged), moved["msg"], check_mode=check_mode),
        "twins": created[:max_listed],
        "exchanged": exchanged[:max_listed],
        "tables": [
            _table_as_result(report, each, max_listed) for report in reports for each in report.final_counts
        ][:max_listed],
        "finished": all(run.is_finished for run in runs),
        "differing": [report.differing for report in reports if report.differing],
        "servers": servers_as_result(work.servers.clients),
        "diff": {"before": "", "after": statements + moved["diff"]["after"]},
    }


def merge_reports(whole: TableSwitchReport) -> TwinReport:
    """Combine both reports of a table: the moves of both steps, and the refusals of the last step."""
    merged = TwinReport(whole.shard_path)
    for report in (whole.before, whole.after):
        if report is None:
            continue
        merged.deferred, merged.failed = report.deferred, report.failed
        merged.touched |= report.touched
        merged.ended_hold = merged.ended_hold or report.ended_hold
        merged.statements += report.statements
        merged.hot_znodes = report.hot_znodes or merged.hot_znodes
        for partition, moved in report.moved.items():
            merged.moved[partition] = _both(merged.moved.get(partition), moved)
    for partition in (*merged.deferred, *merged.failed):
        merged.moved.pop(partition, None)
    return merged


def _reports(runs: Sequence[TableRun]) -> list[TableSwitchReport]:
    return sorted((each for run in runs for each in run.reports), key=lambda report: report.shard_path)


def _message(reports: Sequence[TableSwitchReport], exchanged: int, moved: str, *, check_mode: bool) -> str:
    would = "would be " if check_mode else ""
    names = sorted({report.name for report in reports if report.name})
    replicas = count_of(exchanged, "replica")
    unfinished = [] if check_mode else [each.unfinished for each in reports if each.unfinished]
    end = f"; not finished: {first_few(unfinished)}" if unfinished else ""
    return f"{first_few(names, _NAMES_IN_MESSAGE) or 'nothing'}: {replicas} {would}exchanged; {moved}{end}"


def _both(earlier: MovedTwin | None, moved: MovedTwin) -> MovedTwin:
    """Add up a moved partition and the late inserts that a second step has moved."""
    if earlier is None:
        return moved
    return moved._replace(
        parts=moved.parts + earlier.parts,
        rows=moved.rows + earlier.rows,
        bytes_on_disk=moved.bytes_on_disk + earlier.bytes_on_disk,
    )


def _table_as_result(report: TableSwitchReport, counts: FinalCounts, most: int) -> dict[str, Any]:
    before = [] if counts.before is None else [each.rows for each in counts.before]
    return {
        "shard_path": report.shard_path,
        "table": report.name,
        "replica": counts.replica,
        "server": counts.server,
        **_holding(counts.with_name),
        "left_rows": counts.without_name.rows,
        "left_parts": counts.without_name.parts,
        "rows_before": sum(before) if before else None,
        "older_inserts": None if counts.older_inserts is None else len(counts.older_inserts),
        "older": list(counts.older_inserts or ())[:most],
    }


def _holding(holding: TableContents) -> dict[str, Any]:
    return {"rows": holding.rows, "parts": holding.parts, "digest": holding.digest}
