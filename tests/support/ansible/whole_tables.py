# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A whole table that goes to another ensemble and back under its name, and what is found of it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.pair_servers import HttpPairServers
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._tasks.resources import Resources
from ansible_collections.olap.partmove.plugins.module_utils._tasks.table_move import TableMove
from support.ansible.twin_runs import ModernTables
from support.servers.modern.server import ModernShard
from support.servers.zookeeper import Ensemble

DAYS = ("2024-01-01", "2024-01-02")

OPTIONS: Mapping[str, Any] = {
    "lock_wait": "45s",
    "ensemble": "cold",
    "path": "{path}_cold",
    "twin": "{table}_cold",
    "max_listed": 1000,
    "latency_target": 0.0,
    "max_latency": 1.0,
    "give_up_after": "10m",
    "max_parts_per_second": 0,
    "progress_file": None,
}
"""Options of table_move as Ansible hands them on where a test gives none."""


class Place(ModernTables):
    """A table of two replicas in a database of its own, and the module that moves it."""

    def __init__(self, shard: ModernShard, hot: Ensemble, base: str, engine: str = "Atomic") -> None:
        super().__init__(shard, hot, base)
        self.database = "default" if engine == "Overlay" else f"d_{uuid.uuid4().hex[:8]}"
        self.name = f"{self.database}.hits"
        self.twin = f"{self.name}_cold"
        self.path = self.shard_path("hits")
        self.rows: list[int] = []
        self.last_run = ""
        self.is_finished = False
        old = {"allow_deprecated_database_ordinary": 1} if engine == "Ordinary" else {}
        if engine != "Overlay":
            shard.execute(f"CREATE DATABASE {self.database} ENGINE = {engine}", **old)
        # There may be servers of another shard.
        shard.execute(self.definition(self.name, f"{base}/{{shard}}/hits"))

    def insert(self, *numbers: int, day: str = DAYS[0], into: str = "", on: int = 0) -> None:
        """Insert a part; every replica has it afterwards, whichever of the two tables it is in there."""
        values = ", ".join(f"('{day}', {number})" for number in numbers)
        self.shard.servers[on].execute(
            f"INSERT INTO {into or self.name} VALUES {values}", insert_deduplication_token=uuid.uuid4().hex
        )
        self.rows += numbers
        for server in self.shard.servers:
            for (table,) in server.query(
                f"SELECT table FROM system.replicas WHERE database = '{self.database}'"
            ):
                server.execute(f"SYSTEM SYNC REPLICA {self.database}.{table}")

    @property
    def all_of_it(self) -> dict[str, Any]:
        """The options for every partition of the table, however young."""
        return {**self.given, "shard_paths": [self.path], "min_age": "0", "journal": ""}

    def call(self, state: str = "cold", *, check: bool = False, **options: Any) -> dict[str, Any]:
        """What the module answers."""
        return self.answer("table_move", check=check, **{**self.all_of_it, "state": state, **options})

    def run_here(self, state: str, *, stop_merges: bool = False, insert_wait: str = "0") -> dict[str, Any]:
        """Run in this process, where servers can be made to behave otherwise; return the result."""
        params = {
            **self.all_of_it,
            "state": state,
            **OPTIONS,
            "stop_merges": stop_merges,
            "insert_wait": insert_wait,
        }
        task = TableMove(params)
        with ExitStack() as stack:
            task.run(Resources(params, stack, check_mode=False))
        result = task.result()
        self.last_run, self.is_finished = str(result), result["finished"]
        return result

    def tried(self) -> bool:
        """Run in this process, with merges stopped for moments; it may end before all is done."""
        self.is_finished = False
        try:
            self.run_here("cold", stop_merges=True)
        except PartMoveError as error:
            self.last_run = str(error)
        return True

    def how_it_is(self) -> str:
        """For a person who wonders why it is not done."""
        asked = f"SELECT table, name, rows FROM system.parts WHERE active AND database = '{self.database}'"
        parts = [(each.name, each.query(f"{asked} ORDER BY ALL")) for each in self.shard.servers]
        return f"{self.last_run}; {self.where()}, {parts}"

    def where(self) -> list[str]:
        """In which ensemble the table with the name is, on each replica; 22.12 has no column of it."""
        sql = f"SELECT engine_full FROM system.tables WHERE database = '{self.database}' AND name = 'hits'"
        engines = [each.value(sql) for each in self.shard.servers]
        return ["cold" if "('cold:" in engine else "default" for engine in engines]

    def is_at(self, ensemble: str) -> bool:
        """Whether all is done: the name is there, with every row, and none is left in the other table."""
        return (self.where(), self.ids(self.name), self.ids(self.twin)) == (
            [ensemble] * 2,
            [sorted(self.rows)] * 2,
            [[]] * 2,
        )


class Killed(BaseException):
    """The process of the run is gone."""


@contextmanager
def dying(monkeypatch: pytest.MonkeyPatch, statements: int, *, given: bool) -> Iterator[None]:
    """Give so many statements; the next one is the last, or is not given, and then the run is gone."""
    left = [statements]

    def dying_at(statement: Callable[..., Any]) -> Callable[..., Any]:
        def give(*arguments: Any) -> Any:
            left[0] -= 1
            if left[0] >= 0:
                return statement(*arguments)
            if given:
                statement(*arguments)
            raise Killed

        return give

    with monkeypatch.context() as patch:
        for name in ("attach", "drop", "exchange"):
            patch.setattr(HttpPairServers, name, dying_at(getattr(HttpPairServers, name)))
        yield
