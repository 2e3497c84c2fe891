# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Replicas of a table with a twin are added, replaced and removed as docs/twin/replica.md says."""

from __future__ import annotations

import re
import shutil
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from kazoo.client import KazooClient

from support.ansible.twin_ledgers import LedgerGround
from support.ansible.twin_runs import DAY, NEXT, ModernTables
from support.servers.clickhouse_config import ZooKeeperSource
from support.servers.modern.server import ModernServer, ModernShard, ModernShardMaker
from support.servers.sql_server import QueryError
from support.servers.zookeeper import Ensemble

pytestmark = pytest.mark.ladder

PAGE = Path(__file__).resolve().parents[2] / "docs" / "twin" / "replica.md"
STATEMENTS = [
    line.strip().rstrip(";")
    for block in re.findall(r"```sql\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    for line in block.splitlines()
]
"""All statements of the page."""


class Place(ModernTables):
    """A table with its twin on the first two of three servers; a partition is in each of the two tables."""

    def __init__(self, whole: ModernShard, hot: Ensemble, cold: KazooClient, base: str) -> None:
        super().__init__(ModernShard(whole.servers[:2]), hot, base)
        self.connected = cold
        self.whole, self.third = whole, whole.servers[2]
        self.name = f"t_{uuid.uuid4().hex[:8]}"
        self.cold = f"{self.name}_cold"
        self.path = self.shard_path(self.name)
        path = f"{self.base}/{{shard}}/{self.name}"
        self.shard.execute(self.definition(self.name, path))
        assert self.give_twins(self.path)["changed"]
        for day, number in ((DAY, 1), (NEXT, 2)):
            self.insert_into(self.name, number, day=day)
        self.move_day("cold")

    def move_day(self, state: str) -> None:
        """Move the first of the two partitions."""
        partition = {"shard_path": self.path, "partition": DAY}
        answer = self.move(partitions=[partition], state=state)
        assert answer["counts"]["moved"] == 1, answer

    def why_not(self) -> str:
        """Return why the partition is not brought back."""
        (why,) = self.move(partitions=[{"shard_path": self.path, "partition": DAY}], state="hot")["deferred"]
        return f"{why['reason']} {why['remedy']}"

    def run(self, server: ModernServer, statement: str) -> None:
        """Execute a statement of the page."""
        assert statement in STATEMENTS
        server.execute(statement.replace("db.hits_cold", self.cold).replace("db.hits", self.name))

    def add(self, server: ModernServer) -> None:
        """Add a replica, and let its tables have all parts."""
        for table in ("db.hits", "db.hits_cold"):
            assert f"SHOW CREATE TABLE {table}" in STATEMENTS
            name = table.replace("db.hits", self.name)
            text = f"SELECT create_table_query FROM system.tables WHERE name = '{name}'"
            server.execute(self.first.value(text))
        for table in ("db.hits", "db.hits_cold"):
            self.run(server, f"SYSTEM SYNC REPLICA {table}")

    def drop_third(self, table: str) -> None:
        """Remove the third replica from ZooKeeper, as soon as the session of its server has ended."""
        end = time.monotonic() + 90
        while True:
            try:
                self.run(self.first, f"SYSTEM DROP REPLICA 'r3' FROM TABLE {table}")
            except QueryError as error:
                if "because it's active" not in str(error) or time.monotonic() > end:
                    raise
                time.sleep(0.5)
            else:
                break
        if table == "db.hits_cold" and not self.first.is_at_least(23, 5):
            # The statement has no effect.
            self.connected.delete(f"{self.path}_cold/replicas/r3", recursive=True)

    def use_all(self) -> None:
        """Take all three servers for the replicas of the table from now on."""
        self.shard = self.whole

    def kinds(self) -> list[str]:
        """Return the kinds of inconsistent findings."""
        answer = self.answer("twin_audit_info", shard_paths=[self.path])
        return [each["kind"] for each in answer["findings"]]


@pytest.fixture
def place(
    start_modern: ModernShardMaker,
    hot: Ensemble,
    cold: Ensemble,
    connect: Callable[[str], KazooClient],
    base: str,
) -> Place:
    sources = [ZooKeeperSource(each.connect_string) for each in (hot, cold)]
    whole = start_modern(sources[0], {"cold": sources[1]}, replicas=3)
    return Place(whole, hot, connect(cold.connect_string), base)


@pytest.mark.smoke("older")
def test_a_replica_is_added_and_removed(place: Place) -> None:
    place.add(place.third)
    place.use_all()
    assert (place.ids(place.name), place.ids(place.cold)) == ([[2]] * 3, [[1]] * 3)
    assert place.kinds() == []
    assert not place.give_twins(place.path)["changed"]
    place.move_day("hot")
    place.move_day("cold")
    for table in ("db.hits_cold", "db.hits"):
        place.run(place.third, f"DROP TABLE {table} SYNC")
    place.shard = ModernShard(place.whole.servers[:2])
    assert place.kinds() == []
    place.move_day("hot")


@pytest.mark.smoke("older")
def test_a_replica_without_its_twin_gets_one(place: Place) -> None:
    text = f"SELECT create_table_query FROM system.tables WHERE name = '{place.name}'"
    place.third.execute(place.first.value(text))
    place.third.execute(f"SYSTEM SYNC REPLICA {place.name}")
    place.use_all()
    assert f"has no replicated table default.{place.cold}" in place.why_not()
    assert [each["created"] for each in place.give_twins(place.path)["twins"]] == [False, False, True]
    place.third.execute(f"SYSTEM SYNC REPLICA {place.cold}")
    assert place.ids(place.cold) == [[1]] * 3
    place.move_day("hot")


@pytest.mark.smoke("older")
def test_a_server_that_lost_its_data_is_replaced(place: Place) -> None:
    place.add(place.third)
    place.third.kill()
    shutil.rmtree(place.third.data_dir)
    place.drop_third("db.hits")
    assert "SYSTEM DROP REPLICA 'r3' FROM TABLE" in place.why_not()
    assert place.kinds()[:1] == ["not_ready"]
    place.drop_third("db.hits_cold")
    assert place.kinds() == []
    place.third.start()
    place.add(place.third)
    place.use_all()
    assert (place.ids(place.name), place.ids(place.cold)) == ([[2]] * 3, [[1]] * 3)
    place.move_day("hot")
    assert place.kinds() == []


@pytest.mark.smoke("older")
def test_all_replicas_are_replaced(
    start_modern: ModernShardMaker, hot: Ensemble, cold: Ensemble, base: str
) -> None:
    """No UUID of the ledger is left; the twin is known by its znodes, and its partitions move."""
    sources = [ZooKeeperSource(each.connect_string) for each in (hot, cold)]
    whole = start_modern(sources[0], {"cold": sources[1]}, replicas=4)
    ground = LedgerGround(ModernShard(whole.servers[:2]), hot, base)
    ground.fill()
    former, new = whole.servers[:2], whole.servers[2:]
    for server in new:
        for table in (ground.name, ground.cold):
            text = f"SELECT create_table_query FROM system.tables WHERE name = '{table}'"
            server.execute(ground.first.value(text))
            server.execute(f"SYSTEM SYNC REPLICA {table}")
    if not ground.servers_read_all_ensembles:
        # These versions do not show the znodes of the twin, so that its new UUIDs are entered meanwhile.
        ground.shard = whole
        assert ground.enter()["failure"] == ""
    for server in former:
        for table in (ground.cold, ground.name):
            server.execute(f"DROP TABLE {table} SYNC")
    ground.shard = ModernShard(new)
    ground.first = new[0]
    ground.first.execute(f"OPTIMIZE TABLE {ground.cold} PARTITION ID '{DAY}' FINAL", alter_sync=2)
    assert ground.kinds() == {DAY: "cold", NEXT: "cold", "20240103": "hot"}
    (refused,) = ground.say_dropped(DAY)["refused"]
    assert (refused["partition"], "DROP" in refused["remedy"]) == (DAY, False)
    answer = ground.move_days("20240103")
    assert answer["counts"]["moved"] == 1, answer
    assert ground.enter()["failure"] == ""
    assert ground.move_days(DAY, state="hot")["counts"]["moved"] == 1
    assert ground.kinds() == {DAY: "hot", NEXT: "cold", "20240103": "cold"}
