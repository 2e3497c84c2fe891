# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a twin lost is told by its ledger on servers of a modern ClickHouse, and retention is not a loss."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support.ansible.twin_ledgers import LedgerGround
from support.ansible.twin_runs import DAY, NEXT
from support.servers.clickhouse_config import ZooKeeperSource
from support.servers.kazoo_client import connected
from support.servers.modern.server import ModernShard, ModernShardMaker
from support.servers.replicated import wait_for
from support.servers.zookeeper import Ensemble, EnsembleOptions

pytestmark = [pytest.mark.ladder, pytest.mark.long(minutes=2)]

HERE = "20240103"
SOUND = {DAY: "cold", NEXT: "cold", HERE: "hot"}


@pytest.fixture
def ground(modern: ModernShard, hot: Ensemble, base: str) -> LedgerGround:
    ground = LedgerGround(modern, hot, base)
    ground.fill()
    return ground


def test_merges_mutations_and_late_rows_are_no_loss(ground: LedgerGround) -> None:
    assert ground.kinds() == SOUND
    assert {each: entry.rows for each, entry in ground.entries.items()} == {DAY: 3, NEXT: 1}
    ground.first.execute(f"OPTIMIZE TABLE {ground.cold} FINAL", alter_sync=2)
    assert ground.kinds() == SOUND
    for table in (ground.name, ground.cold):
        # Without this, servers execute no mutation.
        for server in ground.shard.servers:
            server.execute(f"ALTER TABLE {table} MODIFY SETTING max_replicated_merges_in_queue = 16")
        ground.alter(table, "DELETE WHERE id = 3")
    assert ground.kinds() == SOUND
    assert ground.move_days(HERE)["counts"]["moved"] == 1
    assert ground.enter()["counts"]["entered"] == 2
    again = ground.enter()
    assert (again["changed"], again["counts"]["unchanged"]) == (False, 3)
    ground.insert_into(ground.name, 9)
    assert ground.kinds() == {**SOUND, HERE: "cold", DAY: "late"}


def test_partitions_that_come_back_leave_the_ledger(ground: LedgerGround) -> None:
    assert ground.move_days(DAY, state="hot")["counts"]["moved"] == 1
    assert (list(ground.entries), ground.kinds()) == ([NEXT], {**SOUND, DAY: "hot"})
    assert ground.move_days(NEXT, state="hot")["counts"]["moved"] == 1
    assert (ground.entries, ground.kinds()) == ({}, {DAY: "hot", NEXT: "hot", HERE: "hot"})


def test_twin_that_was_filled_before_there_was_a_ledger_is_entered(ground: LedgerGround) -> None:
    before = {each: entry.rows for each, entry in ground.entries.items()}
    ground.forget()
    foretold = ground.enter(check=True)
    assert (foretold["counts"]["entered"], ground.entries) == (2, {})
    answer = ground.answer("twin_ledger", shard_paths=[ground.path], journal="")
    assert answer["entered"] == foretold["entered"]
    assert {each: entry.rows for each, entry in ground.entries.items()} == before


@pytest.mark.parametrize("state", ["hot", "cold"])
def test_partition_of_which_the_twin_lacks_rows_is_not_moved(ground: LedgerGround, state: str) -> None:
    ground.alter(ground.cold, f"DROP PART '{ground.first.parts(ground.cold)[0]}'")
    ground.insert_into(ground.name, 9)
    answer = ground.move_days(DAY, NEXT, state=state)
    assert [(each["partition"], each["gate"]) for each in answer["deferred"]] == [(DAY, "twin_whole")]
    assert ground.kinds()[DAY] == "lost"


def test_partition_dropped_from_the_twin_by_hand_is_lost_until_somebody_says_so(ground: LedgerGround) -> None:
    ground.alter(ground.cold, f"DROP PARTITION ID '{DAY}'")
    audit = ground.audit()
    assert audit["drifted"]
    assert audit["summary"][0] == (
        f"Twins lack rows that the ledger lists, or are other tables: {ground.path} {DAY}"
    )
    assert ground.kinds() == {**SOUND, DAY: "lost"}
    assert [each["partition"] for each in ground.enter()["refused"]] == [DAY]
    answer = ground.say_dropped(DAY, NEXT)
    assert [each["partition"] for each in answer["removed"]] == [DAY]
    assert [(each["partition"], each["reason"]) for each in answer["refused"]] == [
        (NEXT, "the twin has all that the ledger lists")
    ]
    assert (list(ground.entries), ground.kinds()) == ([NEXT], {NEXT: "cold", HERE: "hot"})


def test_part_dropped_from_the_twin_by_hand_is_lost(ground: LedgerGround) -> None:
    first, _other = (each for each in ground.first.parts(ground.cold) if each.startswith(DAY))
    ground.alter(ground.cold, f"DROP PART '{first}'")
    assert ground.kinds()[DAY] == "lost"
    ground.first.execute(f"OPTIMIZE TABLE {ground.cold} FINAL", alter_sync=2)
    assert ground.kinds()[DAY] == "lost"
    assert ground.say_dropped(DAY)["counts"]["entered"] == 1
    assert ground.kinds() == SOUND


def test_detached_part_is_named(ground: LedgerGround) -> None:
    first = ground.first.parts(ground.cold)[0]
    ground.alter(ground.cold, f"DETACH PART '{first}'")
    (found,) = (each for each in ground.audit()["findings"] if each["partition"] == DAY)
    assert (found["kind"], found["parts"]) == ("set_aside", [first])
    assert [each["partition"] for each in ground.say_dropped(DAY)["refused"]] == [DAY]
    ground.alter(ground.cold, f"ATTACH PART '{first}'")
    assert ground.kinds() == SOUND


def test_partition_dropped_from_both_tables_is_retention(ground: LedgerGround) -> None:
    ground.alter(ground.cold, f"DROP PARTITION ID '{DAY}'")
    ground.alter(ground.name, f"DROP PARTITION ID '{DAY}'")
    if not ground.servers_read_all_ensembles:
        assert ground.kinds()[DAY] == "lost"
        return
    assert ground.kinds() == {NEXT: "cold", HERE: "hot"}
    answer = ground.enter()
    assert ([each["partition"] for each in answer["removed"]], answer["failure"]) == ([DAY], "")
    assert list(ground.entries) == [NEXT]


def test_rows_that_expired_by_a_ttl_are_retention(modern: ModernShard, hot: Ensemble, base: str) -> None:
    """All rows are of the year 2024, and had expired before they came."""
    ground = LedgerGround(modern, hot, base, more=" TTL day + INTERVAL 1 DAY")
    ground.fill()
    assert all(each.expires for entry in ground.entries.values() for each in entry.ranges)
    for server in ground.shard.servers:
        for setting in ("max_replicated_merges_in_queue = 16", "merge_with_ttl_timeout = 1"):
            server.execute(f"ALTER TABLE {ground.cold} MODIFY SETTING {setting}")
    ground.first.execute(f"OPTIMIZE TABLE {ground.cold} FINAL", alter_sync=2)
    gone = f"SELECT count() = 0 FROM system.parts WHERE active AND table = '{ground.cold}'"
    wait_for(lambda: all(server.value(gone) == 1 for server in ground.shard.servers))
    kinds = ground.kinds()
    lost = [each for each in (DAY, NEXT) if kinds.get(each) == "lost"]
    assert lost == ([] if ground.servers_read_all_ensembles else [DAY, NEXT]), kinds
    if not lost:
        assert [each["partition"] for each in ground.enter()["removed"]] == [DAY, NEXT]
        assert ground.entries == {}


def test_twin_that_was_dropped_is_gone(ground: LedgerGround) -> None:
    ground.shard.execute(f"DROP TABLE {ground.cold} SYNC")
    answer = ground.audit()
    assert (answer["drifted"], ground.kinds()) == (True, {"": "twin_gone"})
    assert "2 partitions should be in" in answer["findings"][0]["reason"]
    assert ground.enter()["refused"][0]["partition"] == ""
    refused = ground.give_twins(ground.path)
    assert (refused["failed"], refused["changed"]) == (True, False)
    assert "lists 2 partitions in the twin" in refused["msg"]
    assert ground.say_dropped(DAY, NEXT)["counts"]["removed"] == 2
    assert ground.kinds() == {"": "without_twin"}
    assert len(ground.give_twins(ground.path)["twins"]) == 2


def test_twin_of_a_renamed_table_is_named(ground: LedgerGround) -> None:
    if not ground.has_uuids:
        pytest.skip("tables of this database have no UUID by which a renamed one could be found")
    renamed = f"{ground.name}_new"
    ground.shard.execute(f"RENAME TABLE {ground.name} TO {renamed}")
    (found,) = ground.audit()["findings"]
    assert found["kind"] == "twin_gone"
    assert f"default.{ground.cold} has this UUID now" in found["reason"]
    refused = ground.give_twins(ground.path)
    assert (refused["failed"], refused["changed"]) == (True, False)
    assert f"default.{ground.cold} has this UUID now" in refused["msg"]
    assert ground.say_dropped(DAY)["refused"][0]["partition"] == ""
    ground.shard.execute(f"RENAME TABLE {ground.cold} TO {renamed}_cold")
    assert ground.kinds() == SOUND


def test_twin_replaced_by_an_empty_one_lacks_everything(ground: LedgerGround) -> None:
    ground.shard.execute(f"DROP TABLE {ground.cold} SYNC")
    ground.shard.execute(ground.definition_of(ground.cold, f"cold:{ground.path}_cold"))
    replaced = {"": "twin_replaced"} if ground.has_uuids else {}
    assert ground.kinds() == {**replaced, DAY: "lost", NEXT: "lost", HERE: "hot"}
    whole = ["twin_whole"] if ground.has_uuids else []
    assert [each["gate"] for each in ground.move_days(HERE)["deferred"]] == whole
    assert {each["partition"] for each in ground.enter()["refused"]} == {DAY, NEXT}


def test_twin_created_again_with_other_rows_is_another_one(ground: LedgerGround) -> None:
    """Its parts have the blocks of the former ones, and at least as many rows."""
    ground.shard.execute(f"DROP TABLE {ground.cold} SYNC")
    ground.shard.execute(ground.definition_of(ground.cold, f"cold:{ground.path}_cold"))
    for numbers in ((7, 8), (9,)):
        ground.insert_into(ground.cold, *numbers)
    ground.insert_into(ground.cold, 10, day=NEXT)
    if not ground.has_uuids:
        assert {DAY: "lost", NEXT: "lost"}.items() <= ground.kinds().items()
        return
    ground.first.execute(f"OPTIMIZE TABLE {ground.cold} FINAL", alter_sync=2)
    assert ground.kinds()[""] == "twin_replaced"
    assert [each["gate"] for each in ground.move_days(HERE)["deferred"]] == ["twin_whole"]
    assert {each["partition"] for each in ground.enter()["refused"]} == {DAY, NEXT}
    dropped = ground.say_dropped(DAY, NEXT)
    assert (dropped["counts"]["entered"], dropped["counts"]["removed"]) == (0, 0)
    assert ground.kinds()[""] == "twin_replaced"


def test_twin_copied_from_a_backup_is_entered_if_all_rows_are_equal(ground: LedgerGround) -> None:
    kept = f"{ground.name}_kept"
    ground.shard.execute(f"RENAME TABLE {ground.cold} TO {kept}")
    ground.shard.execute(ground.definition_of(ground.cold, f"cold:{ground.path}_new"))
    assert ground.kinds()[""] == "twin_replaced"
    ground.alter(ground.cold, f"ATTACH PARTITION ID '{DAY}' FROM {kept}")
    answer = ground.enter()
    assert {each["partition"] for each in answer["refused"]} == {NEXT}
    ground.alter(ground.cold, f"ATTACH PARTITION ID '{NEXT}' FROM {kept}")
    assert ground.enter()["failure"] == ""
    assert ground.kinds() == SOUND


def test_table_replaced_by_another_one_is_told(ground: LedgerGround) -> None:
    ground.shard.execute(f"DROP TABLE {ground.name} SYNC")
    ground.shard.execute(ground.definition_of(ground.name, ground.path))
    replaced = {"": "table_replaced"} if ground.has_uuids else {}
    assert ground.kinds() == {**replaced, DAY: "cold", NEXT: "cold"}
    assert ground.enter()["failure"] == ""
    assert ground.kinds() == {DAY: "cold", NEXT: "cold"}


def test_table_that_is_gone_leaves_its_ledger(ground: LedgerGround) -> None:
    ground.shard.execute(f"DROP TABLE {ground.name} SYNC")
    assert ground.kinds() == {"": "table_gone"}


def test_restored_replica_has_its_rows_under_other_numbers(ground: LedgerGround, cold: Ensemble) -> None:
    """Parts as they were entered are known by their contents; merged ones need a word."""
    ground.first.execute(f"OPTIMIZE TABLE {ground.cold} PARTITION ID '{DAY}' FINAL", alter_sync=2)
    with connected(cold.connect_string) as client:
        client.delete(f"{ground.path}_cold", recursive=True)
    ground.shard.execute(f"SYSTEM RESTART REPLICA {ground.cold}")
    ground.shard.execute(f"SYSTEM RESTORE REPLICA {ground.cold}")
    ground.shard.execute(f"SYSTEM SYNC REPLICA {ground.cold}")
    assert ground.ids(ground.cold) == [[1, 2, 3, 4]] * 2
    assert ground.kinds() == {**SOUND, DAY: "lost"}
    (found,) = (each for each in ground.audit()["findings"] if each["partition"] == DAY)
    assert found["reason"].endswith("3 rows of 3 are there, under other block numbers")
    assert ground.say_dropped(DAY)["counts"]["entered"] == 1
    assert ground.kinds() == SOUND


def test_exchange_of_the_whole_table_closes_the_ledger(ground: LedgerGround) -> None:
    if not ground.has_uuids:
        pytest.skip("tables of this database cannot be exchanged")
    answer = ground.answer("table_move", shard_paths=[ground.path], min_age="0", journal="")
    assert not answer["failed"], answer
    assert (ground.entries, ground.kinds()) == ({}, {"": "exchanged"})
    back = ground.answer("table_move", shard_paths=[ground.path], state="hot", min_age="0", journal="")
    assert not back["failed"], back
    assert (ground.entries, ground.kinds()) == ({}, {DAY: "hot", NEXT: "hot", HERE: "hot"})


class SetBack:
    """Servers with an auxiliary ensemble of their own, which is set back to an earlier time."""

    def __init__(self, ground: LedgerGround, cold: Ensemble, copy: Path) -> None:
        self.ground = ground
        self.cold = cold
        self._copy = copy

    def keep(self) -> None:
        """Copy what the ensemble has now while it runs, as a backup does."""
        for member in self.cold.members:
            shutil.copytree(member.data_dir, self._copy / member.files.folder.name)

    def set_back(self) -> None:
        """Have the ensemble as it was copied, and start the servers again."""
        for server in self.ground.shard.servers:
            server.stop()
        self.cold.stop()
        for member in self.cold.members:
            shutil.rmtree(member.data_dir)
            shutil.copytree(self._copy / member.files.folder.name, member.data_dir)
        self.cold.start()
        for server in self.ground.shard.servers:
            server.start()
        self.wait()

    def wait(self) -> None:
        """Wait until every server can write to its twin."""
        ready = f"SELECT min(NOT is_readonly) FROM system.replicas WHERE table = '{self.ground.cold}'"
        wait_for(lambda: all(each.value(ready) == 1 for each in self.ground.shard.servers))


def test_parts_set_aside_after_the_ensemble_was_set_back_are_named(
    start_modern: ModernShardMaker, hot: Ensemble, base: str, tmp_path: Path
) -> None:
    with Ensemble(tmp_path / "cold", EnsembleOptions()) as cold:
        shard = start_modern(
            ZooKeeperSource(hot.connect_string), {"cold": ZooKeeperSource(cold.connect_string)}
        )
        ground = LedgerGround(shard, hot, base)
        for day in (DAY, NEXT, HERE):
            ground.insert_into(ground.name, 1, 2, day=day)
        assert ground.move_days(DAY, NEXT)["counts"]["moved"] == 2
        world = SetBack(ground, cold, tmp_path / "copy")
        world.keep()
        assert ground.move_days(HERE)["counts"]["moved"] == 1
        assert ground.kinds() == {DAY: "cold", NEXT: "cold", HERE: "cold"}
        world.set_back()
        (found,) = (each for each in ground.audit()["findings"] if each["partition"] == HERE)
        assert (found["kind"], ground.ids(ground.cold)[0]) == ("set_aside", [1, 1, 2, 2]), found
        assert [each["partition"] for each in ground.enter()["refused"]] == [HERE]
        ground.rename_as_told(ground.repair("set_aside"))
        assert ground.repair("set_aside")["counts"] == {"repaired": 1, "left": 0}
        assert ground.kinds() == {DAY: "cold", NEXT: "cold", HERE: "cold"}
        assert ground.ids(ground.cold)[0] == [1, 1, 1, 2, 2, 2]
