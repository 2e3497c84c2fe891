# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Two real servers with a table, its twin and a reading table, and everything that reads it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from seen_once.kinds import DAYS, FIRST_DAY, PARTS, ROWS
from support.ansible.calls import Call
from support.servers.clickhouse_config import ZooKeeperSource
from support.servers.modern.server import ModernShard, modern_shard
from support.servers.replicated import wait_for
from support.servers.zookeeper import Ensemble

PATH = "/clickhouse/tables/01/hits"
_SESSION_SECONDS = 4
"""Of runs that are killed, whose lock goes with their session."""
_READING = (
    "CREATE TABLE hits_all AS hits ENGINE = Merge('default', '^(hits|hits_cold)$')",
    "CREATE VIEW hits_view AS SELECT * FROM hits_all WHERE v <= (SELECT max(v) FROM hits_all)",
    (
        "CREATE DICTIONARY hits_dictionary (id UInt64, v UInt64) PRIMARY KEY id SOURCE(CLICKHOUSE(QUERY"
        " 'SELECT id, v FROM default.hits_all')) LAYOUT(FLAT()) LIFETIME(MIN 0 MAX 1)"
    ),
    "CREATE TABLE sink (n UInt64, id UInt64, v UInt64) ENGINE = MergeTree ORDER BY n",
    "CREATE TABLE source (n UInt64) ENGINE = Null",
    (
        "CREATE MATERIALIZED VIEW seen ENGINE = MergeTree ORDER BY n AS"
        " SELECT n, (SELECT count() FROM hits_all) AS total FROM source"
    ),
)


class Ground:
    """The servers and the tables; a run of twin_move may be called on it."""

    def __init__(self, hot: Ensemble, shard: ModernShard) -> None:
        """Create and fill the tables."""
        self._hot = hot
        self.shard = shard
        self.servers = shard.servers
        first = self.servers[0]
        more = ""
        if first.knows("deduplicate_merge_projection_mode"):
            more = " SETTINGS deduplicate_merge_projection_mode = 'rebuild'"
        for name, path in (("hits", PATH), ("hits_cold", f"cold:{PATH}_cold")):
            shard.execute(
                f"CREATE TABLE {name} (day Date, id UInt64, v UInt64,"
                " PROJECTION sums (SELECT day, sum(v) GROUP BY day))"
                f" ENGINE = ReplicatedReplacingMergeTree('{path}', '{{replica}}')"
                f" PARTITION BY toYYYYMMDD(day) ORDER BY id{more}"
            )
        for part in range(PARTS):
            first.execute(
                f"INSERT INTO hits SELECT toDate('{FIRST_DAY}') + number % {DAYS} AS day, number + 1 AS id,"
                f" 7 * id AS v FROM numbers({part * (ROWS // PARTS)}, {ROWS // PARTS})",
                max_partitions_per_insert_block=0,
            )
        shard.execute("SYSTEM SYNC REPLICA hits")
        for statement in _READING:
            shard.execute(statement)

    @property
    def peers(self) -> str:
        """Addresses of both servers, each as a shard of its own."""
        return ",".join(f"127.0.0.1:{each.ports.tcp}" for each in self.servers)

    def call(self, state: str, **options: Any) -> Call:
        """Move all partitions."""
        hot = {"hosts": self._hot.connect_string.split(","), "session_timeout": _SESSION_SECONDS}
        return Call(
            "twin_move",
            {
                "hot": hot,
                "shard_paths": [PATH],
                "state": state,
                "min_age": "0",
                "journal": "",
                "lock_wait": "5m",
                "clickhouse": {"endpoints": self.shard.endpoints, "timeout": 60.0},
                **options,
            },
        )

    def partitions_in(self, table: str) -> int:
        """How many partitions the first server has in a table."""
        return int(
            self.servers[0].value(
                "SELECT toInt64(uniqExact(partition_id)) FROM system.parts"
                f" WHERE active AND database = 'default' AND table = '{table}'"
            )
        )

    def policies(self) -> int:
        """How many row policies are there on all servers."""
        return sum(
            int(each.value("SELECT toInt64(count()) FROM system.row_policies")) for each in self.servers
        )

    def revive(self, number: int) -> None:
        """Start a killed server, and wait until its tables can be written to."""
        self.servers[number].start()
        readonly = "SELECT toInt64(count()) FROM system.replicas WHERE is_readonly"
        wait_for(lambda: self.servers[number].value(readonly) == 0)


@contextmanager
def ground(folder: Path, version: str) -> Iterator[Ground]:
    """Start everything."""
    with ExitStack() as stack:
        hot = stack.enter_context(Ensemble(folder / "hot"))
        cold = stack.enter_context(Ensemble(folder / "cold"))
        auxiliary = {"cold": ZooKeeperSource(cold.connect_string)}
        source = ZooKeeperSource(hot.connect_string)
        shard = modern_shard(folder / "servers", source, auxiliary, version=version)
        yield Ground(hot, stack.enter_context(shard))
