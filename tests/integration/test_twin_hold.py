# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A hold keeps moves from a table and its twin on real servers, and waits for a partition between the two."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.partition import TwinOptions
from support.ansible.calls import Call, run_modules
from support.ansible.dying_servers import DyingServers, run_until_killed
from support.ansible.twin_runs import DAY, ModernTables
from support.servers.modern.server import ModernShard
from support.servers.zookeeper import Ensemble

pytestmark = pytest.mark.ladder


class Held(ModernTables):
    """A table with its twin, and the module that holds both."""

    def __init__(self, shard: ModernShard, hot: Ensemble, base: str) -> None:
        super().__init__(shard, hot, base)
        self.name = f"t_{uuid.uuid4().hex[:8]}"
        self.path = self.shard_path(self.name)
        for name, path in ((self.name, self.path), (f"{self.name}_cold", f"cold:{self.path}_cold")):
            shard.execute(self.definition(name, path))
        self.insert_into(self.name, 1, 2)

    def hold(self, **options: Any) -> dict[str, Any]:
        """What twin_hold answers."""
        given = {name: self.given[name] for name in ("hot", "coordination_root")}
        (answer,) = run_modules(
            Call("twin_hold", {**given, "shard_paths": [self.path], "owner": "me", **options})
        )
        return answer

    def moved(self) -> dict[str, Any]:
        """What twin_move answers."""
        return self.move(partitions=[{"shard_path": self.path, "partition": DAY}])


@pytest.fixture
def held(modern: ModernShard, hot: Ensemble, base: str) -> Held:
    return Held(modern, hot, base)


def test_a_move_respects_a_hold(held: Held) -> None:
    assert held.hold(reason="a migration")["changed"]
    answer = held.moved()
    assert [each["gate"] for each in answer["deferred"]] == ["not_held"], answer
    assert "is held by me until" in answer["deferred"][0]["reason"]
    assert not answer["changed"]
    assert held.hold(state="absent")["changed"]
    assert held.moved()["counts"]["moved"] == 1


def test_a_hold_waits_for_a_partition_between_the_tables(held: Held) -> None:
    servers = DyingServers(held.asked(), 1, given=False)
    run_until_killed(lambda: held.move_here(servers, "cold", held.path, DAY, TwinOptions()))
    answer = held.hold(reason="a migration", lock_wait="45s")
    assert answer["failed"], answer
    assert "Run twin_move for partition" in answer["refused"][0]["remedy"]
    assert held.moved()["counts"]["moved"] == 1
    assert held.hold(reason="a migration")["changed"]
