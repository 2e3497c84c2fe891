# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of table_move for one table: each step is completed for all shards before the next step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from .._clickhouse.options import ClickHouseOptions
from .._clickhouse.pair_servers import HttpPairServers
from .._clickhouse.twin_creation import TwinPlace, TwinSteps
from .._partmove.journal.port import Journal
from .._partmove.text import parse_duration
from .._partmove.tree.ports import Clock
from .._partmove.twin.ledger.moves import MoveLedgers
from .._partmove.twin.move.partition import TwinOptions
from .._partmove.twin.move.run import TwinMoveContext
from .._partmove.twin.move.tables import Side
from .._partmove.twin.table.left_policies import RefusingReaders
from .._partmove.twin.table.switch_report import TableSwitchReport
from .._partmove.twin.table.table_switch import TableSwitch, Target
from .pacing import PaceOptions
from .progress import Progress
from .resources import LockOptions, Resources
from .twin_move_result import TwinTally
from .twin_table import plan_without_loss


class TableWork(NamedTuple):
    """The options of table_move, shared by all tables of a run."""

    place: TwinPlace
    twin: str
    servers: HttpPairServers
    locks: LockOptions
    pace: PaceOptions
    desired: Side
    options: TwinOptions
    insert_wait: float

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> TableWork:
        """Read the options of the module. Raises PartMoveError for invalid values."""
        place = TwinPlace(params["ensemble"], params["path"])
        twin, stop_merges = params["twin"], params["stop_merges"]
        clickhouse = ClickHouseOptions.of(params["clickhouse"])
        return cls(
            place,
            twin,
            HttpPairServers(clickhouse, place, twin, stop_merges=stop_merges),
            LockOptions.of(params),
            PaceOptions.of(params),
            Side(params["state"]),
            TwinOptions(float(parse_duration(params["min_age"], "min_age")), stop_merges),
            float(parse_duration(params["insert_wait"], "insert_wait")),
        )

    def open_context(self, resources: Resources, journal: Journal, progress: Progress) -> TwinMoveContext:
        """Return the context of the run, with a session with hot. Raises EnsembleError and subclasses."""
        hot = resources.open_ensemble("hot")
        pace = resources.open_pace(self.pace, progress.announce, ensembles=("hot",))
        keeper = self.locks.keeper("table_move", hot, None, resources.clock)
        ports = (RefusingReaders(self.servers), MoveLedgers(self.servers), pace, resources.check_mode)
        return TwinMoveContext(hot, resources.clock, journal, keeper, self.servers, *ports)


class TableRun:
    """Moves the shards of a table, and collects a report for each shard."""

    def __init__(self, work: TableWork, shard_paths: Sequence[str]) -> None:
        """``shard_paths``: sorted. Raises PartMoveError if a place of a twin is invalid or used twice."""
        for each in shard_paths:
            work.place.of(each)
        work.place.refuse_shared(shard_paths)
        self._work = work
        self.reports = [TableSwitchReport(each) for each in shard_paths]
        self.twins: list[tuple[str, TwinSteps]] = []
        """Shard path and steps of each replica that had, or now has, a twin."""
        self.moving_seconds = 0.0
        """How long the steps took that move partitions."""
        self.tally: TwinTally | None = None
        """The outcomes of the partitions, once the reports no longer have them."""
        self._switches: list[TableSwitch] = []
        self._lacking: list[TableSwitch] = []
        self._wait_end: float | None = None

    @property
    def is_finished(self) -> bool:
        """Whether every shard has the name in the desired ensemble, and no row elsewhere."""
        return all(report.is_finished for report in self.reports)

    def find(self, context: TwinMoveContext) -> None:
        """Find the tables of each shard. Raises PartMoveError if the names can never be exchanged."""
        target = Target(self._work.twin, self._work.desired)
        for report in self.reports:
            switch = TableSwitch(context, self._work.servers, target, self._work.options, report)
            if switch.find_tables():
                self._switches.append(switch)
            else:
                self._lacking.append(switch)

    def carry_out(self, context: TwinMoveContext, announce: Callable[[str], object]) -> None:
        """Create missing twins and take each step. ``announce``: receives a line for each step and shard.

        In check mode tables without twins get no further step.
        """
        if self._work.desired is Side.COLD:
            self._create_twins(context)
            self._switches += [] if context.check_mode else self._lacking
        self._take_steps(context, announce)

    def _create_twins(self, context: TwinMoveContext) -> None:
        paths = [switch.report.shard_path for switch in self._lacking]
        root, servers, place = self._work.locks.root, self._work.servers, self._work.place
        steps = [
            (path, step)
            for path in paths
            for step in plan_without_loss(context.hot, root, servers, path, place)
        ]
        for path, step in steps:
            if not context.check_mode:
                step.carry_out()
            self.twins.append((path, step))

    def _take_steps(self, context: TwinMoveContext, announce: Callable[[str], object]) -> None:
        def wait(switch: TableSwitch) -> None:
            switch.await_older_inserts(self._left_to_wait(context.clock))

        def move_after(switch: TableSwitch) -> None:
            # Check mode exchanges no names, so the partitions left for this step are unknown.
            if not context.check_mode or switch.has_desired_name:
                self._timed(context.clock, switch.move_after)

        def move_before(switch: TableSwitch) -> None:
            self._timed(context.clock, switch.move_before)

        steps: tuple[tuple[str, Callable[[TableSwitch], None]], ...] = (
            ("moved away from the name", move_before),
            ("checked the partitions that stayed", TableSwitch.refuse_unmoved),
            ("exchanged", TableSwitch.exchange),
            ("waited for older inserts", wait),
            ("moved to the name", move_after),
            ("compared", TableSwitch.record_final_counts),
        )
        for name, step in steps:
            for switch in self._switches:
                step(switch)
                announce(f"{name}: {switch.report.shard_path}")

    def _left_to_wait(self, clock: Clock) -> float:
        # The servers of all shards are often the same, so the time passes for all shards together.
        if self._wait_end is None:
            self._wait_end = clock.now() + self._work.insert_wait
        return max(0.0, self._wait_end - clock.now())

    def _timed(self, clock: Clock, step: Callable[[], None]) -> None:
        began = clock.now()
        try:
            step()
        finally:
            self.moving_seconds += clock.now() - began
