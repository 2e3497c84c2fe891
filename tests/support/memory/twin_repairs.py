# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Servers in memory that carry out a repair of twins, and repairs over a bench."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import LeaseKeeper
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.overlay import OverlayStore
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import ensure_path
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.ports import ZnodeStore
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import SetData
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.kind import TwinKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.record import (
    Records,
    TwinRecord,
    contents,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.run import (
    OpenReaders,
    without_readers,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    Parts,
    PartsOf,
    Side,
    TwinTables,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.repair.context import (
    TwinRepairContext,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.repair.kept_removal import (
    remove_kept_parts,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.repair.report import (
    TwinRepairReport,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.repair.run import repair_twins
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.repair.servers import RowCounts
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.repair.statements import (
    AttachPart,
    AttachScratch,
    BuildScratch,
    DetachPart,
    DropDetached,
    DropScratch,
    ReplicaCommand,
)
from support.memory.twin_audits import MemoryWitnesses
from support.memory.twins import DAY, PATH, REPLICAS, Rows, TwinBench, Twins, name_of, table_of

ROOT = "/partmove"


class Killed(BaseException):
    """The run is killed: nothing of it goes on."""


class MemoryRepairServers(MemoryWitnesses):
    """Implements RepairServers; what is about moves is left to the servers of the bench.

    before, after: called with each statement, in words, before and after it takes effect.
    """

    def __init__(self, bench: TwinBench) -> None:
        super().__init__(bench.servers)
        self.twins = bench.twins
        self.scratch: Rows | None = None
        self.folders_of: dict[Side, dict[str, Rows]] = {side: {} for side in Side}
        """Name → rows of the parts in detached/, on every replica."""
        self.before: Callable[[str], None] = lambda _step: None
        self.after: Callable[[str], None] = lambda _step: None
        self.wrong: Mapping[str, RowCounts] = {}
        """Replica → what it counts instead."""
        self.builds: Callable[[Rows], Rows] = lambda rows: rows
        """What an INSERT makes of rows."""
        self.takes_scratch = True
        self.merging: set[str] = set()
        """Parts that a merge has."""
        self.statements: list[str] = []
        self.aside: dict[str, Rows] = {}
        """Part → its rows, of the folders in detached/ that `folders` shows."""
        self.lost: set[str] = set()
        """Replicas whose twin has lost its znodes."""
        self.former: Parts = ()
        """What a replica has in the twin that is not restored yet, although another one is."""
        self.restores: Callable[[str], None] = lambda _replica: None
        """What else happens with a RESTORE REPLICA."""
        self.is_checked = True
        """Whether each statement must leave every inserted row in a table or in `aside`."""

    def __getattr__(self, name: str) -> Any:
        """Leave it to the servers of the bench."""
        return getattr(self.servers, name)

    def parts(self, tables: TwinTables, partition_ids: Sequence[str]) -> Mapping[str, PartsOf]:
        """As RepairServers says; a replica that has lost its znodes does not follow the others."""
        found = super().parts(tables, partition_ids)
        if tables.replica.name not in self.lost or not self.former:
            return found
        return {**found, DAY: found[DAY]._replace(cold=self.former)}

    def _do(self, step: str, act: Callable[[], None]) -> None:
        self.before(step)
        act()
        self.statements.append(step)
        if self.is_checked:
            aside = Counter(row for rows in self.aside.values() for row in rows)
            assert not self.twins.inserted - self.twins.rows - aside
        self.after(step)

    def _rows(self, side: Side, names: Sequence[str]) -> Counter[str]:
        parts = self.twins.tables[side].parts
        return Counter(row for key, rows in parts.items() if name_of(key) in names for row in rows)

    def row_counts(
        self, tables: TwinTables, hot_parts: Sequence[str], cold_parts: Sequence[str], scratch: str = ""
    ) -> RowCounts:
        """As RepairServers says."""
        if tables.replica.name in self.wrong:
            return self.wrong[tables.replica.name]
        hot, cold = self._rows(Side.HOT, hot_parts), self._rows(Side.COLD, cold_parts)
        if scratch:
            cold += Counter(self.scratch or ())
        return RowCounts(
            sum((hot & cold).values()),
            sum((hot - cold).values()),
            sum((cold - hot).values()),
            sum(count for row, count in cold.items() if row not in hot),
            sum(cold.values()) - len(cold),
        )

    def rows_in_common(self, tables: TwinTables, parts: Sequence[str], others: Sequence[str]) -> int:
        """As RepairServers says."""
        return sum((self._rows(Side.COLD, parts) & self._rows(Side.COLD, others)).values())

    def attach_part(self, statement: AttachPart) -> None:
        """As RepairServers says; every replica takes the part from its own folder."""

        def attach() -> None:
            self.twins.tables[Side.COLD].add(self.aside.pop(statement.part))
            self.folders = {
                replica: {
                    day: [each for each in folders if each.part != statement.part]
                    for day, folders in of_replica.items()
                }
                for replica, of_replica in self.folders.items()
            }

        self._do("attach part", attach)

    def command(self, statement: ReplicaCommand) -> None:
        """As RepairServers says: the first RESTORE gives every part a new number."""
        replica = statement.tables.replica.name

        def restore() -> None:
            if statement.command == "RESTORE":
                cold = self.twins.tables[Side.COLD]
                if len(self.lost) == len(REPLICAS):
                    self.former = cold.shown()
                    parts, cold.parts, cold.last_block = sorted(cold.parts.items()), {}, 100
                    for _key, rows in parts:
                        cold.add(rows)
                self.lost.discard(replica)
                self.restores(replica)

        self._do(f"{statement.command} {replica}", restore)

    def detached(self, tables: TwinTables, partition_id: str) -> Mapping[Side, list[str]]:
        """As RepairServers says."""
        return {side: sorted(folders) for side, folders in self.folders_of.items()}

    def build(self, statement: BuildScratch) -> int:
        """As RepairServers says."""
        assert self.scratch is None, "a table of that name is there"
        hot = self._rows(Side.HOT, statement.hot_parts)
        rows = self.builds(tuple((hot - self._rows(Side.COLD, statement.cold_parts)).elements()))

        def fill() -> None:
            self.scratch = rows

        self._do("build", fill)
        return len(rows)

    def attach_scratch(self, statement: AttachScratch) -> None:
        """As RepairServers says."""

        def attach() -> None:
            if self.scratch and self.takes_scratch:
                self.twins.tables[Side.COLD].add(self.scratch)

        self._do("attach scratch", attach)

    def drop_scratch(self, statement: DropScratch) -> None:
        """As RepairServers says."""
        if self.scratch is None:
            return

        def drop() -> None:
            self.scratch = None

        self._do("drop scratch", drop)

    def detach(self, statement: DetachPart) -> bool:
        """As RepairServers says."""
        table = self.twins.tables[statement.side]
        done: list[bool] = []

        def detach() -> None:
            rows = next((rows for key, rows in table.parts.items() if name_of(key) == statement.part), None)
            done.append(statement.part not in self.merging and table.drop(statement.part))
            if done[0] and rows is not None:
                self.folders_of[statement.side][statement.part] = rows

        self._do(f"detach {statement.side.value}", detach)
        return done[0]

    def drop_detached(self, statement: DropDetached) -> None:
        """As RepairServers says; the last replica is the one whose folder counts."""
        if statement.tables.replica.name == REPLICAS[-1]:
            self._do(
                f"delete {statement.side.value}",
                lambda: self.folders_of[statement.side].__delitem__(statement.part),
            )


class RepairBench(TwinBench):
    """A table with its twin, a record of the partition, and repairs of it."""

    def __init__(self, twins: Twins) -> None:
        super().__init__(twins)
        self.repairers = MemoryRepairServers(self)
        self.servers.change = _with_engine
        self.readers: OpenReaders = without_readers

    def record(self, destination: Side = Side.COLD, **fields: Any) -> TwinRecord:
        """What a run would write of the partition now."""
        shown = {side: self.twins.tables[side].shown() for side in Side}
        hot, cold = (table_of(side, "r1").place for side in Side)
        record = TwinRecord(
            destination,
            hot,
            cold,
            parts=contents(shown[destination.other]),
            held=contents(shown[destination]),
            clones={},
            dropping=(),
            began=0,
        )
        record = record._replace(marks=self.twins.marks)
        return record._replace(**fields)

    def note(self, record: TwinRecord) -> None:
        """Have it as the record of the partition."""
        path = Records(self.hot.open(), ROOT, PATH).path(DAY)
        store = self.hot.open()
        ensure_path(store, path)
        store.commit([(SetData(path, record.encode(), 0),)])

    def attached(self) -> TwinRecord:
        """Clone the parts of the table as a run does, and return the record that it has then."""
        record = self.record()
        self.twins.tables[Side.COLD].attach(self.twins.tables[Side.HOT])
        new = [part for part in self.twins.tables[Side.COLD].shown() if part.name not in record.held]
        clone = {part.content: part.name for part in new}
        return record._replace(clones={name: clone[content] for name, content in record.parts.items()})

    def context(self, *, check_mode: bool = False) -> TwinRepairContext:
        """The ports of a repair, in a session of its own."""
        store: ZnodeStore = self.hot.open()
        if check_mode:
            store = OverlayStore(store, self.clock)
        leases = LeaseKeeper(store, None, self.clock, owner="a test", wait_seconds=0)
        servers = cast(Any, self.repairers)
        return TwinRepairContext(
            store, self.clock, self.journal, leases, servers, self.readers, check_mode=check_mode
        )

    def repair(self, kind: TwinKind = TwinKind.UNKNOWN, *, check_mode: bool = False) -> TwinRepairReport:
        """Repair the partition if it is of the kind."""
        return repair_twins(self.context(check_mode=check_mode), PATH, kind)

    def remove_kept(self, *, are_unneeded: bool, check_mode: bool = False) -> TwinRepairReport:
        """Delete what repairs have kept."""
        return remove_kept_parts(self.context(check_mode=check_mode), PATH, are_unneeded=are_unneeded)

    @property
    def kept(self) -> Mapping[str, bytes]:
        """Path → data of the lists of kept parts."""
        found = self.hot.data(f"{ROOT}/twin-kept") if self.hot.read([f"{ROOT}/twin-kept"])[0] else {}
        return {path: data for path, data in found.items() if data}


def _with_engine(tables: TwinTables) -> TwinTables:
    """Return the tables with a definition of which there can be a scratch table."""
    definition = "(`a` UInt8) ReplicatedMergeTree() ORDER BY a"
    hot, cold = (tables.on(side)._replace(definition=definition) for side in Side)
    return tables._replace(hot=hot, cold=cold)
