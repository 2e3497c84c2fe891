# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""All tables below a root, on two shards of two replicas, which go to another ensemble and back."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ansible_collections.olap.partmove.plugins.module_utils._tasks.resources import Resources
from ansible_collections.olap.partmove.plugins.module_utils._tasks.root_move import RootMove
from support.ansible.calls import Call, run_modules
from support.ansible.whole_tables import OPTIONS
from support.servers.clickhouse_config import ZooKeeperSource
from support.servers.keeper.ensemble import KeeperStandIn
from support.servers.modern.server import ModernOptions, ModernServer, ModernShard
from support.servers.zookeeper import Ensemble

DAYS = ("2024-01-01", "2024-01-02", "2024-01-03")
SHARDS = ("01", "02")


def two_shard_servers(old: str, new: str, folder: Path, version: str) -> ModernShard:
    """Make the servers 01a, 01b, 02a and 02b. ``old``, ``new``: connect strings of the two ensembles."""
    source, auxiliary = ZooKeeperSource(old), {"cold": ZooKeeperSource(new)}
    return ModernShard(
        [
            ModernServer(
                name,
                folder / name,
                ModernOptions(source, auxiliary, {"shard": shard, "replica": name}, version=version),
            )
            for shard in SHARDS
            for name in (f"{shard}a", f"{shard}b")
        ]
    )


class Root:
    """A root of its own in the old ensemble, and tables below it in a database of their own."""

    def __init__(self, servers: ModernShard, old: Ensemble | KeeperStandIn, base: str) -> None:
        self.servers = servers
        self.base = base
        self.root = f"{base}/tables"
        self.database = f"d_{uuid.uuid4().hex[:8]}"
        self.given: Mapping[str, Any] = {
            "hot": {"hosts": old.connect_string.split(",")},
            "coordination_root": f"{base}/partmove",
            "clickhouse": {"endpoints": servers.endpoints},
            "root": self.root,
            "min_age": "0",
            "journal": "",
        }
        servers.execute(f"CREATE DATABASE {self.database} ENGINE = Atomic")

    def firsts(self) -> Sequence[ModernServer]:
        """The first replica of each shard."""
        return self.servers.servers[::2]

    def create(self, name: str, days: Sequence[str] = DAYS[:1], *, shards: Sequence[str] = SHARDS) -> str:
        """Create a table with a row for each day and shard; return its name with the database."""
        table = f"{self.database}.{name}"
        for server in self.servers.servers:
            if server.name[:2] in shards:
                server.execute(
                    f"CREATE TABLE {table} (day Date, id UInt32)"
                    f" ENGINE = ReplicatedMergeTree('{self.root}/{{shard}}/{name}', '{{replica}}')"
                    " PARTITION BY toYYYYMMDD(day) ORDER BY id SETTINGS max_replicated_merges_in_queue = 0"
                )
        for server in self.firsts():
            for number, day in enumerate(days if server.name[:2] in shards else ()):
                server.execute(f"INSERT INTO {table} VALUES ('{day}', {number})")
        for server in self.servers.servers:
            if server.name[:2] in shards:
                server.execute(f"SYSTEM SYNC REPLICA {table}")
        return table

    def create_view(self, name: str, table: str) -> None:
        """Create a view with an inner table, which no run may move."""
        self.servers.execute(
            f"CREATE MATERIALIZED VIEW {self.database}.{name}"
            f" ENGINE = ReplicatedMergeTree('{self.root}/{{shard}}/{name}', '{{replica}}')"
            f" PARTITION BY day ORDER BY id AS SELECT day, id FROM {table}"
        )

    def call(self, state: str = "cold", *, check: bool = False, **options: Any) -> dict[str, Any]:
        """What the module answers."""
        (answer,) = run_modules(Call("table_move", {**self.given, "state": state, **options}, check))
        return answer

    def run_here(self, state: str = "cold", *, stop_merges: bool = False) -> dict[str, Any]:
        """Run in this process, where servers can be made to behave otherwise; return the result."""
        params = {
            **self.given,
            "state": state,
            "exclude": [],
            "stop_at_refusal": False,
            "partitions_per_second": 25.0,
            "report": None,
            **OPTIONS,
            "stop_merges": stop_merges,
            "insert_wait": "0",
        }
        task = RootMove(params)
        with ExitStack() as stack:
            task.run(Resources(params, stack, check_mode=False))
        return task.result()

    def where(self, table: str) -> set[str]:
        """In which ensembles the table with the name is, on the servers that run."""
        database, name = table.split(".")
        sql = f"SELECT engine_full FROM system.tables WHERE database = '{database}' AND name = '{name}'"
        engines = [row for each in self.servers.servers if each.serving() for row in each.query(sql)]
        return {"cold" if "('cold:" in engine else "default" for (engine,) in engines}

    def ids(self, table: str) -> list[list[int]]:
        """What each replica of all shards has in a table, after it has followed."""
        self.servers.execute(f"SYSTEM SYNC REPLICA {table}")
        return [
            [number for (number,) in each.query(f"SELECT id FROM {table} ORDER BY id")]
            for each in self.servers.servers
        ]
