# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A table and its cold twin in memory: one partition, two replicas, and servers that do as they are told.

A row is a text; parts are equal that have the same rows. What a server does that matters to a move is as in
ClickHouse: an ATTACH does not clone what it has cloned before, a DROP PART forgets that, a merge takes all
parts between its first and its last block, and skips over those that were dropped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    NotPermitted,
    PartMoveError,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import LeaseKeeper
from ansible_collections.olap.partmove.plugins.module_utils._partmove.run.pace import Pace, UnlimitedPace
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.overlay import OverlayStore
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import ensure_path
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.ports import ZnodeStore
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import SetData
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.partition import TwinOptions
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.report import TwinReport
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.run import (
    TwinMoveContext,
    TwinRun,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.statements import (
    AttachPartition,
    DropPart,
    SetMerges,
    Statement,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    ActivityInProgress,
    PartContent,
    PartsOf,
    Side,
    TwinPart,
    TwinReplica,
    TwinTable,
    TwinTables,
)
from support.memory.interleaving import Script, WatchedStore
from support.memory.memory import MemoryEnsemble
from support.memory.moves import ListJournal

PATH = "/tables/01/hits"
DAY = "20191201"
REPLICAS = ("r1", "r2")

Rows = tuple[str, ...]


def content_of(rows: Rows) -> PartContent:
    """What a server shows of a part with these rows."""
    digest = sha256("\n".join(sorted(rows)).encode()).hexdigest()[:32]
    return PartContent(len(rows), digest, digest[::-1])


@dataclass
class ModelTable:
    """The parts of the one partition that a table has, on all replicas at once."""

    parts: dict[tuple[int, int, int], Rows] = field(default_factory=dict)
    """First block, last block and level → rows."""
    blocks: dict[PartContent, int] = field(default_factory=dict)
    """What an ATTACH has cloned, and the number that it got."""
    last_block: int = 0
    past: dict[tuple[int, int, int], Rows] = field(default_factory=dict)
    """Parts that were merged or dropped, as long as they are shown."""
    late_on_r2: set[tuple[int, int, int]] = field(default_factory=set)
    """Parts that the second replica has still to fetch."""

    def add(self, rows: Rows, level: int = 0) -> int:
        """Add a part with the next number, and return that."""
        self.last_block += 1
        self.parts[self.last_block, self.last_block, level] = rows
        return self.last_block

    def attach(self, source: ModelTable) -> None:
        """Clone what the source has, but for what was cloned before."""
        for (_first, _last, level), rows in sorted(source.parts.items()):
            if content_of(rows) not in self.blocks:
                self.blocks[content_of(rows)] = self.add(rows, level)

    def drop(self, name: str) -> bool:
        """Drop a part; False where there is none of the name."""
        key = next((key for key in self.parts if name_of(key) == name), None)
        if key is None:
            return False
        self.past[key] = self.parts.pop(key)
        self.blocks = {each: block for each, block in self.blocks.items() if not key[0] <= block <= key[1]}
        return True

    def merge(self) -> None:
        """Merge all parts into one, if there are several."""
        if len(self.parts) < 2:
            return
        keys = sorted(self.parts)
        rows = tuple(row for key in keys for row in self.parts[key])
        level = max(level for _first, _last, level in keys) + 1
        self.past.update(self.parts)
        self.parts = {(keys[0][0], max(last for _first, last, _level in keys), level): rows}

    def shown(self, *, behind: bool = False) -> tuple[TwinPart, ...]:
        """What system.parts has of it; ``behind`` without what is still to be fetched."""
        keys = [key for key in self.parts if not (behind and key in self.late_on_r2)]
        return tuple(TwinPart(name_of(key), content_of(self.parts[key]), 100, "default") for key in keys)

    @property
    def shown_past(self) -> tuple[TwinPart, ...]:
        """What system.parts has of it besides."""
        return tuple(TwinPart(name_of(key), content_of(rows)) for key, rows in sorted(self.past.items()))

    @property
    def rows(self) -> Counter[str]:
        """How often it has each row."""
        return Counter(row for rows in self.parts.values() for row in rows)


def name_of(key: tuple[int, int, int]) -> str:
    """Return the name of a part."""
    return f"{DAY}_{key[0]}_{key[1]}_{key[2]}"


class Twins:
    """Both tables, and what was ever inserted into them."""

    def __init__(self, *inserted: Rows, at: Side = Side.HOT) -> None:
        self.tables = {side: ModelTable() for side in Side}
        self.inserted: Counter[str] = Counter()
        self.stopped: set[str] = set()
        """The replicas that merge nothing."""
        for rows in inserted:
            self.insert(at, rows)

    def insert(self, side: Side, rows: Rows) -> None:
        """Insert a part."""
        self.tables[side].add(rows)
        self.inserted.update(rows)

    def merge(self, side: Side) -> None:
        """Merge all parts of a table, unless every replica was told to stop."""
        if self.stopped != set(REPLICAS):
            self.tables[side].merge()

    @property
    def rows(self) -> Counter[str]:
        """What a reader of both tables sees."""
        return self.tables[Side.HOT].rows + self.tables[Side.COLD].rows

    def check_nothing_lost(self) -> None:
        """Fail where a row that was inserted is in neither table as often as it was inserted."""
        lost = self.inserted - self.rows
        assert not lost, f"lost {lost}"


def table_of(side: Side, replica: str) -> TwinTable:
    """What a server says of a table that is as it shall be."""
    ensemble, name = ("default", "hits") if side is Side.HOT else ("cold", "hits_cold")
    return TwinTable("db", name, ensemble, PATH, replica, "(a UInt8)", ("a",), len(REPLICAS), len(REPLICAS))


class ModelServers:
    """Implements TwinServers; every question and every statement is a step of the script."""

    def __init__(self, twins: Twins, script: Script) -> None:
        self.twins = twins
        self.script = script
        self.silent_after: Callable[[str], bool] = lambda _step: False
        """Of which statements the answer is lost."""
        self.change: Callable[[TwinTables], TwinTables] = lambda tables: tables
        """What is different about the tables that servers tell of."""
        self.unrests: Mapping[str, ActivityInProgress] = {}
        """What goes on on a replica."""
        self.rotten: set[tuple[str, Side]] = set()
        self.hidden: set[tuple[str, Side]] = set()
        """Replicas and tables that read other rows than their hashes say."""
        self.modified = 0.0
        self.now = 1_000_000.0
        self.stopped: set[tuple[str, Side]] = set()
        """Replicas and tables whose merges are stopped."""
        self.statements: list[str] = []
        """What was executed, in words."""
        self.executed: list[str] = []
        """The same as SQL."""

    def tables(self, shard_path: str, replica: TwinReplica) -> TwinTables:
        """As TwinServers says."""
        self._step("tables")
        hot, cold = (table_of(side, replica.name) for side in Side)
        return self.change(TwinTables(replica, f"server of {replica.name}", hot, cold))

    def parts(self, tables: TwinTables, partition_ids: Sequence[str]) -> Mapping[str, PartsOf]:
        """As TwinServers says; the second replica may be behind."""
        self._step(f"parts {tables.replica.name}")
        behind = tables.replica.name != REPLICAS[0]
        hot, cold = (
            tuple(
                part._replace(modified=self.modified) for part in self.twins.tables[side].shown(behind=behind)
            )
            for side in Side
        )
        past = (self.twins.tables[side].shown_past for side in Side)
        nothing = PartsOf((), ())
        return {each: PartsOf(hot, cold, *past) if each == DAY else nothing for each in partition_ids}

    def partition_ids(self, tables: TwinTables, side: Side) -> Sequence[str]:
        """As TwinServers says."""
        self._step("partition_ids")
        return [DAY] if self.twins.tables[side].parts else []

    def activity(self, tables: TwinTables, partition_ids: Sequence[str]) -> ActivityInProgress:
        """As TwinServers says."""
        self._step("activity")
        quiet = ActivityInProgress((), {}, {"default": 1_000}, self.now)
        return self.unrests.get(tables.replica.name, quiet)

    def checksum(self, tables: TwinTables, side: Side, parts: Sequence[str]) -> str:
        """As TwinServers says."""
        self._step(f"checksum {side.value} of {tables.replica.name}")
        table = self.twins.tables[side].parts
        rows = sorted(row for key, part in table.items() if name_of(key) in parts for row in part)
        if (tables.replica.name, side) in self.hidden:
            raise NotPermitted("the user does not see all rows", remedy="Remove the row policy")
        return f"{rows}{' rotten' if (tables.replica.name, side) in self.rotten else ''}"

    def place(self, tables: TwinTables, side: Side) -> Side:
        """Which of the tables of ``twins`` is on that side."""
        del tables
        return side

    def attach(self, statement: AttachPartition) -> str:
        """As TwinServers says."""
        self._step("attach")
        to = self.place(statement.tables, statement.destination)
        self.twins.tables[to].attach(self.twins.tables[to.other])
        self._done(statement, f"attach to {to.value}")
        return ""

    def drop(self, statement: DropPart) -> bool:
        """As TwinServers says."""
        side = self.place(statement.tables, statement.side)
        self._step(f"drop {side.value}")
        done = self.twins.tables[side].drop(statement.part)
        self._done(statement, f"drop {statement.part} of {side.value}")
        return done

    def set_merges(self, statement: SetMerges) -> None:
        """As TwinServers says; a replica merges unless both of its tables were stopped."""
        replica, verb = statement.tables.replica.name, "start" if statement.allowed else "stop"
        self._step(f"{verb} merges {replica} {statement.side.value}")
        (self.stopped.discard if statement.allowed else self.stopped.add)((replica, statement.side))
        both = all((replica, side) in self.stopped for side in Side)
        (self.twins.stopped.add if both else self.twins.stopped.discard)(replica)
        self._done(statement, f"{verb} merges")

    def _step(self, what: str) -> None:
        self.script.step(f"servers {what}")

    def _done(self, executed: Statement, statement: str) -> None:
        self.executed.append(executed.sql)
        self.statements.append(statement)
        self.twins.check_nothing_lost()
        if self.silent_after(statement):
            raise PartMoveError(f"no answer to {statement}")


class _NoWatch:
    """Implements Watching; the rows of the tables are watched instead."""

    def commit(self, run: Script, store: object, multi: object, *, answered: bool = True) -> object:
        return store.commit_one(multi, answered=answered)  # type: ignore[attr-defined]

    def check(self) -> None:
        pass

    def look_at_members(self) -> None:
        pass


class TwinBench:
    """A table with its twin, and runs over it."""

    def __init__(self, twins: Twins) -> None:
        self.twins = twins
        self.hot = MemoryEnsemble("hot")
        self.clock = self.hot.clock
        self.journal = ListJournal()
        store = self.hot.open()
        for replica in REPLICAS:
            self._create(store, f"{PATH}/replicas/{replica}/host", b"host: x\n")
        self._create(store, f"{PATH}/metadata", b"metadata format version: 1\n")
        self.servers = ModelServers(twins, Script())

    def _create(self, store: ZnodeStore, path: str, data: bytes) -> None:
        ensure_path(store, path)
        store.commit([(SetData(path, data, 0),)])

    def run(
        self,
        destination: Side,
        script: Script | None = None,
        *,
        pace: Pace | None = None,
        check_mode: bool = False,
        partitions: Iterable[str] = (DAY,),
        report: TwinReport | None = None,
        **options: Any,
    ) -> TwinReport:
        """One run, in a session of its own, which ends with it."""
        report = report or TwinReport(PATH)
        given = TwinOptions()._replace(**options)
        self.servers.script = script or Script()
        session = self.hot.open()
        store: ZnodeStore = WatchedStore(session, self.servers.script, _NoWatch())  # type: ignore[arg-type]
        if check_mode:
            store = OverlayStore(store, self.clock)
        context = self._context(store, pace or UnlimitedPace())._replace(check_mode=check_mode)
        try:
            TwinRun(context, destination, given, report).carry_out(list(partitions))
        finally:
            session.expire()
        return report

    def find(self, destination: Side) -> list[str]:
        """The partitions that a run finds which is given none."""
        context = self._context(self.hot.open(), UnlimitedPace())
        return TwinRun(context, destination, TwinOptions(), TwinReport(PATH)).find()

    def _context(self, store: ZnodeStore, pace: Pace) -> TwinMoveContext:
        leases = LeaseKeeper(store, None, self.clock, owner="a test", wait_seconds=0)
        return TwinMoveContext(store, self.clock, self.journal, leases, self.servers, pace)

    @property
    def records(self) -> dict[str, bytes]:
        """Path → data of the records that there are."""
        found = self.hot.data("/partmove/twins") if self.hot.read(["/partmove/twins"])[0] else {}
        return {path: data for path, data in found.items() if data}
