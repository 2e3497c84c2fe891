# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Inserts that began before a table was exchanged, and end later, on real servers: no row is lost.

A run says that a move is finished only once no row can come to the former table any more.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from support.ansible.whole_tables import Place
from support.servers.modern.server import ModernShard
from support.servers.replicated import wait_for
from support.servers.slow_answer import SlowAnswer, slow_answer
from support.servers.sql_server import QueryError
from support.servers.zookeeper import Ensemble

pytestmark = pytest.mark.ladder

ROWS = (100, 101, 102)
ANSWER = "".join(f"2024-01-01\t{number}\n" for number in ROWS)
COLUMNS = "day Date, id UInt32"


@pytest.fixture
def place(modern: ModernShard, hot: Ensemble, base: str) -> Place:
    if modern.servers[0].runs_one_statement:
        pytest.skip("the servers of this version run one statement after the other")
    place = Place(modern, hot, base)
    place.insert(1)
    return place


@pytest.fixture
def source() -> Iterator[SlowAnswer]:
    """Rows that arrive when the test says so."""
    with slow_answer(ANSWER) as source:
        yield source


def rows_of(source: SlowAnswer) -> str:
    """The SELECT that waits for the rows."""
    return f"SELECT * FROM url('{source.address}', TSV, '{COLUMNS}')"


@contextmanager
def executing(place: Place, source: SlowAnswer, sql: str) -> Iterator[list[str]]:
    """Execute a statement on the second replica, until the end of the context; yield its errors."""
    errors: list[str] = []

    def execute() -> None:
        try:
            place.second.execute(sql, http_receive_timeout=600)
        except QueryError as error:
            errors.append(str(error))

    thread = threading.Thread(target=execute)
    thread.start()
    try:
        assert source.asked.wait(60), errors
        yield errors
    finally:
        source.may_answer.set()
        thread.join()


def require_kept(place: Place, *rows: int) -> None:
    """Require that the name has each row once, and that the other table has none."""
    place.rows += rows or ROWS
    place.shard.execute(f"SYSTEM SYNC REPLICA {place.name}")
    assert place.is_at("cold"), place.how_it_is()


def finish(place: Place) -> None:
    """Run until the move is finished; other replicas may lag behind at first."""
    place.shard.execute(f"SYSTEM SYNC REPLICA {place.twin}")
    wait_for(lambda: bool(place.run_here("cold")["finished"]), told=place.how_it_is)


def create_view(place: Place, condition: str = "1") -> str:
    """Create a table whose rows a view inserts into the table with the name; return its name."""
    db = place.database
    place.shard.execute(f"CREATE TABLE {db}.source ({COLUMNS}) ENGINE = Null")
    place.shard.execute(
        f"CREATE MATERIALIZED VIEW {db}.view TO {place.name}"
        f" AS SELECT day, id FROM {db}.source WHERE {condition}"
    )
    return f"{db}.source"


STATEMENTS = {
    "comment": "/* by a client */ -- and\nINSERT INTO {name} {rows}",
    "line break": "\n\tINSERT\n\nINTO\n{name}\n{rows}",
    "with": "WITH 0 AS zero INSERT INTO {name} {rows}",
    "with in the select": "INSERT INTO {name} WITH 0 AS zero {rows}",
    "remote": "INSERT INTO FUNCTION remote('127.0.0.1:{port}', {name}) {rows}",
}


@pytest.mark.parametrize("kind", STATEMENTS)
def test_a_move_is_finished_only_after_older_inserts(
    place: Place, source: SlowAnswer, kind: str, request: pytest.FixtureRequest
) -> None:
    """Every run says so, also one that exchanges nothing, however the statement is written."""
    if kind == "remote":
        request.getfixturevalue("real_version")
    sql = STATEMENTS[kind].format(name=place.name, rows=rows_of(source), port=place.second.ports.tcp)
    if kind == "with" and not place.second.is_at_least(25, 1):
        with pytest.raises(QueryError, match="Syntax error"):
            place.second.execute(sql)
        pytest.skip("the version knows no such INSERT")
    with executing(place, source, sql) as errors:
        for run in range(2):
            done = place.run_here("cold")
            assert [each["older_inserts"] > 0 for each in done["tables"]] == [False, True], done
            assert not done["finished"]
            assert len(done["exchanged"]) == (0 if run else 2)
            assert "INSERT" in done["tables"][1]["older"][0]
    assert not errors
    finish(place)
    require_kept(place)


def test_an_insert_through_a_view_is_older_too(place: Place, source: SlowAnswer) -> None:
    with executing(place, source, f"INSERT INTO {create_view(place)} {rows_of(source)}") as errors:
        assert not place.run_here("cold")["finished"]
    assert not errors
    finish(place)
    require_kept(place)


def test_a_run_waits_and_finishes_by_itself(place: Place, source: SlowAnswer) -> None:
    with executing(place, source, f"INSERT INTO {place.name} {rows_of(source)}") as errors:
        threading.Timer(8, source.may_answer.set).start()
        done = place.run_here("cold", insert_wait="5m")
    assert not errors
    assert done["finished"] or done["differing"] or done["deferred"], done
    finish(place)
    require_kept(place)


def test_an_insert_into_another_table_counts(place: Place, source: SlowAnswer) -> None:
    """Nothing proves where the views of another table insert."""
    place.shard.execute(f"CREATE TABLE {place.database}.other ({COLUMNS}) ENGINE = Null")
    with executing(place, source, f"INSERT INTO {place.database}.other {rows_of(source)}"):
        done = place.run_here("cold")
        assert f"INSERT INTO {place.database}.other" in done["tables"][1]["older"][0]
        assert not done["finished"]
    finish(place)


def test_reads_are_not_waited_for(place: Place, source: SlowAnswer) -> None:
    with executing(place, source, rows_of(source)):
        assert place.run_here("cold")["finished"]


def test_the_flush_of_a_buffer_is_older_though_it_is_no_statement(place: Place, source: SlowAnswer) -> None:
    written = create_view(place, f"id IN (SELECT id FROM url('{source.address}', TSV, '{COLUMNS}'))")
    # After a second, a background thread writes the rows through the view, which waits for the answer.
    place.shard.execute(
        f"CREATE TABLE {place.database}.buffer AS {written} ENGINE"
        f" = Buffer({place.database}, source, 1, 1, 1, 1000000, 1000000, 100000000, 100000000)"
    )
    values = ", ".join(f"('2024-01-01', {number})" for number in ROWS)
    place.second.execute(f"INSERT INTO {place.database}.buffer VALUES {values}")
    assert source.asked.wait(60)
    for _run in range(2):
        done = place.run_here("cold")
        assert not done["finished"], done
        assert done["tables"][1]["older"] == ["flushes of Buffer tables are being written in the background"]
    source.may_answer.set()
    wait_for(lambda: place.ids(place.twin)[1] == list(ROWS), told=place.how_it_is)
    finish(place)
    require_kept(place)


@pytest.mark.usefixtures("real_version")
def test_names_stay_while_an_asynchronous_insert_is_queued(place: Place) -> None:
    """It keeps its table: 24.8 would write it into the other one, and 25.8 would refuse it."""
    long = {"async_insert_busy_timeout_ms": 600_000}
    if place.second.knows("async_insert_busy_timeout_min_ms"):
        long |= {"async_insert_busy_timeout_min_ms": 600_000, "async_insert_busy_timeout_max_ms": 600_000}
    place.second.execute(
        f"INSERT INTO {place.name} SETTINGS async_insert = 1, wait_for_async_insert = 0,"
        f" {', '.join(f'{name} = {value}' for name, value in long.items())} VALUES ('2024-01-01', 100)"
    )
    with pytest.raises(PartMoveError, match=r"the asynchronous insert \S+ into hits is queued"):
        place.run_here("cold")
    assert place.where() == ["default"] * 2
    place.second.execute("SYSTEM FLUSH ASYNC INSERT QUEUE")
    finish(place)
    require_kept(place, 100)


def test_a_detached_table_has_no_older_insert(place: Place, source: SlowAnswer) -> None:
    """The page says so for what no server lists: DETACH … SYNC and ATTACH end everything that is older."""
    with executing(place, source, f"INSERT INTO {place.name} {rows_of(source)}") as errors:
        assert not place.run_here("cold")["finished"]
        detaching = threading.Thread(target=place.second.execute, args=(f"DETACH TABLE {place.twin} SYNC",))
        detaching.start()
        sql = f"SELECT count() FROM system.tables WHERE database = '{place.database}' AND name = 'hits_cold'"
        wait_for(lambda: place.second.value(sql) == 0)
        detaching.join(1)
        assert detaching.is_alive()
        source.may_answer.set()
        detaching.join()
        place.second.execute(f"ATTACH TABLE {place.twin}")
    assert "TABLE_IS_READ_ONLY" in errors[0]
    finish(place)
    assert place.is_at("cold")
