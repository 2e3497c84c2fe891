# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tables with twins and reading tables on real servers, and runs that are killed at a statement."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any, TypeVar

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.options import ClickHouseOptions
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.reader_servers import (
    HttpReaderServers,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.replica_table import TwinClients
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.twin_servers import HttpTwinServers
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.sql import identifier, literal
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import LeaseKeeper
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.ledgers import NoLedgers
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.partition import TwinOptions
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.record import (
    TwinRecord,
    contents,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.report import TwinReport
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.run import (
    TwinMoveContext,
    TwinRun,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.statements import (
    AttachPartitions,
    DropParts,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    Side,
    TwinReplica,
    TwinTables,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.readers.prepare import (
    Prepared,
    ReadersOption,
    ReadersOptions,
    prepare_readers,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.readers.recorded_readers import (
    OpenRecordedReaders,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.readers.statements import (
    PolicyStatement,
)
from ansible_collections.olap.partmove.plugins.module_utils._tasks.journal_file import NullJournal
from ansible_collections.olap.partmove.plugins.module_utils._tasks.resources import SystemClock
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.settings import options_of
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.store import connect
from support.ansible.dying_servers import Killed
from support.ansible.twin_runs import DAY, NEXT, ModernTables
from support.servers.modern.server import ModernShard
from support.servers.sql_server import SqlServer
from support.servers.zookeeper import Ensemble

T = TypeVar("T")


class DyingReaders(HttpReaderServers):
    """Kills the run at a statement: before it is executed, or right after."""

    def __init__(self, clients: TwinClients, statements: int, *, given: bool) -> None:
        super().__init__(clients)
        self.executed: list[str] = []
        self._statements = statements
        self._given = given

    def execute(self, statement: PolicyStatement) -> None:
        """Execute it, or die."""
        self.live(statement.sql, lambda: super(DyingReaders, self).execute(statement))

    def live(self, sql: str, statement: Callable[[], T]) -> T:
        """Execute a statement, and die at the one after the last."""
        is_last = len(self.executed) >= self._statements
        self.executed.append(sql)
        if is_last and not self._given:
            raise Killed
        answer = statement()
        if is_last:
            raise Killed
        return answer


class DyingParts(HttpTwinServers):
    """Dies with the servers for readers, at statements about parts too."""

    def __init__(self, options: ClickHouseOptions, dying: DyingReaders) -> None:
        super().__init__(options)
        self._dying = dying

    def attach(self, statement: AttachPartitions) -> str:
        """Execute it, or die."""
        return self._dying.live(statement.sql, lambda: super(DyingParts, self).attach(statement))

    def drop(self, statement: DropParts) -> bool:
        """Execute it, or die."""
        return self._dying.live(statement.sql, lambda: super(DyingParts, self).drop(statement))


class Read(ModernTables):
    """A table of two partitions with its twin and a reading table, in a database of its own."""

    def __init__(
        self, shard: ModernShard, hot: Ensemble, base: str, database: str = "", name: str = "hits"
    ) -> None:
        """``database``: an existing one; without it, a database of its own is created."""
        super().__init__(shard, hot, base)
        self.database = database or f"d_{uuid.uuid4().hex[:8]}"
        if not database:
            shard.execute(f"CREATE DATABASE {self.database}")
        self.name, self.cold = name, f"{name}_cold"
        self.path = self.shard_path(name)
        for table, path in ((name, self.path), (self.cold, f"cold:{self.path}_cold")):
            shard.execute(self.definition(self.table(table), path))
        self.read_by(self.all)
        self.servers = HttpTwinServers(self.asked())
        self.readers = HttpReaderServers(self.servers.clients)
        for numbers in ((1, 2), (3,)):
            self.insert_into(self.table(name), *numbers)
        self.insert_into(self.table(name), 4, day=NEXT)

    def read_by(self, reading: str) -> None:
        """Create a reading table, which is in any database."""
        self.shard.execute(
            f"CREATE TABLE {reading} AS {self.table(self.name)}"
            f" ENGINE = Merge({literal(self.database)}, '^({self.name}|{self.cold})$')"
        )

    def table(self, name: str) -> str:
        """Database and table, quoted for SQL."""
        return f"{identifier(self.database)}.{name}"

    @property
    def all(self) -> str:
        """The reading table."""
        return self.table(f"{self.name}_all")

    @property
    def tables(self) -> list[TwinTables]:
        """Both tables of each replica."""
        return [self.servers.tables(self.path, TwinReplica(each, "")) for each in ("r1", "r2")]

    def prepare(self, option: str = "policy", limit: float = 30.0) -> Prepared:
        """What a run does before its first step."""
        options = ReadersOptions(ReadersOption(option), limit)
        return prepare_readers(self.readers, SystemClock(), self.tables, options, has_records=False)

    def record(self, to: Side = Side.COLD) -> TwinRecord:
        """The record of the partition DAY as it is now."""
        tables = self.tables[0]
        parts = self.servers.parts(tables, [DAY])[DAY]
        source, held = contents(parts.on(to.other)), contents(parts.on(to))
        return TwinRecord(to, tables.hot.place, tables.cold.place, source, held, {}, (), 0)

    def verified(self, record: TwinRecord) -> TwinRecord:
        """The record with its clones, which are there."""
        parts = self.servers.parts(self.tables[0], [DAY])[DAY].on(record.destination)
        clones = {part.content: part.name for part in parts if part.name not in record.held}
        return record._replace(clones={name: clones[content] for name, content in record.parts.items()})

    def attach(self, record: TwinRecord) -> None:
        """Clone the partition as a run does."""
        both = (self.cold, self.name)
        to = both if record.destination is Side.COLD else both[::-1]
        self.first.execute(
            f"ALTER TABLE {self.table(to[0])} ATTACH PARTITION ID '{DAY}' FROM {self.table(to[1])}",
            alter_sync=2,
        )

    def drop(self, record: TwinRecord) -> None:
        """Drop the parts of the source as a run does."""
        source = self.name if record.destination is Side.COLD else self.cold
        for name in record.parts:
            self.first.execute(f"ALTER TABLE {self.table(source)} DROP PART '{name}'", alter_sync=2)

    def go(self, state: str, *, check: bool = False, **options: Any) -> dict[str, Any]:
        """What twin_move answers of the two partitions."""
        rows = [{"shard_path": self.path, "partition": each} for each in (DAY, NEXT)]
        return self.move(check=check, **{"state": state, "partitions": rows, **options})

    def run_here(
        self, state: str, readers: HttpReaderServers, servers: HttpTwinServers | None = None
    ) -> None:
        """Move both partitions in this process, with these servers for readers."""
        store = connect(options_of("hot", self.given["hot"]))
        clock, report = SystemClock(), TwinReport(self.path)
        leases = LeaseKeeper(store, None, clock, owner="a test", root=self.root)
        opened = OpenRecordedReaders(readers, ReadersOptions(ReadersOption.POLICY, 30.0))
        servers = servers or self.servers
        context = TwinMoveContext(store, clock, NullJournal(), leases, servers, opened, NoLedgers())
        try:
            TwinRun(context, Side(state), TwinOptions(), report).carry_out([DAY, NEXT])
        finally:
            store.close()

    def policies(self) -> int:
        """How many row policies of this database the servers have together."""
        return sum(len(policies_on(each, self.database)) for each in self.shard.servers)

    def seen(self, reading: str = "") -> list[list[int]]:
        """What each replica shows to readers of a reading table."""
        return self.ids(reading or self.all)

    def remove(self) -> None:
        """Remove the database with its policies."""
        remove_database(self.shard, self.database)


def policies_on(server: SqlServer, database: str) -> list[str]:
    """The row policies on tables of a database, as SQL has them."""
    rows = server.query(
        "SELECT short_name, table FROM system.row_policies WHERE database = "
        f"{literal(database)} ORDER BY short_name, table"
    )
    return [f"{identifier(name)} ON {identifier(database)}.{identifier(table)}" for name, table in rows]


def remove_database(shard: ModernShard, database: str) -> None:
    """Remove a database with the row policies on its tables."""
    for server in shard.servers:
        for policy in policies_on(server, database):
            server.execute(f"DROP ROW POLICY {policy}")
        server.execute(f"DROP DATABASE {identifier(database)}")
