# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Partitions go between a table and its cold twin on servers of a modern ClickHouse, and no row is lost."""

from __future__ import annotations

import shutil
import threading
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.options import ClickHouseOptions
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.twin_servers import HttpTwinServers
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.partition import TwinOptions
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.report import TwinReport
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.servers import TwinServers
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.statements import (
    AttachPartitions,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    Side,
    TwinReplica,
)
from support.ansible.dying_servers import DyingServers, run_until_killed
from support.ansible.twin_runs import DAY, NEXT, ModernTables
from support.servers.clickhouse_config import ZooKeeperSource
from support.servers.modern.server import ModernServer, ModernShard, ModernShardMaker
from support.servers.replicated import wait_for
from support.servers.sql_server import QueryError
from support.servers.zookeeper import Ensemble

pytestmark = [pytest.mark.ladder, pytest.mark.long(minutes=2)]

COLUMNS = (
    "(day Date, id UInt32, INDEX by_id id TYPE minmax GRANULARITY 1,"
    " PROJECTION by_day (SELECT id, day ORDER BY day))"
)


class Twin(ModernTables):
    """A table with its twin on both servers, and the module that moves its partitions."""

    def __init__(self, shard: ModernShard, hot: Ensemble, base: str) -> None:
        super().__init__(shard, hot, base)
        self.name = f"t_{uuid.uuid4().hex[:8]}"
        self.cold = f"{self.name}_cold"
        self.path = self.shard_path(self.name)
        self.options = TwinOptions()
        """For runs in this process."""
        for name, path in ((self.name, self.path), (self.cold, f"cold:{self.path}_cold")):
            shard.execute(self.definition(name, path, COLUMNS))

    def give_another_twin(self, old: str, new: str, servers: Sequence[ModernServer]) -> None:
        """Create the twin anew on some servers, with another text in its definition."""
        definition = self.definition(self.cold, f"cold:{self.path}_cold", COLUMNS)
        assert old in definition
        for server in servers:
            server.execute(f"DROP TABLE {self.cold} SYNC")
        for server in servers:
            server.execute(definition.replace(old, new, 1))

    def insert(self, *numbers: int, day: str = DAY) -> None:
        """Insert a part, and let every replica have it."""
        self.insert_into(self.name, *numbers, day=day)

    def call(self, state: str, *partitions: str, check: bool = False, **options: Any) -> dict[str, Any]:
        """What the module answers."""
        rows = [{"shard_path": self.path, "partition": each} for each in partitions or (DAY,)]
        return self.move(check=check, **{"state": state, "partitions": rows, **options})

    def die(self, state: str, statements: int, *, given: bool, parts: int | None = None) -> None:
        """Run until so many statements were given; the next one is the last, or is not given any more.

        parts: how many parts the last statement drops; None for all.
        """
        servers = DyingServers(self.asked(), statements, given=given, parts=parts)
        run_until_killed(lambda: self.run(state, servers))

    def run(self, state: str, servers: TwinServers) -> TwinReport:
        """Run with these servers, in this process."""
        return self.move_here(servers, state, self.path, DAY, self.options)

    def run_and_act(self, state: str, act: Callable[[], object]) -> TwinReport:
        """Run, and do something right after the first ATTACH."""
        return self.run(state, ActingServers(self.asked(), act))


@pytest.fixture
def twin(modern: ModernShard, hot: Ensemble, base: str) -> Twin:
    return Twin(modern, hot, base)


@pytest.mark.smoke
def test_partition_of_several_parts_goes_there_and_back_and_there(twin: Twin) -> None:
    twin.insert(1, 2)
    twin.insert(3)
    twin.insert(9, day=NEXT)
    foretold = twin.call("cold", check=True)
    assert foretold["counts"]["moved"] == 1, foretold
    assert "ATTACH PARTITION ID" in foretold["diff"]["after"]
    assert twin.ids(twin.cold) == [[], []]
    for state, here, there, parts in (
        ("cold", [[9]] * 2, [[1, 2, 3]] * 2, 1),
        ("hot", [[1, 2, 3, 9]] * 2, [[]] * 2, 3),
        ("cold", [[9]] * 2, [[1, 2, 3]] * 2, 1),
    ):
        answer = twin.call(state)
        assert answer["counts"]["moved"] == 1, answer
        assert answer["moved"][0]["rows"] == 3
        assert answer["moved"][0]["seen_twice_seconds"] < 60
        assert (twin.ids(twin.name), twin.ids(twin.cold)) == (here, there)
        (znodes,) = answer["hot_znodes"]
        assert (znodes["parts"], znodes["block_numbers"]) == (2 * parts, 2)
        again = twin.call(state)
        assert (again["changed"], again["counts"]["unchanged"]) == (False, 1)


def test_late_insert_is_moved_by_a_later_run(twin: Twin) -> None:
    twin.insert(1)
    assert twin.call("cold")["counts"]["moved"] == 1
    twin.insert(2)
    assert twin.call("cold")["counts"]["moved"] == 1
    assert (twin.ids(twin.name), twin.ids(twin.cold)) == ([[], []], [[1, 2], [1, 2]])


def test_insert_of_the_same_rows_is_not_taken_for_a_clone(twin: Twin) -> None:
    twin.insert(1)
    assert twin.call("cold")["counts"]["moved"] == 1
    twin.insert(1)
    answer = twin.call("cold")
    assert [each["gate"] for each in answer["deferred"]] == ["twin_apart"], answer
    assert (twin.ids(twin.name), twin.ids(twin.cold)) == ([[1], [1]], [[1], [1]])


@pytest.mark.smoke
def test_inserts_that_the_table_forgets_by_a_move_are_reported(twin: Twin) -> None:
    statement = f"INSERT INTO {twin.name} (day, id) VALUES ('2024-01-01', 1)"
    twin.first.execute(statement)
    twin.first.execute(statement)
    twin.shard.execute(f"SYSTEM SYNC REPLICA {twin.name}")
    assert twin.ids(twin.name) == [[1], [1]]
    expected = [{"shard_path": twin.path, "partition": DAY, "inserts": 1}]
    assert twin.call("cold", check=True)["forgotten_inserts"] == expected
    assert twin.call("cold")["forgotten_inserts"] == expected
    # What the result says: the table takes the repeated INSERT for a new one.
    twin.first.execute(statement)
    assert twin.first.query(f"SELECT id FROM {twin.name}") == [(1,)]
    assert twin.first.query(f"SELECT id FROM {twin.cold}") == [(1,)]
    # On the way back nothing is forgotten: nobody inserts into the twin.
    twin.first.execute(f"ALTER TABLE {twin.name} DROP PARTITION ID '{DAY}'")
    twin.shard.execute(f"SYSTEM SYNC REPLICA {twin.name}")
    back = twin.call("hot")
    assert (back["counts"]["moved"], back["forgotten_inserts"]) == (1, [])


def test_equal_parts_are_told_before_anything_is_done(twin: Twin) -> None:
    twin.insert(1)
    twin.insert(1)
    answer = twin.call("cold")
    assert [each["gate"] for each in answer["deferred"]] == ["parts_distinct"], answer
    assert not answer["changed"]


@pytest.mark.parametrize(
    ("arrange", "gate", "reason"),
    [
        (["ALTER TABLE {cold} ADD COLUMN more UInt8"], "twin_alike", "differ"),
        (["ALTER TABLE {cold} MODIFY SETTING old_parts_lifetime = 2"], "twin_alike", "differ"),
        (["ALTER TABLE {hot} DETACH PART '{day}_0_0_0'"], "twin_at_rest", "detached"),
        (
            [
                "SYSTEM STOP MERGES {hot}",
                "ALTER TABLE {hot} DELETE WHERE id = 2 SETTINGS mutations_sync = 0",
            ],
            "twin_at_rest",
            "mutation",
        ),
        (["DROP TABLE {cold} SYNC"], "twin_ready", "no replicated table"),
        (["ALTER TABLE {cold} ADD PROJECTION p (SELECT id ORDER BY day)"], "twin_alike", "differ"),
        (["ALTER TABLE {cold} DROP INDEX by_id"], "twin_alike", "differ"),
        (["ALTER TABLE {cold} MODIFY TTL day + INTERVAL 90 YEAR"], "twin_alike", "differ"),
        (["ALTER TABLE {cold} MODIFY COLUMN id UInt32 CODEC(ZSTD)"], "twin_alike", "differ"),
    ],
)
def test_what_stands_in_the_way_is_told(twin: Twin, arrange: list[str], gate: str, reason: str) -> None:
    twin.insert(1)
    twin.insert(2)
    for sql in arrange:
        twin.shard.servers[0].execute(sql.format(hot=twin.name, cold=twin.cold, day=DAY))
    answer = twin.call("cold")
    assert [each["gate"] for each in answer["deferred"]] == [gate], answer
    assert reason in answer["deferred"][0]["reason"]
    assert not answer["changed"]


@pytest.mark.parametrize(
    ("old", "new", "gate"),
    [
        ("PARTITION BY toYYYYMMDD(day)", "PARTITION BY day", "twin_alike"),
        ("ORDER BY id SETTINGS", "ORDER BY (id, day) SETTINGS", "twin_alike"),
        ("ORDER BY id SETTINGS", "PRIMARY KEY () ORDER BY id SETTINGS", "twin_alike"),
        ("ORDER BY id SETTINGS", "ORDER BY id SAMPLE BY id SETTINGS", "twin_alike"),
        ("id UInt32", "id UInt64", "twin_alike"),
        ("day Date, id UInt32", "id UInt32, day Date", "twin_alike"),
        ("id UInt32", "id UInt32 DEFAULT 1", "twin_alike"),
        ("id UInt32", "id UInt32, CONSTRAINT some CHECK id > 0", "twin_alike"),
        ("'cold:", "'", "twin_alike"),
        ("_cold', '{replica}'", "_cold', 'of_{replica}'", "twin_ready"),
    ],
)
def test_twin_that_was_created_in_another_way_is_told(twin: Twin, old: str, new: str, gate: str) -> None:
    twin.insert(1)
    twin.give_another_twin(old, new, twin.shard.servers)
    answer = twin.call("cold")
    assert [each["gate"] for each in answer["deferred"]] == [gate], answer
    assert not answer["changed"]


@pytest.mark.parametrize(
    ("old", "new", "gate"),
    [("_cold', '{replica}'", "_other', '{replica}'", "twin_ready"), ("'cold:", "'", "twin_ready")],
)
def test_twin_of_one_replica_that_is_elsewhere_is_told(twin: Twin, old: str, new: str, gate: str) -> None:
    twin.insert(1)
    twin.give_another_twin(old, new, twin.shard.servers[1:])
    answer = twin.call("cold")
    assert [each["gate"] for each in answer["deferred"]] == [gate], answer
    assert not answer["changed"]


def test_what_would_copy_all_data_is_told(twin: Twin) -> None:
    if not twin.first.knows("always_use_copy_instead_of_hardlinks"):
        pytest.skip("this version always makes hard links")
    twin.insert(1)
    for table in (twin.name, twin.cold):
        twin.shard.execute(f"ALTER TABLE {table} MODIFY SETTING always_use_copy_instead_of_hardlinks = 1")
    answer = twin.call("cold")
    assert [each["gate"] for each in answer["deferred"]] == ["links_made"], answer
    assert not answer["changed"]


def test_young_partition_stays(twin: Twin) -> None:
    twin.insert(1)
    answer = twin.call("cold", min_age="1h")
    assert [each["gate"] for each in answer["deferred"]] == ["old_enough"], answer


@pytest.mark.parametrize("side", ["hot", "cold"])
def test_replica_that_lacks_a_part_keeps_the_partition(twin: Twin, side: str) -> None:
    table = twin.name if side == "hot" else twin.cold
    first, second = twin.shard.servers
    twin.insert(1)
    second.execute(f"SYSTEM STOP FETCHES {table}")
    try:
        first.execute(f"INSERT INTO {table} VALUES ('2024-01-01', 2)")
        answer = twin.call("cold")
        assert [each["gate"] for each in answer["deferred"]] == ["twin_even"], answer
    finally:
        second.execute(f"SYSTEM START FETCHES {table}")


def test_parts_that_were_cloned_before_are_found_missing_and_put_right(twin: Twin) -> None:
    """An ATTACH by hand is remembered by the server, though its part is gone without DROP PART."""
    twin.insert(1)
    twin.insert(2)
    first = twin.shard.servers[0]
    first.execute(f"ALTER TABLE {twin.cold} ATTACH PARTITION ID '{DAY}' FROM {twin.name}", alter_sync=2)
    first.execute(f"ALTER TABLE {twin.cold} DROP PART '{DAY}_1_1_0'", alter_sync=2)
    answer = twin.call("cold")
    assert [each["gate"] for each in answer["deferred"]] == ["twin_apart"], answer
    first.execute(f"ALTER TABLE {twin.cold} DROP PART '{DAY}_2_2_0'", alter_sync=2)
    assert twin.call("cold")["counts"]["moved"] == 1
    assert (twin.ids(twin.name), twin.ids(twin.cold)) == ([[], []], [[1, 2], [1, 2]])


def test_merged_twin_comes_back(twin: Twin) -> None:
    twin.insert(1)
    twin.insert(2)
    assert twin.call("cold")["counts"]["moved"] == 1
    twin.shard.servers[0].execute(f"OPTIMIZE TABLE {twin.cold} FINAL", alter_sync=2)
    answer = twin.call("hot")
    assert [each["parts"] for each in answer["moved"]] == [1], answer
    assert (twin.ids(twin.name), twin.ids(twin.cold)) == ([[1, 2], [1, 2]], [[], []])


class ActingServers(HttpTwinServers):
    """Lets something happen right after the first ATTACH, or before it."""

    def __init__(
        self,
        options: ClickHouseOptions,
        act: Callable[[], object],
        *,
        before: Callable[[], object] = lambda: None,
    ) -> None:
        super().__init__(options)
        self._acts = [act]
        self._before = before

    def attach(self, statement: AttachPartitions) -> str:
        """As the servers do."""
        self._before()
        problem = super().attach(statement)
        if self._acts:
            self._acts.pop()()
        return problem


def both(twin: Twin) -> list[list[int]]:
    """What each replica has in both tables together."""
    return [sorted(hot + cold) for hot, cold in zip(twin.ids(twin.name), twin.ids(twin.cold), strict=True)]


def optimize(twin: Twin, table: str) -> None:
    """Merge all parts of a table on both replicas."""
    twin.shard.servers[0].execute(f"OPTIMIZE TABLE {table} FINAL", alter_sync=2)


ACTS: dict[str, Callable[[Twin], None]] = {
    "nothing": lambda _twin: None,
    "insert": lambda twin: twin.insert(7),
    "insert of the same rows": lambda twin: twin.insert(1),
}


@pytest.mark.smoke(act="nothing", given=True, parts=None)
@pytest.mark.parametrize("state", ["cold", "hot"])
@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize(
    ("statements", "given", "parts"),
    [(0, False, None), (0, True, None), (1, False, None), (1, True, 1), (1, True, None)],
)
def test_killed_run_is_taken_up(
    twin: Twin, state: str, act: str, statements: int, given: bool, parts: int | None
) -> None:
    """Around ATTACH and each DROP PART; then something is inserted, and another run ends it."""
    twin.insert(1)
    twin.insert(2)
    if state == "hot":
        assert twin.call("cold")["counts"]["moved"] == 1
    twin.die(state, statements, given=given, parts=parts)
    ACTS[act](twin)
    rows = sorted([1, 2, *{"insert": [7], "insert of the same rows": [1]}.get(act, [])])
    for _run in range(2):
        answer = twin.call(state)
        assert not answer["failed"], answer
    assert [
        sorted(hot + cold) for hot, cold in zip(twin.ids(twin.name), twin.ids(twin.cold), strict=True)
    ] == [
        rows,
        rows,
    ]
    if act == "nothing":
        assert answer["counts"]["unchanged"] == 1


@pytest.fixture
def own(start_modern: ModernShardMaker, hot: Ensemble, cold: Ensemble, base: str) -> Twin:
    """On servers that the test may kill."""
    source = ZooKeeperSource(cold.connect_string)
    return Twin(start_modern(ZooKeeperSource(hot.connect_string), {"cold": source}), hot, base)


def test_server_that_is_killed_at_any_step_defers_and_comes_back_with_all_rows(own: Twin) -> None:
    """Before and after ATTACH, and between the two parts of DROP PART."""
    second = own.shard.servers[1]
    for number, (statements, parts) in enumerate(((0, None), (1, None), (1, 1))):
        rows = [10 * number + each for each in range(2)]
        for each in rows:
            own.insert(each)
        own.die("cold", statements, given=parts is not None, parts=parts)
        second.kill()
        answer = own.call("cold")
        assert [each["gate"] for each in answer["deferred"]] == ["twin_ready"], answer
        second.start()
        wait_for(lambda: not own.call("cold")["counts"]["deferred"])
        assert own.ids(own.name) == [[], []]
        assert all(set(rows) <= set(there) for there in own.ids(own.cold))
    assert both(own) == [[0, 1, 10, 11, 20, 21]] * 2


def test_server_that_dies_while_a_statement_is_carried_out_defers(own: Twin) -> None:
    """It is killed in the moment before the statement, which waits for it in vain."""
    second = own.shard.servers[1]
    own.insert(1)
    own.insert(2)
    servers = ActingServers(own.asked(timeout=10.0), lambda: None, before=second.kill)
    report = own.run("cold", servers)
    assert {each.gate.value for each in report.deferred.values()} == {"twin_ready"}, report
    second.start()
    wait_for(lambda: own.call("cold")["counts"]["unchanged"] == 1)
    assert (own.ids(own.name), own.ids(own.cold)) == ([[], []], [[1, 2]] * 2)


def test_auxiliary_ensemble_that_is_down_defers_at_any_step(own: Twin, cold: Ensemble) -> None:
    own.insert(1)
    own.insert(2)
    # Before ATTACH, before DROP PART, and between its two parts, as each run goes on.
    for statements, parts in ((0, None), (1, None), (0, 1)):
        own.die("cold", statements, given=parts is not None, parts=parts)
        cold.kill()
        # A server notices after a while, and may refuse a statement before.
        answer = own.call("cold", clickhouse={**own.given["clickhouse"], "timeout": 5.0})
        assert [each["gate"] for each in answer["deferred"]] == ["twin_ready"], answer
        cold.heal()

        wait_for(lambda: not own.call("cold", check=True)["counts"]["deferred"])
    wait_for(lambda: not own.call("cold")["counts"]["deferred"])
    assert (own.ids(own.name), own.ids(own.cold)) == ([[], []], [[1, 2]] * 2)


def test_merge_in_hot_right_after_the_attach_is_undone_and_tried_again(twin: Twin) -> None:
    twin.insert(1)
    twin.insert(2)
    report = twin.run_and_act("cold", lambda: optimize(twin, twin.name))
    assert {each.parts for each in report.moved.values()} == {1}, report
    assert (twin.ids(twin.name), twin.ids(twin.cold)) == ([[], []], [[1, 2], [1, 2]])


@pytest.mark.parametrize("side", ["hot", "cold"])
def test_merge_that_is_assigned_while_merges_are_stopped_is_waited_for(twin: Twin, side: str) -> None:
    """Servers assign merges all the same, which they do not carry out, and drop no part that has one."""
    twin.insert(1)
    twin.insert(2)
    twin.options = TwinOptions(stop_merges=True)
    table = twin.name if side == "hot" else twin.cold
    seen: list[list[str]] = []

    def merge() -> None:
        first = twin.shard.servers[0]
        first.execute(f"OPTIMIZE TABLE {table} FINAL", alter_sync=0)
        seen.append(first.parts(table))

    report = twin.run_and_act("cold", merge)
    assert len(seen[0]) == 2
    assert report.moved.keys() == {DAY}, report
    assert (twin.ids(twin.name), twin.ids(twin.cold)) == ([[], []], [[1, 2], [1, 2]])
    optimize(twin, twin.cold)
    assert [len(server.parts(twin.cold)) for server in twin.shard.servers] == [1, 1]


def test_merges_that_a_killed_run_left_stopped_go_on(twin: Twin) -> None:
    """The next run starts them, though it is asked for another partition and not told to stop any."""
    twin.insert(1)
    twin.insert(2)
    twin.options = TwinOptions(stop_merges=True)
    twin.die("cold", 0, given=True)
    answer = twin.call("cold", NEXT)
    assert (answer["changed"], [each["partition"] for each in answer["finished"]]) == (True, [DAY]), answer
    assert (twin.ids(twin.name), twin.ids(twin.cold)) == ([[], []], [[1, 2], [1, 2]])
    twin.insert(3)
    twin.insert(4)
    for table in (twin.name, twin.cold):
        optimize(twin, table)
        assert [len(server.parts(table)) for server in twin.shard.servers] == [1, 1]


def test_clones_that_are_merged_right_after_the_attach_are_known_again(twin: Twin) -> None:
    twin.insert(1)
    twin.insert(2)
    report = twin.run_and_act("cold", lambda: optimize(twin, twin.cold))
    assert {each.parts for each in report.moved.values()} == {2}, report
    assert [len(server.parts(twin.cold)) for server in twin.shard.servers] == [1, 1]
    assert (twin.ids(twin.name), twin.ids(twin.cold)) == ([[], []], [[1, 2], [1, 2]])


def test_rows_of_all_types_are_read_and_compared_on_request(twin: Twin) -> None:
    """Of a NULL as well: two parts that differ in nothing else, of which a disk shows one for the other."""
    for table in (twin.name, twin.cold):
        twin.shard.servers[0].execute(
            f"ALTER TABLE {table} ADD COLUMN text Nullable(String), ADD COLUMN map Map(String, Array(UInt8)),"
            " ADD COLUMN kind LowCardinality(String) DEFAULT 'a', ADD COLUMN twice UInt64 ALIAS id * 2,"
            " ADD COLUMN kept UInt64 MATERIALIZED id * 3",
            alter_sync=2,
        )
    first = twin.shard.servers[0]
    for number, text in ((1, "NULL"), (2, "'x'")):
        values = f"('2024-01-01', {number}, {text}, {{'a': [1, 2]}})"
        first.execute(f"INSERT INTO {twin.name} (day, id, text, map) VALUES {values}")
    twin.shard.execute(f"SYSTEM SYNC REPLICA {twin.name}")
    for state in ("cold", "hot"):
        answer = twin.call(state, checksums=True)
        assert answer["counts"]["moved"] == 1, answer
    assert twin.ids(twin.name) == [[1, 2]] * 2


def test_checksums_of_a_table_with_a_column_named_as_a_virtual_one_are_refused(twin: Twin) -> None:
    for table in (twin.name, twin.cold):
        twin.first.execute(f"ALTER TABLE {table} ADD COLUMN _part String DEFAULT 'x'", alter_sync=2)
    twin.insert(1, 2)
    refused = twin.call("cold", checksums=True)
    assert refused["counts"]["deferred"] == 1, refused
    assert "the name of a virtual column of ClickHouse (_part)" in refused["deferred"][0]["reason"]
    assert (twin.ids(twin.name), twin.ids(twin.cold)) == ([[1, 2]] * 2, [[]] * 2)
    for state in ("cold", "hot"):
        assert twin.call(state)["counts"]["moved"] == 1


def test_checksums_tell_columns_from_values(twin: Twin) -> None:
    """Without back quotes, the sum would be over NULL and not over the column."""
    for table in (twin.name, twin.cold):
        twin.first.execute(f"ALTER TABLE {table} ADD COLUMN `null` UInt32 DEFAULT id", alter_sync=2)
    twin.insert(1)
    servers = HttpTwinServers(twin.asked())
    tables = servers.tables(twin.path, TwinReplica("r1", ""))
    sums = []
    for number in (7, 8):
        twin.first.execute(f"INSERT INTO {twin.name} (day, id, `null`) VALUES ('2024-01-02', 1, {number})")
        sums.append(servers.checksum(tables, Side.HOT, twin.first.parts(twin.name)[-1:]))
    assert len(set(sums)) == 2
    for state in ("cold", "hot"):
        assert twin.call(state, checksums=True)["counts"]["moved"] == 1


@pytest.mark.parametrize(
    "projection",
    [
        "",
        # Each of them has what the checksum asks for.
        "SELECT * ORDER BY (day, id)",
        "SELECT count(), sum(cityHash64(formatRow('RowBinary', day, id)))",
    ],
)
def test_rows_that_a_disk_has_lost_are_found_on_request(twin: Twin, projection: str) -> None:
    """Hashes are those that were written with the part; what reads it finds out, and fetches it."""
    if projection:
        for table in (twin.name, twin.cold):
            twin.first.execute(f"ALTER TABLE {table} ADD PROJECTION p ({projection})", alter_sync=2)
    twin.insert(*range(100))
    second = twin.shard.servers[1]
    (data,) = second.part_folder(twin.name, second.parts(twin.name)[0]).glob("data.bin")
    good = data.read_bytes()
    data.write_bytes(good[:-4] + bytes(byte ^ 255 for byte in good[-4:]))
    answer = twin.call("cold", checksums=True)
    assert answer["counts"]["deferred"] == 1, answer
    assert twin.ids(twin.cold) == [[], []]
    detached = f"SELECT toString(count()) FROM system.detached_parts WHERE table = '{twin.name}'"

    def is_fetched() -> bool:
        with suppress(QueryError):
            return second.value(detached) != "0" and twin.ids(twin.name) == [[*range(100)]] * 2
        return False

    wait_for(is_fetched)
    assert twin.call("cold")["counts"]["moved"] == 1
    assert (twin.ids(twin.name), twin.ids(twin.cold)) == ([[], []], [[*range(100)]] * 2)


def test_part_that_a_killed_server_had_not_registered_does_not_keep_its_partition(twin: Twin) -> None:
    """Its server sets it aside under a name that nobody can attach."""
    for number in range(3):
        twin.insert(number)
    second = twin.shard.servers[1]
    folder = second.part_folder(twin.name, second.parts(twin.name)[0])
    second.kill()
    shutil.copytree(folder, folder.with_name(f"{DAY}_7_7_0"))
    second.start()
    ignored = f"ignored_{DAY}_7_7_0"
    names = f"SELECT name FROM system.detached_parts WHERE table = '{twin.name}'"
    readonly = "SELECT count() FROM system.replicas WHERE is_readonly"
    wait_for(lambda: second.query(readonly) == [(0,)])
    assert second.query(names) == [(ignored,)]
    with pytest.raises(Exception, match=ignored):
        second.execute(f"ALTER TABLE {twin.name} ATTACH PART '{ignored}'")
    second.execute(f"ALTER TABLE {twin.name} ATTACH PARTITION ID '{DAY}'")
    for state, here, there in (("cold", [[]] * 2, [[0, 1, 2]] * 2), ("hot", [[0, 1, 2]] * 2, [[]] * 2)):
        assert twin.call(state)["counts"]["moved"] == 1
        assert (twin.ids(twin.name), twin.ids(twin.cold)) == (here, there)
    assert second.query(names) == [(ignored,)]


def mutate(twin: Twin, table: str) -> None:
    """Delete a row and wait until that is done; with the setting of the tests no part would be mutated."""
    for name in (twin.name, twin.cold):
        twin.shard.execute(f"ALTER TABLE {name} MODIFY SETTING max_replicated_merges_in_queue = 100")
    twin.shard.servers[0].execute(f"ALTER TABLE {table} DELETE WHERE id = 2", mutations_sync=2)


def test_mutation_right_after_the_attach_is_moved_with_its_effect(twin: Twin) -> None:
    twin.insert(1, 2)
    twin.insert(3)
    report = twin.run_and_act("cold", lambda: mutate(twin, twin.name))
    assert not report.failed, report
    wait_for(lambda: twin.call("cold")["counts"]["unchanged"] == 1)
    assert (twin.ids(twin.name), twin.ids(twin.cold)) == ([[], []], [[1, 3], [1, 3]])


def test_mutation_right_after_the_attach_on_the_way_back_undoes_the_move(twin: Twin) -> None:
    """The log of the table shows which parts are clones, though an insert may equal them."""
    twin.insert_into(twin.cold, 1, 2)
    twin.insert_into(twin.cold, 3)
    report = twin.run_and_act("hot", lambda: mutate(twin, twin.cold))
    assert {each.gate.value for each in report.deferred.values()} == {"twin_at_rest"}, report
    assert (twin.ids(twin.name), twin.ids(twin.cold)) == ([[], []], [[1, 3]] * 2)
    wait_for(lambda: twin.call("hot")["counts"]["unchanged"] == 1)
    assert (twin.ids(twin.name), twin.ids(twin.cold)) == ([[1, 3]] * 2, [[], []])


@pytest.mark.parametrize("state", ["cold", "hot"])
def test_alter_right_after_the_attach_loses_nothing_and_is_told_by_the_next_run(
    twin: Twin, state: str
) -> None:
    source, destination = (twin.name, twin.cold) if state == "cold" else (twin.cold, twin.name)
    twin.insert_into(source, 1)
    twin.insert_into(source, 2, day=NEXT)

    def alter(table: str) -> None:
        sql = f"ALTER TABLE {table} ADD COLUMN more UInt8 DEFAULT 7"
        twin.shard.servers[0].execute(sql, alter_sync=2)

    twin.run_and_act(state, lambda: alter(source))
    assert all(1 in rows for rows in both(twin))
    answer = twin.call(state, DAY, NEXT)
    assert {each["gate"] for each in answer["deferred"]} == {"twin_alike"}, answer
    alter(destination)
    answer = twin.call(state, DAY, NEXT)
    assert not answer["deferred"], answer
    assert (twin.ids(source), twin.ids(destination)) == ([[], []], [[1, 2], [1, 2]])


def test_two_shard_paths_go_side_by_side(twin: Twin, modern: ModernShard, hot: Ensemble, base: str) -> None:
    other = Twin(modern, hot, base)
    for number, each in enumerate((twin, other)):
        each.insert(number)
        each.insert(number + 10)
    for state in ("cold", "hot"):
        rows = [{"shard_path": each.path, "partition": DAY} for each in (twin, other)]
        answer = twin.call(state, partitions=rows, workers=2, checksums=True)
        assert [each["shard_path"] for each in answer["moved"]] == sorted([twin.path, other.path]), answer
        for number, each in enumerate((twin, other)):
            there, not_there = (each.cold, each.name) if state == "cold" else (each.name, each.cold)
            assert (each.ids(there), each.ids(not_there)) == ([[number, number + 10]] * 2, [[], []])


@pytest.mark.smoke
def test_equal_part_that_comes_right_before_the_attach_is_not_lost(twin: Twin) -> None:
    """Versions before 23.8 refuse to attach equal parts, with an error of ZooKeeper."""
    twin.insert(1)
    acts = [lambda: twin.insert(1)]

    def insert_once() -> None:
        if acts:
            acts.pop()()

    report = twin.run("cold", ActingServers(twin.asked(), lambda: None, before=insert_once))
    assert not report.moved, report
    assert [each.gate for each in report.deferred.values()] == ["parts_distinct"], report
    assert (twin.ids(twin.name), twin.ids(twin.cold)) == ([[1, 1]] * 2, [[], []])
    answer = twin.call("cold")
    assert [each["gate"] for each in answer["deferred"]] == ["parts_distinct"], answer


def test_late_insert_right_after_the_attach_stays(twin: Twin) -> None:
    twin.insert(1)
    report = twin.run_and_act("cold", lambda: twin.insert(1))
    assert len(report.moved[DAY].left_behind) == 1
    assert (twin.ids(twin.name), twin.ids(twin.cold)) == ([[1], [1]], [[1], [1]])


def test_late_insert_of_the_same_rows_on_the_way_back_stays_beside_the_clone(twin: Twin) -> None:
    twin.insert(1)
    assert twin.call("cold")["counts"]["moved"] == 1
    report = twin.run_and_act("hot", lambda: twin.insert(1))
    assert (list(report.moved), report.deferred, report.failed) == ([DAY], {}, {})
    assert (twin.ids(twin.name), twin.ids(twin.cold)) == ([[1, 1], [1, 1]], [[], []])


def test_clones_that_were_merged_with_an_insert_are_left_to_a_person(twin: Twin) -> None:
    twin.insert(1)
    twin.insert(2)
    assert twin.call("cold")["counts"]["moved"] == 1

    def merge() -> None:
        twin.insert(7)
        optimize(twin, twin.name)

    report = twin.run_and_act("hot", merge)
    assert {each.gate.value for each in report.failed.values()} == {"twin_known"}
    assert (twin.ids(twin.name), twin.ids(twin.cold)) == ([[1, 2, 7], [1, 2, 7]], [[1, 2], [1, 2]])
    assert twin.call("cold")["failed"]


def test_many_partitions_go_there_and_back(twin: Twin) -> None:
    first = twin.shard.servers[0]
    days = 20
    first.execute(
        f"INSERT INTO {twin.name} SELECT toDate('2024-01-01') + number % {days}, number FROM numbers(1000)",
        max_partitions_per_insert_block=0,
    )
    twin.shard.execute(f"SYSTEM SYNC REPLICA {twin.name}")
    partitions = [row for (row,) in first.query(f"SELECT DISTINCT _partition_id FROM {twin.name}")]
    for state in ("cold", "hot"):
        answer = twin.call(state, *partitions)
        assert answer["counts"]["moved"] == days, answer
        assert both(twin) == [list(range(1000))] * 2


def test_rows_survive_inserts_and_merges_while_partitions_go_there_and_back(twin: Twin) -> None:
    """Merges run, and both replicas get inserts all the time; what is in the way of a move is told."""
    for name in (twin.name, twin.cold):
        # A setting is of each replica.
        twin.shard.execute(f"ALTER TABLE {name} MODIFY SETTING max_replicated_merges_in_queue = 100")
    inserted: list[int] = []
    ended = threading.Event()

    def insert() -> None:
        while not ended.wait(0.2):
            number = len(inserted)
            server = twin.shard.servers[number % 2]
            server.execute(f"INSERT INTO {twin.name} VALUES ('2024-01-01', {number})")
            inserted.append(number)

    inserter = threading.Thread(target=insert)
    inserter.start()
    try:
        for state in ("cold", "hot") * 6:
            twin.call(state)
    finally:
        ended.set()
        inserter.join()
    answers: list[dict[str, Any]] = []

    def is_at_rest() -> bool:
        answers.append(twin.call("cold"))
        return not answers[-1]["deferred"]

    wait_for(is_at_rest)
    for rows in both(twin):
        assert sorted(set(rows)) == inserted, answers
        # Only what is told may be there twice, until a person has looked at it.
        assert rows == inserted or answers[-1]["failed"], answers
