# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The result of table_move with the option root."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .._partmove.text import count_of, first_few
from .._partmove.twin.move.tables import Side
from .._partmove.twin.table.root_plan import Speed
from .._partmove.twin.table.root_survey import UnknownPath
from .table_outcome import TableOutcome, TableState, former_tables
from .table_result import tables_as_result
from .table_run import TableRun, TableWork


@dataclass
class RootState:
    """The tables of a root that are known so far."""

    outcomes: Sequence[TableOutcome] = ()
    unknown: Sequence[UnknownPath] = ()
    excluded: Sequence[str] = ()
    is_surveyed: bool = False
    """Whether all tables are known."""

    @property
    def runs(self) -> list[TableRun]:
        """The tables with a begun move."""
        return [each.run for each in self.outcomes if each.run is not None]


def root_as_result(
    root: RootState, work: TableWork, speed: Speed, max_listed: int, *, check_mode: bool, seconds: float
) -> dict[str, Any]:
    """Return all values of the module. ``speed``: for the estimate."""
    outcomes, unknown = root.outcomes, root.unknown
    result = tables_as_result(root.runs, work, max_listed, check_mode=check_mode, seconds=seconds)
    states = [each.state(check_mode=check_mode) for each in outcomes]
    counts = Counter(states)
    finished = root.is_surveyed and not unknown and counts[TableState.FINISHED] == len(outcomes)
    left = sum(each.partitions_left(state) for each, state in zip(outcomes, states))
    shards = sum(
        len(each.table.shards)
        for each, state in zip(outcomes, states)
        if state in (TableState.OPEN, TableState.LEFT)
    )
    done = [each for each, state in zip(outcomes, states) if state is TableState.FINISHED]
    drops = [drop for each in done for drop in former_tables(each.table, work.twin)]
    return {
        **result,
        "msg": _message(outcomes, counts, unknown, result["msg"]),
        "finished": finished,
        "outcomes": [each.as_result(check_mode=check_mode) for each in outcomes],
        "unknown_paths": [each._asdict() for each in unknown],
        "excluded": list(root.excluded),
        "estimate": {
            "tables": counts[TableState.OPEN] + counts[TableState.LEFT],
            "partitions": left,
            "partitions_per_second": round(speed.partitions_per_second, 2),
            "seconds": round(speed.seconds(left, shards), 1),
        },
        "drops": drops if work.desired is Side.COLD else [],
        "next": _next(counts, unknown, finished=finished, check_mode=check_mode, desired=work.desired),
    }


def _message(
    outcomes: Sequence[TableOutcome],
    counts: Counter[TableState],
    unknown: Sequence[UnknownPath],
    moved: str,
) -> str:
    states = [f"{counts[state]} {state.value}" for state in TableState if counts[state]]
    more = f"; {count_of(len(unknown), 'path')} of no known table" if unknown else ""
    tables = count_of(len(outcomes), "table")
    # Without the names of the tables, which `outcomes` has.
    return f"{tables}: {', '.join(states) or 'none'}{more};{moved.partition(':')[2]}"


def _next(
    counts: Counter[TableState],
    unknown: Sequence[UnknownPath],
    *,
    finished: bool,
    check_mode: bool,
    desired: Side,
) -> str:
    """Return the next step of the operator."""
    if finished and desired is Side.COLD:
        return (
            "Check the rows of the moved tables. When no rollback is needed, and no old table has rows or"
            " anything in detached/, drop the old tables (drops)"
        )
    if finished:
        return "Nothing: all tables are in the hot ensemble"
    steps = []
    if counts[TableState.REFUSED]:
        steps.append("follow the remedy of each refused table (outcomes), or exclude it")
    if unknown:
        paths = first_few(each.shard_path for each in unknown)
        steps.append(f"follow the remedy of each unknown path ({paths}), or exclude it")
    steps.append("run without check mode" if check_mode else "run again with the same options")
    text = "; then ".join(steps)
    return text[:1].upper() + text[1:]
