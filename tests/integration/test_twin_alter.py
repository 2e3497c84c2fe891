# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One statement changes a table, its twin and the reading table on real servers, once, however runs end."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.bars import Bar, path_of_bar
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.partition import TwinOptions
from support.ansible.calls import Call, run_modules
from support.ansible.dying_servers import DyingServers, run_until_killed
from support.ansible.twin_alters import Altered, DyingAlters
from support.ansible.twin_runs import DAY, NEXT
from support.servers.modern.server import ENGINE, ModernShard
from support.servers.replicated import wait_for
from support.servers.zookeeper import Ensemble

pytestmark = [pytest.mark.ladder, pytest.mark.long(minutes=2)]


@pytest.fixture
def altered(modern: ModernShard, hot: Ensemble, base: str) -> Altered:
    return Altered(modern, hot, base)


ALL = ["day", "id", "v", "w"]


# Of each table several statements, one after the other: the text, and the columns afterwards.
STRUCTURES: dict[str, list[tuple[str, list[str]]]] = {
    "columns": [
        ("ADD COLUMN x UInt8 DEFAULT 7 AFTER id", ["day", "id", "x", "v", "w"]),
        ("ADD COLUMN IF NOT EXISTS v UInt32", ["day", "id", "x", "v", "w"]),
        ("MODIFY COLUMN v UInt64", ["day", "id", "x", "v", "w"]),
        ("RENAME COLUMN w TO `a b`", ["day", "id", "x", "v", "a b"]),
        ("DROP COLUMN `a b`", ["day", "id", "x", "v"]),
        ("ADD COLUMN w String, ADD INDEX i w TYPE minmax GRANULARITY 1", ["day", "id", "x", "v", "w"]),
    ],
    "of each replica": [
        ("MODIFY COLUMN v COMMENT 'a value'", ALL),
        ("COMMENT COLUMN v 'another value'", ALL),
        ("MODIFY COMMENT 'a table'", ALL),
        ("MODIFY SETTING old_parts_lifetime = 20", ALL),
        ("RESET SETTING old_parts_lifetime", ALL),
    ],
    "what the table has besides": [
        ("ADD INDEX i v TYPE minmax GRANULARITY 1", ALL),
        ("MATERIALIZE INDEX i", ALL),
        ("CLEAR INDEX i", ALL),
        ("DROP INDEX i", ALL),
        ("ADD PROJECTION p (SELECT id, v ORDER BY v)", ALL),
        ("MATERIALIZE PROJECTION p", ALL),
        ("DROP PROJECTION p", ALL),
        ("ADD CONSTRAINT c CHECK id > 0", ALL),
        ("DROP CONSTRAINT c", ALL),
    ],
    "TTL and values": [
        ("MODIFY TTL day + INTERVAL 50 YEAR", ALL),
        ("MATERIALIZE TTL", ALL),
        ("REMOVE TTL", ALL),
        ("CLEAR COLUMN v", ALL),
        ("MATERIALIZE COLUMN v", ALL),
    ],
    "keys": [
        ("ADD COLUMN k UInt8, MODIFY ORDER BY (id, k)", [*ALL, "k"]),
        ("MODIFY SAMPLE BY id", [*ALL, "k"]),
        ("REMOVE SAMPLE BY", [*ALL, "k"]),
    ],
}


@pytest.mark.parametrize("kind", STRUCTURES)
def test_changes_of_the_structure(altered: Altered, kind: str) -> None:
    before = ALL
    for text, columns in STRUCTURES[kind]:
        foretold = altered.alter(text, check=True)
        assert altered.columns(altered.cold) == [before, before], text
        answer = altered.alter(text)
        assert not answer["failed"], answer
        tables = (altered.name, altered.cold, altered.reading)
        assert [altered.columns(each) for each in tables] == [[columns, columns]] * 3, text
        executed = answer["altered"][0]["statements"]
        said = foretold["altered"][0]["statements"]
        assert set(executed) <= set(said) or "COMMENT" in text, (executed, said)
        assert answer["diff"]["after"].count("ALTER TABLE") >= 2, answer
        before = columns
    back = altered.moved("hot")
    assert back["counts"]["moved"] == 1, back["deferred"]
    assert altered.rows("id")[0][0] == [[1], [2], [3]]


def test_readers_never_read_empty_values_of_a_column_that_leaves(altered: Altered) -> None:
    statements = altered.alter("DROP COLUMN w")["altered"][0]["statements"]
    assert [each.split()[2].rsplit(".", 1)[-1] for each in statements[:4]] == [
        *[altered.reading] * 2,
        altered.name,
        altered.cold,
    ]


def test_a_mutation_changes_each_row_once(altered: Altered) -> None:
    foretold = altered.alter("UPDATE v = v + 1 WHERE id = 1 OR id = 3", check=True)
    assert len(foretold["altered"][0]["statements"]) == 2
    answer = altered.alter("UPDATE v = v + 1 WHERE id = 1 OR id = 3")
    assert not answer["failed"], answer
    assert altered.rows() == [[[[3, 11]], [[1, 11], [2, 10]], [[1, 11], [2, 10], [3, 11]]]] * 2
    assert altered.alter("DELETE WHERE id IN (1, 3)")["changed"]
    assert altered.rows() == [[[], [[2, 10]], [[2, 10]]]] * 2
    assert altered.moved("hot")["counts"]["moved"] == 1


OTHERS = (
    "id IN OTHER",
    "id IN (OTHER)",
    "id NOT IN ((OTHER))",
    "v = 1 OR id IN (default.OTHER)",
    "id GLOBAL IN (`OTHER`)",
    "in(id, OTHER)",
    "has([notIn(id, (OTHER))], 1)",
    "id IN numbers(3)",
    "id IN (SELECT id FROM OTHER)",
)


@pytest.mark.smoke("older")
def test_a_mutation_that_reads_another_table_is_refused(altered: Altered) -> None:
    other = f"{altered.name}_other"
    altered.first.execute(f"CREATE TABLE {other} (id UInt32) ENGINE = Memory")
    altered.first.execute(f"INSERT INTO {other} VALUES (2)")
    # To the server a name in brackets is a table as well.
    assert altered.first.query(f"SELECT number FROM numbers(4) WHERE number IN ({other})") == [(2,)]
    for condition in (each.replace("OTHER", other) for each in OTHERS):
        for text in (f"DELETE WHERE {condition}", f"UPDATE v = 1 WHERE {condition}"):
            answer = altered.alter(text, check=True)
            assert "reads another table" in answer["msg"], (text, answer)
    for condition in ("id IN (7)", "id IN (7, 8)", "id IN (id + 7, 9)", "in(id, (7, 8))", "has([7], id)"):
        answer = altered.alter(f"DELETE WHERE {condition}", check=True)
        assert len(answer["altered"][0]["statements"]) == 2, answer


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("statements", [0, 1])
@pytest.mark.parametrize("again", [True, False])
def test_a_mutation_of_a_killed_run_is_executed_once(
    altered: Altered, statements: int, given: bool, again: bool
) -> None:
    text = "UPDATE v = v + 1 WHERE 1"
    run_until_killed(lambda: altered.alter_here(text, DyingAlters(altered, statements, given=given)))
    assert [each["gate"] for each in altered.moved("hot")["deferred"]] == ["alter_finished"]
    answer = altered.alter(text if again else None)
    assert not answer["failed"], answer
    assert answer["altered"][0]["finished"] == text
    assert altered.rows() == [[[[3, 11]], [[1, 11], [2, 11]], [[1, 11], [2, 11], [3, 11]]]] * 2
    assert [altered.mutations(each) for each in (altered.name, altered.cold)] == [1, 1]
    assert altered.moved("hot")["counts"]["moved"] == 1


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("statements", range(6))
def test_a_change_of_columns_of_a_killed_run_is_finished(
    altered: Altered, statements: int, given: bool
) -> None:
    text = "RENAME COLUMN w TO x"
    run_until_killed(lambda: altered.alter_here(text, DyingAlters(altered, statements, given=given)))
    assert [each["gate"] for each in altered.moved("hot")["deferred"]] == ["alter_finished"]
    answer = altered.alter()
    assert not answer["failed"], answer
    columns = ["day", "id", "v", "x"]
    assert [altered.columns(each) for each in (altered.name, altered.cold, altered.reading)] == [
        [columns, columns]
    ] * 3
    assert altered.moved("hot")["counts"]["moved"] == 1


def test_a_partition_is_dropped_detached_and_attached_in_both(altered: Altered) -> None:
    altered.insert_into(altered.name, 4)
    assert altered.alter(f"DETACH PARTITION ID '{DAY}'")["changed"]
    assert altered.rows("id") == [[[[3]], [], [[3]]]] * 2
    answer = altered.alter(f"ATTACH PARTITION ID '{DAY}'")
    assert not answer["failed"], answer
    assert altered.rows("id") == [[[[3], [4]], [[1], [2]], [[1], [2], [3], [4]]]] * 2
    assert altered.alter(f"DROP PARTITION ID '{DAY}'")["changed"]
    assert altered.rows("id") == [[[[3]], [], [[3]]]] * 2
    # The twin has nothing of it.
    assert len(altered.alter(f"DROP PARTITION ID '{NEXT}'")["altered"][0]["statements"]) == 1
    assert not altered.alter(f"DROP PARTITION ID '{NEXT}'")["changed"]


def test_no_audit_misses_a_partition_that_was_dropped_from_both(altered: Altered) -> None:
    entered = altered.answer("twin_ledger", shard_paths=[altered.path], journal="")
    assert not entered["failed"], entered
    assert altered.alter(f"DROP PARTITION ID '{DAY}'")["changed"]
    audited = altered.answer("twin_audit_info", shard_paths=[altered.path])
    assert (audited["drifted"], audited["complete"]) == (False, True), audited


def test_no_audit_misses_a_partition_that_a_delete_emptied(altered: Altered) -> None:
    assert altered.alter("DELETE WHERE id IN (1, 2)")["changed"]
    if not altered.first.runs_one_statement:
        # The servers remove parts without rows.
        active = f"SELECT count() FROM system.parts WHERE active AND table = '{altered.cold}'"
        wait_for(lambda: all(each.query(active) == [(0,)] for each in altered.shard.servers))
    audited = altered.answer("twin_audit_info", shard_paths=[altered.path])
    assert (audited["drifted"], audited["complete"]) == (False, True), audited


def test_a_mutation_of_both_explains_no_lost_partition(altered: Altered) -> None:
    assert altered.alter("UPDATE v = v + 1 WHERE 1")["changed"]
    altered.first.execute(f"ALTER TABLE {altered.cold} DROP PARTITION ID '{DAY}'")
    (found,) = altered.answer("twin_audit_info", shard_paths=[altered.path])["findings"]
    assert (found["kind"], found["partition"]) == ("lost", DAY), found


def test_a_partition_is_replaced_in_the_table_and_dropped_from_the_twin(altered: Altered) -> None:
    source = altered.source(7, day=DAY)
    altered.insert_into(altered.name, 4)
    answer = altered.alter(f"REPLACE PARTITION ID '{DAY}' FROM default.{source}")
    assert not answer["failed"], answer
    assert altered.rows("id") == [[[[3], [7]], [], [[3], [7]]]] * 2


@pytest.mark.parametrize("remedy", ["none", "drop from both", "keep"])
def test_a_replace_of_a_killed_run_in_an_empty_partition_is_a_question(altered: Altered, remedy: str) -> None:
    """Its parts may be those of an INSERT since then."""
    day = "20240103"
    text = f"REPLACE PARTITION ID '{day}' FROM default.{altered.source(7, day=day)}"
    servers = DyingAlters(altered, 0, given=remedy != "none")
    run_until_killed(lambda: altered.alter_here(text, servers))
    if remedy != "none":
        answer = altered.alter()
        assert f"Partition {day} of default.{altered.name} had no part before the REPLACE" in answer["msg"]
        znode = path_of_bar(altered.root, Bar.ALTER, altered.path)
        assert f"and delete the znode {znode} of hot. Else DROP it from both first" in answer["msg"]
        for table in (altered.cold, *([altered.name] if remedy == "drop from both" else [])):
            altered.first.execute(f"ALTER TABLE {table} DROP PARTITION ID '{day}'")
    if remedy == "keep":
        altered.forget_statement()
    answer = altered.alter()
    assert not answer["failed"], answer
    assert altered.rows("id") == [[[[3], [7]], [[1], [2]], [[1], [2], [3], [7]]]] * 2
    assert altered.moved("hot")["counts"]["moved"] == 1


def test_deleted_rows_leave_both_tables(altered: Altered) -> None:
    if not altered.first.is_at_least(24, 1):
        pytest.skip(f"{altered.first.options.version} has no APPLY DELETED MASK")
    for table in (altered.name, altered.cold):
        altered.first.execute(f"DELETE FROM {table} WHERE id IN (1, 3)", mutations_sync=2)
    assert altered.masked() == 2
    answer = altered.alter("APPLY DELETED MASK")
    assert not answer["failed"], answer
    assert altered.masked() == 0
    assert altered.rows("id") == [[[], [[2]], [[2]]]] * 2


@pytest.mark.parametrize(("statements", "given"), [(1, True), (2, True), (4, False), (5, True)])
def test_both_tables_are_renamed_and_readers_find_them(
    altered: Altered, modern_version: str, statements: int, given: bool
) -> None:
    """All the time where a database replaces tables; the default one of chDB has to drop them first."""
    replaces = modern_version != ENGINE
    new = f"{altered.name}_new"
    foretold = altered.alter(check=True, rename=new)["altered"][0]["statements"]
    servers = DyingAlters(altered, statements, given=given)
    run_until_killed(lambda: altered.alter_here(None, servers, rename=new))
    for server in altered.shard.servers if replaces else ():
        assert server.query(f"SELECT id FROM {altered.reading} ORDER BY id") == [(1,), (2,), (3,)]
    assert [each["gate"] for each in altered.moved("hot")["deferred"]] == ["alter_finished"]
    answer = altered.alter()
    assert not answer["failed"], answer
    assert len({*answer["altered"][0]["statements"]} - {*foretold}) == 0
    assert not replaces or len(answer["altered"][0]["statements"]) < len(foretold)
    altered.name, altered.cold = new, f"{new}_cold"
    assert altered.rows("id") == [[[[3]], [[1], [2]], [[1], [2], [3]]]] * 2
    assert altered.moved("hot")["counts"]["moved"] == 1


@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("statements", [0, 1])
def test_rows_inserted_after_a_truncate_stay(altered: Altered, statements: int, given: bool) -> None:
    servers = DyingAlters(altered, statements, given=given)
    run_until_killed(lambda: altered.alter_here(None, servers, truncate=True))
    is_done = statements == 1 or given
    if is_done:
        altered.insert_into(altered.name, 9)
    answer = altered.alter()
    assert not answer["failed"], answer
    assert altered.rows("id") == [[[[9]] if is_done else [], [], [[9]] if is_done else []]] * 2


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("ADD COLUMN v UInt8", "already exists"),
        ("UPDATE v = 1 WHERE nothing = 1", "Neither table was changed"),
        ("DROP PART 'x'", "PARTITION ID"),
        ("MOVE PARTITION ID 'x' TO TABLE other", "MOVE PARTITION is no kind of statement"),
        ("ADD COLUMN", "Syntax error"),
        ("DROP COLUMN v SETTINGS mutations_sync = 0", "SETTINGS"),
        ("DROP COLUMN v FORMAT Null", "Leave SETTINGS and FORMAT out"),
    ],
)
def test_a_refused_statement_leaves_nothing(altered: Altered, text: str, says: str) -> None:
    answer = altered.alter(text)
    assert answer["failed"]
    assert says in answer["msg"]
    assert altered.columns(altered.reading) == [ALL, ALL]
    assert altered.moved("hot")["counts"]["moved"] == 1


def test_a_statement_waits_for_a_partition_between_the_tables(altered: Altered) -> None:
    servers = DyingServers(altered.asked(), 1, given=False)
    run_until_killed(lambda: altered.move_here(servers, "hot", altered.path, DAY, TwinOptions()))
    answer = altered.alter("ADD COLUMN x UInt8")
    assert answer["failed"]
    assert "Run twin_move for partition" in answer["msg"]
    assert altered.moved("hot")["counts"]["moved"] == 1
    assert altered.alter("ADD COLUMN x UInt8")["changed"]


def test_a_hold_keeps_statements_away_and_waits_for_them(altered: Altered) -> None:
    run_until_killed(lambda: altered.alter_here("ADD COLUMN x UInt8", DyingAlters(altered, 1, given=False)))
    given = {name: altered.given[name] for name in ("hot", "coordination_root")}
    hold = Call("twin_hold", {**given, "shard_paths": [altered.path], "owner": "me", "reason": "a test"})
    (refused,) = run_modules(hold)
    assert "Run twin_alter" in refused["refused"][0]["remedy"]
    assert altered.alter()["changed"]
    (held,) = run_modules(hold)
    assert held["changed"]
    assert "is held by me" in altered.alter("DROP COLUMN x")["msg"]


def test_the_statement_that_is_missing_may_be_executed_by_hand(altered: Altered) -> None:
    servers = DyingAlters(altered, 1, given=False)
    run_until_killed(lambda: altered.alter_here("UPDATE v = v + 1 WHERE 1", servers))
    statements: Sequence[str] = altered.alter(check=True)["altered"][0]["statements"]
    assert len(statements) == 1
    altered.first.execute(statements[0], mutations_sync=2)
    assert altered.alter()["altered"][0]["statements"] == []
    assert altered.rows()[0][1] == [[1, 11], [2, 11]]
