# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The task of table_move with the option root: move all tables below a root in turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from .._clickhouse.root_servers import HttpRootServers
from .._partmove.errors import EnsembleError, FormatError, PartMoveError, PausedTooLong
from .._partmove.formats.layout import check_shard_path
from .._partmove.journal.events import Event
from .._partmove.text import count_of
from .._partmove.tree.ports import ZnodeReader
from .._partmove.twin.move.hot_znodes import HotZnodes, count_hot_znodes
from .._partmove.twin.move.run import TwinMoveContext
from .._partmove.twin.move.tables import Side
from .._partmove.twin.table.root_plan import (
    PARTITIONS_PER_SECOND,
    SeenMoves,
    Speed,
    in_order,
    is_finished,
    refuse_lost_sight,
    shards_to_move,
    steps_of,
    volume_to_move,
)
from .._partmove.twin.table.root_survey import RootTable, UnknownPath, survey
from .._partmove.twin.table.table_refused import refusal_of
from .journal_file import journalled_run
from .progress import Progress, ProgressJournal, shown_duration
from .resources import Resources, SystemClock
from .root_report import write_report
from .root_result import RootState, root_as_result
from .shard_paths import shard_paths_below
from .table_outcome import TableOutcome, TableState
from .table_result import tally_of
from .table_run import TableRun, TableWork


class RootMove:
    """Implements Task for table_move with the option root."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        """Read the options of the module. Raises PartMoveError for invalid values."""
        self._work = TableWork.of(params)
        self._max_listed: int = params["max_listed"]
        self._root = _checked(params["root"])
        self._exclude: Sequence[str] = params["exclude"]
        self._stop: bool = params["stop_at_refusal"]
        self._report: str | None = params["report"]
        given = params["partitions_per_second"]
        if not given > 0:
            raise PartMoveError(
                f"partitions_per_second is {given}",
                remedy=f"Give a number greater than 0, such as {PARTITIONS_PER_SECOND:g}",
            )
        self._given = Speed(given)
        self._state = RootState()
        self._check_mode = False
        self._clock = SystemClock()
        self._began = self._clock.now()

    @property
    def failure(self) -> str:
        """A sentence about the first refused table or failed partition; empty without any."""
        refused = [each for each in self._state.outcomes if each.refusal is not None]
        if refused:
            first = refused[0]
            gate, reason, remedy = first.why(TableState.REFUSED)
            return (
                f"{len(refused)} of {count_of(len(self._state.outcomes), 'table')} refused, the first is"
                f" {first.table.name} ({gate}): {reason.rstrip('.')}. {remedy.rstrip('.')}."
            )
        return tally_of(self._state.runs, self._max_listed).failure

    def result(self) -> dict[str, Any]:
        """Return the result so far."""
        seconds = self._clock.now() - self._began
        return root_as_result(
            self._state,
            self._work,
            self._speed(),
            self._max_listed,
            check_mode=self._check_mode,
            seconds=seconds,
        )

    def run(self, resources: Resources) -> None:
        """Survey all tables, then move each table in turn."""
        self._check_mode = resources.check_mode
        journal = resources.open_journal()
        progress = resources.open_progress("partitions", "parts")
        context = self._work.open_context(resources, journal, progress)
        self._survey(context)
        todo = [each for each in self._state.outcomes if each.refusal is None and not each.was_finished]
        progress.expect(sum(each.volume.partitions for each in todo))
        work = {
            "state": self._work.desired.value.upper(),
            "work": f"{count_of(len(todo), 'table')} of {len(self._state.outcomes)} below {self._root}",
            "shard_paths": sum(len(each.table.shards) for each in todo),
        }
        ensembles = (context.hot, None)
        with journalled_run(journal, "table_move", ensembles, work, lambda: self.result()["counts"]):
            try:
                self._move_all(context, todo, progress)
            finally:
                if self._report is not None and not self._check_mode:
                    write_report(self._report, self._root, self.result())

    def _survey(self, context: TwinMoveContext) -> None:
        """Find all tables and plan their moves. Raises PartMoveError if an answer is missing."""
        hot, root = context.hot, self._work.locks.root
        found = sorted(shard_paths_below(hot, self._root, root))
        paths = [each for each in found if not self._is_excluded(each)]
        excluded = sorted({*found} - {*paths})
        self._work.place.refuse_shared(paths)
        servers = HttpRootServers(self._work.servers.clients, self._work.place)
        answers = survey(hot, paths, servers, self._work.twin, self._work.desired)
        tables = [each for each in answers.tables if not self._is_excluded(each.name)]
        excluded += [each.name for each in answers.tables if self._is_excluded(each.name)]
        outcomes = [self._planned(context, each) for each in in_order(tables, self._work.desired)]
        for each in outcomes:
            each.hot_znodes = _hot_znodes(hot, each.table)
        self._state = RootState(outcomes, answers.unknown, excluded, is_surveyed=True)
        if not tables:
            raise self._nothing_to_move(answers.unknown)

    def _nothing_to_move(self, unknown: Sequence[UnknownPath]) -> PartMoveError:
        """Return the error of a run without any table."""
        if unknown:
            reason = f"no server shows one; {unknown[0].shard_path}: {unknown[0].reason}"
            return PartMoveError(f"No table at or below {self._root}: {reason}", remedy=unknown[0].remedy)
        return PartMoveError(
            f"exclude leaves no table at or below {self._root}", remedy="Remove a pattern from exclude"
        )

    def _is_excluded(self, name: str) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in self._exclude)

    def _planned(self, context: TwinMoveContext, table: RootTable) -> TableOutcome:
        desired = self._work.desired
        if table.refusal is None and desired is Side.HOT:
            refusal = refuse_lost_sight(context.hot, self._work.locks.root, table, self._work.twin)
            table = table._replace(refusal=refusal)
        volume = volume_to_move(table, desired)
        finished = table.refusal is None and is_finished(context.hot, self._work.locks.root, table, desired)
        seconds = self._given.seconds(volume.partitions, len(table.shards))
        return TableOutcome(
            table,
            volume,
            () if finished else steps_of(table, desired),
            0.0 if finished else seconds,
            table.refusal,
            was_finished=finished,
        )

    def _move_all(self, context: TwinMoveContext, todo: Sequence[TableOutcome], progress: Progress) -> None:
        for number, outcome in enumerate(todo):
            left = todo[number:]
            partitions = sum(each.volume.partitions for each in left)
            seconds = self._speed().seconds(partitions, sum(len(each.table.shards) for each in left))
            where = f"table {number + 1} of {len(todo)}, {outcome.table.name}"
            progress.announce(
                f"{where}; {count_of(partitions, 'partition')} to move, about {shown_duration(seconds)} left"
            )
            journal = ProgressJournal(context.journal, progress, where)
            self._move_table(context._replace(journal=journal), outcome)
            self._record(context, outcome)
            if outcome.refusal is not None and self._stop:
                break

    def _move_table(self, context: TwinMoveContext, outcome: TableOutcome) -> None:
        """Move a table and store a refusal in the outcome. Raises errors of the ensemble and of the pace."""
        began = self._clock.now()
        outcome.run = TableRun(self._work, shards_to_move(outcome.table, self._work.desired))
        try:
            outcome.run.find(context)
            outcome.run.carry_out(context, _no_line)
        except (EnsembleError, PausedTooLong):
            raise
        except PartMoveError as error:
            outcome.refusal = refusal_of(error)
        finally:
            outcome.end(self._clock.now() - began, self._max_listed)
        outcome.hot_znodes = _hot_znodes(context.hot, outcome.table)

    def _record(self, context: TwinMoveContext, outcome: TableOutcome) -> None:
        state = outcome.state(check_mode=self._check_mode)
        gate, reason, _remedy = outcome.why(state)
        ended = {"table": outcome.table.name, "outcome": state.value, "gate": gate, "reason": reason}
        rows = [{"shard_path": shard.shard_path, **ended} for shard in outcome.table.shards]
        context.journal.record(Event.TABLE_ENDED, rows)

    def _speed(self) -> Speed:
        """Return the measured speed after enough moves, before that the given speed."""
        if self._check_mode:
            return self._given
        done = [each for each in self._state.outcomes if each.seconds is not None and each.refusal is None]
        seen = SeenMoves(
            sum(each.moved for each in done),
            sum(len(each.run.reports) for each in done if each.run is not None),
            sum(each.seconds or 0.0 for each in done),
            sum(each.run.moving_seconds for each in done if each.run is not None),
        )
        return self._given.after(seen)


def _checked(root: str) -> str:
    """Return the option ``root`` without a slash at its end. Raises FormatError if it is no path."""
    path = root if root == "/" else root.rstrip("/")
    try:
        return path if path == "/" else check_shard_path(path)
    except FormatError as error:
        raise FormatError(
            f"root is {root!r}, which is not the path of a znode",
            remedy="Write a path above the tables, such as /clickhouse/tables",
        ) from error


def _no_line(_line: str) -> None:
    """Print no line for a step: with many tables such lines would hide the progress."""


def _hot_znodes(hot: ZnodeReader, table: RootTable) -> HotZnodes:
    counts = [
        count_hot_znodes(hot, shard.shard_path, [each.replica for each in shard.replicas])
        for shard in table.shards
    ]
    return HotZnodes(*map(sum, zip(*counts)))
