# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The task of table_move: move a whole table to another ensemble and back, under its name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .journal_file import journalled_run
from .resources import Resources, SystemClock
from .shard_paths import given_shard_paths
from .table_result import tables_as_result, tally_of
from .table_run import TableRun, TableWork


class TableMove:
    """Implements Task for table_move with the option shard_paths."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        """Read the options of the module. Raises PartMoveError for invalid values."""
        self._work = TableWork.of(params)
        self._max_listed: int = params["max_listed"]
        self._table = TableRun(self._work, given_shard_paths(params["shard_paths"]))
        self._check_mode = False
        self._clock = SystemClock()
        self._began = self._clock.now()

    @property
    def failure(self) -> str:
        """A sentence about the first partition that needs manual action; empty without any."""
        return tally_of([self._table], self._max_listed).failure

    def result(self) -> dict[str, Any]:
        """Return the result so far."""
        return tables_as_result(
            [self._table],
            self._work,
            self._max_listed,
            check_mode=self._check_mode,
            seconds=self._clock.now() - self._began,
        )

    def run(self, resources: Resources) -> None:
        """Take each step for all shards before the next step, so that all exchanges are close together."""
        self._check_mode = resources.check_mode
        journal = resources.open_journal()
        progress = resources.open_progress("shard paths", "steps")
        context = self._work.open_context(resources, journal, progress)
        work = {
            "state": self._work.desired.value.upper(),
            "work": "a list of whole tables",
            "shard_paths": len(self._table.reports),
        }
        self._table.find(context)
        with journalled_run(
            journal, "table_move", (context.hot, None), work, lambda: self.result()["counts"]
        ):
            self._table.carry_out(context, progress.announce)
