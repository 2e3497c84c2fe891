# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""All tables of a root go to another ensemble and back, one after the other, on servers of two shards."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.ansible.calls import Call, run_playbook, start_module
from support.ansible.whole_roots import DAYS, Root, two_shard_servers
from support.ansible.whole_tables import Killed, dying
from support.servers.clickhouse_config import ZooKeeperSource
from support.servers.keeper.ensemble import KeeperStandIn
from support.servers.modern.server import ModernShard
from support.servers.replicated import wait_for
from support.servers.slow_answer import slow_answer
from support.servers.zookeeper import Ensemble

pytestmark = pytest.mark.ladder

Ensembles = tuple[Ensemble | KeeperStandIn, Ensemble | KeeperStandIn]


@pytest.fixture(scope="module")
def ensembles(hot_ensemble: Ensemble) -> Iterator[Ensembles]:
    """The ZooKeeper that the tables leave, and the stand-in for Keeper that they go to."""
    with KeeperStandIn(3) as keeper:
        yield hot_ensemble, keeper


@pytest.fixture(scope="module")
def two_keepers() -> Iterator[Ensembles]:
    """Two of the stand-in."""
    with KeeperStandIn(3) as old, KeeperStandIn(3) as new:
        yield old, new


@pytest.fixture(scope="module")
def two_shards(
    modern_version: str, ensembles: Ensembles, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ModernShard]:
    old, new = (each.connect_string for each in ensembles)
    with two_shard_servers(old, new, tmp_path_factory.mktemp("root"), modern_version) as servers:
        yield servers


@pytest.fixture
def root(two_shards: ModernShard, ensembles: Ensembles, base: str) -> Root:
    return Root(two_shards, ensembles[0], base)


def states(answer: dict[str, Any]) -> dict[str, str]:
    """Name of each table without its database → its state."""
    return {each["table"].partition(".")[2]: each["state"] for each in answer["outcomes"]}


def test_all_tables_go_there_and_back_in_the_order_of_the_plan(root: Root, tmp_path: Path) -> None:
    large, small = root.create("large", DAYS), root.create("small")
    alone = root.create("alone", shards=["02"])
    plan = root.call(check=True)
    assert not plan.get("failed"), plan
    assert states(plan) == {"alone": "open", "small": "open", "large": "open"}
    assert list(states(plan)) == ["alone", "small", "large"]
    (of_large,) = [each for each in plan["outcomes"] if each["table"] == large]
    assert {name: of_large[name] for name in ("partitions", "parts", "rows", "replicas")} == {
        "partitions": 6,
        "parts": 6,
        "rows": 6,
        "replicas": 4,
    }
    assert of_large["shard_paths"] == [f"{root.root}/{shard}/large" for shard in ("01", "02")]
    assert of_large["steps"][:3] == [
        "create the twin on 4 replicas",
        "move 6 partitions",
        "exchange the names on 4 replicas",
    ]
    assert (plan["estimate"]["tables"], plan["estimate"]["partitions"]) == (3, 9)
    assert plan["estimate"]["partitions_per_second"] == 25
    assert (root.where(large), plan["finished"], plan["drops"]) == ({"default"}, False, [])
    report, progress = tmp_path / "report.md", tmp_path / "progress"
    for state, ensemble in (("cold", "cold"), ("hot", "default")):
        foretold = root.call(state, check=True)
        done = root.call(state, report=str(report), progress_file=str(progress))
        assert not done.get("failed"), done
        assert (done["finished"], set(states(done).values())) == (True, {"finished"}), done
        assert [each["statement"] for each in foretold["twins"]] == [
            each["statement"] for each in done["twins"]
        ]
        assert list(states(foretold)) == list(states(done))
        assert [each["steps"] for each in foretold["outcomes"]] == [
            each["steps"] for each in done["outcomes"]
        ]
        assert len(done["exchanged"]) == 10
        assert (done["counts"]["moved"], done["estimate"]["partitions"]) == (9, 0), done
        assert [root.where(each) for each in (large, small, alone)] == [{ensemble}] * 3
        assert root.ids(large) == [[0, 1, 2]] * 4
        assert f"| {large} | finished | 6 |" in report.read_text()
        assert f"table 3 of 3, {large}; 6 partitions to move, about " in progress.read_text()
        again = root.call(state)
        assert (again["changed"], again["finished"], again["tables"]) == (False, True, []), again
        assert [each["seconds"] for each in again["outcomes"]] == [None] * 3
        assert (len(again["drops"]), again["hot_znodes"]) == (10 if state == "cold" else 0, [])


def test_the_old_tables_are_dropped_by_the_statements_of_the_result(root: Root) -> None:
    table = root.create("hits", DAYS[:2])
    done = root.call()
    assert "drop the old tables" in done["next"], done
    assert done["outcomes"][0]["hot_znodes"] > 0
    servers = {each.name: each for each in root.servers.servers}
    for each in done["drops"]:
        servers[each["replica"]].execute(each["statement"])
    assert root.ids(table) == [[0, 1]] * 4
    # Now the root has no table any more, and an answer about nothing would be no success.
    after = root.call()
    assert after["failed"], after
    assert "There is no" in after["msg"]


def test_servers_can_do_without_the_old_ensemble(
    modern_version: str, ensembles: Ensembles, tmp_path: Path, base: str
) -> None:
    """As the page says, once the old tables are dropped and nothing else is there."""
    new = ensembles[1].connect_string
    with (
        Ensemble(tmp_path / "old") as old,
        two_shard_servers(old.connect_string, new, tmp_path, modern_version) as servers,
    ):
        root = Root(servers, old, base)
        hits = root.create("hits", DAYS)
        named = {each.name: each for each in servers.servers}
        for each in root.call()["drops"]:
            named[each["replica"]].execute(each["statement"])
        for member in old.members:
            member.stop()
        for server in servers.servers:
            server.configure(replace(server.options, zookeeper=ZooKeeperSource(new)))
            server.restart()
        servers.servers[0].execute(f"INSERT INTO {hits} VALUES ('{DAYS[0]}', 9)")
        assert root.ids(hits) == [[0, 1, 2, 9]] * 2 + [[0, 1, 2]] * 2


def test_tables_go_from_one_keeper_to_another_and_back(
    modern_version: str, two_keepers: Ensembles, tmp_path: Path, base: str
) -> None:
    old, new = (each.connect_string for each in two_keepers)
    with two_shard_servers(old, new, tmp_path, modern_version) as servers:
        root = Root(servers, two_keepers[0], base)
        hits, small = root.create("hits", DAYS), root.create("small")
        for state in ("cold", "hot"):
            done = root.call(state=state)
            assert done["finished"], done
            assert (root.ids(hits), root.ids(small)) == ([[0, 1, 2]] * 4, [[0]] * 4)


def test_a_rollback_to_another_place_than_that_of_the_move_is_refused(root: Root) -> None:
    moved = root.create("hits")
    assert root.call()["finished"]
    alone = root.create("alone")
    lost = root.call("hot", path="{path}_elsewhere")
    assert (lost["failed"], lost["finished"], lost["changed"]) == (True, False, False), lost
    assert states(lost) == {"hits_cold": "refused", "alone": "finished"}
    assert "Give ensemble, path and twin as in the move" in lost["msg"], lost
    assert root.where(moved) == {"cold"}
    back = root.call("hot")
    assert (back["finished"], root.where(moved), root.where(alone)) == (True, {"default"}, {"default"}), back


def test_a_refused_table_keeps_no_other_table(root: Root, tmp_path: Path) -> None:
    hits = root.create("hits")
    root.create_view("daily", hits)
    equal = root.create("equal", [])
    for _time in range(2):
        root.firsts()[1].execute(
            f"INSERT INTO {equal} SETTINGS insert_deduplicate = 0 VALUES ('{DAYS[0]}', 1)"
        )
    root.servers.execute(f"SYSTEM SYNC REPLICA {equal}")
    plan = root.call(check=True)
    assert plan["failed"], plan
    journal = tmp_path / "journal.jsonl"
    done = root.call(journal=str(journal))
    for answer in (plan, done):
        inner = {each["gate"] for each in answer["outcomes"] if ".inner" in each["table"]}
        assert inner == {"not_inner"}, answer
    assert done["failed"], done
    assert (root.where(hits), root.where(equal), done["finished"]) == ({"cold"}, {"default"}, False)
    (refused,) = [each for each in done["outcomes"] if each["table"] == equal]
    assert (refused["state"], refused["gate"]) == ("refused", "parts_distinct"), refused
    assert "OPTIMIZE" in refused["remedy"]
    assert "3 of 4 tables refused" in done["msg"], done["msg"]
    assert {each["table"] for each in done["drops"]} == {hits}
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    ended = [
        (each["table"], each["outcome"], each["gate"]) for each in lines if each["event"] == "table_ended"
    ]
    assert ended == [(equal, "refused", "parts_distinct")] * 2 + [(hits, "finished", "")] * 2
    root.firsts()[1].execute(f"OPTIMIZE TABLE {equal} FINAL", alter_sync=2)
    done = root.call(exclude=["*..inner*"])
    assert (done["finished"], root.where(equal)) == (True, {"cold"}), done
    assert len(done["excluded"]) == 2
    assert root.ids(equal) == [[], [], [1, 1], [1, 1]]


def test_a_run_that_is_to_stop_ends_with_the_first_refused_table(root: Root) -> None:
    equal, hits = root.create("equal", []), root.create("hits", DAYS[:2])
    for _time in range(2):
        root.firsts()[0].execute(
            f"INSERT INTO {equal} SETTINGS insert_deduplicate = 0 VALUES ('{DAYS[0]}', 1)"
        )
    root.servers.execute(f"SYSTEM SYNC REPLICA {equal}")
    done = root.call(stop_at_refusal=True)
    assert (states(done), root.where(hits)) == ({"equal": "refused", "hits": "open"}, {"default"}), done


def test_a_path_that_no_server_has_as_a_table_is_named(root: Root) -> None:
    hits, lost = root.create("hits"), root.create("lost")
    root.servers.execute(f"DETACH TABLE {lost} PERMANENTLY")
    done = root.call()
    paths = [f"{root.root}/{shard}/lost" for shard in ("01", "02")]
    assert [each["shard_path"] for each in done["unknown_paths"]] == paths, done
    assert (root.where(hits), done["finished"], states(done)) == ({"cold"}, False, {"hits": "finished"})
    assert "2 paths of no known table" in done["msg"]
    left_out = root.call(exclude=["*/lost"])
    assert (left_out["finished"], left_out["excluded"]) == (True, paths), left_out
    nothing = root.call(exclude=["*"])
    assert "exclude leaves no table" in nothing["msg"], nothing
    root.servers.execute(f"ATTACH TABLE {lost}")


def test_servers_that_are_down_are_no_empty_answer(
    modern_version: str, ensembles: Ensembles, tmp_path: Path, base: str
) -> None:
    old, new = (each.connect_string for each in ensembles)
    with two_shard_servers(old, new, tmp_path, modern_version) as servers:
        root = Root(servers, ensembles[0], base)
        both, first = root.create("both"), root.create("first", shards=["01"])
        *_, second, last = servers.servers
        last.kill()
        done = root.call()
        assert (root.where(first), root.where(both)) == ({"cold"}, {"default"}), done
        assert done["failed"], done
        (refused,) = [each for each in done["outcomes"] if each["table"] == both]
        assert (refused["gate"], "cannot be reached" in refused["reason"]) == ("twin_ready", True), refused
        second.kill()
        silent = root.call()
        assert silent["failed"], silent
        assert f"It is unknown which table {root.root}/02/both is" in silent["msg"], silent
        assert (silent["finished"], silent["outcomes"]) == (False, [])
        for each in (second, last):
            each.start()
        wait_for(lambda: root.call()["finished"])
        assert root.ids(both) == [[0]] * 4


def test_a_table_with_an_older_insert_is_left_and_named(root: Root) -> None:
    first, second = root.create("first"), root.create("second", DAYS[:2])
    server = root.firsts()[0]
    if server.runs_one_statement:
        pytest.skip("the servers of this version run one statement after the other")
    with slow_answer("2024-01-01\t7\n") as source:
        sql = f"INSERT INTO {first} SELECT * FROM url('{source.address}', TSV, 'day Date, id UInt32')"
        insert = threading.Thread(target=server.execute, args=(sql,), kwargs={"http_receive_timeout": 600})
        insert.start()
        source.asked.wait(60)
        done = root.call(insert_wait="0")
        # Any statement counts, whatever its table: both tables had an exchange after its beginning.
        assert states(done) == {"first": "left", "second": "left"}, done
        assert "there began before the exchange" in done["outcomes"][0]["reason"]
        assert (done["finished"], done["drops"], done["estimate"]["tables"]) == (False, [], 2)
        source.may_answer.set()
        insert.join()
    done = root.call()
    assert (done["finished"], root.ids(first)[0], root.ids(second)[0]) == (True, [0, 7], [0, 1]), done


def test_a_killed_run_is_taken_up_while_a_writer_inserts(root: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    """Later in each run; every row is there once at the end, and on every replica."""
    tables = [root.create("small"), root.create("large", DAYS)]
    rows: dict[tuple[str, str], list[int]] = {
        (table, server.name[:2]): [0, 1, 2] if table == tables[1] else [0]
        for table in tables
        for server in root.firsts()
    }
    ended = threading.Event()

    def insert() -> None:
        for number in itertools.count(100):
            server = root.servers.servers[number % 4]
            begun = time.monotonic()
            for table in tables:
                server.execute(f"INSERT INTO {table} VALUES ('{DAYS[number % 3]}', {number})")
                rows[table, server.name[:2]].append(number)
            # An exchange during an insert leaves the table to the next run: most of the time there is none.
            if ended.wait(3 * (time.monotonic() - begun)):
                return

    writer = threading.Thread(target=insert)
    writer.start()
    try:
        for number in range(4):
            with pytest.raises(Killed), dying(monkeypatch, 3 * number + 1, given=number % 2 == 0):
                tried(root)
        wait_for(lambda: tried(root) is not None and [root.where(each) for each in tables] == [{"cold"}] * 2)
    finally:
        ended.set()
        writer.join()
    wait_for(lambda: tried(root)["finished"])
    for table in tables:
        wanted = [sorted(rows[table, server.name[:2]]) for server in root.servers.servers]
        assert root.ids(table) == wanted
        assert root.ids(f"{table}_cold") == [[]] * 4


def tried(root: Root) -> dict[str, Any]:
    """Run in this process, with merges stopped for moments."""
    return root.run_here(stop_merges=True)


def test_a_process_that_is_killed_is_taken_up(root: Root) -> None:
    """With SIGKILL, so that its locks stay until its session ends."""
    tables = [root.create(f"t{number}", DAYS) for number in range(3)]
    process = start_module(Call("table_move", {**root.given}))
    wait_for(lambda: "cold" in root.where(tables[0]))
    process.kill()
    process.communicate()
    found = [root.where(each) for each in tables]
    assert {"default"} in found, found
    done = root.call(lock_wait="60s")
    assert not done.get("failed"), done
    assert (done["finished"], [root.where(each) for each in tables]) == (True, [{"cold"}] * 3), done
    assert [root.ids(each) for each in tables] == [[[0, 1, 2]] * 4] * 3


def test_a_killed_run_is_rolled_back_from_there(root: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    tables: Sequence[str] = [root.create("first"), root.create("second", DAYS[:2])]
    # The first table of two shards is done after eight statements.
    with pytest.raises(Killed), dying(monkeypatch, 11, given=True):
        root.run_here()
    assert root.where(tables[0]) == {"cold"}
    done = root.call("hot")
    assert (done["finished"], done["drops"]) == (True, []), done
    assert [root.where(each) for each in tables] == [{"default"}] * 2
    assert [root.ids(each) for each in tables] == [[[0]] * 4, [[0, 1]] * 4]


def test_the_playbook_moves_all_tables(root: Root, tmp_path: Path) -> None:
    hits = root.create("hits")
    variables = {
        "twin_move_hot": root.given["hot"],
        "twin_move_clickhouse": root.given["clickhouse"],
        "twin_move_coordination_root": root.given["coordination_root"],
        "move_table_root": root.root,
        "move_table_min_age": "0",
        "move_table_exclude": ["none.*"],
        "move_table_report": str(tmp_path / "report.md"),
    }
    playbook = tmp_path / "site.yml"
    playbook.write_text(json.dumps([{"ansible.builtin.import_playbook": "olap.partmove.move_table"}]))
    done = run_playbook(playbook, "-e", json.dumps(variables))
    assert done.status == 0, done.told
    assert root.where(hits) == {"cold"}
    assert "DROP TABLE" in (tmp_path / "report.md").read_text()
    both = run_playbook(playbook, "-e", json.dumps({**variables, "move_table_shard_paths": ["/a"]}))
    assert "mutually exclusive" in both.output
    neither = {name: value for name, value in variables.items() if name != "move_table_root"}
    assert (
        "one of move_table_shard_paths, move_table_root"
        in run_playbook(playbook, "-e", json.dumps(neither)).output
    )
