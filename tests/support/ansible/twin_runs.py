# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tables on servers of a modern ClickHouse that roles and playbooks give twins, and move to them."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from support.servers.modern.server import ModernShard
from support.servers.zookeeper import Ensemble

COLUMNS = "(day Date, id UInt32, v UInt32)"
# Merged when it is told to, and not by itself; with what a lightweight update needs.
_CLAUSES = (
    "PARTITION BY toYYYYMMDD(day) ORDER BY id SETTINGS max_replicated_merges_in_queue = 0,"
    " enable_block_number_column = 1, enable_block_offset_column = 1"
)


class TwinGround(NamedTuple):
    """Two servers, the hot ensemble, a path in it for the tables of a test, and a folder of the test."""

    shard: ModernShard
    hot: Ensemble
    base: str
    folder: Path

    def table(self, parts: Mapping[str, Sequence[Sequence[int]]]) -> str:
        """Create a table without a twin, with a part for each list of numbers; by day, such as 20240101."""
        name = f"t_{uuid.uuid4().hex[:8]}"
        self.shard.execute(
            f"CREATE TABLE {name} {COLUMNS} ENGINE ="
            f" ReplicatedMergeTree('{self.base}/{{shard}}/{name}', '{{replica}}') {_CLAUSES}"
        )
        for day, lists in parts.items():
            for numbers in lists:
                self.insert(name, day, numbers)
        self.shard.execute(f"SYSTEM SYNC REPLICA {name}")
        return name

    def insert(self, name: str, day: str, numbers: Sequence[int]) -> None:
        """Insert one part."""
        rows = ", ".join(f"('{day[:4]}-{day[4:6]}-{day[6:]}', {number}, 0)" for number in numbers)
        self.shard.servers[0].execute(f"INSERT INTO {name} VALUES {rows}")

    def path(self, name: str) -> str:
        """The shard path of a table."""
        return f"{self.base}/01/{name}"

    def partitions(self, name: str, *days: str) -> list[dict[str, str]]:
        """The option of that name."""
        return [{"shard_path": self.path(name), "partition": day} for day in days]

    def variables(self) -> dict[str, Any]:
        """The variables of the role partition_move, but for what is to be moved."""
        given = {
            "hot": {"hosts": self.hot.connect_string.split(",")},
            "clickhouse": {
                "endpoints": {each.name: f"127.0.0.1:{each.http_port}" for each in self.shard.servers}
            },
            "coordination_root": f"{self.base}/partmove",
            "min_age": "0",
        }
        return {f"partition_move_{name}": value for name, value in given.items()}

    def ids(self, table: str) -> list[list[int]]:
        """What each replica has in a table."""
        return [
            [number for (number,) in each.query(f"SELECT id FROM {table} ORDER BY id")]
            for each in self.shard.servers
        ]

    def has_table(self, name: str) -> list[bool]:
        """Whether each server has such a table."""
        return [
            each.query(f"SELECT count() FROM system.tables WHERE name = '{name}'") == [(1,)]
            for each in self.shard.servers
        ]
