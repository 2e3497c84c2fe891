# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The task of twin_alter: execute one statement on tables and their twins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._clickhouse.alter_servers import HttpAlterServers
from .._clickhouse.options import ClickHouseOptions
from .._clickhouse.twin_creation import TwinPlace
from .._partmove.errors import EnsembleError, PartMoveError
from .._partmove.lease.bars import Bar
from .._partmove.text import count_of, parse_duration
from .._partmove.twin.alter.run import AlterContext, AlterRun
from .._partmove.twin.alter.servers import AlterServers
from .._partmove.twin.alter.shard import AlterReport
from .._partmove.twin.alter.statement import Statement, check_text, truncate
from .._partmove.twin.table.pair import TABLE
from .journal_file import journalled_run
from .resources import LockOptions, Resources, servers_as_result
from .shard_paths import given_shard_paths


class TwinAlter:
    """Implements Task for twin_alter."""

    def __init__(self, params: Mapping[str, Any], servers: AlterServers | None = None) -> None:
        """Read the options of the module. Raises PartMoveError for invalid values.

        servers: used instead of the servers that the options name.
        """
        place = TwinPlace(params["ensemble"], params["path"])
        real = HttpAlterServers(ClickHouseOptions.of(params["clickhouse"]), place, params["twin"])
        self._clients = real.clients if servers is None else None
        self._servers = servers or real
        self._locks = LockOptions.of(params)
        self._wait = float(parse_duration(params["wait"], "wait"))
        self._alter: str | None = params["alter"]
        if self._alter is not None:
            check_text(self._alter)
        self._truncate: bool = params["truncate"]
        self._rename: str | None = params["rename"]
        self._twin: str = params["twin"]
        self._shard_paths = given_shard_paths(params["shard_paths"])
        self._reports = [AlterReport(each) for each in self._shard_paths]
        self._failed: dict[str, PartMoveError] = {}
        self._check_mode = False

    @property
    def failure(self) -> str:
        """A sentence about the first shard path that failed; empty without any."""
        if not self._failed:
            return ""
        error = next(iter(self._failed.values()))
        return f"{len(self._failed)} of {count_of(len(self._shard_paths), 'shard path')} failed. {error}"

    def result(self) -> dict[str, Any]:
        """Return the statements so far."""
        statements = [each for report in self._reports for each in report.statements]
        verb = "would be executed" if self._check_mode else "executed"
        return {
            "changed": bool(statements) or any(each.finished for each in self._reports),
            "msg": f"{count_of(len(statements), 'statement')} {verb} on"
            f" {count_of(len(self._shard_paths), 'shard path')}",
            "altered": [
                {
                    "shard_path": each.shard_path,
                    "statements": each.statements,
                    "finished": each.finished,
                }
                for each in self._reports
            ],
            "failed_shard_paths": [
                {"shard_path": path, "reason": error.message, "remedy": error.remedy}
                for path, error in self._failed.items()
            ],
            "servers": [] if self._clients is None else servers_as_result(self._clients),
            "diff": {"before": "", "after": "".join(f"{each}\n" for each in statements)},
        }

    def run(self, resources: Resources) -> None:
        """Check the statement for all tables, then execute it. A failed table does not stop the others."""
        self._check_mode = resources.check_mode
        hot, journal = resources.open_ensemble("hot"), resources.open_journal()
        # The record of a killed run must not keep out the run that finishes its statement.
        keeper = self._locks.keeper("twin_alter", hot, None, resources.clock, bars=(Bar.HOLD,))
        context = AlterContext(
            hot, resources.clock, journal, keeper, self._servers, self._check_mode, self._wait
        )
        runs = [(AlterRun(context, each), each) for each in self._reports]
        statements = [self._statement(run) for run, _report in runs]
        given = self._alter or self._rename or ("TRUNCATE" if self._truncate else "unfinished statements")
        work = {"work": given}
        with journalled_run(
            journal, "twin_alter", (hot, None), {**work, "shard_paths": len(runs)}, self._counts
        ):
            for (run, report), statement in zip(runs, statements):
                try:
                    run.carry_out(statement)
                except EnsembleError:
                    raise
                except PartMoveError as error:
                    self._failed[report.shard_path] = error

    def _statement(self, run: AlterRun) -> Statement | None:
        if self._truncate:
            return truncate()
        if self._rename is not None:
            return run.renamed(self._rename, self._twin.replace(TABLE, self._rename))
        return None if self._alter is None else run.parse(self._alter)

    def _counts(self) -> dict[str, int]:
        return {
            "statements": sum(len(each.statements) for each in self._reports),
            "failed": len(self._failed),
        }
