# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The task of table_move: move whole tables to another ensemble and back, under their names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .._clickhouse.options import ClickHouseOptions
from .._clickhouse.pair_servers import HttpPairServers
from .._clickhouse.twin_creation import TwinPlace, TwinSteps
from .._partmove.text import count_of, first_few, parse_duration
from .._partmove.twin.ledger.moves import MoveLedgers
from .._partmove.twin.move.partition import TwinOptions
from .._partmove.twin.move.report import MovedTwin, TwinReport
from .._partmove.twin.move.run import TwinMoveContext, without_readers
from .._partmove.twin.move.tables import Side
from .._partmove.twin.table.pair import TableContents
from .._partmove.twin.table.switch_report import FinalCounts, TableSwitchReport
from .._partmove.twin.table.table_switch import TableSwitch, Target
from .journal_file import journalled_run
from .pacing import PaceOptions
from .progress import Progress
from .resources import LockOptions, Resources, SystemClock, servers_as_result
from .shard_paths import given_shard_paths
from .twin_move_result import TwinTally
from .twin_table import plan_without_loss, twin_as_result

_OF_PARTITIONS_ALONE = ("readers", "unchanged", "other_state", "unfinished")
"""Values of twin_move that whole tables do not have: they change no row policy, and have no plan."""


class TableMove:
    """Implements Task for table_move."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        """Read the options of the module. Raises PartMoveError for invalid values."""
        self._place = TwinPlace(params["ensemble"], params["path"])
        self._twin: str = params["twin"]
        self._servers = HttpPairServers(
            ClickHouseOptions.of(params["clickhouse"]),
            self._place,
            self._twin,
            stop_merges=params["stop_merges"],
        )
        self._locks = LockOptions.of(params)
        self._pace = PaceOptions.of(params)
        self._desired = Side(params["state"])
        min_age = float(parse_duration(params["min_age"], "min_age"))
        self._options = TwinOptions(min_age, params["stop_merges"])
        self._insert_wait = float(parse_duration(params["insert_wait"], "insert_wait"))
        self._max_listed: int = params["max_listed"]
        paths = given_shard_paths(params["shard_paths"])
        for each in paths:
            self._place.of(each)
        self._place.refuse_shared(paths)
        self._reports = [TableSwitchReport(each) for each in paths]
        self._twins: list[tuple[str, TwinSteps]] = []
        self._check_mode = False
        self._clock = SystemClock()
        self._began = self._clock.now()
        self._wait_end: float | None = None

    @property
    def failure(self) -> str:
        """A sentence about the first partition that needs manual action; empty without any."""
        return self._tally().failure

    def result(self) -> dict[str, Any]:
        """Return the result so far."""
        moved = self._tally().result(check_mode=self._check_mode, seconds=self._clock.now() - self._began)
        for name in _OF_PARTITIONS_ALONE:
            del moved[name]
        twins = [twin_as_result(path, steps) for path, steps in self._twins]
        created = [each for each in twins if each["created"]]
        exchanged = [
            {"shard_path": report.shard_path, "table": report.name, **each._asdict()}
            for report in self._reports
            for each in report.exchanged
        ]
        first = [each["statement"] for each in (*created, *exchanged)]
        statements = "".join(f"{each}\n" for each in first)
        return {
            **moved,
            "changed": moved["changed"] or bool(first),
            "msg": self._message(len(exchanged), moved["msg"]),
            "twins": created,
            "exchanged": exchanged,
            "tables": [
                _table_as_result(report, each, self._max_listed)
                for report in self._reports
                for each in report.final_counts
            ],
            "finished": all(report.is_finished for report in self._reports),
            "differing": [report.differing for report in self._reports if report.differing],
            "servers": servers_as_result(self._servers.clients),
            "diff": {"before": "", "after": statements + moved["diff"]["after"]},
        }

    def run(self, resources: Resources) -> None:
        """Take each step for all tables before the next step, so that all exchanges are close together."""
        self._check_mode = resources.check_mode
        hot, journal = resources.open_ensemble("hot"), resources.open_journal()
        progress = resources.open_progress("shard paths", "steps")
        pace = resources.open_pace(self._pace, progress.announce, ensembles=("hot",))
        keeper = self._locks.keeper("table_move", hot, None, resources.clock)
        ports = (without_readers, MoveLedgers(self._servers), pace, self._check_mode)
        context = TwinMoveContext(hot, resources.clock, journal, keeper, self._servers, *ports)
        tables = [
            TableSwitch(
                context,
                self._servers,
                Target(self._twin, self._desired),
                self._options,
                each,
            )
            for each in self._reports
        ]
        work = {
            "state": self._desired.value.upper(),
            "work": "a list of whole tables",
            "shard_paths": len(tables),
        }
        complete = [table for table in tables if table.find_tables()]
        with journalled_run(journal, "table_move", (hot, None), work, lambda: self.result()["counts"]):
            if self._desired is Side.COLD:
                lacking = [table for table in tables if table not in complete]
                self._create_twins(context, lacking)
                complete += [] if resources.check_mode else lacking
            self._work(complete, progress)

    def _create_twins(self, context: TwinMoveContext, tables: list[TableSwitch]) -> None:
        paths = [table.report.shard_path for table in tables]
        steps = [
            (path, step)
            for path in paths
            for step in plan_without_loss(context.hot, self._locks.root, self._servers, path, self._place)
        ]
        for path, step in steps:
            if not self._check_mode:
                step.carry_out()
            self._twins.append((path, step))

    def _work(self, tables: list[TableSwitch], progress: Progress) -> None:
        steps: tuple[tuple[str, Callable[[TableSwitch], None]], ...] = (
            ("moved away from the name", TableSwitch.move_before),
            ("checked the partitions that stayed", TableSwitch.refuse_unmoved),
            ("exchanged", TableSwitch.exchange),
            ("waited for older inserts", self._await_older_inserts),
            ("moved to the name", self._move_after),
            ("compared", TableSwitch.record_final_counts),
        )
        for name, step in steps:
            for table in tables:
                step(table)
                progress.announce(f"{name}: {table.report.shard_path}")

    def _await_older_inserts(self, table: TableSwitch) -> None:
        # The servers of all tables are often the same, so the time passes for all tables together.
        if self._wait_end is None:
            self._wait_end = self._clock.now() + self._insert_wait
        table.await_older_inserts(max(0.0, self._wait_end - self._clock.now()))

    def _move_after(self, table: TableSwitch) -> None:
        # Check mode exchanges no names, so the partitions left for this step are unknown.
        if not self._check_mode or table.has_desired_name:
            table.move_after()

    def _tally(self) -> TwinTally:
        """Return the outcomes of the partitions, each counted by its last step."""
        tally = TwinTally(self._max_listed)
        for report in self._reports:
            merged = _merged(report)
            tally.expected += len(merged.moved) + len(merged.deferred) + len(merged.failed)
            tally.add(merged)
        return tally

    def _message(self, exchanged: int, moved: str) -> str:
        would = "would be " if self._check_mode else ""
        names = {report.name for report in self._reports if report.name}
        replicas = count_of(exchanged, "replica")
        unfinished = (
            [] if self._check_mode else [each.unfinished for each in self._reports if each.unfinished]
        )
        end = f"; not finished: {first_few(unfinished)}" if unfinished else ""
        return f"{', '.join(sorted(names)) or 'nothing'}: {replicas} {would}exchanged; {moved}{end}"


def _merged(whole: TableSwitchReport) -> TwinReport:
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
