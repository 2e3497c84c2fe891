# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Twins of tables with several disks: parts of a partition are on some of them, and stay there."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from support.ansible.twin_runs import DAY, NEXT, ModernTables
from support.servers.clickhouse_config import ZooKeeperSource
from support.servers.modern.drop_in import disks_element, write_drop_in
from support.servers.modern.server import ModernServer, ModernShard, modern_shard
from support.servers.zookeeper import Ensemble

pytestmark = pytest.mark.ladder

POLICIES = {
    "jbod": {"main": ["first", "second"]},
    "tiers": {"fast": ["default"], "slow": ["second"]},
    # It has the volume of the default policy, so that a table may change to it.
    "wide": {"default": ["default"], "slow": ["second"]},
}


OBJECTS = (
    "<storage_configuration><disks><objects><type>local_blob_storage</type><path>PATH</path></objects></disks>"
    "<policies><objects><volumes><fast><disk>default</disk></fast><slow><disk>objects</disk></slow></volumes>"
    "</objects></policies></storage_configuration>"
)
"""A policy with a local disk, and with an object storage in a folder that both servers share."""


@pytest.fixture(scope="module")
def disks(
    real_version: str,
    hot_ensemble: Ensemble,
    cold_ensemble: Ensemble,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[ModernShard]:
    """Two servers with the same policies, each with its own disks."""
    hot, cold = ZooKeeperSource(hot_ensemble.connect_string), ZooKeeperSource(cold_ensemble.connect_string)
    shard = modern_shard(tmp_path_factory.mktemp("disks"), hot, {"cold": cold}, version=real_version)
    objects = tmp_path_factory.mktemp("objects")
    for server in shard.servers:
        write_drop_in(server, "disks", disks_element(server, POLICIES))
        write_drop_in(server, "objects", OBJECTS.replace("PATH", f"{objects}/"))
    with shard:
        yield shard


class Place(ModernTables):
    """A table with a policy on each replica."""

    def __init__(self, shard: ModernShard, hot: Ensemble, base: str) -> None:
        super().__init__(shard, hot, base)
        self.name = f"t_{uuid.uuid4().hex[:8]}"
        self.cold = f"{self.name}_cold"
        self.path = self.shard_path(self.name)

    def create(self, *policies: str) -> None:
        """Create the table, with four parts of a partition."""
        for server, policy in zip(self.shard.servers, policies, strict=True):
            self.create_at(server, self.name, self.path, policy)
        for number in range(4):
            self.insert_into(self.name, number)

    def create_at(self, server: ModernServer, name: str, path: str, policy: str) -> None:
        server.execute(f"{self.definition(name, path)}, storage_policy = '{policy}'")

    def disks_of(self, table: str) -> list[Mapping[str, str]]:
        """Of each replica the disks of parts, by what the parts contain."""
        parts = f"SELECT hash_of_all_files, disk_name FROM system.parts WHERE active AND table = '{table}'"
        return [dict(server.query(parts)) for server in self.shard.servers]

    def alter(self, statement: str) -> dict[str, Any]:
        """What twin_alter answers."""
        return self.answer("twin_alter", shard_paths=[self.path], alter=statement, wait="10s", journal="")

    def columns(self) -> list[list[str]]:
        """The columns of the table and of its twin on each replica."""
        text = "SELECT name FROM system.columns WHERE table = '{}' ORDER BY position"
        return [
            [name for (name,) in server.query(text.format(table))]
            for server in self.shard.servers
            for table in (self.name, self.cold)
        ]

    def move_to(self, state: str) -> dict[str, Any]:
        return self.move(shard_paths=[self.path], state=state)


@pytest.fixture
def place(disks: ModernShard, hot: Ensemble, base: str) -> Place:
    return Place(disks, hot, base)


@pytest.mark.parametrize("policy", ["jbod", "tiers"])
def test_parts_stay_on_their_disks(place: Place, policy: str) -> None:
    place.create(policy, policy)
    if policy == "tiers":
        # Only one replica has moved a part.
        place.first.execute(f"ALTER TABLE {place.name} MOVE PART '{DAY}_1_1_0' TO VOLUME 'slow'")
    before = place.disks_of(place.name)
    assert len(set(before[0].values())) == 2, before
    assert place.give_twins(place.path)["changed"]
    assert place.move_to("cold")["counts"]["moved"] == 1
    assert (place.disks_of(place.name), place.disks_of(place.cold)) == ([{}, {}], before)
    if policy == "tiers":
        # What is cold may go to a slower disk, and comes back from there.
        place.second.execute(f"ALTER TABLE {place.cold} MOVE PARTITION ID '{DAY}' TO VOLUME 'slow'")
        before[1] = dict.fromkeys(before[1], "second")
    assert place.move_to("hot")["counts"]["moved"] == 1
    assert (place.disks_of(place.name), place.disks_of(place.cold)) == (before, [{}, {}])
    assert place.ids(place.name) == [[0, 1, 2, 3]] * 2


def test_each_replica_may_have_its_own_policy(place: Place) -> None:
    """The twin of a replica has the policy of the replica."""
    place.create("jbod", "tiers")
    place.second.execute(f"ALTER TABLE {place.name} MOVE PART '{DAY}_1_1_0' TO VOLUME 'slow'")
    before = place.disks_of(place.name)
    done = place.give_twins(place.path)
    for twin, policy in zip(done["twins"], ("jbod", "tiers"), strict=True):
        assert f"storage_policy = '{policy}'" in twin["statement"]
    moved = place.move_to("cold")
    assert moved["counts"]["moved"] == 1, moved["deferred"]
    assert (place.disks_of(place.name), place.disks_of(place.cold)) == ([{}, {}], before)
    assert place.move_to("hot")["counts"]["moved"] == 1
    assert place.ids(place.name) == [[0, 1, 2, 3]] * 2


def test_a_statement_for_replicas_with_their_own_policies_is_finished(place: Place) -> None:
    place.create("jbod", "tiers")
    assert place.give_twins(place.path)["changed"]
    for statement in ("ADD COLUMN more UInt8 DEFAULT 7", "MODIFY SETTING old_parts_lifetime = 481"):
        answer = place.alter(statement)
        assert not answer.get("failed"), answer
    assert place.columns() == [["day", "id", "more"]] * 4
    assert place.move_to("cold")["counts"]["moved"] == 1
    # The servers have different policies to begin with, and some could not take the new one.
    answer = place.alter("MODIFY SETTING storage_policy = 'wide'")
    assert "and a server may refuse the new storage policy" in answer["msg"], answer
    assert "twin_hold" in answer["msg"]
    assert place.move_to("hot")["counts"]["moved"] == 1


def test_a_statement_changes_the_policy_of_all_replicas(place: Place) -> None:
    place.create("default", "default")
    assert place.give_twins(place.path)["changed"]
    answer = place.alter("MODIFY SETTING storage_policy = 'wide'")
    assert not answer.get("failed"), answer
    policies = f"SELECT storage_policy FROM system.tables WHERE name LIKE '{place.name}%'"
    assert [server.query(policies) for server in place.shard.servers] == [[("wide",)] * 2] * 2
    assert place.move_to("cold")["counts"]["moved"] == 1


def test_a_twin_with_another_policy_is_refused(place: Place) -> None:
    place.create("tiers", "tiers")
    for server in place.shard.servers:
        place.create_at(server, place.cold, f"cold:{place.path}_cold", "jbod")
    differ = "differ: storage_policy = 'tiers' and storage_policy = 'jbod'"
    assert differ in place.give_twins(place.path)["msg"]
    answer = place.move_to("cold")
    assert [each["gate"] for each in answer["deferred"]] == ["twin_alike"], answer
    assert differ in answer["deferred"][0]["reason"], answer


def test_parts_on_an_object_storage_stay_with_zero_copy_replication(place: Place) -> None:
    for name, path in ((place.name, place.path), (place.cold, f"cold:{place.path}_cold")):
        definition = f"{place.definition(name, path)}, storage_policy = 'objects'"
        place.shard.execute(f"{definition}, allow_remote_fs_zero_copy_replication = 1")
    for day in (DAY, NEXT):
        place.insert_into(place.name, 1, day=day)
    place.second.execute(f"ALTER TABLE {place.name} MOVE PARTITION ID '{NEXT}' TO VOLUME 'slow'")
    answer = place.move_to("cold")
    assert [each["partition"] for each in answer["moved"]] == [DAY]
    (deferred,) = answer["deferred"]
    assert (deferred["partition"], deferred["gate"]) == (NEXT, "no_shared_storage")
    assert "the disk 'objects' is of the type " in deferred["reason"]
    place.second.execute(f"ALTER TABLE {place.name} MOVE PARTITION ID '{NEXT}' TO VOLUME 'fast'")
    assert place.move_to("cold")["counts"]["moved"] == 1
    assert place.ids(place.cold) == [[1, 1]] * 2
