# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A table with a filled twin and a reading table on real servers, and the module twin_alter for them."""

from __future__ import annotations

import uuid
from contextlib import ExitStack
from typing import Any

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.alter_servers import HttpAlterServers
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.twin_creation import TwinPlace
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.bars import Bar, path_of_bar
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.ledger import read_ledger
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import TwinTables
from ansible_collections.olap.partmove.plugins.module_utils._tasks.resources import Resources
from ansible_collections.olap.partmove.plugins.module_utils._tasks.twin_alter import TwinAlter
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.settings import options_of
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.store import connect
from support.ansible.dying_servers import Killed
from support.ansible.twin_runs import DAY, NEXT, ModernTables
from support.servers.kazoo_client import connected
from support.servers.modern.server import ModernShard
from support.servers.zookeeper import Ensemble


class Altered(ModernTables):
    """A table with its twin, each with a partition, a reading table, and the module for all of them."""

    def __init__(self, shard: ModernShard, hot: Ensemble, base: str) -> None:
        super().__init__(shard, hot, base)
        self.name = f"t_{uuid.uuid4().hex[:8]}"
        self.cold, self.reading = f"{self.name}_cold", f"{self.name}_all"
        self.path = self.shard_path(self.name)
        columns = "(day Date, id UInt32, v UInt32 DEFAULT 10, w String)"
        for name, path in ((self.name, self.path), (self.cold, f"cold:{self.path}_cold")):
            definition = self.definition(name, path, columns)
            # Servers then assign no mutation either.
            shard.execute(
                definition.replace("max_replicated_merges_in_queue = 0", "old_parts_lifetime = 480")
            )
        self.insert_into(self.name, 1, 2)
        self.insert_into(self.name, 3, day=NEXT)
        assert self.moved()["counts"]["moved"] == 1
        assert self.answer("twin_view", shard_paths=[self.path])["changed"]

    def moved(self, state: str = "cold") -> dict[str, Any]:
        """What twin_move answers."""
        return self.move(partitions=[{"shard_path": self.path, "partition": DAY}], state=state)

    def alter(self, text: str | None = None, *, check: bool = False, **options: Any) -> dict[str, Any]:
        """What twin_alter answers."""
        statement = {} if text is None else {"alter": text}
        given = {"shard_paths": [self.path], "journal": "", "wait": "2m"}
        return self.answer("twin_alter", check=check, **given, **statement, **options)

    def alter_here(self, text: str | None, servers: HttpAlterServers, **options: Any) -> TwinAlter:
        """Alter in this process, where servers can be made to behave otherwise."""
        params = {
            **self.given,
            "shard_paths": [self.path],
            "lock_wait": "45s",
            "ensemble": "cold",
            "path": "{path}_cold",
            "twin": "{table}_cold",
            "journal": "",
            "alter": text,
            "truncate": False,
            "rename": None,
            "wait": "2m",
            **options,
        }
        task = TwinAlter(params, servers)
        with ExitStack() as stack:
            task.run(Resources(params, stack, check_mode=False))
        return task

    def rows(self, columns: str = "id, v") -> list[list[list[Any]]]:
        """What each replica has in the table, in the twin, and in the reading table."""
        return [
            [
                [list(row) for row in server.query(f"SELECT {columns} FROM {table} ORDER BY id")]
                for table in (self.name, self.cold, self.reading)
            ]
            for server in self.shard.servers
        ]

    def columns(self, table: str) -> list[list[str]]:
        """The columns of a table on each replica."""
        return [
            [
                name
                for (name,) in server.query(
                    f"SELECT name FROM system.columns WHERE table = '{table}' ORDER BY position"
                )
            ]
            for server in self.shard.servers
        ]

    def source(self, *numbers: int, day: str) -> str:
        """Create a table on the first server, with a part of that day, and return its name."""
        name = f"{self.name}_source"
        self.first.execute(
            f"CREATE TABLE {name} (day Date, id UInt32, v UInt32 DEFAULT 10, w String) ENGINE = MergeTree"
            " PARTITION BY toYYYYMMDD(day) ORDER BY id"
        )
        rows = ", ".join(f"('{day[:4]}-{day[4:6]}-{day[6:]}', {number})" for number in numbers)
        self.first.execute(f"INSERT INTO {name} (day, id) VALUES {rows}")
        return name

    def masked(self) -> int:
        """How many parts of the two tables have rows that a lightweight DELETE has marked."""
        ((count,),) = self.first.query(
            "SELECT count() FROM system.parts WHERE active AND has_lightweight_delete"
            f" AND table IN ('{self.name}', '{self.cold}')"
        )
        return int(count)

    def forget_statement(self) -> None:
        """Delete the znode of the record of a killed run."""
        with connected(self.hot.connect_string) as client:
            client.delete(path_of_bar(self.root, Bar.ALTER, self.path))

    def expiries(self) -> dict[str, list[int]]:
        """When the blocks of each partition expire, as the ledger has it."""
        store = connect(options_of("hot", self.given["hot"]))
        try:
            ledger = read_ledger(store, self.root, self.path)
        finally:
            store.close()
        entries = {} if ledger is None else ledger.entries
        return {day: [each.expires for each in entry.ranges] for day, entry in entries.items()}

    def kinds(self) -> dict[str, str]:
        """What an audit says of partitions that are not as they should be."""
        findings = self.answer("twin_audit_info", shard_paths=[self.path])["findings"]
        return {each["partition"]: each["kind"] for each in findings}

    def mutations(self, table: str) -> int:
        """How many mutations of the statement the table has got."""
        condition = f"table = '{table}' AND command NOT LIKE '%barrier%'"
        ((count,),) = self.first.query(f"SELECT count() FROM system.mutations WHERE {condition}")
        return int(count)

    @property
    def servers(self) -> DyingAlters:
        """Servers that do not die."""
        return DyingAlters(self, 1000, given=False)


class DyingAlters(HttpAlterServers):
    """Executes so many statements, and then dies before or after the next one."""

    def __init__(self, altered: Altered, statements: int, *, given: bool) -> None:
        super().__init__(altered.asked(), TwinPlace("cold", "{path}_cold"))
        self._left = statements
        self._given = given

    def execute(self, tables: TwinTables, sql: str) -> None:
        """As the servers do, or die."""
        if self._left:
            self._left -= 1
            super().execute(tables, sql)
            return
        if self._given:
            super().execute(tables, sql)
        raise Killed
