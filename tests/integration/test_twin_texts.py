# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What runs say of replicas and twins that real servers have in a bad state, and that the remedies help."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from kazoo.client import KazooClient

from support.ansible.twin_runs import DAY, ModernTables
from support.servers.modern.server import ModernShard
from support.servers.replicated import wait_for
from support.servers.zookeeper import Ensemble

pytestmark = pytest.mark.ladder


class Place(ModernTables):
    """A table with a partition, and its twin."""

    def __init__(self, shard: ModernShard, hot: Ensemble, base: str) -> None:
        super().__init__(shard, hot, base)
        self.name = f"t_{uuid.uuid4().hex[:8]}"
        self.cold = f"{self.name}_cold"
        self.path = self.shard_path(self.name)
        self.shard.execute(self.definition(self.name, self.path))
        assert self.give_twins(self.path)["changed"]
        self.insert_into(self.name, 1)

    def moved(self, **options: Any) -> dict[str, Any]:
        return self.move(shard_paths=[self.path], **options)

    def second_label(self) -> str:
        return f"ClickHouse at 127.0.0.1:{self.second.http_port}"

    def reason(self, answer: dict[str, Any]) -> str:
        """Return the reason and the remedy of the one partition that was not moved."""
        (why,) = answer["deferred"]
        return f"{why['reason']} | {why['remedy']}"


@pytest.fixture
def place(modern: ModernShard, hot: Ensemble, cold: Ensemble, base: str) -> Place:
    return Place(modern, hot, base)


@pytest.fixture(autouse=True)
def no_tables_left() -> None:
    """Leave tables attached: a message names a detached table only if there is no other one."""


@pytest.mark.parametrize("waits_for_drop", [False, True])
def test_a_statement_names_the_replica_that_it_waits_for(place: Place, *, waits_for_drop: bool) -> None:
    """ATTACH into the twin waits for the replica, or DROP PART of the table does."""
    if place.first.runs_one_statement:
        pytest.skip("the server answers nothing else while a statement waits")
    table = place.name if waits_for_drop else place.cold
    place.second.execute(f"SYSTEM STOP REPLICATION QUEUES {table}")
    try:
        answer = place.moved(clickhouse={"endpoints": place.shard.endpoints, "timeout": 4.0})
    finally:
        place.second.execute(f"SYSTEM START REPLICATION QUEUES {table}")
    said = place.reason(answer)
    assert f"did not finish a statement on default.{table} in time, because it waits for replica r2" in said
    assert f"r2 ({place.second_label()}), which has to execute 1 log record" in said
    assert "SYSTEM START REPLICATION QUEUES" in said
    assert "TLS" not in said
    place.shard.execute(f"SYSTEM SYNC REPLICA {table}")
    assert place.moved()["counts"]["moved"] == 1
    assert place.ids(place.cold) == [[1], [1]]
    assert place.ids(place.name) == [[], []]


@pytest.mark.smoke("older")
def test_a_detached_table_is_not_told_as_another_chroot(place: Place) -> None:
    place.second.execute(f"DETACH TABLE {place.name}")
    said = place.reason(place.moved())
    refused = place.give_twins(place.path)["msg"]
    place.second.execute(f"ATTACH TABLE {place.name}")
    for each in (said, refused):
        assert f"{place.second_label()} has 0 tables that are replica r2 of {place.path}" in each, each
        assert "the table is DETACHed" in each
        assert "ATTACH TABLE" in each
        assert "chroot" not in each
        if place.first.is_at_least(24, 8):
            assert f"ATTACH TABLE default.{place.name} on that server" in each
    wait_for(lambda: place.moved()["counts"]["moved"] == 1)


@pytest.mark.smoke("older")
def test_lost_znodes_of_a_twin_come_with_their_cure(
    place: Place, cold: Ensemble, connect: Callable[[str], KazooClient]
) -> None:
    assert place.moved()["counts"]["moved"] == 1
    connect(cold.connect_string).delete(f"{place.path}_cold", recursive=True)
    place.insert_into(place.name, 2)
    said = place.reason(place.moved())
    assert f"default.{place.cold} has lost its znodes in the ensemble cold" in said
    for statement in ("SYSTEM RESTART REPLICA", "SYSTEM RESTORE REPLICA"):
        assert f"{statement} default.{place.cold}" in said
        place.shard.execute(f"{statement} default.{place.cold}")
    audited = place.answer("twin_audit_info", shard_paths=[place.path])
    assert "lost its znodes" not in str(audited)
    assert place.ids(place.cold) == [[1], [1]]
    wait_for(lambda: place.moved()["counts"]["moved"] == 1)
    assert place.ids(place.cold) == [[1, 2], [1, 2]]


@pytest.mark.smoke("older")
def test_a_dropped_replica_is_dropped_from_the_twin_as_well(
    place: Place, cold: Ensemble, connect: Callable[[str], KazooClient]
) -> None:
    for name, path in ((place.name, place.path), (place.cold, f"cold:{place.path}_cold")):
        third = place.definition(f"{name}_r3", path).replace("{replica}", "r3")
        place.second.execute(third)
        place.second.execute(f"DETACH TABLE {name}_r3")
    place.first.execute(f"SYSTEM DROP REPLICA 'r3' FROM TABLE {place.name}")
    said = place.reason(place.moved())
    statement = f"SYSTEM DROP REPLICA 'r3' FROM TABLE default.{place.cold}"
    assert f"default.{place.cold} registers the replica r3, which" in said
    assert statement in said
    (finding,) = place.answer("twin_audit_info", shard_paths=[place.path])["findings"][:1]
    assert (finding["kind"], statement in str(finding)) == ("not_ready", True)
    place.first.execute(statement)
    if not place.first.is_at_least(23, 5):
        # The statement has no effect.
        connect(cold.connect_string).delete(f"{place.path}_cold/replicas/r3", recursive=True)
    answer = place.moved()
    assert answer["counts"]["moved"] == 1, answer["deferred"]


def test_settings_that_an_alter_wrote_in_another_order_are_alike(place: Place) -> None:
    for table, settings in (
        (place.name, ("merge_with_ttl_timeout = 7200", "old_parts_lifetime = 71")),
        (place.cold, ("old_parts_lifetime = 71", "merge_with_ttl_timeout = 7200")),
    ):
        for server in place.shard.servers:
            for setting in settings:
                server.execute(f"ALTER TABLE {table} MODIFY SETTING {setting}")
    place.first.execute(f"ALTER TABLE {place.name} COMMENT COLUMN id 'for people'", alter_sync=2)
    assert place.moved()["counts"]["moved"] == 1
    place.second.execute(f"ALTER TABLE {place.cold} MODIFY SETTING old_parts_lifetime = 72")
    said = place.reason(place.moved(state="hot"))
    assert "differ: old_parts_lifetime = 71 and old_parts_lifetime = 72" in said
    assert DAY in str(place.moved(state="hot", check=True)["deferred"])
