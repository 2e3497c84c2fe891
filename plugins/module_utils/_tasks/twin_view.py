# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The task of twin_view: create one name for a table and its twin on each replica."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from .._clickhouse.options import ClickHouseOptions
from .._clickhouse.twin_creation import TwinPlace
from .._clickhouse.twin_views import BESIDE, IN_FRONT, TwinViews, TwinViewSteps, plan_views
from .._partmove.text import count_of
from .._partmove.tree.ports import ZnodeStore
from .._partmove.twin.move.record import Records, refuse_records
from .._partmove.twin.move.servers import read_replicas
from .resources import LockOptions, Resources, servers_as_result
from .shard_paths import given_shard_paths


class TwinView:
    """Implements Task for twin_view."""

    failure = ""

    def __init__(self, params: Mapping[str, Any]) -> None:
        """Read the options of the module. Raises PartMoveError for invalid values."""
        in_front: bool = params["in_front"]
        name = params["name"] or (IN_FRONT if in_front else BESIDE)
        place = TwinPlace(params["ensemble"], params["path"])
        self._servers = TwinViews(
            ClickHouseOptions.of(params["clickhouse"]), place, params["twin"], name, in_front=in_front
        )
        self._locks = LockOptions.of(params)
        self._shard_paths = given_shard_paths(params["shard_paths"])
        self._done: list[tuple[str, TwinViewSteps]] = []
        self._check_mode = False

    def result(self) -> dict[str, Any]:
        """Return the changed and the unchanged replicas so far."""
        tables = [
            {
                "shard_path": shard_path,
                "replica": steps.replica,
                "server": steps.client.label,
                "table": steps.reading,
                "statements": list(steps.statements),
            }
            for shard_path, steps in self._done
        ]
        statements = "".join(f"{each}\n" for _path, steps in self._done for each in steps.statements)
        changed = sum(bool(each["statements"]) for each in tables)
        would = "would be " if self._check_mode else ""
        return {
            "changed": bool(changed),
            "msg": f"{changed} of {count_of(len(tables), 'replica')} {would}changed",
            "tables": tables,
            "servers": servers_as_result(self._servers.clients),
            "diff": {"before": "", "after": statements},
        }

    def run(self, resources: Resources) -> None:
        """Check all replicas of all tables first, then carry out the missing steps."""
        self._check_mode = resources.check_mode
        hot = resources.open_ensemble("hot")
        for path, steps in [(path, self._steps(hot, path)) for path in self._shard_paths]:
            if self._check_mode or not any(each.exchanges for each in steps):
                self._carry_out(path, steps)
                continue
            with self._between_moves(resources, hot, path):
                # Another run may have carried out the steps meanwhile.
                self._carry_out(path, self._steps(hot, path))

    def _steps(self, hot: ZnodeStore, path: str) -> list[TwinViewSteps]:
        return plan_views(self._servers, path, read_replicas(hot, path))

    def _carry_out(self, path: str, steps: list[TwinViewSteps]) -> None:
        for step in steps:
            if not self._check_mode:
                step.carry_out()
            self._done.append((path, step))

    @contextmanager
    def _between_moves(self, resources: Resources, hot: ZnodeStore, path: str) -> Iterator[None]:
        """Hold the lease, as statements of moves contain table names. Refuses if a move has not ended."""
        keeper = self._locks.keeper("twin_view", hot, None, resources.clock)
        lease = keeper.acquire(path)
        try:
            refuse_records(Records(hot, keeper.root, path), path)
            yield
        finally:
            keeper.release(lease)
