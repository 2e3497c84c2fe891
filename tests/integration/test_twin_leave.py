# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The steps of docs/twin/leave.md on real servers: partitions come back, and the twin goes."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from support.ansible.twin_runs import ModernTables
from support.servers.modern.server import ENGINE, ModernShard
from support.servers.zookeeper import Ensemble

pytestmark = pytest.mark.ladder


class Fleet(ModernTables):
    """A table with a filled twin and a reading table."""

    def __init__(self, shard: ModernShard, hot: Ensemble, base: str, *, in_front: bool) -> None:
        super().__init__(shard, hot, base)
        self.name = f"t_{uuid.uuid4().hex[:8]}"
        self.path = self.shard_path(self.name)
        self.shard.execute(self.definition(self.name, self.path))
        self.insert_into(self.name, 1, 2)
        self.insert_into(self.name, 3, day="20240102")
        self.twin = f"{self.name}_{'hot_' if in_front else ''}cold"
        options: dict[str, Any] = {"twin": "{table}_hot_cold"} if in_front else {}
        assert self.give_twins(self.path, **options)["changed"]
        seen = self.answer("twin_view", shard_paths=[self.path], in_front=in_front)
        assert seen["changed"], seen
        assert self.move(shard_paths=[self.path])["counts"]["moved"] == 2
        self.insert_into(f"{self.name}_hot" if in_front else self.name, 4)


def test_readers_keep_the_name_of_a_table_beside(modern: ModernShard, hot: Ensemble, base: str) -> None:
    fleet = Fleet(modern, hot, base, in_front=False)
    name, reading, one = fleet.name, f"{fleet.name}_all", f"{fleet.name}_one"
    _bring_back(fleet)
    modern.execute(f"CREATE VIEW {one} AS SELECT * FROM {name}")
    modern.execute(f"EXCHANGE TABLES {reading} AND {one}")
    assert _engines(fleet, one) == ["Merge", "Merge"]
    modern.execute(f"DROP TABLE {one}")
    _drop_twin(fleet)
    assert fleet.ids(reading) == [[1, 2, 3, 4]] * 2
    _audit_after(fleet)


def test_readers_keep_the_name_of_a_table_in_front(
    modern: ModernShard, modern_version: str, hot: Ensemble, base: str
) -> None:
    if modern_version == ENGINE:
        pytest.skip("tables of the default database of chDB cannot be exchanged")
    fleet = Fleet(modern, hot, base, in_front=True)
    name, below = fleet.name, f"{fleet.name}_hot"
    _bring_back(fleet)
    modern.execute(f"EXCHANGE TABLES {name} AND {below}")
    assert _engines(fleet, below) == ["Merge", "Merge"]
    modern.execute(f"DROP TABLE {below}")
    _drop_twin(fleet)
    fleet.insert_into(name, 5)
    assert fleet.ids(name) == [[1, 2, 3, 4, 5]] * 2
    _audit_after(fleet)


def _bring_back(fleet: Fleet) -> None:
    back = fleet.move(shard_paths=[fleet.path], state="hot")
    assert back["counts"]["moved"] == 2, back
    audited = fleet.answer("twin_audit_info", shard_paths=[fleet.path])
    assert (audited["drifted"], audited["findings"]) == (False, [])


def _engines(fleet: Fleet, table: str) -> list[str]:
    return [
        str(each.value(f"SELECT engine FROM system.tables WHERE name = '{table}'"))
        for each in fleet.shard.servers
    ]


def _drop_twin(fleet: Fleet) -> None:
    for each in fleet.shard.servers:
        assert int(each.value(f"SELECT count() FROM {fleet.twin}")) == 0
        detached = f"SELECT count() FROM system.detached_parts WHERE table = '{fleet.twin}'"
        assert int(each.value(detached)) == 0
        each.execute(f"DROP TABLE {fleet.twin} SYNC")


def _audit_after(fleet: Fleet) -> None:
    """The ledger lists nothing any more, so the twin is no loss."""
    audited = fleet.answer("twin_audit_info", shard_paths=[fleet.path])
    assert audited["drifted"] is False, audited
    assert audited["findings"] == [], audited
