# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Every znode of an ensemble is counted once, in its table or outside of tables."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.census import Census, Places
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.kind import ZnodeKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.outside import DDL_PATH
from support.memory.censuses import PLACES, SESSION, SHARD, ZnodeTree, plain_tree


def elsewhere(census: Census) -> dict[ZnodeKind, int]:
    return {kind: counts.znodes for kind, counts in census.outside_tables.items()}


def places_of(census: Census) -> dict[str, int]:
    return {name: counts.znodes for name, counts in census.others.by_name.items()}


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/keeper/feature_flags", ZnodeKind.KEEPER),
        ("/zookeeper/quota", ZnodeKind.ZOOKEEPER),
        ("/partmove/locks", ZnodeKind.COORDINATION),
        (f"{DDL_PATH}/query-0000000001/finished", ZnodeKind.DDL),
        ("/kafka/brokers/1", ZnodeKind.OTHER),
        ("/partmover", ZnodeKind.OTHER),
        ("/clickhouse/tables/01/hits2", ZnodeKind.OTHER),
        (f"{SHARD}/new_thing", ZnodeKind.UNKNOWN),
        ("/clickhouse/task_queue", ZnodeKind.FOLDER),
    ],
)
def test_a_znode_and_its_parents_are_counted_by_kind(path: str, kind: ZnodeKind) -> None:
    before, after = plain_tree().census(), plain_tree().add(path).census()
    grown = {each for each, counts in after.kinds.items() if counts.znodes > _znodes(before, each)}
    assert kind in grown
    assert grown <= {kind, ZnodeKind.FOLDER}


def test_the_total_counts_all_znodes() -> None:
    tree = ZnodeTree().add("/a/b", b"12345").add("/zookeeper").add("/ä")
    census = tree.census()
    assert (census.total.znodes, census.total.bytes) == (5, len("//a/a/b/zookeeper") + 5 + 3)
    assert elsewhere(census) == {ZnodeKind.FOLDER: 1, ZnodeKind.OTHER: 3, ZnodeKind.ZOOKEEPER: 1}


def test_znodes_outside_of_tables_are_counted_by_topmost_path() -> None:
    tree = (
        plain_tree()
        .add("/kafka/brokers/1")
        .add("/clickhouse/mine/users")
        .add("/clickhouse/tables/01/gone/log")
    )
    assert places_of(tree.census()) == {
        "/clickhouse/mine": 2,
        "/clickhouse/tables/01/gone": 2,
        "/kafka": 3,
    }


def test_a_table_name_may_be_a_prefix_of_another_name() -> None:
    census = plain_tree().add_table(f"{SHARD}_2").census()
    first, second = census.tables[SHARD], census.tables[f"{SHARD}_2"]
    assert first.total.znodes > second.total.znodes
    assert set(second.kinds) == {ZnodeKind.TABLE}
    assert second.total.znodes == plain_tree().census().tables[SHARD].kinds[ZnodeKind.TABLE].znodes


def test_tasks_of_distributed_ddl_are_counted_with_their_descendants() -> None:
    tree = ZnodeTree()
    for task in ("query-0000000001", "query-0000000002"):
        tree.add(f"/ddl/{task}/active").add(f"/ddl/{task}/finished/host:9000")
    census = tree.census(Places(PLACES.coordination_root, "/ddl"))
    assert {name: task.znodes for name, task in census.queues["/ddl"].items()} == {
        "query-0000000001": 4,
        "query-0000000002": 4,
    }
    assert elsewhere(census) == {ZnodeKind.FOLDER: 1, ZnodeKind.DDL: 9}


@pytest.mark.parametrize(
    ("owner", "ephemeral"),
    [
        (0, False),
        (SESSION, True),
        # A session that a member with an id from 128 on has begun.
        (-(2**62), True),
        (-(2**63), False),
        (-(2**56) | 3_600_000, False),
    ],
)
def test_znodes_of_a_session_are_ephemeral(owner: int, ephemeral: bool) -> None:
    census = plain_tree().add(f"{SHARD}/temp/x", owner=owner).census()
    assert census.ephemerals - plain_tree().census().ephemerals == ephemeral
    assert (ZnodeKind.BLOCK_NUMBER in census.tables[SHARD].own) is True
    kinds = census.tables[SHARD].own
    assert (ZnodeKind.EPHEMERAL in kinds) is ephemeral


def test_the_latest_change_is_known() -> None:
    census = Census([], PLACES)
    for path, mtime in (("/a", 5), ("/b", 9), ("/c", 7)):
        census.take(path, b"", (1, mtime), 0)
    assert census.newest == 9


def _znodes(census: Census, kind: ZnodeKind) -> int:
    return census.kinds[kind].znodes if kind in census.kinds else 0
