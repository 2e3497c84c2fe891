# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""replica_ledger over ensembles in memory: withdrawal, which needs no server."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.server_probe import HttpServerProbe
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    FormatError,
    NoSuchReplica,
    PartMoveError,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.ledger import (
    Ledger,
    ReplicaKey,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.withdraw import (
    StillCold,
)
from ansible_collections.olap.partmove.plugins.module_utils._tasks.replica_ledger import ReplicaLedger
from support.memory.bench import DAY, PATH, Bench
from support.memory.ledger import enter
from support.memory.resources import MemoryResources

R1, R2 = ReplicaKey(PATH, "r1"), ReplicaKey(PATH, "r2")
DEFAULTS: dict[str, Any] = {
    "hot": {},
    "cold": {},
    "coordination_root": "/partmove",
    "state": "absent",
    "clickhouse": {"host": "127.0.0.1", "port": 9},
    "patched_sign": None,
    "config_changed_at": None,
    "renew": False,
    "replicas": None,
    "host": None,
    "interserver_port": None,
    "root": "/",
    "never_entered": False,
}
BY_NAME: dict[str, Any] = {"replicas": [{"shard_path": PATH, "replica": "r2"}]}


@pytest.fixture
def bench() -> Bench:
    """A table whose replicas are entered."""
    bench = Bench()
    enter(bench.hot_store, bench.cold_store, R1, R2)
    return bench


def withdrawn(bench: Bench, *, check_mode: bool = False, **options: Any) -> dict[str, Any]:
    params = DEFAULTS | options
    task = ReplicaLedger(params)
    task.run(MemoryResources(bench, params, check_mode=check_mode))
    return task.result()


def test_a_replica_that_the_member_does_not_know_yet_is_withdrawn_by_host(bench: Bench) -> None:
    bench.hot_store.connect_to(1)
    bench.servers.restart("r2")
    bench.hot.set(f"{PATH}/replicas/r2/host", b"host: r2.elsewhere\n")

    withdrawn(bench, host="r2.elsewhere", never_entered=False)

    assert Ledger(bench.hot_ensemble.open()).replicas(PATH) == ["r1"]


def entered(bench: Bench) -> list[str]:
    return Ledger(bench.hot_store).replicas(PATH)


@pytest.mark.parametrize(
    ("options", "left"),
    [
        (BY_NAME, ["r1"]),
        ({"host": "R2.example"}, ["r1"]),
        ({"host": "r2.example", "interserver_port": 9009, "root": PATH}, ["r1"]),
        ({"replicas": []}, ["r1", "r2"]),
    ],
)
def test_replicas_are_withdrawn_by_name_or_by_host(
    bench: Bench, options: dict[str, Any], left: list[str]
) -> None:
    withdrawn(bench, **options)
    assert entered(bench) == left


def test_result_of_a_withdrawal(bench: Bench) -> None:
    row = {"shard_path": PATH, "replica": "r2", "table": "", "before": "ready", "after": "absent"}
    expected = {
        "changed": True,
        "msg": "1 of 1 replica withdrawn",
        "replicas": [row],
        "cold_partitions": [],
        "diff": {"before": f"{PATH} r2: ready\n", "after": f"{PATH} r2: absent\n"},
    }
    assert withdrawn(bench, check_mode=True, **BY_NAME) == expected
    assert entered(bench) == ["r1", "r2"]
    assert withdrawn(bench, **BY_NAME) == expected
    again = withdrawn(bench, **BY_NAME)
    assert (again["changed"], again["msg"]) == (False, "0 of 1 replica withdrawn")
    assert [each["before"] for each in again["replicas"]] == ["absent"]


def test_an_entry_of_an_earlier_activation_is_stale(bench: Bench) -> None:
    bench.servers.restart("r2")
    assert [each["before"] for each in withdrawn(bench, **BY_NAME)["replicas"]] == ["stale"]


def test_nothing_is_withdrawn_while_a_partition_is_cold(bench: Bench) -> None:
    bench.move()
    task = ReplicaLedger(DEFAULTS | BY_NAME)
    with pytest.raises(StillCold):
        task.run(MemoryResources(bench, DEFAULTS | BY_NAME))
    result = task.result()
    assert (result["changed"], result["replicas"]) == (False, [])
    assert result["cold_partitions"] == [{"shard_path": PATH, "table": "", "partition": DAY}]
    assert entered(bench) == ["r1", "r2"]


def test_an_unknown_host_is_reported(bench: Bench) -> None:
    with pytest.raises(NoSuchReplica, match="^No replica below /clickhouse in hot is registered by r7"):
        withdrawn(bench, host="r7", root="/clickhouse")
    assert entered(bench) == ["r1", "r2"]


@pytest.mark.parametrize("options", [{}, {"state": "present", "patched_sign": "SELECT 1"}])
def test_a_server_that_shows_no_table_to_the_user_is_no_server_without_tables(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    """The withdrawal of no replica would be an answer of success before a downgrade."""
    monkeypatch.setattr(HttpServerProbe, "replicas", lambda _probe: [])
    monkeypatch.setattr(
        HttpServerProbe, "hidden", lambda _probe: "it hides tables. GRANT SHOW", raising=False
    )
    with pytest.raises(PartMoveError, match="^No replica of the server could be read: it hides tables"):
        withdrawn(bench, **options)
    assert entered(bench) == ["r1", "r2"]


def test_without_names_the_server_is_asked(bench: Bench) -> None:
    """No server listens on the port."""
    with pytest.raises(PartMoveError, match="^ClickHouse at 127.0.0.1:9 cannot be reached"):
        withdrawn(bench)
    with pytest.raises(PartMoveError, match="^ClickHouse at 127.0.0.1:9 cannot be reached"):
        withdrawn(bench, state="present", patched_sign="SELECT 1")
    assert entered(bench) == ["r1", "r2"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"state": "present", "host": "r1.example"}, "host selects the replicas to withdraw"),
        ({"renew": True}, "renew selects the replicas to enter, but state is absent"),
        ({"replicas": [{"shard_path": "t", "replica": "r1"}]}, "The shard path 't' does not begin with"),
        ({"replicas": [{"shard_path": "/t", "replica": "a/b"}]}, "'a/b' is not the name of a replica of /t"),
        ({"coordination_root": "x"}, "coordination_root is 'x'"),
    ],
)
def test_invalid_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(PartMoveError) as refusal:
        ReplicaLedger(DEFAULTS | options)
    assert refusal.value.message.startswith(message)
    assert isinstance(refusal.value, FormatError) == (not {"state", "renew"} & options.keys())
