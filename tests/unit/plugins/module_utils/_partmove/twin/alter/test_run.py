# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a run checks before it begins, and what check mode shows."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    AlterUnfinished,
    PartMoveError,
    ShardHeld,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.bars import Bar, Hold, path_of_bar
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import LeaseKeeper
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.alter import run as alter_run
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.alter.statement import (
    Statement,
    truncate,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.record import Records
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side, TwinTables
from support.memory.alters import AlterBench
from support.memory.twins import PATH

TEXTS = [
    "ADD COLUMN x Int8",
    "RENAME COLUMN id TO x",
    "MODIFY SETTING x",
    "MATERIALIZE COLUMN id",
    "DROP PARTITION ID 'p1'",
    "REPLACE PARTITION ID 'p1' FROM a.b",
    "RENAME TO fresh",
    truncate(),
]


@pytest.mark.parametrize("text", TEXTS, ids=str)
def test_check_mode_shows_the_statements_and_changes_nothing(text: str | Statement) -> None:
    bench = AlterBench()
    before = bench.hot.data()
    foretold = bench.run(text, check_mode=True).statements
    assert (bench.hot.data(), bench.servers.executed) == (before, [])
    done = bench.run(text).statements
    # Both replicas of the model have one reading table.
    assert list(dict.fromkeys(foretold)) == list(dict.fromkeys(done))


def test_check_mode_shows_what_an_unfinished_statement_lacks() -> None:
    bench = AlterBench()
    assert bench.run_killed("UPDATE v = v + 1 WHERE 1", 14)
    report = bench.run(None, check_mode=True)
    assert report.finished == "UPDATE v = v + 1 WHERE 1"
    assert 1 <= len(report.statements) <= 2
    assert bench.is_recorded


def test_an_unfinished_statement_keeps_other_runs_away() -> None:
    bench = AlterBench()
    assert bench.run_killed("UPDATE v = v + 1 WHERE 1", 12)
    keeper = LeaseKeeper(bench.hot.open(), None, bench.hot.clock, owner="a move", wait_seconds=0)
    with pytest.raises(AlterUnfinished):
        keeper.acquire(PATH)
    bench.run(None)
    keeper.acquire(PATH)


def test_a_hold_keeps_statements_away() -> None:
    bench = AlterBench()
    hold = Hold("me", "a test", 2**60)
    bench.client.create(path_of_bar("/partmove", Bar.HOLD, PATH), hold.data, makepath=True)
    with pytest.raises(ShardHeld):
        bench.run("ADD COLUMN x Int8")
    assert bench.servers.executed == []


def test_a_partition_between_the_tables_has_to_arrive_first() -> None:
    bench = AlterBench()
    records = Records(bench.hot.open(), "/partmove", PATH)
    bench.client.create(records.path("p1"), b"a record", makepath=True)
    with pytest.raises(PartMoveError, match="Run twin_move for partition p1 first"):
        bench.run("ADD COLUMN x Int8")
    assert not bench.is_recorded
    assert bench.servers.executed == []


def test_nothing_begins_amid_another_change() -> None:
    bench = AlterBench()
    bench.servers.progress = ["a statement is in progress: ALTER"]
    with pytest.raises(PartMoveError, match="a statement is in progress"):
        bench.run("ADD COLUMN x Int8")
    bench.servers.of[Side.COLD].mutations = ["DELETE WHERE 1"]
    bench.servers.failing = "x"
    with pytest.raises(PartMoveError, match="mutation 0000000000 of db.hits_cold is not done"):
        bench.run("ADD COLUMN x Int8")
    assert bench.servers.executed == []


def test_nothing_begins_while_the_tables_differ() -> None:
    bench = AlterBench()
    bench.servers.of[Side.COLD].columns.append("more")
    with pytest.raises(PartMoveError, match="differ"):
        bench.run("UPDATE v = 1 WHERE 1")
    assert bench.servers.executed == []


def test_a_record_of_other_tables_is_not_continued() -> None:
    bench = AlterBench()
    assert bench.run_killed("UPDATE v = v + 1 WHERE 1", 12)

    def elsewhere(tables: TwinTables) -> TwinTables:
        return tables._replace(cold=tables.cold._replace(path="/elsewhere"))

    bench.servers.alter = elsewhere
    executed = list(bench.servers.executed)
    with pytest.raises(PartMoveError, match="delete the znode /partmove/twin-alters"):
        bench.run(None)
    assert bench.servers.executed == executed


def test_a_record_has_a_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alter_run, "MOST_BYTES", 100)
    bench = AlterBench()
    with pytest.raises(PartMoveError, match="larger than 100 bytes"):
        bench.run(truncate())
    assert not bench.is_recorded


def test_a_statement_that_the_server_does_not_know_is_refused_first() -> None:
    bench = AlterBench()
    with pytest.raises(PartMoveError, match="Syntax error"):
        bench.run("SYNTAX error")
    assert bench.servers.executed == []
