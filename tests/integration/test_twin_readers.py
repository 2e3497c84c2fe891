# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Row policies on reading tables of real servers: what they hide, and which servers cannot have them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.reader_servers import (
    HttpReaderServers,
    policies_of,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.twin_servers import HttpTwinServers
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.refusals import Refused
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    Side,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.readers.prepare import (
    Prepared,
    ReadersOption,
    ReadersOptions,
    prepare_readers,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.readers.statements import (
    CreatePolicy,
    ReadingTable,
)
from ansible_collections.olap.partmove.plugins.module_utils._tasks.resources import SystemClock
from support.ansible.calls import Call, run_modules
from support.ansible.dying_servers import Killed
from support.ansible.read_tables import DyingParts, DyingReaders, Read
from support.ansible.twin_runs import DAY
from support.servers.modern.server import ModernShard
from support.servers.replicated import wait_for
from support.servers.sql_server import QueryError
from support.servers.zookeeper import Ensemble

pytestmark = [pytest.mark.ladder, pytest.mark.long(minutes=2)]


@pytest.fixture
def read(real_version: str, modern: ModernShard, hot: Ensemble, base: str) -> Iterator[Read]:
    del real_version  # Users of other servers may not create row policies.
    ground = Read(modern, hot, base)
    yield ground
    ground.remove()


def test_each_row_is_seen_once_at_each_step_in_both_directions(read: Read) -> None:
    prepared = read.prepare()
    assert prepared.tables == (read.all,), prepared
    read.insert_into(read.table("hits_cold"), 9)
    rows = [1, 2, 3, 4, 9]
    for to in (Side.COLD, Side.HOT):
        record = read.record(to)
        prepared.readers.follow({DAY: record})
        assert read.seen() == [rows, rows]
        read.attach(record)
        assert read.seen() == [rows, rows]
        if to is Side.COLD:
            read.insert_into(read.table("hits"), 5)
            rows = sorted([*rows, 5])
            assert read.seen() == [rows, rows]
        record = read.verified(record)
        prepared.readers.follow({DAY: record})
        assert read.seen() == [rows, rows]
        read.drop(record)
        assert read.seen() == [rows, rows]
        prepared.readers.follow({})
        assert read.seen() == [rows, rows]
        for query in (
            f"SELECT toInt64(count()) FROM {read.all}",
            f"SELECT toInt64(uniqExact(id)) FROM {read.all}",
        ):
            assert read.first.value(query) == len(rows)


def test_an_undone_attach_shows_the_source_again(read: Read) -> None:
    readers, record = read.prepare().readers, read.record()
    readers.follow({DAY: record})
    read.attach(record)
    record = read.verified(record)
    readers.follow({DAY: record})
    undone = record._replace(undoing=tuple(record.clones.values()))
    readers.follow({DAY: undone})
    rows = [1, 2, 3, 4]
    for clone in undone.undoing:
        assert read.seen() == [rows, rows]
        read.first.execute(f"ALTER TABLE {read.table('hits_cold')} DROP PART '{clone}'", alter_sync=2)
    assert read.seen() == [rows, rows]
    readers.follow({})
    assert read.seen() == [rows, rows]


def test_a_policy_is_in_force_once_it_was_altered_and_until_it_is_dropped(read: Read) -> None:
    """As long as no other change of access rights comes, neither CREATE … IN nor DROP … FROM are noticed."""
    policy = f"p ON {read.all}"
    count = f"SELECT toInt64(count()) FROM {read.all}"
    read.first.execute(f"CREATE ROW POLICY {policy} IN local_directory USING 0 AS RESTRICTIVE TO ALL")
    assert read.first.value(count) == 4
    read.first.execute(f"ALTER ROW POLICY {policy} USING 0")
    assert read.first.value(count) == 0
    read.first.execute(f"DROP ROW POLICY {policy} FROM local_directory")
    assert read.first.value(count) == 0
    read.first.execute(f"CREATE ROW POLICY {policy} IN local_directory USING 1 AS RESTRICTIVE TO ALL")
    read.first.execute(f"DROP ROW POLICY {policy}")
    assert read.first.value(count) == 4


@pytest.mark.parametrize("state", ["cold", "hot"])
def test_runs_hide_rows_and_check_mode_lists_their_statements(read: Read, state: str) -> None:
    if state == "hot":
        assert read.go("cold")["counts"]["moved"] == 2
    foretold = read.go(state, check=True)
    assert foretold["readers"] == [
        {"shard_path": read.path, "tables": [read.all], "reason": "", "left": ""}
    ], foretold
    assert read.policies() == 0
    recording = DyingReaders(read.servers.clients, 1_000, given=True)
    read.run_here(state, recording)
    listed = [each for each in foretold["diff"]["after"].splitlines() if "ROW POLICY" in each]
    assert [each.split()[0] for each in listed] == ["CREATE", "ALTER"] * 2 + ["ALTER"] * 2 + ["DROP"] * 2
    assert recording.executed == listed
    assert read.seen() == [[1, 2, 3, 4]] * 2
    assert read.policies() == 0


def test_without_the_option_no_policy_is_used(read: Read) -> None:
    done = read.go("cold", readers="none")
    assert done["counts"]["moved"] == 2
    assert done["readers"] == [
        {"shard_path": read.path, "tables": [], "reason": "the option readers is none", "left": ""}
    ]


def test_a_server_that_cannot_have_policies_defers_or_says_why(read: Read) -> None:
    over = read.table("over")
    read.shard.execute(f"CREATE TABLE {over} AS {read.all} ENGINE = Merge('{read.database}', '^hits_a')")
    refused = read.go("cold", readers="policy")
    assert {each["gate"] for each in refused["deferred"]} == {"readers_ready"}, refused
    assert over in refused["deferred"][0]["reason"]
    done = read.go("cold")
    assert done["counts"]["moved"] == 2, done["deferred"]
    assert over in done["readers"][0]["reason"]


@pytest.mark.parametrize("name", ["_table", "_part", "_partition_id"])
def test_a_policy_is_not_used_where_a_column_has_the_name_of_what_it_reads(read: Read, name: str) -> None:
    """The column of one of the tables is enough: the reading table need not have it."""
    for table in ("hits", "hits_cold"):
        read.first.execute(f"ALTER TABLE {read.table(table)} ADD COLUMN {name} String", alter_sync=2)
    refused = read.go("cold", readers="policy")
    assert {each["gate"] for each in refused["deferred"]} == {"readers_ready"}, refused
    assert f"reads the column {name} of {read.table('hits')}" in refused["deferred"][0]["reason"]
    assert read.policies() == 0
    done = read.go("cold")
    assert done["counts"]["moved"] == 2, done["deferred"]
    assert f"the column {name}" in done["readers"][0]["reason"]


def test_a_long_query_defers_partitions_and_changes_nothing(read: Read) -> None:
    # A minute, if the run takes long until it waits; nobody waits for the end.
    with reading(read, "SELECT sleepEachRow(3) FROM numbers(20) SETTINGS max_block_size = 1", 1):
        refused = read.go("cold", readers_wait="1")
        read.shard.servers[1].execute("KILL QUERY WHERE query LIKE 'SELECT sleepEachRow(3)%' SYNC")
    assert {each["gate"] for each in refused["deferred"]} == {"readers_done"}, refused
    assert read.policies() == 0
    assert read.ids(read.table("hits_cold")) == [[], []]
    assert read.go("cold")["counts"]["moved"] == 2


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("state", ["cold", "hot"])
def test_whatever_a_killed_run_leaves_each_row_is_seen_once(read: Read, state: str, *, given: bool) -> None:
    """Runs are killed at one statement after the other, about policies or parts, until one is not."""
    rows = [[1, 2, 3, 4]] * 2
    other = "hot" if state == "cold" else "cold"
    if state == "hot":
        assert read.go("cold")["counts"]["moved"] == 2
    for statements in range(20):
        dying = DyingReaders(read.servers.clients, statements, given=given)
        try:
            read.run_here(state, dying, DyingParts(read.asked(), dying))
        except Killed:
            assert read.seen() == rows, dying.executed
        else:
            break
        done = read.go(state)
        assert done["counts"]["failed"] == 0, (done, dying.executed)
        assert read.seen() == rows, dying.executed
        assert read.policies() == 0, dying.executed
        back = read.go(other)
        assert back["counts"]["moved"] == 2, (back, dying.executed)
    assert statements >= 10
    assert read.seen() == rows


def test_a_repair_of_rows_shows_them_before_it_takes_parts(read: Read) -> None:
    """The policy of a run that was killed right after its ATTACH hides the clones, which a repair keeps."""
    dying = DyingReaders(read.servers.clients, 4, given=True)
    with pytest.raises(Killed):
        read.run_here("cold", dying, DyingParts(read.asked(), dying))
    assert "ATTACH" in dying.executed[-1]
    cold = read.table("hits_cold")
    read.first.execute(f"OPTIMIZE TABLE {cold} PARTITION ID '{DAY}' FINAL", alter_sync=2)
    merged = f"SELECT count() = 0 FROM system.parts WHERE NOT active AND database = '{read.database}'"
    wait_for(lambda: all(server.value(merged) for server in read.shard.servers))
    done = read.answer("twin_repair", shard_paths=[read.path], kind="unknown", partitions=[DAY], journal="")
    assert done["counts"] == {"repaired": 1, "left": 0}, done
    assert read.ids(read.table("hits"))[0] == [4]
    assert read.seen() == [[1, 2, 3, 4]] * 2
    # The clones of the other partition stay hidden until its move is finished.
    assert read.policies() == 2
    assert read.go("cold")["counts"]["failed"] == 0
    assert (read.seen(), read.policies()) == ([[1, 2, 3, 4]] * 2, 0)


def test_the_audit_reports_a_policy_without_a_record(read: Read) -> None:
    tables = read.tables[1]
    table = ReadingTable(read.database, "hits_all")
    read.second.execute(CreatePolicy(tables, table, "local_directory").sql)
    given = {**read.given, "shard_paths": [read.path]}
    (audit,) = run_modules(Call("twin_audit_info", given))
    found = [each for each in audit["findings"] if each["kind"] == "policy_left"]
    assert [each["replica"] for each in found] == ["r2"], audit["findings"]
    drop = found[0]["reason"].rpartition(": ")[2]
    assert drop == f"DROP ROW POLICY IF EXISTS `partmove_moving_{read.path}` ON {read.all}"
    # The next run removes it as well.
    assert read.go("cold")["counts"]["moved"] == 2
    assert read.policies() == 0


def whole_table(read: Read, **options: Any) -> dict[str, Any]:
    """What table_move answers."""
    return read.answer("table_move", shard_paths=[read.path], min_age="0", journal="", **options)


def test_a_whole_table_moves_only_after_the_move_of_a_killed_run_and_its_policy(read: Read) -> None:
    """Killed between its second policies and its DROP PART, which hides what is still in both tables."""
    dying = DyingReaders(read.servers.clients, 7, given=False)
    with pytest.raises(Killed):
        read.run_here("cold", dying, DyingParts(read.asked(), dying))
    assert "ALTER ROW POLICY" in dying.executed[-2]
    assert "DROP PART" in dying.executed[-1]
    for check in (True, False):
        refused = whole_table(read, check=check)
        assert refused["failed"], refused
        assert "a row policy of twin_move may hide rows" in refused["msg"]
        assert "Run twin_move for partition" in refused["msg"]
        assert (refused["changed"], read.policies(), read.seen()) == (False, 2, [[1, 2, 3, 4]] * 2)
    assert read.go("cold")["counts"]["failed"] == 0
    assert read.policies() == 0
    done = whole_table(read)
    assert (done["failed"], done["finished"]) == (False, True), done
    assert read.ids(read.table("hits")) == [[1, 2, 3, 4]] * 2


def test_a_policy_that_is_left_after_an_exchange_is_reported_until_it_is_dropped(read: Read) -> None:
    policy = CreatePolicy(read.tables[1], ReadingTable(read.database, "hits_all"), "local_directory")
    assert whole_table(read)["finished"]
    read.second.execute(policy.sql)
    (audit,) = run_modules(Call("twin_audit_info", {**read.given, "shard_paths": [read.path]}))
    (found,) = [each for each in audit["findings"] if each["kind"] == "policy_left"]
    drop = found["reason"].rpartition(": ")[2]
    assert (found["replica"], drop) == (
        "r2",
        f"DROP ROW POLICY IF EXISTS `partmove_moving_{read.path}` ON {read.all}",
    )
    for answer in (
        whole_table(read),
        read.answer("table_move", root=read.base, min_age="0", journal=""),
    ):
        assert (answer["failed"], answer["finished"]) == (True, False), answer
        assert f"execute {drop} on " in answer["msg"], answer
    read.second.execute(drop)
    assert whole_table(read)["finished"]


@contextmanager
def reading(read: Read, query: str, server: int = 0) -> Iterator[None]:
    """Have a query run meanwhile; it may be killed."""

    def run() -> None:
        with suppress(QueryError):
            read.shard.servers[server].query(query)

    thread = threading.Thread(target=run)
    thread.start()
    listed = "SELECT toInt64(count()) FROM system.processes WHERE query LIKE '%sleepEachRow%'"
    while read.shard.servers[server].value(f"{listed} AND query_id != queryID()") == 0:
        time.sleep(0.01)
    yield
    thread.join()


@pytest.mark.parametrize("server", [0, 1])
def test_queries_that_began_before_are_waited_for(read: Read, server: int) -> None:
    readers = read.prepare().readers
    with reading(read, f"SELECT sleepEachRow(0.5) FROM {read.all}", server):
        began = time.monotonic()
        readers.follow({DAY: read.record()})
        assert time.monotonic() - began > 0.5


def test_a_query_that_takes_too_long_is_named(read: Read) -> None:
    readers = read.prepare(limit=0.2).readers
    with (
        reading(read, f"SELECT sleepEachRow(0.7) FROM {read.all}", 1),
        pytest.raises(Refused, match=r"0\.2 s readers that began before .*: query "),
    ):
        readers.follow({DAY: read.record()})
    readers.follow({})
    assert policies_of(read.servers.clients.of(read.path, "r2", ""), read.tables[1]) == ()


def test_dictionaries_that_load_are_waited_for(read: Read) -> None:
    source = f"SELECT toUInt64(id) AS id, toString(sleepEachRow(0.6)) AS text FROM {read.all}"
    read.first.execute(
        f"CREATE DICTIONARY {read.table('slow')} (id UInt64, text String) PRIMARY KEY id"
        f" SOURCE(CLICKHOUSE(QUERY '{source}')) LAYOUT(FLAT()) LIFETIME(0)"
    )
    thread = threading.Thread(
        target=lambda: read.first.execute(f"SYSTEM RELOAD DICTIONARY {read.table('slow')}")
    )
    thread.start()
    found: frozenset[str] = frozenset()
    while not any(each.startswith(f"dictionary {read.table('slow')} ") for each in found):
        found = read.readers.readers(read.tables[0])
        assert thread.is_alive() or not found
    thread.join()


def test_tables_over_a_reading_table_and_of_several_databases_are_refused(read: Read) -> None:
    assert read.prepare().tables
    over = read.table("over")
    read.first.execute(f"CREATE TABLE {over} AS {read.all} ENGINE = Merge('{read.database}', '^hits_a')")
    with pytest.raises(Refused, match=f"{over} reads {read.all}"):
        read.prepare()
    assert read.prepare("auto").tables == ()
    read.first.execute(f"DROP TABLE {over}")
    several = read.table("several")
    read.first.execute(
        f"CREATE TABLE {several} AS {read.all} ENGINE = Merge(REGEXP('^{read.database}$'), '^hits(_cold)?$')"
    )
    with pytest.raises(Refused, match=f"{several} reads .* in each of several databases"):
        read.prepare()
    read.first.execute(f"DROP TABLE {several}")
    read.first.execute(
        f"CREATE TABLE {several} AS {read.all} ENGINE = Merge('{read.database}', '^hits(_cold)?$')"
    )
    assert read.prepare().tables == (read.all, several)


def test_background_inserts_that_may_read_are_refused(read: Read) -> None:
    read.first.execute(
        f"CREATE TABLE {read.table('buffer')} AS {read.table('hits')}"
        f" ENGINE = Buffer('{read.database}', 'hits', 1, 10, 100, 10000, 1000000, 10000000, 100000000)"
    )
    assert read.prepare().tables
    read.first.execute(f"CREATE VIEW {read.table('between')} AS SELECT id FROM {read.all}")
    read.first.execute(
        f"CREATE MATERIALIZED VIEW {read.table('mv')} ENGINE = MergeTree ORDER BY id AS SELECT id"
        f" FROM {read.table('hits')} WHERE id IN (SELECT id FROM {read.table('between')})"
    )
    with pytest.raises(Refused, match=r"the materialized view .*\.mv reads .* of the engine Buffer"):
        read.prepare()


def test_a_profile_with_the_old_analyzer_is_refused(read: Read) -> None:
    """Its queries fail while the policy exists: loudly, so that nobody has wrong rows."""
    for setting in ("allow_experimental_analyzer = 0", "compatibility = '23.8'"):
        profile = f"old_{read.database}"
        read.first.execute(f"CREATE SETTINGS PROFILE {profile} SETTINGS {setting}")
        try:
            with pytest.raises(Refused, match=f"{profile} has {setting.split()[0]}"):
                read.prepare()
        finally:
            read.first.execute(f"DROP SETTINGS PROFILE {profile}")
    readers = read.prepare().readers
    readers.follow({DAY: read.record()})
    with pytest.raises(QueryError, match="ILLEGAL_PREWHERE"):
        read.first.query(f"SELECT id FROM {read.all} WHERE id > 1", allow_experimental_analyzer=0)
    readers.follow({})


def test_a_user_with_too_few_rights_is_refused_with_the_right(read: Read) -> None:
    user = f"u_{read.database}"
    for server in read.shard.servers:
        server.execute(f"CREATE USER {user} IDENTIFIED WITH no_password")
        server.execute(f"GRANT SELECT ON *.* TO {user}")
    servers = HttpTwinServers(replace(read.asked(), user=user))
    readers = HttpReaderServers(servers.clients)
    options = ReadersOptions(ReadersOption.POLICY)

    def prepare() -> Prepared:
        return prepare_readers(readers, SystemClock(), read.tables, options, has_records=False)

    try:
        for rights in ("SHOW", "DROP ROW POLICY", "CREATE ROW POLICY", "ALTER ROW POLICY"):
            with pytest.raises(Refused, match=rights):
                prepare()
            on = "*.*" if rights == "SHOW" else read.all
            for server in read.shard.servers:
                server.execute(f"GRANT {rights} ON {on} TO {user}")
        assert prepare().tables == (read.all,)
    finally:
        for server in read.shard.servers:
            server.execute(f"DROP USER {user}")


def test_a_table_whose_rows_the_user_does_not_see_is_refused(read: Read) -> None:
    read.first.execute(f"CREATE ROW POLICY nothing ON {read.all} USING 0 AS RESTRICTIVE TO default")
    with pytest.raises(Refused, match="the user sees no row of"):
        read.prepare()
    read.first.execute(f"DROP ROW POLICY nothing ON {read.all}")
    read.shard.execute(f"TRUNCATE TABLE {read.table('hits')}", alter_sync=2)
    with pytest.raises(Refused, match="the user sees no row of"):
        read.prepare()
