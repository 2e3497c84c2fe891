# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tables on servers of a modern ClickHouse that get twins, and what modules and roles do with them."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.ledger_servers import (
    HttpLedgerServers,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.options import ClickHouseOptions
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import LeaseKeeper
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.moves import MoveLedgers
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.partition import TwinOptions
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.report import TwinReport
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.run import (
    TwinMoveContext,
    TwinRun,
    without_readers,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.servers import TwinServers
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side
from ansible_collections.olap.partmove.plugins.module_utils._tasks.journal_file import NullJournal
from ansible_collections.olap.partmove.plugins.module_utils._tasks.resources import SystemClock
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.settings import options_of
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.store import connect
from support.ansible.calls import Call, run_modules
from support.servers.modern.history import UPDATE
from support.servers.modern.server import ModernShard
from support.servers.zookeeper import Ensemble

DAY, NEXT = "20240101", "20240102"


class ModernTables:
    """Tables on every replica of a shard, below a path of the hot ensemble that no other test has.

    number: the macro {shard} of the servers.
    """

    number = "01"

    def __init__(self, shard: ModernShard, hot: Ensemble, base: str) -> None:
        self.shard = shard
        self.first, self.second = shard.servers[0], shard.servers[-1]
        self.hot = hot
        self.base = base
        self.root = f"{base}/partmove"

    @property
    def given(self) -> dict[str, Any]:
        """The options of modules that say where everything is."""
        return {
            "hot": {"hosts": self.hot.connect_string.split(",")},
            "coordination_root": self.root,
            "clickhouse": {"endpoints": self.shard.endpoints},
        }

    def asked(self, timeout: float = 30.0) -> ClickHouseOptions:
        """How to ask the servers in this process."""
        return ClickHouseOptions(endpoints=self.shard.endpoints, timeout=timeout)

    @property
    def projection_settings(self) -> str:
        """Ends a definition with a projection: newer versions demand the setting, older ones refuse it."""
        known = self.first.knows("deduplicate_merge_projection_mode")
        return " SETTINGS deduplicate_merge_projection_mode = 'rebuild'" if known else ""

    def shard_path(self, name: str) -> str:
        """The path of a table in the hot ensemble."""
        return f"{self.base}/{self.number}/{name}"

    def definition(self, name: str, path: str, columns: str = "(day Date, id UInt32)") -> str:
        """The statement for a table by day, which is merged when it is told to, and not by itself."""
        return (
            f"CREATE TABLE {name} {columns} ENGINE = ReplicatedMergeTree('{path}', '{{replica}}')"
            " PARTITION BY toYYYYMMDD(day) ORDER BY id SETTINGS max_replicated_merges_in_queue = 0"
        )

    def insert_into(self, table: str, *numbers: int, day: str = DAY) -> None:
        """Insert a part, and let every replica have it."""
        rows = ", ".join(f"('{day[:4]}-{day[4:6]}-{day[6:]}', {number})" for number in numbers)
        self.first.execute(
            f"INSERT INTO {table} (day, id) VALUES {rows}", insert_deduplication_token=uuid.uuid4().hex
        )
        self.shard.execute(f"SYSTEM SYNC REPLICA {table}")

    def ids(self, table: str) -> list[list[int]]:
        """What each replica has in a table."""
        return [
            [number for (number,) in each.query(f"SELECT id FROM {table} ORDER BY id")]
            for each in self.shard.servers
        ]

    def answer(self, module: str, *, check: bool = False, **options: Any) -> dict[str, Any]:
        """What a module answers."""
        (answer,) = run_modules(Call(module, {**self.given, **options}, check))
        return answer

    def give_twins(self, *shard_paths: str, check: bool = False, **options: Any) -> dict[str, Any]:
        """What twin_table answers."""
        call = Call("twin_table", {**self.given, "shard_paths": list(shard_paths), **options}, check)
        (answer,) = run_modules(call)
        return answer

    def move(self, *, check: bool = False, **options: Any) -> dict[str, Any]:
        """What twin_move answers, of partitions however young."""
        young = {"min_age": "0", "journal": ""}
        return self.answer("twin_move", check=check, **{**young, **options})

    def move_here(
        self,
        servers: TwinServers,
        state: str,
        shard_path: str,
        day: str,
        options: TwinOptions,
        more: Sequence[str] = (),
    ) -> TwinReport:
        """Move a partition in this process, and more in its group, where servers can behave otherwise."""
        store = connect(options_of("hot", self.given["hot"]))
        clock, report = SystemClock(), TwinReport(shard_path)
        leases = LeaseKeeper(store, None, clock, owner="a test", root=self.root)
        ledgers = MoveLedgers(HttpLedgerServers(self.asked(), "{table}_cold"))
        ports = (leases, servers, without_readers, ledgers)
        context = TwinMoveContext(store, clock, NullJournal(), *ports)
        try:
            TwinRun(context, Side(state), options, report).carry_out([day, *more])
        finally:
            store.close()
        return report


class TwinGround(ModernTables):
    """For roles and playbooks, which get their variables by files in a folder of the test."""

    def __init__(self, shard: ModernShard, hot: Ensemble, base: str, folder: Path) -> None:
        super().__init__(shard, hot, base)
        self.folder = folder

    def table(self, parts: Mapping[str, Sequence[Sequence[int]]]) -> str:
        """Create a table without a twin, with a part for each list of numbers; by day, such as 20240101."""
        name = f"t_{uuid.uuid4().hex[:8]}"
        definition = self.definition(name, self.shard_path(name), "(day Date, id UInt32, v UInt32)")
        if self.first.knows(UPDATE):
            definition += ", enable_block_number_column = 1, enable_block_offset_column = 1"
        self.shard.execute(definition)
        for day, lists in parts.items():
            for numbers in lists:
                self.insert_into(name, *numbers, day=day)
        return name

    def partitions(self, name: str, *days: str) -> list[dict[str, str]]:
        """The option of that name."""
        return [{"shard_path": self.shard_path(name), "partition": day} for day in days]

    def variables(self) -> dict[str, Any]:
        """The variables of the role twin_move, but for what is to be moved."""
        given = {**self.given, "min_age": "0"}
        return {f"twin_move_{name}": value for name, value in given.items()}

    def has_table(self, name: str) -> list[bool]:
        """Whether each server has such a table."""
        return [
            each.query(f"SELECT count() FROM system.tables WHERE name = '{name}'") == [(1,)]
            for each in self.shard.servers
        ]
