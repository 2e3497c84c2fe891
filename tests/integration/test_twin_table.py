# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Twins are created on every replica of a modern ClickHouse, and partitions can be moved to them."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

from support.ansible.twin_runs import ModernTables
from support.servers.modern.server import ModernShard
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

    def twins(self, name: str) -> list[int]:
        return [
            int(each.value(f"SELECT count() FROM system.tables WHERE name = '{name}_cold'"))
            for each in self.shard.servers
        ]


@pytest.fixture
def place(modern: ModernShard, hot: Ensemble, base: str) -> Place:
    return Place(modern, hot, base)


@pytest.mark.oldest
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
