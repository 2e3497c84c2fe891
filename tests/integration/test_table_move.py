# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whole tables go to another ensemble and back under their names, on servers of a modern ClickHouse."""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.pair_servers import HttpPairServers
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.table.table_switch import (
    TableSwitch,
)
from support.ansible.calls import run_playbook
from support.ansible.whole_tables import DAYS, Killed, Place, dying
from support.servers.clickhouse_config import ZooKeeperSource
from support.servers.modern.server import (
    ENGINE,
    ModernOptions,
    ModernServer,
    ModernShard,
    ModernShardMaker,
)
from support.servers.replicated import wait_for
from support.servers.slow_answer import slow_answer
from support.servers.sql_server import QueryError
from support.servers.zookeeper import Ensemble

pytestmark = pytest.mark.ladder


@pytest.fixture
def place(modern: ModernShard, hot: Ensemble, base: str) -> Place:
    return Place(modern, hot, base)


@pytest.mark.smoke
def test_a_table_goes_there_and_back_under_its_name(place: Place) -> None:
    place.insert(1, 2)
    place.insert(3)
    place.insert(4, day=DAYS[1])
    place.shard.execute(f"CREATE TABLE {place.database}.seen (id UInt32) ENGINE = MergeTree ORDER BY id")
    place.shard.execute(
        f"CREATE MATERIALIZED VIEW {place.database}.view TO {place.database}.seen"
        f" AS SELECT id FROM {place.name}"
    )
    checked = place.call(check=True)
    assert (checked["changed"], place.where()) == (True, ["default"] * 2), checked
    assert "CREATE TABLE" in checked["diff"]["after"]
    for state, ensemble in (("cold", "cold"), ("hot", "default")):
        if ensemble == "default":
            foretold = place.call(state, check=True)
            assert "EXCHANGE TABLES" in foretold["diff"]["after"], foretold
            assert place.is_at("cold")
        done = place.call(state)
        assert not done.get("failed"), done
        assert [each["replica"] for each in done["exchanged"]] == ["r1", "r2"]
        assert {each["rows_before"] for each in done["tables"]} == {len(place.rows)}
        assert {(each["rows"], each["left_parts"], each["older_inserts"]) for each in done["tables"]} == {
            (len(place.rows), 0, 0)
        }
        assert (len({each["digest"] for each in done["tables"]}), done["differing"]) == (1, [])
        (znodes,) = done["hot_znodes"]
        # A part of two rows, and one for each insert since, on both replicas.
        parts = 0 if state == "cold" else 2 * (len(place.rows) - 1)
        assert (znodes["parts"], znodes["block_numbers"]) == (parts, 2)
        assert place.is_at(ensemble)
        again = place.call(state)
        assert (again["changed"], again["exchanged"], again["diff"]["after"]) == (False, [], ""), again
        assert again["finished"], again
        # What is inserted by the name is where the name is, and the view sees it once.
        place.insert(len(place.rows) + 1, on=1)
        assert place.is_at(ensemble)
    assert place.ids(f"{place.database}.seen") == [[], [5, 6]]


def test_the_playbooks_move_a_table_and_let_readers_have_both(place: Place, tmp_path: Path) -> None:
    place.insert(1)
    place.insert(2, day=DAYS[1])
    given = place.all_of_it
    variables = {
        "twin_move_hot": given["hot"],
        "twin_move_clickhouse": given["clickhouse"],
        "twin_move_coordination_root": given["coordination_root"],
        "move_table_shard_paths": given["shard_paths"],
        "twin_view_shard_paths": given["shard_paths"],
        "move_table_stop_merges": True,
    }
    playbook = tmp_path / "site.yml"
    names = ("move_table", "twin_view")
    playbook.write_text(
        json.dumps([{"ansible.builtin.import_playbook": f"olap.partmove.{each}"} for each in names])
    )
    done = run_playbook(playbook, "-e", json.dumps(variables))
    assert done.status == 0, done.told
    # Partitions of today are moved after the exchange.
    assert place.is_at("cold")
    assert place.ids(f"{place.database}.hits_all") == [[1, 2], [1, 2]]


def test_runs_that_are_killed_at_any_statement_are_taken_up(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ATTACH and DROP PART, the exchange of each replica, and the same for what came between."""
    place.insert(1)
    for number, (statements, given) in enumerate([(1, True), (2, True), (3, False)]):
        state, ensemble = (("cold", "cold"), ("hot", "default"))[number % 2]
        with pytest.raises(Killed), dying(monkeypatch, statements, given=given):
            place.run_here(state)
        # By the name, which is that of different tables where one has exchanged only.
        place.insert(10 * number + 10, on=0)
        place.insert(10 * number + 11, on=1)
        with suppress(Killed), dying(monkeypatch, 3 - number // 2, given=not given):
            place.run_here(state)
        place.run_here(state)
        assert place.is_at(ensemble), (number, place.where())
        # Each part is a statement of the next round.
        place.shard.servers[0].execute(f"OPTIMIZE TABLE {place.name} FINAL", alter_sync=2)


def test_rows_survive_inserts_and_merges_all_the_time(place: Place) -> None:
    """Both replicas insert by the name while it goes there; what is in the way of a step is told."""
    place.insert(1)
    # Merged parts are shown as long as servers do that where nothing else is set.
    settings = "max_replicated_merges_in_queue = 100, old_parts_lifetime = 480"
    place.shard.execute(f"ALTER TABLE {place.name} MODIFY SETTING {settings}")
    ended = threading.Event()

    def insert(server: ModernServer, first: int) -> None:
        number = first
        while not ended.is_set():
            try:
                server.execute(f"INSERT INTO {place.name} VALUES ('{DAYS[0]}', {number})")
            except QueryError as error:
                # An insert that begins at the moment of the exchange: clients have to send it again.
                if "(TABLE_UUID_MISMATCH)" not in str(error):
                    raise
                continue
            place.rows.append(number)
            number += 2
            # Each part is a statement to drop it.
            ended.wait(0.5)

    threads = [
        threading.Thread(target=insert, args=(server, first))
        for first, server in enumerate(place.shard.servers, 2)
    ]
    for thread in threads:
        thread.start()
    try:
        wait_for(lambda: place.tried() and place.where() == ["cold"] * 2, told=place.how_it_is)
        # Though the replicas of the table with the name never come to rest.
        wait_for(lambda: place.tried() and place.is_finished, told=place.how_it_is)
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    wait_for(lambda: place.tried() and place.is_at("cold"), told=place.how_it_is)


def test_a_run_that_was_killed_goes_back_from_there(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.insert(1)
    # ATTACH, DROP PART, and the exchange of the first replica.
    with pytest.raises(Killed), dying(monkeypatch, 3, given=False):
        place.run_here("cold")
    assert place.where() == ["cold", "default"]
    place.insert(2, on=0)
    place.insert(3, on=1)
    refused = place.move(shard_paths=[place.path])
    assert [each["gate"] for each in refused["deferred"]] == ["twin_ready"] * len(refused["deferred"]), (
        refused
    )
    assert not place.call("hot").get("failed")
    assert place.is_at("default")


def test_a_server_that_is_killed_at_its_exchange(
    start_modern: ModernShardMaker,
    hot: Ensemble,
    cold: Ensemble,
    base: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    auxiliary = {"cold": ZooKeeperSource(cold.connect_string)}
    place = Place(start_modern(ZooKeeperSource(hot.connect_string), auxiliary), hot, base)
    place.insert(1)
    _first, second = place.shard.servers
    exchange = HttpPairServers.exchange

    def give(servers: HttpPairServers, pair: Any) -> None:
        if pair.replica.name == "r1":
            exchange(servers, pair)
            return
        killer = threading.Thread(target=second.kill)
        killer.start()
        exchange(servers, pair)
        killer.join()

    with monkeypatch.context() as patch:
        patch.setattr(HttpPairServers, "exchange", give)
        with pytest.raises(PartMoveError, match=r"was exchanged on 1 of 2 replicas.*Run again"):
            place.run_here("cold")
    refused = place.call("cold")
    assert refused["failed"], refused
    second.start()
    wait_for(lambda: not place.call("cold").get("failed"))
    assert place.is_at("cold")


def test_an_insert_that_ends_after_the_exchange_is_told_and_moved_later(place: Place) -> None:
    place.insert(1)
    second = place.shard.servers[1]
    if second.runs_one_statement:
        pytest.skip("the servers of this version run one statement after the other")
    with slow_answer("2024-01-01\t7\n") as source:
        insert = threading.Thread(
            target=second.execute,
            args=(
                f"INSERT INTO {place.name} SELECT * FROM url('{source.address}', TSV, 'day Date, id UInt32')",
            ),
            kwargs={"http_receive_timeout": 600},
        )
        insert.start()
        source.asked.wait(60)
        for _run in range(2):
            done = place.call(insert_wait="0")
            assert not done.get("failed"), done
            assert [each["older_inserts"] for each in done["tables"]] == [0, 1], done
            assert "FROM url(" in done["tables"][1]["older"][0]
            assert (done["finished"], "; not finished: on " in done["msg"]) == (False, True)
            assert place.is_at("cold")
        source.may_answer.set()
        insert.join()
    place.rows.append(7)
    place.shard.execute(f"SYSTEM SYNC REPLICA {place.twin}")
    assert place.ids(place.twin) == [[7], [7]]
    done = place.call()
    assert (done["counts"]["moved"], done["finished"]) == (1, True), done
    assert place.is_at("cold")


@pytest.mark.smoke
@pytest.mark.parametrize("engine", ["Ordinary", "Overlay"])
def test_databases_whose_tables_cannot_be_exchanged_are_refused_first(
    modern: ModernShard, modern_version: str, hot: Ensemble, base: str, engine: str
) -> None:
    """The second one is the default database of chDB alone."""
    if engine == "Overlay" and modern_version != ENGINE:
        pytest.skip("real servers have no database of this engine")
    place = Place(modern, hot, base, engine)
    refused = place.call()
    assert refused["failed"]
    assert "only those of Atomic" in refused["msg"], refused
    assert (refused["twins"], refused["exchanged"]) == ([], [])


@pytest.mark.parametrize(
    ("arrange", "words"),
    [
        (["RENAME TABLE {twin} TO {name}_away"], "neither is named as {table}_cold"),
        (["ALTER TABLE {twin} ADD COLUMN more UInt8"], "differ"),
        (
            [
                "SYSTEM STOP MERGES {name}",
                "ALTER TABLE {name} DELETE WHERE id = 2 SETTINGS mutations_sync = 0",
            ],
            "mutation",
        ),
        (
            ["INSERT INTO {name} SETTINGS insert_deduplicate = 0 VALUES ('2024-01-01', 1)"],
            "ATTACH clones only one",
        ),
    ],
)
def test_what_stands_in_the_way_of_an_exchange(place: Place, arrange: list[str], words: str) -> None:
    place.insert(1)
    assert place.give_twins(place.path)["changed"]
    for sql in arrange:
        # An ALTER and an INSERT reach the other replica by themselves.
        on = 2 if sql.startswith("RENAME") else 1
        for server in place.shard.servers[:on]:
            server.execute(sql.format(name=place.name, twin=place.twin))
    refused = place.call()
    assert refused["failed"], refused
    assert words in refused["msg"], refused
    assert (refused["exchanged"], place.where()) == ([], ["default"] * 2)


def test_a_partition_that_is_between_the_tables_keeps_the_names(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.insert(1)
    with pytest.raises(Killed), dying(monkeypatch, 0, given=True):
        place.run_here("cold")
    # The record is of a partition that nobody moves on, so that only the look before the exchange sees it.
    monkeypatch.setattr(TableSwitch, "move_before", lambda _table: None)
    with pytest.raises(PartMoveError, match="is between the two, says"):
        place.run_here("cold")
    assert place.where() == ["default"] * 2


def test_a_way_home_needs_the_place_of_the_twin(place: Place) -> None:
    place.insert(1, 2)
    stays = place.call("hot")
    assert (stays["failed"], stays["changed"], stays["finished"]) == (False, False, True), stays
    # Before the exchange the table is at home, and its rows are in the twin.
    assert place.give_twins(place.path)["changed"]
    for state in ("hot", "cold"):
        lost = place.call("hot", path="{path}_elsewhere")
        assert lost["failed"], (state, lost)
        assert "Give ensemble, path and twin as in the move" in lost["msg"]
        assert (lost["changed"], lost["finished"]) == (False, False), lost
        done = place.call(state)
        assert done["finished"], done
        assert place.is_at("cold" if state == "cold" else "default")
    lost = place.call("hot", path="{path}_elsewhere")
    assert "may be the other table of the pair" in lost["msg"], lost
    place.shard.servers[1].execute(f"RENAME TABLE {place.name} TO {place.name}_away")
    lost = place.call("hot")
    assert lost["failed"], lost
    place.shard.servers[1].execute(f"RENAME TABLE {place.name}_away TO {place.name}")
    assert place.call("hot")["finished"]
    place.shard.servers[1].execute(f"DROP TABLE {place.twin} SYNC")
    lost = place.call("hot")
    assert lost["failed"], lost
    assert "and other replicas have one" in lost["msg"]
    place.shard.servers[0].execute(f"DROP TABLE {place.twin} SYNC")
    assert place.call("hot")["finished"]


def test_two_shards_are_exchanged_one_after_the_other(
    modern_version: str, tmp_path: Path, hot: Ensemble, cold: Ensemble, base: str
) -> None:
    source, auxiliary = ZooKeeperSource(hot.connect_string), {"cold": ZooKeeperSource(cold.connect_string)}
    servers = [
        ModernServer(
            name,
            tmp_path / name,
            ModernOptions(source, auxiliary, {"shard": shard, "replica": name}, version=modern_version),
        )
        for shard in ("01", "02")
        for name in (f"{shard}a", f"{shard}b")
    ]
    with ModernShard(servers) as shards:
        place = Place(shards, hot, base)
        for number, server in enumerate(servers[::2]):
            server.execute(f"INSERT INTO {place.name} VALUES ('2024-01-01', {number})")
        paths = [f"{base}/{shard}/hits" for shard in ("01", "02")]
        # One that cannot be exchanged keeps the other.
        servers[2].execute(
            f"INSERT INTO {place.name} VALUES ('2024-01-01', 1)", insert_deduplication_token="x"
        )
        refused = place.call(shard_paths=paths)
        assert "ATTACH clones only one" in refused["msg"], refused
        assert place.where() == ["default"] * 4
        servers[2].execute(f"OPTIMIZE TABLE {place.name} FINAL", alter_sync=2)
        done = place.call(shard_paths=paths)
        assert not done.get("failed"), done
        assert [each["replica"] for each in done["exchanged"]] == ["01a", "01b", "02a", "02b"]
        assert (place.where(), place.ids(place.name)) == (["cold"] * 4, [[0], [0], [1, 1], [1, 1]])
        assert not place.call(shard_paths=paths)["changed"]
