# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Twins are created on every replica of a modern ClickHouse, and partitions can be moved to them."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

from support.ansible.odd_tables import ODD
from support.ansible.twin_runs import ModernTables
from support.servers.clickhouse_config import ZooKeeperSource
from support.servers.modern.server import ModernShard, ModernShardMaker
from support.servers.zookeeper import Ensemble

pytestmark = pytest.mark.ladder

COLUMNS = (
    "(day Date, id UInt32 CODEC(Delta, LZ4), number UInt64, text String DEFAULT 'a (b) \\'c\\' ENGINE = x',"
    " INDEX by_id id TYPE minmax GRANULARITY 1, CONSTRAINT some CHECK id < 1000,"
    " PROJECTION sums (SELECT day, sum(id) GROUP BY day))"
)
ENGINES = {
    "ReplicatedMergeTree('PATH', '{replica}')": "",
    "ReplicatedReplacingMergeTree('PATH', '{replica}', id)": " TTL day + INTERVAL 50 YEAR",
    "ReplicatedSummingMergeTree('PATH', '{replica}', (number))": "",
}


class Place(ModernTables):
    """Tables on both servers, and the module that gives them twins."""

    def create(self, engine: str, rest: str = "") -> str:
        name = f"t_{uuid.uuid4().hex[:8]}"
        written = engine.replace("PATH", f"{self.base}/{{shard}}/{name}")
        self.shard.execute(
            f"CREATE TABLE {name} {COLUMNS} ENGINE = {written} PARTITION BY toYYYYMMDD(day) ORDER BY id{rest}"
            f"{self.projection_settings}"
        )
        return name

    def call(self, *names: str, check: bool = False, **options: Any) -> dict[str, Any]:
        return self.give_twins(*map(self.shard_path, names), check=check, **options)

    @property
    def second_label(self) -> str:
        return f"ClickHouse at 127.0.0.1:{self.second.http_port}"

    def twin(self, name: str) -> str:
        return f"default.{name}_cold"

    def twins(self, name: str) -> list[int]:
        return [
            int(each.value(f"SELECT count() FROM system.tables WHERE name = '{name}_cold'"))
            for each in self.shard.servers
        ]


@pytest.fixture
def place(modern: ModernShard, hot: Ensemble, base: str) -> Place:
    return Place(modern, hot, base)


@pytest.mark.smoke("older")
@pytest.mark.parametrize("engine", ENGINES)
def test_twins_are_created_once_and_take_partitions(place: Place, engine: str) -> None:
    name = place.create(engine, ENGINES[engine])
    checked = place.call(name, check=True)
    assert (checked["changed"], place.twins(name)) == (True, [0, 0]), checked
    done = place.call(name)
    assert (done["changed"], done["msg"], place.twins(name)) == (True, "2 of 2 twins created", [1, 1]), done
    assert done["diff"] == checked["diff"]
    again = place.call(name)
    assert (again["changed"], again["diff"]["after"]) == (False, ""), again
    place.first.execute(f"INSERT INTO {name} (day, id, number) VALUES ('2024-01-01', 1, 1)")
    place.shard.execute(f"SYSTEM SYNC REPLICA {name}")
    assert place.move(shard_paths=[place.shard_path(name)])["counts"]["moved"] == 1
    assert [each.value(f"SELECT count() FROM {name}_cold") for each in place.shard.servers] == [1, 1]


def test_a_twin_that_one_replica_lacks_is_created_there(place: Place) -> None:
    name = place.create("ReplicatedMergeTree('PATH', '{replica}')")
    place.call(name)
    place.shard.servers[1].execute(f"DROP TABLE {name}_cold SYNC")
    done = place.call(name)
    assert [each["created"] for each in done["twins"]] == [False, True], done
    assert place.twins(name) == [1, 1]


@pytest.mark.smoke("older")
@pytest.mark.parametrize("kind", ODD)
def test_odd_tables_get_twins_and_partitions_are_moved(place: Place, kind: str) -> None:
    """As operators have them, created with other settings or by an older version."""
    definition, settings = ODD[kind]
    for setting in settings:
        if not place.first.knows(setting):
            pytest.skip(f"{place.first.options.version} does not know {setting}")
    name = f"t_{uuid.uuid4().hex[:8]}"
    table = "`t (x) 'q' \\` . ü \"d\"`" if kind == "quoted name" else name
    if definition.endswith("ENGINE"):
        definition += " = ReplicatedMergeTree('PATH', '{replica}') PARTITION BY toYYYYMM(day) ORDER BY id"
    if kind == "settings":
        definition += (
            " SETTINGS old_parts_lifetime = 70, merge_with_ttl_timeout = 7200, index_granularity = 100"
        )
    path = f"{place.base}/{{shard}}/{name}"
    place.shard.execute(f"CREATE TABLE {table} {definition.replace('PATH', path)}", **settings)
    done = place.call(name)
    assert (done["changed"], done["msg"]) == (True, "2 of 2 twins created"), done
    assert all(f"'cold:{path}_cold', '{{replica}}'" in each["statement"] for each in done["twins"])
    if kind == "settings":
        for each in place.shard.servers:
            each.execute(
                f"ALTER TABLE {table} MODIFY SETTING max_part_loading_threads = 3, old_parts_lifetime = 71"
            )
            each.execute(f"ALTER TABLE {table}_cold MODIFY SETTING old_parts_lifetime = 71")
            each.execute(f"ALTER TABLE {table}_cold MODIFY SETTING max_part_loading_threads = 3")
    assert not place.call(name)["changed"]
    twin = f"{table[:-1]}_cold`" if kind == "quoted name" else f"{name}_cold"
    place.first.execute(f"INSERT INTO {table} (day, id) VALUES ('2024-01-01', 1), ('2024-01-02', 2)")
    place.shard.execute(f"SYSTEM SYNC REPLICA {table}")
    for state, holder in (("cold", twin), ("hot", table)):
        moved = place.move(shard_paths=[place.shard_path(name)], state=state)
        assert moved["counts"]["moved"] == 1, moved
        assert [each.value(f"SELECT sum(id) FROM {holder}") for each in place.shard.servers] == [3, 3]
    if kind == "quoted name":
        place.shard.execute(f"DROP TABLE {twin} SYNC")
        place.shard.execute(f"DROP TABLE {table} SYNC")


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("ALTER TABLE NAME_cold ADD COLUMN other UInt8", "differ"),
        ("CREATE TABLE NAME_cold (a UInt8) ENGINE = MergeTree ORDER BY a", "no replicated table"),
        ("DETACH TABLE NAME", "has 0 tables that are replica r1"),
    ],
)
def test_a_table_that_is_refused_keeps_no_other_from_its_twin(
    place: Place, statement: str, words: str
) -> None:
    first = place.create("ReplicatedMergeTree('PATH', '{replica}')")
    second = place.create("ReplicatedMergeTree('PATH', '{replica}')")
    if statement.startswith("ALTER"):
        place.call(second)
    # An ALTER reaches the other replica by itself.
    for server in place.shard.servers[: 1 if statement.startswith("ALTER") else 2]:
        server.execute(statement.replace("NAME", second))
    refused = place.call(first, second)
    path = f"{place.base}/01/{second}"
    assert (refused["failed"], refused["changed"]) == (True, True)
    assert refused["msg"].startswith(f"Of 2 tables {path} was refused. ")
    ((told, reason),) = ((each["shard_path"], each["reason"]) for each in refused["refused"])
    assert told == path
    assert words in reason
    assert place.twins(first) == [1, 1]
    assert second not in json.dumps(refused["twins"])


@pytest.mark.smoke("older")
def test_a_server_that_refuses_a_twin_keeps_no_other_table_from_its_twin(place: Place) -> None:
    """Also on the next run, and each refused table is named."""
    engine = "ReplicatedMergeTree('PATH', '{replica}')"
    names = sorted(place.create(engine) for _ in range(4))
    for each in names[:2]:
        # Another table is replica r2 at the path of the twin, which only the server notices.
        other = engine.replace("PATH", f"cold:{place.shard_path(each)}_cold")
        place.second.execute(
            f"CREATE TABLE {each}_other {COLUMNS} ENGINE = {other} PARTITION BY toYYYYMMDD(day) ORDER BY id"
            f"{place.projection_settings}"
        )
    for changed in (True, False):
        refused = place.call(*names)
        assert (refused["failed"], refused["changed"]) == (True, changed), refused
        assert refused["msg"].startswith("Of 4 tables 2 were refused. ")
        for each in names[:2]:
            said = f"{place.shard_path(each)}: {place.second_label} refused to create {place.twin(each)}"
            assert said in refused["msg"]
        assert [each["shard_path"] for each in refused["refused"]] == [*map(place.shard_path, names[:2])]
        assert [place.twins(each) for each in names] == [[1, 0], [1, 0], [1, 1], [1, 1]]


@pytest.mark.smoke("older")
def test_the_schema_of_a_twin_can_be_copied_to_a_new_replica(
    start_modern: ModernShardMaker, hot: Ensemble, cold: Ensemble, base: str
) -> None:
    sources = [ZooKeeperSource(each.connect_string) for each in (hot, cold)]
    whole = start_modern(sources[0], {"cold": sources[1]}, replicas=3)
    place = Place(ModernShard(whole.servers[:2]), hot, base)
    name = place.create("ReplicatedMergeTree('PATH', '{replica}')")
    assert place.call(name)["changed"]
    place.first.execute(f"INSERT INTO {name} (day, id, number) VALUES ('2024-01-01', 1, 1)")
    place.shard.execute(f"SYSTEM SYNC REPLICA {name}")
    assert place.move(shard_paths=[place.shard_path(name)])["counts"]["moved"] == 1
    third = whole.servers[2]
    for each in (name, f"{name}_cold"):
        third.execute(
            place.first.value(f"SELECT create_table_query FROM system.tables WHERE name = '{each}'")
        )
    third.execute(f"SYSTEM SYNC REPLICA {name}_cold")
    assert third.value(f"SELECT sum(id) FROM {name}_cold") == 1
    place = Place(whole, hot, base)
    again = place.call(name)
    assert [each["created"] for each in again["twins"]] == [False] * 3, again
    assert place.move(shard_paths=[place.shard_path(name)], state="hot")["counts"]["moved"] == 1
    assert place.ids(name) == [[1]] * 3


@pytest.mark.smoke("older")
def test_a_twin_with_a_literal_path_stays_alike(place: Place) -> None:
    """Twins had one before they had the macros of the table."""
    name = place.create("ReplicatedMergeTree('PATH', '{replica}')")
    for server in place.shard.servers:
        literals = f"'cold:{place.shard_path(name)}_cold', '{server.name}'"
        server.execute(
            f"CREATE TABLE {name}_cold {COLUMNS} ENGINE = ReplicatedMergeTree({literals})"
            f" PARTITION BY toYYYYMMDD(day) ORDER BY id{place.projection_settings}"
        )
    done = place.call(name)
    assert (done["changed"], done["msg"]) == (False, "0 of 2 twins created"), done


def test_the_path_of_a_twin_that_was_dropped_later_is_said_to_be_occupied(place: Place) -> None:
    """Without SYNC a server keeps a dropped table, and its path, for eight minutes."""
    name = place.create("ReplicatedMergeTree('PATH', '{replica}')")
    place.call(name)
    place.shard.execute(f"DROP TABLE {name}_cold")
    refused = place.call(name)
    assert "If a twin at this path was dropped without SYNC" in refused["msg"], refused
    assert not refused["changed"]


def test_options_that_cannot_be(place: Place) -> None:
    name = place.create("ReplicatedMergeTree('PATH', '{replica}')")
    assert "the same path" in place.call(name, path="{path}")["msg"]
    # The server knows no such ensemble, and says so.
    refused = place.call(name, ensemble="other")
    assert refused["failed"]
    assert "other" in refused["msg"]
    assert place.twins(name) == [0, 0]
