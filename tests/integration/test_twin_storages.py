# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Servers that keep access rights in no storage of their own: moves do without row policies, and say why."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support.ansible.twin_runs import ModernTables
from support.servers.clickhouse_config import ZooKeeperSource
from support.servers.modern.drop_in import write_drop_in
from support.servers.modern.server import ModernShard, modern_shard
from support.servers.zookeeper import Ensemble

pytestmark = pytest.mark.ladder

_USERS_XML = "<users_xml><path>users.xml</path></users_xml>"


class Place(ModernTables):
    """A table with a partition of three rows, its twin and a reading table."""

    def __init__(self, shard: ModernShard, hot: Ensemble, base: str) -> None:
        super().__init__(shard, hot, base)
        self.name = f"t_{uuid.uuid4().hex[:8]}"
        self.shard.execute(self.definition(self.name, self.shard_path(self.name)))
        assert self.give_twins(self.shard_path(self.name))["changed"]
        self.insert_into(self.name, 1, 2, 3)
        assert self.answer("twin_view", shard_paths=[self.shard_path(self.name)])["changed"]

    def go(self, state: str, **options: Any) -> dict[str, Any]:
        """What twin_move answers."""
        return self.move(shard_paths=[self.shard_path(self.name)], state=state, **options)

    def read(self) -> list[list[int]]:
        """What readers have on each replica."""
        return self.ids(f"{self.name}_all")


@contextmanager
def servers_with(
    storages: str, folder: Path, ensembles: tuple[Ensemble, Ensemble], version: str
) -> Iterator[ModernShard]:
    """Start servers whose <user_directories> has these elements beside users.xml."""
    hot, cold = (ZooKeeperSource(each.connect_string) for each in ensembles)
    shard = modern_shard(folder, hot, {"cold": cold}, version=version)
    keep(shard, storages)
    with shard:
        yield shard


def keep(shard: ModernShard, storages: str) -> None:
    """Configure the storages, for the next start."""
    for server in shard.servers:
        own = storages.format(folder=server.folder)
        element = f'<user_directories replace="replace">{_USERS_XML}{own}</user_directories>'
        write_drop_in(server, "storages", element)


def refused(answer: dict[str, Any]) -> str:
    """The reason and the remedy of the partition that was not moved."""
    (deferred,) = answer["deferred"]
    assert deferred["gate"] == "readers_ready", answer
    return f"{deferred['reason']}. {deferred['remedy']}"


def test_without_a_storage_moves_use_no_policy_until_there_is_one(
    real_version: str, hot: Ensemble, cold: Ensemble, base: str, tmp_path: Path
) -> None:
    with servers_with("", tmp_path, (hot, cold), real_version) as shard:
        place = Place(shard, hot, base)
        assert "has no local_directory in user_directories, so that it" in refused(
            place.go("cold", readers="policy")
        )
        moved = place.go("cold")
        assert moved["counts"]["moved"] == 1, moved
        assert "has no local_directory" in moved["readers"][0]["reason"]
        assert place.read() == [[1, 2, 3]] * 2
        keep(shard, "<local_directory><path>{folder}/access/</path></local_directory>")
        for server in shard.servers:
            server.restart()
        back = place.go("hot", readers="policy")
        assert back["counts"]["moved"] == 1, back
        assert place.read() == [[1, 2, 3]] * 2


def test_a_storage_that_other_servers_share_gets_no_policy(
    real_version: str, hot: Ensemble, cold: Ensemble, base: str, tmp_path: Path
) -> None:
    storage = f"<replicated><zookeeper_path>{base}/access</zookeeper_path></replicated>"
    with servers_with(storage, tmp_path, (hot, cold), real_version) as shard:
        place = Place(shard, hot, base)
        assert "has the storage replicated of access rights, which other servers share. Move with" in refused(
            place.go("cold", readers="policy")
        )
        for state, readers in (("cold", "none"), ("hot", "auto")):
            moved = place.go(state, readers=readers)
            assert moved["counts"]["moved"] == 1, moved
            assert place.read() == [[1, 2, 3]] * 2
        assert "which other servers share" in moved["readers"][0]["reason"]
        assert shard.servers[0].query("SELECT name FROM system.row_policies") == []
