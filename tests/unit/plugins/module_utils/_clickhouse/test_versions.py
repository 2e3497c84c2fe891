# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which texts are versions, and which servers every module of the twin way refuses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.client import ClickHouseClient
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.options import ClickHouseOptions
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.replica_table import TwinClients
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.versions import (
    Release,
    VersionRefused,
    release_of,
    require_auxiliary_tables,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._tasks.config_reload import ConfigReload
from ansible_collections.olap.partmove.plugins.module_utils._tasks.table_move import TableMove
from ansible_collections.olap.partmove.plugins.module_utils._tasks.twin_audit_info import TwinAuditInfo
from ansible_collections.olap.partmove.plugins.module_utils._tasks.twin_move import TwinMove
from ansible_collections.olap.partmove.plugins.module_utils._tasks.twin_table import TwinTables
from ansible_collections.olap.partmove.plugins.module_utils._tasks.twin_view import TwinView
from support.memory.bench import PATH, Bench
from support.memory.resources import MemoryResources

OLD = "20.12.3.3"
REFUSED = (
    "ClickHouse at {}:8123 runs ClickHouse 20.12.3.3, and tables can be in an auxiliary ensemble from 21.1"
    " on. Bring the server to 21.1 or later, and run again."
)
Asked = list[tuple[str, str]]

GIVEN: dict[str, Any] = {
    "clickhouse": {"port": None, "endpoints": {"r1": "r1", "r2": "r2"}},
    "coordination_root": "/partmove",
    "details": "findings",
    "ensemble": "cold",
    "fail_when_deferred_by": [],
    "give_up_after": "10m",
    "in_front": False,
    "insert_wait": "0",
    "journal": "",
    "lock_wait": "0",
    "latency_target": 0.0,
    "max_latency": 0.0,
    "max_listed": 10,
    "max_parts_per_second": 0,
    "min_age": "0",
    "name": None,
    "partitions": None,
    "path": "{path}_cold",
    "plan": None,
    "progress_file": None,
    "readers": "auto",
    "readers_wait": "0",
    "root": None,
    "share": "1/1",
    "shard_paths": [PATH],
    "state": "cold",
    "stop_merges": False,
    "checksums": False,
    "twin": "{table}_cold",
    "workers": 0,
}


@pytest.mark.parametrize(
    ("version", "release"),
    [
        ("24.8.4.1", (24, 8)),
        ("21.1.2.15", (21, 1)),
        ("20.12.3.3", (20, 12)),
        ("18.16.1", (18, 16)),
        ("1.1.54343", (1, 1)),
        ("26.9", (26, 9)),
        ("23.8.11.29.altinitystable", (23, 8)),
        ("20.12.3.3-cold1", (20, 12)),
        ("24.3.5.47+deb12~1", (24, 3)),
    ],
)
def test_versions(version: str, release: tuple[int, int]) -> None:
    assert release_of(version, "ch1") == release
    assert str(Release(*release)) == ".".join(version.split(".")[:2])


@pytest.mark.parametrize(
    "version",
    ["", "24", "v24.8", "24.", "24.8 (x)", "2024.8.1", "x24.8", "24.8\n", "24.\uff18", "24,8", "head"],
)
def test_other_texts_are_refused(version: str) -> None:
    with pytest.raises(VersionRefused, match=r"^ch1 reports the version .*, which is not understood\. See "):
        release_of(version, "ch1")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Callable[[Mapping[str, str]], Asked]:
    """Let servers report versions, by name; each has one replica of the table. Returns what is asked."""
    asked: Asked = []

    def serve(versions: Mapping[str, str]) -> Asked:
        def rows(client: ClickHouseClient, sql: str) -> list[list[str]]:
            name = client.label.removeprefix("ClickHouse at ").removesuffix(":8123")
            asked.append((name, sql))
            if sql == "SELECT version()":
                return [[versions[name]]]
            if "system.settings" in sql:
                return [["replication_alter_partitions_sync"]]
            if sql.startswith("SELECT zookeeper_path, replica_name FROM"):
                return [[PATH, "r1"], [PATH, "r2"]]
            raise PartMoveError(f"not for this test: {sql}")

        monkeypatch.setattr(ClickHouseClient, "rows", rows)
        monkeypatch.setattr(ClickHouseClient, "execute", lambda *_args, **_more: pytest.fail("a statement"))
        return asked

    return serve


@pytest.mark.parametrize(("version", "fits"), [("21.1.2.15", True), ("26.9.2.1", True), (OLD, False)])
def test_minimum(asked: Callable[[Mapping[str, str]], Asked], version: str, fits: bool) -> None:
    asked({"r2": version})
    client = ClickHouseClient("r2", 8123, ClickHouseOptions())
    if fits:
        require_auxiliary_tables(client)
        return
    with pytest.raises(VersionRefused) as refused:
        require_auxiliary_tables(client)
    assert str(refused.value) == REFUSED.format("r2")


def test_a_server_is_asked_once_for_its_version(asked: Callable[[Mapping[str, str]], Asked]) -> None:
    queries = asked({"r1": "24.8.4.1", "r2": "25.8.2.1"})
    clients = TwinClients(ClickHouseOptions(endpoints={"r1": "r1", "r2": "r2"}))
    for replica in ("r2", "r1", "r2"):
        clients.of(PATH, replica, "")
    assert [name for name, sql in queries if sql == "SELECT version()"] == ["r2", "r1"]
    assert len(queries) == 4
    assert list(clients.versions.items()) == [
        ("ClickHouse at r1:8123", "24.8.4.1"),
        ("ClickHouse at r2:8123", "25.8.2.1"),
    ]


def failure_of(task: Any) -> str:
    """Run the task over a table whose second server has an old version; return what it fails with."""
    resources = MemoryResources(Bench(), GIVEN, check_mode=False)
    try:
        task.run(resources)
    except PartMoveError as error:
        return str(error)
    finally:
        resources.close()
    return str(task.failure)


@pytest.mark.parametrize("task", [TwinMove, TwinTables, TwinView, TableMove])
def test_modules_refuse_an_old_server(
    asked: Callable[[Mapping[str, str]], Asked], task: Callable[[Mapping[str, Any]], Any]
) -> None:
    asked({"r1": OLD, "r2": "24.8.4.1"})
    assert failure_of(task(GIVEN)).endswith(REFUSED.format("r1"))


@pytest.mark.parametrize("task", [TwinMove, TwinTables, TwinView, TableMove, TwinAuditInfo])
def test_modules_return_the_version_of_each_server_that_they_asked(
    asked: Callable[[Mapping[str, str]], Asked], task: Callable[[Mapping[str, Any]], Any]
) -> None:
    """Also where they fail, as here: the servers answer no other query. Some ask no further server then."""
    asked({"r1": "24.8.4.1", "r2": "25.8.2.1"})
    done = task(GIVEN)
    failure_of(done)
    found = {each["server"]: each["version"] for each in done.result()["servers"]}
    assert found["ClickHouse at r1:8123"] == "24.8.4.1"
    assert found.get("ClickHouse at r2:8123", "25.8.2.1") == "25.8.2.1"


def test_a_move_refuses_a_shard_with_one_old_server(asked: Callable[[Mapping[str, str]], Asked]) -> None:
    """Before it asks any server about partitions; the other server could be asked."""
    queries = asked({"r1": "24.8.4.1", "r2": OLD})
    assert failure_of(TwinMove(GIVEN)) == REFUSED.format("r2")
    assert len(queries) == 3


def test_an_audit_does_not_judge_an_old_server(asked: Callable[[Mapping[str, str]], Asked]) -> None:
    asked({"r1": OLD, "r2": OLD})
    task = TwinAuditInfo(GIVEN)
    failure_of(task)
    result = task.result()
    reasons = {each["replica"]: each["reason"] for each in result["findings"]}
    assert reasons == {"r1": REFUSED.format("r1"), "r2": REFUSED.format("r2")}
    assert not result["complete"]


def test_config_reload_refuses_an_old_server(asked: Callable[[Mapping[str, str]], Asked]) -> None:
    queries = asked({"r2": OLD})
    task = ConfigReload(
        {
            "clickhouse": {"host": "r2", "port": 8123},
            "name": "cold",
            "nodes": [{"host": "zk", "port": 2181, "secure": False}],
            "session_timeout_ms": None,
            "operation_timeout_ms": None,
            "root": None,
            "identity": None,
            "preprocessed": [],
            "path": "",
            "reload": True,
        }
    )
    assert failure_of(task) == REFUSED.format("r2")
    assert queries == [("r2", "SELECT version()")]
