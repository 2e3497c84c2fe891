# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Znodes of servers outside of tables are known by their path or by their data."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.census import Census
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.kind import ZnodeKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.outside import DDL_PATH
from support.memory.censuses import SESSION, ZnodeTree, plain_tree

TASK = b"version: 1\nquery: CREATE DATABASE x\nhosts: ['ch1:9000']\n"


def kinds(census: Census) -> dict[ZnodeKind, int]:
    return {kind: counts.znodes for kind, counts in census.outside_tables.items()}


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/clickhouse/databases/sales/replicas/01|r1", ZnodeKind.DATABASE),
        ("/clickhouse/sessions/zookeeper/b6d2", ZnodeKind.SERVER),
        ("/clickhouse/task_queue/replicas/ch1:9000/active", ZnodeKind.SERVER),
        (f"{DDL_PATH}/query-0000000001", ZnodeKind.DDL),
    ],
)
def test_default_paths_of_servers_are_known(path: str, kind: ZnodeKind) -> None:
    census = plain_tree().add(path, owner=SESSION).census()
    assert census.others.by_name == {}
    assert kinds(census).keys() == {ZnodeKind.FOLDER, kind}


@pytest.mark.parametrize("queue", ["/prod/ddl", "/clickhouse/tables/ddl", "/ddl"])
def test_an_operators_own_queue_is_known_by_its_tasks(queue: str) -> None:
    tree = plain_tree().add(f"{queue}/query-0000000001", TASK)
    tree.add(f"{queue}/query-0000000001/finished/ch1:9000").add(f"{queue}/query-0000000002", TASK)
    census = tree.census()
    assert kinds(census)[ZnodeKind.DDL] == 5
    assert {name: each.znodes for name, each in census.queues[queue].items()} == {
        "query-0000000001": 3,
        "query-0000000002": 1,
    }
    assert set(census.others.by_name) <= {"/prod"}
    assert census.total.znodes == sum(each.znodes for each in census.kinds.values())


@pytest.mark.parametrize(
    ("path", "data"),
    [("/jobs/query-0000000001", b"SELECT 1"), ("/jobs/query-1", TASK), ("/jobs/query-0000000001x", TASK)],
)
def test_other_znodes_with_such_names_are_no_tasks(path: str, data: bytes) -> None:
    census = plain_tree().add(path, data).census()
    assert {name: counts.znodes for name, counts in census.others.by_name.items()} == {"/jobs": 2}
    assert ZnodeKind.DDL not in kinds(census)


def test_a_replicated_database_is_known_by_its_data_at_any_path() -> None:
    tree = plain_tree().add("/prod/db", b"DatabaseReplicated")
    tree.add("/prod/db/log/query-0000000001", TASK).add("/prod/db/replicas/s|r")
    census = tree.census()
    assert kinds(census)[ZnodeKind.DATABASE] == 5
    assert {name: counts.znodes for name, counts in census.others.by_name.items()} == {"/prod": 1}
    assert all(not tasks for tasks in census.queues.values())


def test_sizes_stay_right_when_a_queue_is_recognized() -> None:
    census = ZnodeTree().add("/ddl", b"x").add("/ddl/query-0000000001", TASK).census()
    assert census.outside_tables[ZnodeKind.DDL].bytes == len("/ddlx/ddl/query-0000000001") + len(TASK)
    assert census.total.bytes == len("//ddlx/ddl/query-0000000001") + len(TASK)
    assert kinds(census) == {ZnodeKind.FOLDER: 1, ZnodeKind.DDL: 2}
