# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The task of twin_table: a twin of each table on each of its replicas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._clickhouse.options import ClickHouseOptions
from .._clickhouse.twin_creation import TwinPlace, TwinSteps, steps_to_twins
from .._clickhouse.twin_servers import HttpTwinServers
from .._partmove.errors import EnsembleError, PartMoveError
from .._partmove.formats.layout import check_shard_path
from .._partmove.formats.state import State
from .._partmove.plan.file import Plan, read_plan
from .._partmove.plan.origin import check_origin
from .._partmove.tree.ports import ZnodeStore
from .._partmove.twin.move.servers import read_replicas
from .resources import Resources


class CreateTwins:
    """Implements Task for twin_table."""

    def __init__(self, params: Mapping[str, Any]) -> None:
        """Take the options of the module; raises PartMoveError for those that cannot be."""
        self._servers = HttpTwinServers(ClickHouseOptions.of(params["clickhouse"]), params["twin"])
        self._place = TwinPlace(params["ensemble"], params["path"])
        self._plan = None if params["plan"] is None else read_plan(params["plan"])
        wanted = params["shard_paths"] if self._plan is None else _with_cold_partitions(self._plan)
        self._shard_paths = sorted({check_shard_path(each) for each in wanted})
        # A path that cannot be is refused without a table too, by who looks whether a run could begin.
        for each in self._shard_paths or ["/a_table"]:
            self._place.of(each)
        self._done: list[tuple[str, TwinSteps]] = []
        self._refused: dict[str, PartMoveError] = {}
        self._is_dry = False

    @property
    def failure(self) -> str:
        """About the first table that was refused, and how many others were."""
        if not self._refused:
            return ""
        shard_path, error = next(iter(self._refused.items()))
        others = len(self._refused) - 1
        more = f" So {'were' if others > 1 else 'was'} {others} more, see refused." if others else ""
        return f"Of {len(self._shard_paths)} tables {shard_path} was refused. {error}{more}"

    def result(self) -> dict[str, Any]:
        """What was created so far, and what was there."""
        twins = [told_twin(shard_path, steps) for shard_path, steps in self._done]
        statements = "".join(f"{each['statement']}\n" for each in twins if each["created"])
        return {
            "changed": bool(statements),
            "msg": f"{sum(bool(each['created']) for each in twins)} of {len(twins)} twins"
            f" {'would be ' if self._is_dry else ''}created",
            "twins": twins,
            "refused": [
                {"shard_path": path, "reason": error.message, "remedy": error.remedy}
                for path, error in self._refused.items()
            ],
            "diff": {"before": "", "after": statements},
        }

    def run(self, resources: Resources) -> None:
        """Look at all replicas of all tables first, and then create what is missing.

        A table of which a replica is refused gets no twin at all, and the others get theirs.
        """
        self._is_dry = resources.check_mode
        hot = resources.open_ensemble("hot")
        if self._plan is not None:
            check_origin(hot, self._plan.header.origin, str(self._plan.path))
        wanted = [(path, self._steps(hot, path)) for path in self._shard_paths]
        for shard_path, steps in wanted:
            for step in steps:
                if not resources.check_mode:
                    step.carry_out()
                self._done.append((shard_path, step))

    def _steps(self, hot: ZnodeStore, shard_path: str) -> list[TwinSteps]:
        """What is to be done for a table; nothing where it is refused. Raises EnsembleError and kin."""
        try:
            return steps_to_twins(self._servers, shard_path, read_replicas(hot, shard_path), self._place)
        except EnsembleError:
            raise
        except PartMoveError as error:
            self._refused[shard_path] = error
            return []


def _with_cold_partitions(plan: Plan) -> list[str]:
    """The shard paths of which the plan wants a partition cold."""
    return [shard_path for shard_path, counts in plan.counts.items() if counts[State.COLD]]


def told_twin(shard_path: str, steps: TwinSteps) -> dict[str, Any]:
    """A twin that was created or was there, as results of modules have it."""
    return {
        "shard_path": shard_path,
        "replica": steps.replica,
        "server": steps.server.client.label,
        "table": str(steps.server.hot),
        "twin": steps.server.name,
        "created": bool(steps.statement),
        "statement": steps.statement,
    }
