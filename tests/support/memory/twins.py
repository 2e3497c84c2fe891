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
    PartTooLarge,
    StatementEnded,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import LeaseKeeper
from ansible_collections.olap.partmove.plugins.module_utils._partmove.run.pace import Pace, UnlimitedPace
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.overlay import OverlayStore
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import ensure_path
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.ports import ZnodeStore
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import SetData
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.ledgers import (
    Ledgers,
    NoLedgers,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.partition import TwinOptions
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.readers import Readers
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.report import TwinReport
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.run import (
    OpenReaders,
    TwinMoveContext,
    TwinRun,
    without_readers,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.servers import (
    TakeSlots,
    without_slots,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.statements import (
    AttachPartitions,
    DropParts,
    SetMerges,
    Statement,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    ActivityInProgress,
    KnownClones,
    PairMarks,
    PartContent,
    PartsOf,
    Side,
    TableMarks,
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


Key = tuple[int, ...]
"""First block, last block and level of a part, and its mutation if one has rewritten it."""


@dataclass
class ModelTable:
    """The parts of one partition that a table has, on all replicas at once."""

    partition_id: str = DAY
    parts: dict[Key, Rows] = field(default_factory=dict)
    """Blocks, level and mutation → rows."""
    blocks: dict[PartContent, int] = field(default_factory=dict)
    """What an ATTACH has cloned, and the number that it got, as long as the server remembers that."""
    last_block: int = 0
    past: dict[Key, Rows] = field(default_factory=dict)
    """Parts that were merged or dropped, as long as they are shown."""
    late_on_r2: set[Key] = field(default_factory=set)
    """Parts that the second replica has still to fetch."""

    def add(self, rows: Rows, level: int = 0) -> int:
        """Add a part with the next number, and return that."""
        self.last_block += 1
        self.parts[self.last_block, self.last_block, level] = rows
        return self.last_block

    def attach(self, source: ModelTable) -> list[str]:
        """Clone what the source has, but for what was cloned before; return the names."""
        names = []
        for (_first, _last, level, *_mutation), rows in sorted(source.parts.items()):
            if content_of(rows) not in self.blocks:
                block = self.blocks[content_of(rows)] = self.add(rows, level)
                names.append(self.name_of((block, block, level)))
        return names

    def drop(self, name: str) -> bool:
        """Drop a part; False where there is none of the name."""
        key = next((key for key in self.parts if self.name_of(key) == name), None)
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
        level = max(key[2] for key in keys) + 1
        mutation = max(key[3:] for key in keys)
        self.past.update(self.parts)
        self.parts = {(keys[0][0], max(key[1] for key in keys), level, *mutation): rows}

    def mutate(self, change: Callable[[str], str]) -> None:
        """Rewrite every row, in parts with other names."""
        self.last_block += 1
        self.past.update(self.parts)
        self.parts = {
            (*key[:3], self.last_block): tuple(change(row) for row in rows)
            for key, rows in self.parts.items()
        }

    def name_of(self, key: Key) -> str:
        """Return the name of a part."""
        return "_".join(map(str, (self.partition_id, *key)))

    def shown(self, *, behind: bool = False) -> tuple[TwinPart, ...]:
        """What system.parts has of it; ``behind`` without what is still to be fetched."""
        keys = [key for key in self.parts if not (behind and key in self.late_on_r2)]
        return tuple(TwinPart(self.name_of(key), content_of(self.parts[key]), 100, "default") for key in keys)

    @property
    def shown_past(self) -> tuple[TwinPart, ...]:
        """What system.parts has of it besides."""
        return tuple(TwinPart(self.name_of(key), content_of(rows)) for key, rows in sorted(self.past.items()))

    @property
    def rows(self) -> Counter[str]:
        """How often it has each row."""
        return Counter(row for rows in self.parts.values() for row in rows)


def name_of(key: Key) -> str:
    """Return the name of a part of the partition DAY."""
    return ModelTable().name_of(key)


class Twins:
    """Both tables, and what was ever inserted into them."""

    def __init__(self, *inserted: Rows, at: Side = Side.HOT) -> None:
        self.tables = {side: ModelTable() for side in Side}
        """The partition DAY."""
        self.others: dict[str, dict[Side, ModelTable]] = {}
        """Further partitions."""
        self.inserted: Counter[str] = Counter()
        self.stopped: set[str] = set()
        """The replicas that merge nothing."""
        self.mutations = dict.fromkeys(Side, 0)
        """How many mutations each table got."""
        self.pending: list[tuple[ModelTable, int]] = []
        """Tables with a mutation that is not done, and its version."""
        self.patches: dict[Side, tuple[str, ...]] = dict.fromkeys(Side, ())
        """Patch parts."""
        self.structure = dict.fromkeys(Side, "(a UInt8)")
        self.log: dict[Side, list[tuple[str, list[str]]]] = {side: [] for side in Side}
        """Entries of the replication log: partition, and the clones of an ATTACH."""
        self.trimmed = dict.fromkeys(Side, 0)
        """How many of the oldest entries of the log are gone."""
        for rows in inserted:
            self.insert(at, rows)

    def of(self, partition_id: str) -> dict[Side, ModelTable]:
        """Return both tables of a partition."""
        if partition_id == DAY:
            return self.tables
        return self.others.setdefault(partition_id, {side: ModelTable(partition_id) for side in Side})

    @property
    def partition_ids(self) -> list[str]:
        """All partitions that ever were."""
        return [DAY, *self.others]

    def insert(self, side: Side, rows: Rows, partition_id: str = DAY) -> None:
        """Insert a part."""
        self.of(partition_id)[side].add(rows)
        self.log[side].append((partition_id, []))
        self.inserted.update(rows)

    def merge(self, side: Side, partition_id: str = DAY) -> None:
        """Merge all parts of a table, unless every replica was told to stop."""
        if self.stopped != set(REPLICAS):
            self.of(partition_id)[side].merge()

    def mutate(self, *sides: Side) -> None:
        """Carry out a statement that must be applied once to each row, on each of the tables."""
        for side in sides:
            self.mutations[side] += 1
            self.log[side].append(("", []))
            for each in self.partition_ids:
                self.of(each)[side].mutate(lambda row: f"{row}+")
        if len(sides) == len(Side):
            self.inserted = Counter({f"{row}+": count for row, count in self.inserted.items()})

    def begin_mutation(self) -> None:
        """Add a mutation to both tables that servers carry out later, in the parts that are there now."""
        for side in Side:
            self.mutations[side] += 1
            self.log[side].append(("", []))
            for each in self.partition_ids:
                table = self.of(each)[side]
                table.last_block += 1
                self.pending.append((table, table.last_block))

    def finish_mutation(self) -> None:
        """Carry out the mutation."""
        for table, version in self.pending:
            for key in [key for key in table.parts if key[1] < version]:
                table.past[key] = rows = table.parts.pop(key)
                table.parts[(*key[:3], version)] = tuple(f"{row}+" for row in rows)
        self.pending.clear()
        self.inserted = Counter({f"{row}+": count for row, count in self.inserted.items()})

    def attach(self, partition_id: str, to: Side) -> None:
        """Clone a partition."""
        tables = self.of(partition_id)
        self.log[to].append((partition_id, tables[to].attach(tables[to.other])))

    def forget_clones(self) -> None:
        """Let the time pass for which servers remember what they have cloned."""
        for each in self.partition_ids:
            for table in self.of(each).values():
                table.blocks.clear()

    def trim_logs(self) -> None:
        """Remove every entry of the replication logs."""
        for side in Side:
            self.trimmed[side] = len(self.log[side])

    @property
    def marks(self) -> PairMarks:
        """What a server shows of the statements on both tables."""
        hot, cold = (
            TableMarks(
                self.structure[side],
                f"{self.mutations[side]:010}" if self.mutations[side] else "",
                self.patches[side],
                len(self.log[side]) - 1,
            )
            for side in Side
        )
        return PairMarks(hot, cold)

    @property
    def rows(self) -> Counter[str]:
        """What a reader of both tables sees."""
        found: Counter[str] = Counter()
        for each in self.partition_ids:
            for table in self.of(each).values():
                found += table.rows
        return found

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
        self.queued_by_others: Mapping[str, Mapping[str, Sequence[str]]] = {}
        """What others have queued on a replica."""
        self.refused: set[str] = set()
        """Partitions that servers do not attach."""
        self.ended: Mapping[str, str] = {}
        """Partitions whose ATTACH ends with an error → what it did: nothing, registered or cloned."""
        self.undroppable: set[str] = set()
        """Parts that servers do not drop, as if a merge had them."""
        self.too_large: set[str] = set()
        """Parts that servers do not drop because of their size."""
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
        return {each: self._parts_of(each, behind=behind) for each in partition_ids}

    def _parts_of(self, partition_id: str, *, behind: bool) -> PartsOf:
        if partition_id not in self.twins.partition_ids:
            return PartsOf((), ())
        both = self.twins.of(partition_id)
        hot, cold = (
            tuple(part._replace(modified=self.modified) for part in both[side].shown(behind=behind))
            for side in Side
        )
        return PartsOf(hot, cold, both[Side.HOT].shown_past, both[Side.COLD].shown_past)

    def marks(self, tables: TwinTables, partition_ids: Sequence[str]) -> PairMarks:
        """As TwinServers says."""
        self._step(f"marks {tables.replica.name}")
        found = self.twins.marks
        hot, cold = (found.on(self.place(tables, side)) for side in Side)
        return PairMarks(hot, cold, self.queued_by_others.get(tables.replica.name, {}))

    def known_clones(
        self, tables: TwinTables, side: Side, since: Mapping[str, int]
    ) -> Mapping[str, KnownClones]:
        """As TwinServers says."""
        self._step("known clones")
        at = self.place(tables, side)
        found = {}
        for each, newest in since.items():
            first = max(newest + 1, self.twins.trimmed[at])
            names = {name for day, names in self.twins.log[at][first:] for name in names if day == each}
            blocks = self.twins.of(each)[at].blocks.values()
            every = (name for day, names in self.twins.log[at][newest + 1 :] for name in names if day == each)
            names |= {name for name in every if int(name.split("_")[1]) in blocks}
            is_complete = newest >= 0 and self.twins.trimmed[at] <= newest + 1
            found[each] = KnownClones(frozenset(names), is_complete)
        return found

    def partition_ids(self, tables: TwinTables, side: Side) -> Sequence[str]:
        """As TwinServers says."""
        self._step("partition_ids")
        return [each for each in self.twins.partition_ids if self.twins.of(each)[side].parts]

    def activity(self, tables: TwinTables, partition_ids: Sequence[str]) -> ActivityInProgress:
        """As TwinServers says."""
        self._step("activity")
        changes = ("a mutation is not done",) if self.twins.pending else ()
        quiet = ActivityInProgress(changes, {}, {"default": 1_000}, self.now)
        return self.unrests.get(tables.replica.name, quiet)

    def checksum(self, tables: TwinTables, side: Side, parts: Sequence[str]) -> str:
        """As TwinServers says."""
        self._step(f"checksum {side.value} of {tables.replica.name}")
        found = [self.twins.of(each)[side] for each in self.twins.partition_ids]
        rows = sorted(
            row
            for table in found
            for key, part in table.parts.items()
            if table.name_of(key) in parts
            for row in part
        )
        if (tables.replica.name, side) in self.hidden:
            raise NotPermitted("the user does not see all rows", remedy="Remove the row policy")
        return f"{rows}{' rotten' if (tables.replica.name, side) in self.rotten else ''}"

    def place(self, tables: TwinTables, side: Side) -> Side:
        """Which of the tables of ``twins`` is on that side."""
        del tables
        return side

    def attach(self, statement: AttachPartitions) -> str:
        """As TwinServers says."""
        self._step("attach")
        to = self.place(statement.tables, statement.destination)
        for each in statement.partition_ids:
            if each in self.refused:
                return f"partition {each} is refused"
            ended = self.ended.get(each, "")
            if ended == "registered":
                block = self.twins.of(each)[to].last_block + 1
                self.twins.log[to].append((each, [f"{each}_{block}_{block}_0"]))
            elif ended != "nothing":
                self.twins.attach(each, to)
            if ended:
                raise StatementEnded(f"partition {each} ended in an error", remedy="See the log")
        self._done(statement, f"attach to {to.value}")
        return ""

    def drop(self, statement: DropParts) -> bool:
        """As TwinServers says."""
        side = self.place(statement.tables, statement.side)
        done = True
        for name in statement.parts:
            # A run may be killed while the server carries out the statement.
            self._step(f"drop {side.value}")
            table = self.twins.of(name.partition("_")[0])[side]
            if done and name in self.too_large:
                raise PartTooLarge(f"part {name} is too large")
            done = done and name not in self.undroppable and table.drop(name)
        self._done(statement, f"drop {' '.join(statement.parts)} of {side.value}")
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
        self.ledgers: Ledgers = NoLedgers()
        self.readers: OpenReaders = without_readers
        self.slots: TakeSlots = without_slots

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
        readers: Readers | None = None,
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
        if readers is not None:
            context = context._replace(readers=lambda *_shard, **_options: readers)
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
        ports = (self.servers, self.readers, self.ledgers, pace)
        return TwinMoveContext(store, self.clock, self.journal, leases, *ports, slots=self.slots)

    @property
    def records(self) -> dict[str, bytes]:
        """Path → data of the records that there are."""
        found = self.hot.data("/partmove/twins") if self.hot.read(["/partmove/twins"])[0] else {}
        return {path: data for path, data in found.items() if data}
