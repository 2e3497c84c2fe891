# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The task of twin_table: create a twin of each table on each of its replicas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._clickhouse.options import ClickHouseOptions
from .._clickhouse.twin_creation import TwinPlace, TwinSteps, plan_twins
from .._clickhouse.twin_servers import HttpTwinServers
from .._partmove.errors import EnsembleError, PartMoveError
from .._partmove.formats.layout import check_shard_path
from .._partmove.formats.state import State
from .._partmove.plan.file import Plan, read_plan
from .._partmove.plan.origin import check_origin
from .._partmove.tree.ports import ZnodeStore
from .._partmove.twin.move.servers import read_replicas
from .resources import Resources, servers_as_result


class TwinTables:
    """Implements Task for twin_table."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        """Read the options of the module. Raises PartMoveError for invalid values."""
        self._servers = HttpTwinServers(ClickHouseOptions.of(params["clickhouse"]), params["twin"])
        self._place = TwinPlace(params["ensemble"], params["path"])
        self._plan = None if params["plan"] is None else read_plan(params["plan"])
        requested = params["shard_paths"] if self._plan is None else _with_cold_partitions(self._plan)
        self._shard_paths = sorted({check_shard_path(each) for each in requested})
        # Check the template of the path without any table, too: a check before a run may name none.
        for each in self._shard_paths or ["/a_table"]:
            self._place.of(each)
        self._place.refuse_shared(self._shard_paths)
        self._done: list[tuple[str, TwinSteps]] = []
        self._refused: dict[str, PartMoveError] = {}
        self._check_mode = False

    @property
    def failure(self) -> str:
        """A sentence about the first refused table and the number of others; empty without any."""
        if not self._refused:
            return ""
        shard_path, error = next(iter(self._refused.items()))
        others = len(self._refused) - 1
        more = f" So {'were' if others > 1 else 'was'} {others} more, see refused." if others else ""
        of = f"Of {len(self._shard_paths)} tables " if len(self._shard_paths) > 1 else ""
        return f"{of}{shard_path} was refused. {error}{more}"

    def result(self) -> dict[str, Any]:
        """Return the created and the existing twins so far."""
        twins = [twin_as_result(shard_path, steps) for shard_path, steps in self._done]
        statements = "".join(f"{each['statement']}\n" for each in twins if each["created"])
        return {
            "changed": bool(statements),
            "msg": f"{sum(bool(each['created']) for each in twins)} of {len(twins)} twins"
            f" {'would be ' if self._check_mode else ''}created",
            "twins": twins,
            "refused": [
                {"shard_path": path, "reason": error.message, "remedy": error.remedy}
                for path, error in self._refused.items()
            ],
            "servers": servers_as_result(self._servers.clients),
            "diff": {"before": "", "after": statements},
        }

    def run(self, resources: Resources) -> None:
        """Check all replicas of all tables first, then create the missing twins.

        If one replica of a table is refused, this table gets no twin; the other tables get their twins.
        """
        self._check_mode = resources.check_mode
        hot = resources.open_ensemble("hot")
        if self._plan is not None:
            check_origin(hot, self._plan.header.origin, str(self._plan.path))
        steps_of_tables = [(path, self._steps(hot, path)) for path in self._shard_paths]
        for shard_path, steps in steps_of_tables:
            for step in steps:
                if not resources.check_mode:
                    step.carry_out()
                self._done.append((shard_path, step))

    def _steps(self, hot: ZnodeStore, shard_path: str) -> list[TwinSteps]:
        """Return the steps for a table; none if the table is refused. Raises EnsembleError and subclasses."""
        try:
            return plan_twins(self._servers, shard_path, read_replicas(hot, shard_path), self._place)
        except EnsembleError:
            raise
        except PartMoveError as error:
            self._refused[shard_path] = error
            return []


def _with_cold_partitions(plan: Plan) -> list[str]:
    """Return the shard paths with partitions that the plan requests to be cold."""
    return [shard_path for shard_path, counts in plan.counts.items() if counts[State.COLD]]


def twin_as_result(shard_path: str, steps: TwinSteps) -> dict[str, Any]:
    """Return a created or existing twin as a value of the module's result."""
    return {
        "shard_path": shard_path,
        "replica": steps.replica,
        "server": steps.server.client.label,
        "table": str(steps.server.hot),
        "twin": steps.server.name,
        "created": bool(steps.statement),
        "statement": steps.statement,
    }
