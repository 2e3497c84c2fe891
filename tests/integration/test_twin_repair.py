# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Repairs of tables and their twins on servers of a modern ClickHouse: afterwards each row is there once.

Each state is made on the servers as inserts, OPTIMIZE, DROP and killed runs make it.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.repair_servers import (
    HttpRepairServers,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.twin_servers import (
    DEFAULT_TWIN,
    HttpTwinServers,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.sql import quoted
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.partition import TwinOptions
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.record import (
    Records,
    TwinRecord,
    contents,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.statements import (
    AttachPartitions,
    DropParts,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    Side,
    TwinReplica,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.repair.run import REPAIRED
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.repair.statements import (
    AttachScratch,
    BuildScratch,
    DetachPart,
    DropScratch,
)
from ansible_collections.olap.partmove.plugins.module_utils._tasks.resources import Resources
from ansible_collections.olap.partmove.plugins.module_utils._tasks.twin_audit_info import TwinAuditInfo
from ansible_collections.olap.partmove.plugins.module_utils._tasks.twin_repair import TwinRepair
from support.ansible.calls import run_playbook
from support.ansible.odd_tables import ODD
from support.ansible.twin_runs import DAY, ModernTables
from support.memory.memory import MemoryEnsemble
from support.servers.kazoo_client import connected
from support.servers.modern.server import ModernShard
from support.servers.replicated import wait_for
from support.servers.zookeeper import Ensemble

pytestmark = pytest.mark.ladder


class Ground(ModernTables):
    """A table with a twin on both servers, of one partition."""

    columns = "(day Date, id UInt32)"
    settings: Mapping[str, int] = {}

    def __init__(self, shard: ModernShard, hot: Ensemble, base: str) -> None:
        super().__init__(shard, hot, base)
        self.name = f"t_{uuid.uuid4().hex[:8]}"
        self.cold = f"{self.name}_cold"
        self.path = self.shard_path(self.name)
        self.create_table()
        cold = self.definition(self.cold, f"cold:{self.path}_cold", self.columns)
        self.shard.execute(cold, **self.settings)

    def create_table(self) -> None:
        self.shard.execute(self.definition(self.name, self.path, self.columns), **self.settings)

    def insert(self, *numbers: int, into: str = "") -> None:
        """Insert a part, and let every replica have it."""
        self.insert_into(into or self.name, *numbers)

    def attach(self) -> None:
        self.alter(self.cold, f"ATTACH PARTITION ID '{DAY}' FROM {self.name}")

    def drop_parts(self, table: str, *names: str) -> None:
        for name in names:
            self.alter(table, f"DROP PART '{name}'")

    def optimize(self, table: str) -> None:
        """Merge, and wait until the servers show the merged parts no more."""
        self.first.execute(f"OPTIMIZE TABLE {table} FINAL", alter_sync=2)
        self.wait_until_deleted(table)

    def wait_until_deleted(self, table: str) -> None:
        deleted = f"SELECT count() = 0 FROM system.parts WHERE NOT active AND table = '{table}'"
        wait_for(lambda: all(server.value(deleted) for server in self.shard.servers))

    def alter(self, table: str, what: str) -> None:
        self.first.execute(f"ALTER TABLE {table} {what}", alter_sync=2)

    def record(self, destination: Side = Side.COLD, **fields: Any) -> TwinRecord:
        """What a run would write of the partition now."""
        servers = HttpRepairServers(self.asked())
        tables = servers.tables(self.path, TwinReplica("r1", ""))
        there = servers.parts(tables, [DAY])[DAY]
        return TwinRecord(
            destination,
            tables.hot.place,
            tables.cold.place,
            parts=contents(there.on(destination.other)),
            held=contents(there.on(destination)),
            clones={},
            dropping=(),
            began=0,
        )._replace(**fields)

    @property
    def record_path(self) -> str:
        return Records(MemoryEnsemble("hot").open(), self.root, self.path).path(DAY)

    def note(self, record: TwinRecord) -> None:
        """Have it as the record of the partition."""
        with connected(self.hot.connect_string) as client:
            client.ensure_path(self.record_path)
            client.set(self.record_path, record.encode())

    @property
    def has_record(self) -> bool:
        with connected(self.hot.connect_string) as client:
            return client.exists(self.record_path) is not None

    def attached(self) -> TwinRecord:
        """Clone the parts of the table as a run does, and return the record that it has then."""
        record = self.record()
        self.attach()
        new = [each for each in self.first.parts(self.cold) if each not in record.held]
        clones = dict(zip(self.first.parts(self.name), new, strict=True))
        return record._replace(clones=clones)

    def audit(self) -> dict[str, Any]:
        """What the task of the audit answers."""
        given = {"shard_paths": [self.path], "root": None, "details": "all", "twin": DEFAULT_TWIN}
        load = {"latency_target": 0.0, "max_latency": 1.0, "give_up_after": "10m", "progress_file": None}
        params = {**self.given, **given, **load}
        task = TwinAuditInfo(params)
        with ExitStack() as stack:
            task.run(Resources(params, stack, check_mode=False))
        return task.result()

    @property
    def kind(self) -> str:
        found = self.audit()["findings"]
        return ", ".join(each["kind"] for each in found if each["partition"]) or "none"

    def repair(
        self, kind: str, servers: HttpRepairServers | None = None, *, check: bool = False, **options: Any
    ) -> dict[str, Any]:
        """What the task of the repair answers."""
        given = {
            "shard_paths": [self.path],
            "kind": kind,
            "partitions": None,
            "kept_parts_are_unneeded": False,
            "twin": DEFAULT_TWIN,
            "lock_wait": "30s",
            "journal": "",
        }
        load = {
            "latency_target": 0.0,
            "max_latency": 1.0,
            "give_up_after": "10m",
            "progress_file": None,
            "max_parts_per_second": 0,
        }
        params = {**self.given, **given, **load, **options}
        task = TwinRepair(params, servers)
        with ExitStack() as stack:
            task.run(Resources(params, stack, check_mode=check))
        return task.result()

    def rows(self) -> list[list[int]]:
        """What a reader of both tables sees, on each replica."""
        sql = f"SELECT id FROM merge('default', '^{self.name}(_cold)?$') ORDER BY id"
        return [[number for (number,) in server.query(sql)] for server in self.shard.servers]

    def tables(self) -> list[str]:
        sql = f"SELECT name FROM system.tables WHERE name LIKE '{self.name}%' ORDER BY name"
        return [name for server in self.shard.servers for (name,) in server.query(sql)]


@pytest.fixture
def ground(modern: ModernShard, hot: Ensemble, base: str) -> Ground:
    return Ground(modern, hot, base)


def clones_were_merged(ground: Ground) -> list[int]:
    ground.insert(1)
    ground.insert(2)
    ground.note(ground.attached()._replace(clones={}))
    ground.optimize(ground.cold)
    return [1, 2]


def clones_were_merged_with_older_parts(ground: Ground) -> list[int]:
    ground.insert(7, 8, into=ground.cold)
    ground.insert(1)
    ground.insert(2)
    ground.note(ground.attached()._replace(clones={}))
    ground.optimize(ground.cold)
    return [1, 2, 7, 8]


def clones_were_made_twice(ground: Ground) -> list[int]:
    """An ATTACH after the window of deduplication, while something newer is in the twin."""
    ground.insert(1)
    ground.insert(2)
    record = ground.attached()
    ground.insert(1, into=ground.cold)
    ground.insert(2, into=ground.cold)
    ground.note(record._replace(clones={}))
    ground.optimize(ground.cold)
    return [1, 2]


def a_part_to_drop_was_merged_with_a_late_one(ground: Ground) -> list[int]:
    ground.insert(1, 2)
    ground.insert(3)
    record = ground.attached()
    first = min(record.parts)
    ground.note(record._replace(dropping=(first,)))
    ground.insert(4, 5)
    ground.optimize(ground.name)
    return [1, 2, 3, 4, 5]


def clones_and_source_were_merged(ground: Ground) -> list[int]:
    ground.insert(1)
    ground.insert(2)
    record = ground.attached()
    ground.drop_parts(ground.name, min(record.parts))
    ground.note(record._replace(dropping=(min(record.parts),)))
    ground.insert(9, into=ground.cold)
    ground.insert(3)
    ground.optimize(ground.name)
    ground.optimize(ground.cold)
    ground.note(record._replace(dropping=tuple(sorted(record.parts))))
    return [1, 2, 3, 9]


def somebody_dropped_a_part(ground: Ground) -> list[int]:
    ground.insert(1)
    ground.insert(2)
    ground.note(ground.attached())
    ground.drop_parts(ground.name, ground.first.parts(ground.name)[0])
    return [1, 2]


def partition_was_dropped_from_both(ground: Ground) -> list[int]:
    ground.insert(1)
    ground.insert(2)
    record = ground.attached()
    ground.note(record._replace(dropping=(min(record.parts),)))
    for table in (ground.name, ground.cold):
        ground.alter(table, f"DROP PARTITION ID '{DAY}'")
    return []


def both_were_truncated(ground: Ground) -> list[int]:
    ground.insert(1)
    ground.insert(2)
    ground.note(ground.attached())
    for table in (ground.name, ground.cold):
        ground.first.execute(f"TRUNCATE TABLE {table}", alter_sync=2)
    return []


def table_was_replaced(ground: Ground) -> list[int]:
    """Somebody created the table anew, with some of the rows and others."""
    ground.insert(1, 2)
    ground.insert(3)
    ground.note(ground.attached())
    for server in ground.shard.servers:
        server.execute(f"DROP TABLE {ground.name} SYNC")
    ground.create_table()
    ground.insert(2, 3, 4)
    return [1, 2, 3, 4]


def clones_in_the_table_were_merged_with_inserts(ground: Ground) -> list[int]:
    """On the way back to the table."""
    ground.insert(1, 2, into=ground.cold)
    record = ground.record(Side.HOT)
    ground.alter(ground.name, f"ATTACH PARTITION ID '{DAY}' FROM {ground.cold}")
    clone = ground.first.parts(ground.name)
    ground.insert(3)
    ground.note(record._replace(undoing=tuple(clone)))
    ground.optimize(ground.name)
    return [1, 2, 3]


LITERALS = ("null", "true", "inf")
"""Names that are values without back quotes."""
NAMES = (
    *("h", "side", "a", "b", "place", "rows", "hash", "_", "_shard_num", "_table", "_database"),
    *("partmove_c", "partmove_h", "partmove_n", "partmove_y", "partmove_x.partmove_h"),
    *("count()", "'RowBinary'", "0", "*", "DISTINCT", "a b", "x`y", "x\\y", "n.a", "day.null", "sipHash128"),
    *LITERALS,
)
"""Names of columns that queries of a repair could take for something else."""


class Named(Ground):
    """A table with these columns, which have the value of ``id``, and with columns that are not stored."""

    columns = (
        f"(day Date, id UInt32, {', '.join(f'{quoted(each)} UInt32 DEFAULT id' for each in NAMES)},"
        " stored UInt32 MATERIALIZED id, count UInt32 ALIAS id + 1, sum UInt32 EPHEMERAL 7)"
    )


class Odd(Ground):
    """A table that servers accept with certain settings only."""

    def __init__(self, shard: ModernShard, hot: Ensemble, base: str, kind: str) -> None:
        definition, self.settings = ODD[kind]
        self.columns = definition.removesuffix(" ENGINE")
        super().__init__(shard, hot, base)

    @property
    def given(self) -> dict[str, Any]:
        # Servers take long to analyse a query with many columns.
        return {**super().given, "clickhouse": {"endpoints": self.shard.endpoints, "timeout": 180.0}}


@pytest.mark.parametrize(
    "kind", [kind for kind, (text, _settings) in ODD.items() if text.endswith(" ENGINE")]
)
def test_rows_of_odd_tables_come_into_the_twin_through_a_scratch_table(
    modern: ModernShard, hot: Ensemble, base: str, kind: str
) -> None:
    for setting in ODD[kind][1]:
        if not modern.servers[0].knows(setting):
            pytest.skip(f"{modern.servers[0].options.version} does not know {setting}")
    odd = Odd(modern, hot, base, kind)
    expected = clones_and_source_were_merged(odd)
    assert odd.kind == "unknown"
    done = odd.repair("unknown")
    assert done["counts"] == {"repaired": 1, "left": 0}, done["left"]
    assert f"{odd.name}_partmove_{DAY}" in done["statements"][0]
    assert odd.rows() == [expected, expected]
    assert (odd.has_record, set(odd.tables())) == (False, {odd.name, odd.cold})


@pytest.fixture
def named(modern: ModernShard, hot: Ensemble, base: str) -> Named:
    return Named(modern, hot, base)


Scene = Callable[[Ground], "list[int]"]
UNKNOWN: tuple[Scene, ...] = (
    clones_were_merged,
    clones_were_merged_with_older_parts,
    clones_were_made_twice,
    a_part_to_drop_was_merged_with_a_late_one,
    clones_and_source_were_merged,
    somebody_dropped_a_part,
    partition_was_dropped_from_both,
    both_were_truncated,
    table_was_replaced,
    clones_in_the_table_were_merged_with_inserts,
)


@pytest.mark.parametrize("scene", UNKNOWN, ids=lambda scene: scene.__name__)
def test_partition_of_unknown_state_ends_with_every_row_once(ground: Ground, scene: Scene) -> None:
    expected = scene(ground)
    assert ground.kind == "unknown"
    before = ground.rows()
    planned = ground.repair("unknown", check=True)
    assert (ground.rows(), ground.has_record) == (before, True)
    assert planned["counts"] == {"repaired": 1, "left": 0}, planned["left"]
    done = ground.repair("unknown")
    assert done["counts"] == {"repaired": 1, "left": 0}, done
    assert done["statements"] == planned["statements"]
    assert ground.rows() == [expected, expected]
    assert not ground.has_record
    assert set(ground.tables()) == {ground.name, ground.cold}
    assert ground.kind in ("none", "cold", "hot", "late", "inserted")
    assert ground.repair("unknown")["counts"] == {"repaired": 0, "left": 0}


@pytest.mark.smoke
@pytest.mark.parametrize(
    "scene", [clones_were_merged, clones_and_source_were_merged], ids=lambda scene: scene.__name__
)
def test_columns_may_have_the_names_of_anything_in_a_query(named: Named, scene: Scene) -> None:
    expected = scene(named)
    assert named.kind == "unknown"
    assert named.repair("unknown")["counts"] == {"repaired": 1, "left": 0}
    assert named.rows() == [expected, expected]
    assert not named.has_record
    columns = ", ".join(map(quoted, (*NAMES, "stored")))
    both = f"merge('default', '^{named.name}(_cold)?$')"
    assert named.first.query(f"SELECT {columns} FROM {both} ORDER BY id") == [
        (each,) * (len(NAMES) + 1) for each in expected
    ]


@pytest.mark.smoke
def test_rows_of_columns_with_any_name_are_compared(named: Named) -> None:
    named.insert(1)
    named.insert(2)
    named.attach()
    named.optimize(named.cold)
    (found,) = named.audit()["findings"]
    assert found["kind"] == "as_many_rows"
    places, rows, sums = zip(*named.first.query(found["statements"][0]), strict=True)
    assert sorted(places) == [f"default.{each}" for each in (named.name, named.cold)]
    assert (rows, len(set(sums))) == ((2, 2), 1)
    assert named.repair("as_many_rows")["counts"] == {"repaired": 1, "left": 0}
    assert named.ids(named.cold) == [[1, 2]] * 2
    assert named.ids(named.name) == [[]] * 2


@pytest.mark.parametrize("name", [*LITERALS, "side"])
def test_rows_that_differ_in_a_column_are_all_kept(ground: Ground, name: str) -> None:
    for number, table in enumerate((ground.name, ground.cold)):
        ground.alter(table, f"ADD COLUMN {quoted(name)} UInt32")
        ground.first.execute(
            f"INSERT INTO {table} (day, id, {quoted(name)}) VALUES ('2024-01-01', 5, {number})"
        )
        ground.shard.execute(f"SYSTEM SYNC REPLICA {table}")
    (found,) = ground.audit()["findings"]
    assert found["kind"] == "as_many_rows"
    answers = ground.first.query(found["statements"][0])
    assert len({row[2] for row in answers}) == 2, answers
    ground.repair("as_many_rows")
    assert ground.rows() == [[5, 5]] * 2


@pytest.mark.smoke
def test_column_in_place_of_a_virtual_one_is_refused(ground: Ground) -> None:
    """Only the name of a part would tell its rows from others, and a query reads the column instead."""
    clones_were_merged(ground)
    for table in (ground.name, ground.cold):
        ground.alter(table, "ADD COLUMN _part String")
    assert ground.kind == "unknown"
    done = ground.repair("unknown")
    assert "has a column with the name of a virtual column of ClickHouse (_part)" in done["left"][0]["reason"]
    assert done["left"][0]["remedy"].startswith("Rename the column in both tables")
    assert (ground.rows(), ground.has_record) == ([[1, 1, 2, 2]] * 2, True)
    for table in (ground.name, ground.cold):
        # Each replica has settings of its own, and the mutation needs this one.
        ground.shard.execute(f"ALTER TABLE {table} MODIFY SETTING max_replicated_merges_in_queue = 16")
        rename = f"ALTER TABLE {table} RENAME COLUMN _part TO part"
        ground.first.execute(rename, alter_sync=2, mutations_sync=2)
    repaired = ground.repair("unknown")
    assert repaired["counts"] == {"repaired": 1, "left": 0}, repaired["left"]
    assert (ground.rows(), ground.has_record) == ([[1, 2]] * 2, False)


def test_findings_have_no_statement_that_could_compare_other_rows(ground: Ground) -> None:
    ground.insert(1)
    ground.insert(2)
    ground.attach()
    ground.optimize(ground.cold)
    for table in (ground.name, ground.cold):
        ground.alter(table, "ADD COLUMN _part String ALIAS 'x'")
    (found,) = ground.audit()["findings"]
    assert (found["kind"], found["statements"]) == ("as_many_rows", [])


class Killed(BaseException):
    """The run is killed: nothing of it goes on."""


class DyingServers(HttpRepairServers):
    """Real servers, and a run over them that is killed before or after one of its statements.

    A row is inserted into the table with each statement: whatever comes late is kept.
    """

    def __init__(self, ground: Ground, number: int, *, before: bool) -> None:
        super().__init__(ground.asked())
        self.ground = ground
        self.number = number
        self.is_before = before
        self.executed = 0
        self.late: list[int] = []

    def _dying(self, act: Callable[[], Any]) -> Any:
        number, self.executed = self.executed, self.executed + 1
        if number == self.number and self.is_before:
            raise Killed
        self.late.append(100 + number)
        self.ground.insert(100 + number)
        answer = act()
        if number == self.number:
            raise Killed
        return answer

    def build(self, statement: BuildScratch) -> int:
        rows: int = self._dying(lambda: super(DyingServers, self).build(statement))
        return rows

    def attach_scratch(self, statement: AttachScratch) -> None:
        self._dying(lambda: super(DyingServers, self).attach_scratch(statement))

    def drop_scratch(self, statement: DropScratch) -> None:
        if self.executed:
            self._dying(lambda: super(DyingServers, self).drop_scratch(statement))
        else:
            super().drop_scratch(statement)

    def detach(self, statement: DetachPart) -> bool:
        done: bool = self._dying(lambda: super(DyingServers, self).detach(statement))
        return done


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
@pytest.mark.parametrize("number", range(4))
def test_killed_repair_is_continued(ground: Ground, number: int, *, before: bool) -> None:
    """Of a partition that takes all statements: build, ATTACH, drop the scratch table, DETACH."""
    expected = clones_and_source_were_merged(ground)
    servers = DyingServers(ground, number, before=before)
    with pytest.raises(Killed):
        ground.repair("unknown", servers)
    assert set(ground.rows()[0]) == {*expected, *servers.late}
    for kind in ("unknown", "dropped"):
        assert not ground.repair(kind)["left"]
    rows = sorted([*expected, *servers.late])
    assert ground.rows() == [rows, rows]
    assert not ground.has_record
    assert set(ground.tables()) == {ground.name, ground.cold}


def test_equal_parts_are_kept_in_detached_until_nobody_needs_them(ground: Ground) -> None:
    ground.insert(1)
    ground.insert(2)
    ground.attach()
    ground.insert(3)
    assert ground.kind == "equal_in_part"
    done = ground.repair("equal_in_part")
    (repaired,) = done["repaired"]
    assert (repaired["rows_before"], repaired["rows_after"]) == ({"hot": 3, "cold": 2}, {"hot": 1, "cold": 2})
    assert ground.rows() == [[1, 2, 3]] * 2
    folders = f"SELECT name FROM system.detached_parts WHERE table = '{ground.name}' ORDER BY name"
    for server in ground.shard.servers:
        assert [name for (name,) in server.query(folders)] == repaired["kept"]["hot"]
    asked = ground.repair("kept_parts")
    assert "4 kept parts" in asked["left"][0]["reason"]
    assert not asked["changed"]
    ground.repair("kept_parts", check=True, kept_parts_are_unneeded=True)
    assert len(ground.first.query(folders)) == 2
    deleted = ground.repair("kept_parts", kept_parts_are_unneeded=True)
    assert deleted["counts"] == {"repaired": 1, "left": 0}
    assert [server.query(folders) for server in ground.shard.servers] == [[], []]
    assert ground.rows() == [[1, 2, 3]] * 2
    assert not ground.repair("kept_parts", kept_parts_are_unneeded=True)["changed"]


def test_as_many_rows_that_are_the_same_stay_in_the_twin(ground: Ground) -> None:
    ground.insert(1)
    ground.insert(2)
    ground.attach()
    ground.optimize(ground.cold)
    assert ground.kind == "as_many_rows"
    assert ground.repair("as_many_rows")["counts"] == {"repaired": 1, "left": 0}
    assert ground.rows() == [[1, 2]] * 2
    assert ground.kind == "cold"


def test_as_many_rows_that_came_late_are_left(ground: Ground) -> None:
    ground.insert(1)
    ground.insert(2, into=ground.cold)
    done = ground.repair("as_many_rows")
    assert done["left"][0]["reason"] == "no row of it is in both tables: rows came late"
    assert not done["changed"]


def test_rows_that_differ_in_a_null_are_not_the_same(ground: Ground) -> None:
    for table in (ground.name, ground.cold):
        ground.alter(table, "ADD COLUMN more Nullable(String)")
    ground.first.execute(f"INSERT INTO {ground.name} VALUES ('2024-01-01', 1, NULL), ('2024-01-01', 2, 'b')")
    ground.first.execute(f"INSERT INTO {ground.cold} VALUES ('2024-01-01', 1, ''), ('2024-01-01', 2, 'b')")
    for table in (ground.name, ground.cold):
        ground.shard.execute(f"SYSTEM SYNC REPLICA {table}")
    assert ground.kind == "as_many_rows"
    assert ground.repair("as_many_rows")["counts"] == {"repaired": 1, "left": 0}
    rows = ground.first.query(f"SELECT id, more FROM {ground.cold} ORDER BY id, more")
    assert rows == [(1, ""), (1, None), (2, "b")]
    assert not ground.first.parts(ground.name)


def test_stored_values_of_materialized_columns_are_kept(ground: Ground) -> None:
    for table in (ground.name, ground.cold):
        ground.alter(table, "ADD COLUMN more UInt8 MATERIALIZED 1")
    ground.insert(1, 2)
    ground.insert(2, 3, into=ground.cold)
    for table in (ground.name, ground.cold):
        ground.alter(table, "MODIFY COLUMN more UInt8 MATERIALIZED 7")
    assert ground.repair("as_many_rows")["counts"] == {"repaired": 1, "left": 0}
    rows = ground.first.query(f"SELECT id, more FROM {ground.cold} ORDER BY id")
    assert rows == [(1, 1), (2, 1), (3, 1)]


def test_table_that_is_no_scratch_table_is_not_dropped(ground: Ground) -> None:
    ground.insert(1, 2)
    ground.insert(2, 3, into=ground.cold)
    other = f"{ground.name}_partmove_{DAY}"
    ground.first.execute(f"CREATE TABLE {other} (a UInt8) ENGINE = Memory")
    done = ground.repair("as_many_rows")
    assert "that is no scratch table of a repair" in done["left"][0]["reason"]
    assert other in ground.tables()
    ground.first.execute(f"DROP TABLE {other} SYNC")


@pytest.mark.parametrize("kind", ["attached", "cloned", "recorded", "dropped_partly", "without_parts"])
def test_record_of_a_killed_run_is_finished(ground: Ground, kind: str) -> None:
    ground.insert(1)
    ground.insert(2)
    expected = [1, 2]
    record = ground.record() if kind in ("recorded", "without_parts") else ground.attached()
    if kind == "cloned":
        record = record._replace(clones={})
    if kind == "dropped_partly":
        record = record._replace(dropping=(min(record.parts),))
        ground.drop_parts(ground.name, min(record.parts))
    ground.note(record)
    if kind == "without_parts":
        ground.drop_parts(ground.name, *ground.first.parts(ground.name))
        expected = []
    assert ground.kind == kind
    assert ground.repair(kind)["counts"] == {"repaired": 1, "left": 0}
    assert ground.rows() == [expected] * 2
    assert not ground.has_record


def test_module_and_playbook_answer_what_the_task_does(ground: Ground, tmp_path: Path) -> None:
    expected = clones_were_merged(ground)
    planned = ground.answer("twin_repair", check=True, shard_paths=[ground.path], kind="unknown", journal="")
    assert not planned["failed"], planned
    assert planned["counts"] == {"repaired": 1, "left": 0}
    assert planned["diff"]["after"].splitlines() == planned["statements"]
    extra = tmp_path / "vars.json"
    variables = {"twin_repair_shard_paths": [ground.path], "twin_repair_kind": "unknown"}
    given = {f"twin_move_{name}": value for name, value in ground.given.items()}
    extra.write_text(json.dumps({**given, **variables}))
    playbook = tmp_path / "site.yml"
    playbook.write_text(json.dumps([{"ansible.builtin.import_playbook": "olap.partmove.twin_repair"}]))
    run = run_playbook(playbook, "-e", f"@{extra}")
    assert run.status == 0, run.told
    assert "1 repaired, 0 left" in run.told
    assert "the twin has each row of these parts of the table" in run.told
    assert ground.rows() == [expected] * 2


class DyingMoves(HttpTwinServers):
    """Real servers, and a move over them that is killed before or after its first ATTACH or DROP PART."""

    def __init__(self, ground: Ground, statement: str, *, before: bool) -> None:
        super().__init__(ground.asked())
        self.statement = statement
        self.is_before = before

    def attach(self, statement: AttachPartitions) -> str:
        return str(self._dying("attach", lambda: super(DyingMoves, self).attach(statement)))

    def drop(self, statement: DropParts) -> bool:
        return bool(self._dying("drop", lambda: super(DyingMoves, self).drop(statement)))

    def _dying(self, name: str, act: Callable[[], Any]) -> Any:
        if name == self.statement and self.is_before:
            raise Killed
        answer = act()
        if name == self.statement:
            raise Killed
        return answer


EIGHT = [
    (statement, before, optimized)
    for statement in ("attach", "drop")
    for before in (True, False)
    for optimized in ("table", "both")
]
"""Where the run is killed, and which tables are merged then."""


def test_eight_partitions_after_killed_runs_inserts_and_merges_end_with_every_row_once(
    modern: ModernShard, hot: Ensemble, base: str
) -> None:
    """Each in a table of its own, because every run first finishes what earlier runs of its table left."""
    kinds = {kind.value for kind in REPAIRED}
    grounds = [Ground(modern, hot, base) for _each in EIGHT]
    for ground, (statement, before, optimized) in zip(grounds, EIGHT, strict=True):
        ground.insert(1, 2)
        ground.insert(3)
        servers = DyingMoves(ground, statement, before=before)
        with pytest.raises(Killed):
            ground.move_here(servers, "cold", ground.path, DAY, TwinOptions())
        ground.insert(4)
        for table in (ground.name, ground.cold)[: 1 + (optimized == "both")]:
            ground.first.execute(f"OPTIMIZE TABLE {table} FINAL", alter_sync=2)
    for ground in grounds:
        for table in (ground.name, ground.cold):
            ground.wait_until_deleted(table)
        for _round in range(4):
            if ground.kind in kinds:
                assert not ground.repair(ground.kind)["left"]
        assert ground.rows() == [[1, 2, 3, 4]] * 2
        assert not ground.has_record
        # Late rows are in the table alone.
        assert ground.kind in ("cold", "hot", "late")
