# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A table, its twin and their reading table in memory, and runs of twin_alter that may be killed anywhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    NotPermitted,
    PartMoveError,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.bars import Bar
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import LeaseKeeper
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.overlay import OverlayStore
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.ports import ZnodeStore
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Multi
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.alter.run import (
    AlterContext,
    AlterRun,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.alter.servers import (
    Blocks,
    Mutation,
    ReadingTable,
    Refused,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.alter.shard import AlterReport
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.alter.statement import Statement
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    PartsOf,
    Side,
    TwinPart,
    TwinReplica,
    TwinTables,
)
from support.memory.bench import HookedStore
from support.memory.client import MemoryClient
from support.memory.memory import MemoryEnsemble
from support.memory.moves import ListJournal
from support.memory.twins import PATH, REPLICAS, content_of, table_of

READING = "Merge('db', '^(hits|hits_cold)$')"
_STATEMENT = re.compile(
    r"(?:ALTER|TRUNCATE|RENAME|DROP|CREATE|CREATE OR REPLACE) TABLE (\S+) ?(.*)", re.DOTALL
)


def _nothing(_what: object) -> None:
    pass


class Died(BaseException):
    """The process of the run is gone."""


class ModelTable:
    """One of the two tables."""

    def __init__(self) -> None:
        self.columns = ["day", "id"]
        self.of_replica = dict.fromkeys(REPLICAS, "")
        """Replica → its settings and comments."""
        self.mutations: list[str] = []
        self.killed: set[int] = set()
        """Mutations that somebody removed."""
        self.updates = 0
        """How often rows were updated."""
        self.parts: dict[str, list[tuple[int, str]]] = {}
        """Partition → block number and row of each part."""
        self.blocks = 0
        self.detached: dict[str, list[str]] = {}
        self.names: dict[str, str] = {}
        """Replica → the name after a RENAME."""
        self.ttl = ""
        """How long rows live, such as "7": that long after the time that `ModelAlters.days` has."""

    def insert(self, partition: str, row: str) -> None:
        """Add a part with a new block number."""
        self.blocks += 1
        self.parts.setdefault(partition, []).append((self.blocks, row))

    @property
    def rows(self) -> list[str]:
        """All rows, sorted."""
        return sorted(row for parts in self.parts.values() for _number, row in parts if row)

    def drop(self, partition: str) -> list[str]:
        """Remove a partition, and return its rows."""
        return [row for _number, row in self.parts.pop(partition, [])]


class ModelAlters:
    """Implements AlterServers."""

    def __init__(self, *, replaces: bool = True) -> None:
        self.replaces = replaces
        """Whether the database knows CREATE OR REPLACE TABLE."""
        self.unread: set[str] = set()
        """Replicas whose reading table was dropped."""
        self.of = {side: ModelTable() for side in Side}
        self.reading_columns: list[str] | None = ["day", "id"]
        """None without a reading table."""
        self.hidden = False
        """Whether the servers may hide tables from the user."""
        self.reading_engine = dict.fromkeys(REPLICAS, READING)
        self.days: dict[str, int] = {"p1": 100, "p2": 200}
        """Partition → from when on its rows live."""
        self.time = 150.0
        self.noted: dict[str, int] = {}
        """Partition → when its parts in the twin expire, as servers note."""
        self.materializes = True
        """Whether a new TTL is applied to all parts at once."""
        self.unreadable = False
        """Whether the user may not read the twin."""
        self.expressions: dict[str, str] = {}
        """Column → the one column that its ALIAS is an expression of."""
        self.on: Callable[[str], object] = lambda _sql: None
        """Called before each statement and after it."""
        self.refused: Mapping[str, str] = {}
        """Part of a statement → why the server refuses it."""
        self.silent: Mapping[str, bool] = {}
        """Part of a statement → whether it takes effect although the server does not answer."""
        self.lag = 0
        """How many times the newest mutations are not listed once a barrier is among them; before, never."""
        self.emptied: Mapping[str, bool] = {}
        """Partitions without rows after a DELETE → whether their parts are gone, too."""
        self.emptied_blocks: Mapping[int, bool] = {}
        """The same for single parts, by their blocks."""
        self.failing = ""
        """Why mutations fail."""
        self.progress: list[str] = []
        self.alter: Callable[[TwinTables], TwinTables] = lambda tables: tables
        self.executed: list[str] = []

    def tables(self, shard_path: str, replica: TwinReplica) -> TwinTables:
        """As AlterServers says."""
        described = {}
        for side in Side:
            table, state = table_of(side, replica.name), self.of[side]
            ttl = f" TTL {state.ttl}" if state.ttl else ""
            text = f"({', '.join(state.columns)}) {state.of_replica[replica.name]}{ttl}"
            name = state.names.get(replica.name, table.name)
            described[side] = table._replace(definition=text, name=name)
        hot = described[Side.HOT]._replace(path=shard_path)
        found = TwinTables(replica, f"server of {replica.name}", hot, described[Side.COLD])
        return self.alter(found)

    def syntax_tree(self, tables: TwinTables, text: str) -> Sequence[str]:
        """As AlterServers says, for statements of one command."""
        del tables
        if text.startswith("SYNTAX"):
            raise Refused("Syntax error")
        verb, kind, *more = (*text.split(), "")
        command = verb if verb in ("UPDATE", "DELETE") else f"{verb}_{kind}"
        command = command.replace("DETACH_PARTITION", "DROP_PARTITION")
        return [
            "AlterQuery",
            " ExpressionList",
            f"  AlterCommand {command} (children 1)",
            f"   Identifier {more[0]}",
        ]

    def in_progress(self, tables: TwinTables) -> Sequence[str]:
        """As AlterServers says; one less each time."""
        del tables
        return [self.progress.pop()] if self.progress else []

    def mutations(self, tables: TwinTables, side: Side) -> Sequence[Mutation]:
        """As AlterServers says."""
        del tables
        table = self.of[side]
        listed = list(enumerate(table.mutations))
        if self.lag and listed:
            has_barrier = "barrier" in listed[-1][1]
            self.lag -= has_barrier
            del listed[-2 if has_barrier else -1 :]
        is_done = not self.failing
        return [
            Mutation(f"{number:010}", command, is_done, self.failing)
            for number, command in listed
            if number not in table.killed
        ]

    def blocks(self, tables: TwinTables, side: Side) -> Mapping[str, Blocks]:
        """As AlterServers says."""
        del tables
        return {
            partition: Blocks(min(parts)[0], max(parts)[0], sum(row != "" for _number, row in parts))
            for partition, parts in self.of[side].parts.items()
            if parts
        }

    def detached(self, tables: TwinTables, side: Side, partition_id: str) -> int:
        """As AlterServers says."""
        del tables
        return len(self.of[side].detached.get(partition_id, []))

    def parts(self, tables: TwinTables, partition_ids: Sequence[str]) -> Mapping[str, PartsOf]:
        """As AlterServers says."""
        del tables
        found = {}
        for each in partition_ids:
            hot, cold = (
                tuple(
                    TwinPart(f"{each}_{number}_{number}_0", content_of((row,) if row else ()))
                    for number, row in self.of[side].parts.get(each, ())
                )
                for side in Side
            )
            found[each] = PartsOf(hot, cold)
        return found

    def expiries(self, tables: TwinTables, partition_ids: Sequence[str]) -> Mapping[str, int]:
        """As AlterServers says."""
        return self._of_parts(tables, partition_ids, self.noted) if self.of[Side.COLD].ttl else {}

    def expected_expiries(self, tables: TwinTables, partition_ids: Sequence[str]) -> Mapping[str, int]:
        """As AlterServers says."""
        ttl = self.of[Side.HOT].ttl
        if self.unreadable and (ttl or not partition_ids):
            raise NotPermitted("no right to read the twin")
        return self._of_parts(tables, partition_ids, self._expiring(ttl))

    def _of_parts(
        self, tables: TwinTables, partition_ids: Sequence[str], times: Mapping[str, int]
    ) -> dict[str, int]:
        every = self.parts(tables, [each for each in partition_ids if each in times])
        return {part.name: times[each] for each, parts in every.items() for part in parts.cold}

    def _expiring(self, ttl: str) -> dict[str, int]:
        return {each: day + int(ttl) for each, day in self.days.items()} if ttl else {}

    def now(self, tables: TwinTables) -> float:
        """As AlterServers says."""
        del tables
        return self.time

    def columns(self, tables: TwinTables) -> tuple[str, ...]:
        """As AlterServers says."""
        del tables
        return tuple(self.of[Side.HOT].columns)

    def reading(self, tables: TwinTables) -> Sequence[ReadingTable]:
        """As AlterServers says."""
        if self.hidden:
            raise NotPermitted("tables may be hidden", remedy="GRANT SHOW TABLES ON db.* to the user")
        if self.reading_columns is None:
            return []
        columns, replaces = tuple(self.reading_columns), self.replaces
        expressions = tuple(
            f"toString({text})" if (text := self.expressions.get(each)) else "" for each in columns
        )
        engine = self.reading_engine[tables.replica.name]
        own = ReadingTable("db.hits_all", engine, columns, columns, replaces, expressions)
        other = ReadingTable("db.other", "Merge('db', '^other$')", ("day",), ("day",), replaces)
        return [other] if tables.replica.name in self.unread else [own, other]

    def execute(self, tables: TwinTables, sql: str) -> None:
        """As AlterServers says."""
        self.on(sql)
        for part, why in self.refused.items():
            if part in sql:
                raise Refused(why)
        silent = [takes_effect for part, takes_effect in self.silent.items() if part in sql]
        self.executed.append(sql)
        if not silent or silent[0]:
            self._apply(tables, sql)
        if silent:
            raise PartMoveError("no answer within 30 s")
        self.on(sql)

    def _apply(self, tables: TwinTables, sql: str) -> None:
        match = _STATEMENT.fullmatch(sql)
        assert match is not None
        name, text = match.groups()
        if name == "db.hits_all":
            self._apply_reading(tables, text)
            return
        side = next(each for each in Side if tables.on(each).sql_name == name)
        table = self.of[side]
        words = text.split()
        if words[:1] == ["TO"]:
            table.names[tables.replica.name] = words[1].removeprefix("db.")
        elif not text:
            for partition in list(table.parts):
                table.drop(partition)
        elif words[0] in ("UPDATE", "DELETE", "MATERIALIZE") and words[1] != "TTL":
            table.mutations.append(text)
            table.updates += words[0] == "UPDATE"
            if words[:2] == ["DELETE", "WHERE"]:
                self._delete(table)
        elif words[1] == "PARTITION":
            self._apply_partition(table, words[0], words[3].strip("'"))
        elif words[1] in ("COLUMN", "TTL"):
            self._apply_column(table, words)
        elif words[1] in ("SETTING", "COMMENT"):
            table.of_replica[tables.replica.name] = words[2]

    def _apply_ttl(self, table: ModelTable, words: Sequence[str]) -> None:
        """The servers drop parts of the twin as soon as they note that all rows have expired."""
        if words[0] != "MATERIALIZE":
            table.ttl = words[2] if words[0] == "MODIFY" else ""
        if table.ttl and (self.materializes or words[0] == "MATERIALIZE"):
            table.mutations.append(" ".join(words))
            if table is self.of[Side.COLD]:
                self.noted = self._expiring(table.ttl)
                self.drop_expired()

    def drop_expired(self) -> None:
        """Drop the parts of the twin that have expired."""
        for partition, expires in self.noted.items():
            if self.of[Side.COLD].ttl and expires <= self.time:
                self.of[Side.COLD].drop(partition)

    def _delete(self, table: ModelTable) -> None:
        for partition, is_gone in self.emptied.items():
            rows = table.drop(partition)
            if rows and not is_gone:
                table.insert(partition, "")
        for parts in table.parts.values():
            parts[:] = [
                (number, "" if number in self.emptied_blocks else row)
                for number, row in parts
                if not self.emptied_blocks.get(number)
            ]

    def _apply_reading(self, tables: TwinTables, text: str) -> None:
        replica = tables.replica.name
        if not text:
            self.unread.add(replica)
        elif text.startswith("AS "):
            assert self.replaces or replica in self.unread
            assert text.split()[1] == tables.hot.sql_name
            self.unread.discard(replica)
            self.reading_columns = list(self.of[Side.HOT].columns)
            self.reading_engine[replica] = text.partition(" ENGINE = ")[2]
        else:
            assert self.reading_columns is not None
            self.reading_columns = self._without(self.reading_columns, text.split(", "))

    def _without(self, columns: Sequence[str], drops: Sequence[str]) -> list[str]:
        """Drop columns one after the other, as a server checks the commands of a statement."""
        left = list(columns)
        for column in (each.removeprefix("DROP COLUMN ") for each in drops):
            left.remove(column)
            dependent = [each for each in left if self.expressions.get(each) == column]
            if dependent:
                raise Refused(f"Cannot drop column {column}, because column {dependent[0]} depends on it")
        return left

    def _apply_partition(self, table: ModelTable, verb: str, partition: str) -> None:
        if verb == "ATTACH":
            for row in table.detached.pop(partition, []):
                table.insert(partition, row)
            return
        rows = table.drop(partition)
        if verb == "REPLACE":
            table.insert(partition, "replaced")
        if verb == "DETACH":
            table.detached.setdefault(partition, []).extend(rows)

    def _apply_column(self, table: ModelTable, words: Sequence[str]) -> None:
        if words[1] == "TTL":
            self._apply_ttl(table, words)
        elif words[0] == "ADD":
            if words[2] in table.columns:
                raise Refused(f"{words[2]} already exists")
            table.columns.append(words[2])
        elif words[0] == "DROP":
            table.columns = self._without(table.columns, [" ".join(words)])
        elif words[0] == "RENAME":
            table.columns[table.columns.index(words[2])] = words[4]
            self.expressions = {
                each: words[4] if of == words[2] else of for each, of in self.expressions.items()
            }


class AlterBench:
    """Two replicas, and runs with a session each."""

    def __init__(self, *, replaces: bool = True) -> None:
        self.hot = MemoryEnsemble("hot")
        self.servers = ModelAlters(replaces=replaces)
        self.journal = ListJournal()
        self.before: Callable[[Multi], object] = lambda _multi: None
        self.after: Callable[[Multi], object] = lambda _multi: None
        self.report = AlterReport(PATH)
        for side in Side:
            self.servers.of[side].insert("p1", f"{side.value} 1")
            self.servers.of[side].insert("p2", f"{side.value} 2")
        client = MemoryClient(self.hot.open())
        for replica in REPLICAS:
            client.create(f"{PATH}/replicas/{replica}/host", b"host: x\n", makepath=True)
        self.client = client

    def run(
        self, text: str | Statement | None, *, check_mode: bool = False, wait: float = 20.0
    ) -> AlterReport:
        """One run, in a session of its own, which ends with it."""
        self.report = AlterReport(PATH)
        session = HookedStore(self.hot)
        session.before, session.after = self.before, self.after
        store: ZnodeStore = OverlayStore(session, self.hot.clock) if check_mode else session
        keeper = LeaseKeeper(store, None, self.hot.clock, owner="a test", wait_seconds=0, bars=(Bar.HOLD,))
        context = AlterContext(store, self.hot.clock, self.journal, keeper, self.servers, check_mode, wait)
        run = AlterRun(context, self.report)
        try:
            if isinstance(text, str):
                new = text.removeprefix("RENAME TO ")
                text = run.parse(text) if new == text else run.renamed(new, f"{new}_cold")
            run.carry_out(text)
        finally:
            session.expire()
        return self.report

    def run_killed(self, text: str | Statement | None, moment: int) -> bool:
        """Kill a run at a moment before or after a statement or multi; return whether it came so far."""
        left = moment

        def live(_what: object) -> None:
            nonlocal left
            if left == 0:
                raise Died
            left -= 1

        self.before, self.after, self.servers.on = live, live, live
        try:
            self.run(text)
        except Died:
            return True
        finally:
            self.before, self.after, self.servers.on = _nothing, _nothing, _nothing
        return False

    def run_killed_at(self, text: str | Statement, part: str, *, given: bool) -> None:
        """Kill a run right before or right after the statement with this part."""
        killing = False

        def live(sql: str) -> None:
            nonlocal killing
            if part in sql and (killing or not given):
                raise Died
            killing = part in sql

        self.servers.on = live
        try:
            self.run(text)
        except Died:
            return
        finally:
            self.servers.on = _nothing
        raise AssertionError(f"no statement has {part}")

    @property
    def is_recorded(self) -> bool:
        """Whether a statement is unfinished."""
        return bool(self.hot.children(["/partmove/twin-alters"])[0])
