# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The task of twin_table: create a twin of each table on each of its replicas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._clickhouse.ledger_servers import HttpLedgerServers
from .._clickhouse.options import ClickHouseOptions
from .._clickhouse.twin_creation import TwinPlace, TwinSteps, plan_twins
from .._partmove.errors import EnsembleError, PartMoveError
from .._partmove.formats.layout import check_shard_path
from .._partmove.formats.state import State
from .._partmove.plan.file import Plan, read_plan
from .._partmove.plan.origin import check_origin
from .._partmove.tree.ports import ZnodeStore
from .._partmove.twin.ledger.creation import NewTwin, refuse_new_twin_of_ledger
from .._partmove.twin.move.servers import read_replicas
from .resources import Resources, coordination_root, servers_as_result

_MOST_NAMED = 20
"""How many refused tables the message of a failure names."""


class TwinTables:
    """Implements Task for twin_table."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        """Read the options of the module. Raises PartMoveError for invalid values."""
        self._servers = HttpLedgerServers(ClickHouseOptions.of(params["clickhouse"]), params["twin"])
        self._place = TwinPlace(params["ensemble"], params["path"])
        self._coordination_root = coordination_root(params)
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
        """A sentence about each refused table, or the first ones of many; empty without any."""
        if not self._refused:
            return ""
        count, total = len(self._refused), len(self._shard_paths)
        if count == 1:
            path = next(iter(self._refused))
            of_total = f"Of {total} tables " if total > 1 else ""
            return f"{of_total}{path} was refused. {self._refused[path]}"
        listed = [f"{path}: {error}" for path, error in self._refused.items()][:_MOST_NAMED]
        more = f" {count - _MOST_NAMED} more are in refused." if count > _MOST_NAMED else ""
        return f"Of {total} tables {count} were refused. {' '.join(listed)}{more}"

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

        If one replica of a table is refused, this table gets no twin; the other tables get their twins. The
        same holds if a server refuses to create a twin.
        """
        self._check_mode = resources.check_mode
        hot = resources.open_ensemble("hot")
        if self._plan is not None:
            check_origin(hot, self._plan.header.origin, str(self._plan.path))
        steps_of_tables = {path: self._steps(hot, path) for path in self._shard_paths}
        for shard_path, steps in steps_of_tables.items():
            self._carry_out(shard_path, steps)

    def _steps(self, hot: ZnodeStore, shard_path: str) -> list[TwinSteps]:
        """Return the steps for a table; none if the table is refused. Raises EnsembleError and subclasses."""
        try:
            return plan_without_loss(hot, self._coordination_root, self._servers, shard_path, self._place)
        except EnsembleError:
            raise
        except PartMoveError as error:
            self._refused[shard_path] = error
            return []

    def _carry_out(self, shard_path: str, steps: Sequence[TwinSteps]) -> None:
        """Create the missing twins of a table. If a server refuses one, the other replicas get none."""
        try:
            for step in steps:
                if not self._check_mode:
                    step.carry_out()
                self._done.append((shard_path, step))
        except PartMoveError as error:
            self._refused[shard_path] = error


def plan_without_loss(
    hot: ZnodeStore, root: str, servers: HttpLedgerServers, shard_path: str, place: TwinPlace
) -> list[TwinSteps]:
    """Return the steps for each replica of a table.

    Raises PartMoveError as `plan_twins` does, and if a ledger lists rows in a twin that no replica has.
    """
    replicas = read_replicas(hot, shard_path)
    steps = plan_twins(servers, shard_path, replicas, place)
    if all(step.statement for step in steps):
        tables = [(replica, step.server.hot) for replica, step in zip(replicas, steps)]
        new = NewTwin(shard_path, f"{place.ensemble}:{place.of(shard_path)}", tables)
        refuse_new_twin_of_ledger(hot, root, servers, new)
    return steps


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
