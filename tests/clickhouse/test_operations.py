# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""while_hot.yml, drop.yml and repair.yml: what operators do with cold partitions, on patched servers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from support.ansible.calls import Call, run_modules
from support.ansible.role_runs import changed
from support.servers.clickhouse_config import ZooKeeperSource
from support.servers.moving import Mover
from support.servers.operator import Operator, url_of
from support.servers.proxy import ZooKeeperProxy
from support.servers.registered import Registry
from support.servers.replicated import ReplicatedTable
from support.servers.zookeeper import Ensemble

DAY, OTHER = "20191201", "20191202"
PART = f"{DAY}_0_0_0"

pytestmark = [
    pytest.mark.long(minutes=3),
    pytest.mark.clickhouse,
    pytest.mark.patched,
    pytest.mark.usefixtures("healthy"),
]


@pytest.fixture
def table(half_cold: ReplicatedTable) -> ReplicatedTable:
    return half_cold


def mutation(table: ReplicatedTable, condition: str) -> dict[str, Any]:
    """Variables for a mutation of the whole table."""
    return {
        "while_hot_shard_paths": [table.path],
        "while_hot_statements": [f"ALTER TABLE {table.name} DELETE WHERE {condition}"],
        "while_hot_servers": [url_of(table, 1)],
        "while_hot_delay": 1,
        "part_move_min_age": "0",
        "part_move_assume_patched": True,
        "part_move_wait_for_copies": False,
    }


def test_a_merge_on_a_server_that_does_not_know_the_leader_yet(
    table: ReplicatedTable, operator: Operator, registry: Registry
) -> None:
    merge = f"OPTIMIZE TABLE {table.name} PARTITION {DAY} FINAL"
    variables = {**mutation(table, "id = 1"), "while_hot_statements": [merge]}
    variables["while_hot_servers"] = [url_of(table, 0)]
    with table.electing(registry.hot):
        done = operator.play("while_hot", "part_move", variables)
    assert done.status == 0, done.told
    assert "FAILED - RETRYING: [localhost]: Run the statements" in done.output
    assert table.active_parts()[DAY] == [f"{DAY}_0_0_1"]


def test_a_former_replica_in_cold_does_not_stop_the_statements(
    table: ReplicatedTable, operator: Operator, registry: Registry
) -> None:
    """Cold has its parts of a cold partition, and of one that is dropped on all other replicas."""
    dropped = f"{OTHER}_0_0_0"
    for part in (PART, dropped):
        registry.cold.create(f"{table.path}/replicas/r9/parts/{part}", b"", makepath=True)
    table.servers[0].execute(
        f"ALTER TABLE {table.name} DROP PARTITION {OTHER}", replication_alter_partitions_sync=2
    )
    registry.hot.create(f"{table.path}/block_numbers/{OTHER}/State", b"COLD")

    done = operator.play("while_hot", "part_move", mutation(table, "id = 1"))

    assert done.status == 0, done.told
    table.settle()
    assert [table.rows(number) for number in (0, 1)] == [[("2019-12-01", 0), ("2019-12-01", 2)]] * 2


def test_a_mutation_of_a_table_with_cold_partitions(
    table: ReplicatedTable, operator: Operator, registry: Registry
) -> None:
    variables = mutation(table, "id = 1")
    before = table.seen()

    checked = operator.play("while_hot", "part_move", variables, "--check")
    assert checked.status == 0, checked.told
    assert "Would be registered in hot again: 1 partition, 2 parts" in checked.output
    assert variables["while_hot_statements"][0] in checked.output
    assert registry.of(table, DAY) == ({}, {"r1": [PART], "r2": [PART]})
    assert table.seen() == before

    done = operator.play("while_hot", "part_move", variables)
    assert done.status == 0, done.told
    assert "Registered in hot again: 1 partition, 2 parts" in done.output
    assert "Moved to cold: 1 partition, 2 parts" in done.output
    table.settle()

    rows = [(f"2019-12-0{day}", number) for day in (1, 2) for number in (0, 2)]
    assert [table.rows(number) for number in (0, 1)] == [rows, rows]
    assert [table.detached(number) for number in (0, 1)] == [[], []]
    parts = table.active_parts()[DAY]
    assert parts != [PART]
    assert registry.of(table, DAY) == ({}, {"r1": parts, "r2": parts})
    assert registry.of(table, OTHER).cold == {}
    for server in table.servers:
        server.restart()
    table.settle()
    assert [table.rows(number) for number in (0, 1)] == [rows, rows]
    assert [table.detached(number) for number in (0, 1)] == [[], []]


def test_a_statement_that_fails_leaves_the_partition_hot(
    table: ReplicatedTable, operator: Operator, registry: Registry
) -> None:
    """This one fails after its first rows, when a server may have sent the status 200 already."""
    failing = "SELECT throwIf(number = 3000000) FROM numbers(4000000)"
    variables = {**mutation(table, "id = 1"), "while_hot_statements": [failing]}
    run = operator.play("while_hot", "part_move", variables)
    assert run.status != 0
    assert "Value passed to 'throwIf' function is non" in run.output
    assert registry.of(table, DAY).hot == {"r1": [PART], "r2": [PART]}
    assert [table.detached(number) for number in (0, 1)] == [[], []]


def test_nothing_is_done_while_a_partition_is_not_hot(
    table: ReplicatedTable, operator: Operator, registry: Registry
) -> None:
    """The server that is asked for r2 does not have it, so nobody knows what is on its disk."""
    endpoints: dict[str, str] = operator.clickhouse["endpoints"]
    endpoints["r2"] = endpoints["r1"]
    run = operator.play("while_hot", "part_move", mutation(table, "id = 1"))
    assert run.status != 0
    assert f"are not hot or cannot be read: {table.path} {DAY}." in run.output
    assert registry.of(table, DAY) == ({}, {"r1": [PART], "r2": [PART]})
    assert len(table.rows()) == 6


def test_nothing_is_done_where_another_cold_shows_nothing(
    table: ReplicatedTable, operator: Operator, registry: Registry, cold: Ensemble, base: str
) -> None:
    registry.cold.ensure_path(f"{base}-other")
    operator.ensembles["cold"] |= {"chroot": f"{base}-other"}
    for wanted in ({}, {"while_hot_partitions": [{"shard_path": table.path, "partition": DAY}]}):
        variables = {**mutation(table, "id = 1"), **wanted}
        if wanted:
            del variables["while_hot_shard_paths"]
        run = operator.play("while_hot", "part_move", variables)
        assert run.status != 0
        assert f"it is unknown what is cold of these shard paths: {table.path}: " in run.output, run.told
        assert "Run the statements" not in run.output
    assert [len(table.rows(number)) for number in (0, 1)] == [6, 6]


def test_nothing_is_done_while_cold_has_lost_a_partition(
    table: ReplicatedTable, operator: Operator, registry: Registry
) -> None:
    for name in ("r1", "r2"):
        registry.cold.delete(f"{table.path}/replicas/{name}/parts/{PART}", recursive=True)
    run = operator.play("while_hot", "part_move", mutation(table, "id = 1"))
    assert run.status != 0
    assert "registered" in run.output, run.told
    named = {
        **mutation(table, "id = 1"),
        "while_hot_partitions": [{"shard_path": table.path, "partition": DAY}],
    }
    del named["while_hot_shard_paths"]
    run = operator.play("while_hot", "part_move", named)
    assert run.status != 0
    assert "Run the statements" not in run.output
    assert [len(table.rows(number)) for number in (0, 1)] == [6, 6]


def test_nothing_is_done_while_nobody_knows_whether_cold_has_lost_a_partition(
    table: ReplicatedTable, operator: Operator, registry: Registry
) -> None:
    """The server that is asked for r2 does not have it, so the partition is only deferred."""
    for name in ("r1", "r2"):
        registry.cold.delete(f"{table.path}/replicas/{name}/parts/{PART}", recursive=True)
    endpoints: dict[str, str] = operator.clickhouse["endpoints"]
    endpoints["r2"] = endpoints["r1"]
    run = operator.play("while_hot", "part_move", mutation(table, "id = 1"))
    assert run.status != 0
    assert f"are not hot or cannot be read: {table.path} {DAY}." in run.output, run.told
    assert [len(table.rows(number)) for number in (0, 1)] == [6, 6]


def test_a_partition_that_is_a_number_is_refused(table: ReplicatedTable, operator: Operator) -> None:
    variables = {
        **mutation(table, "id = 1"),
        "while_hot_partitions": [{"shard_path": table.path, "partition": int(DAY)}],
    }
    del variables["while_hot_shard_paths"]
    run = operator.play("while_hot", "part_move", variables)
    assert run.status != 0
    assert "each partition as text in quotes" in run.output, run.told


def test_what_is_needed_has_to_be_said_before_anything_is_done(operator: Operator) -> None:
    for variables in ({}, {"while_hot_shard_paths": ["/t"]}, {"while_hot_statements": ["SELECT 1"]}):
        run = operator.play("while_hot", "part_move", variables)
        assert run.status != 0
        assert "and while_hot_statements with while_hot_servers or while_hot_tasks." in run.output
        assert "List the cold partitions" not in run.output


def dropping(table: ReplicatedTable, *partitions: str) -> dict[str, Any]:
    """Variables for a drop of partitions."""
    wanted = {"shard_path": table.path, "table": table.name, "server": url_of(table, 0)}
    return {"drop_partitions": [{**wanted, "partition": each} for each in partitions], "drop_delay": 1}


def test_a_cold_and_a_hot_partition_are_dropped(
    table: ReplicatedTable, operator: Operator, registry: Registry
) -> None:
    variables = dropping(table, DAY, OTHER)
    before = table.seen()

    checked = operator.play("drop", "part_move", variables, "--check")
    assert changed(checked) == 0
    assert f"{table.path} {DAY}: cold" in checked.output
    assert f"{table.path} {OTHER}: hot" in checked.output
    assert table.seen() == before

    done = operator.play("drop", "part_move", variables)
    assert changed(done) == 3
    table.settle()
    assert [table.rows(number) for number in (0, 1)] == [[], []]
    assert [registry.of(table, each) for each in (DAY, OTHER)] == [({}, {}), ({}, {})]
    assert registry.hot.get(f"{table.path}/block_numbers/{DAY}/State")[0] == b"HOT"
    assert changed(operator.play("drop", "part_move", variables)) == 0


def test_a_drop_after_the_end_of_a_session_with_cold_tells_what_to_do(
    table: ReplicatedTable, operator: Operator, cold: Ensemble, registry: Registry
) -> None:
    """Servers do not begin a new session, and leave the znodes of a cold partition that they drop."""
    variables = {**dropping(table, DAY), "drop_looks": 1}
    with ZooKeeperProxy(cold.members[0].address) as proxy:
        for server in table.servers:
            server.restart_patched(ZooKeeperSource(proxy.address))
        proxy.disconnect()
        run = operator.play("drop", "part_move", variables)
    assert run.status != 0
    assert "start the servers of r1, r2 if they do not run" in run.output
    assert "If these servers ran all the time, they have lost their session with cold" in run.output
    assert "repair the kind ghost" in run.output
    table.settle()
    assert [len(table.rows(number)) for number in (0, 1)] == [3, 3]
    assert registry.of(table, DAY) == ({}, {"r1": [PART], "r2": [PART]})


def test_a_partition_whose_copies_are_still_needed_is_not_dropped(
    table: ReplicatedTable, operator: Operator, mover: Mover, registry: Registry
) -> None:
    assert mover.reheat(table, [DAY]).moved.keys() == {DAY}
    variables = {**dropping(table, DAY), "part_move_wait_for_copies": False}
    run = operator.play("drop", "part_move", variables)
    assert run.status != 0
    assert (
        f"{table.path} {DAY} was not dropped: its location is hot, and cold has 2 parts of it." in run.output
    )
    assert registry.of(table, DAY).hot == {"r1": [PART], "r2": [PART]}
    assert len(table.rows()) == 6


def test_a_partition_of_both_ensembles_is_brought_back_before_it_is_dropped(
    table: ReplicatedTable, operator: Operator, mover: Mover, registry: Registry
) -> None:
    """Its copies have to be gone before the drop, which is what a later run waits for."""
    table.insert("('2019-12-01', 9)")
    table.settle()
    assert [found.keys() for found in registry.of(table, DAY)] == [{"r1", "r2"}, {"r1", "r2"}]
    variables = {**dropping(table, DAY), "part_move_wait_for_copies": False}

    run = operator.play("drop", "part_move", variables)
    assert run.status != 0
    assert f"{table.path} {DAY}: drifted" in run.output
    assert "Registered in hot again: 1 partition" in run.output
    assert (
        f"{table.path} {DAY} was not dropped: its location is hot, and cold has 2 parts of it." in run.output
    )

    mover.seconds_ahead = 700.0
    assert mover.reheat(table, [DAY]).copies_removed == {DAY}
    assert operator.play("drop", "part_move", variables).status == 0
    table.settle()
    assert [len(table.rows(number)) for number in (0, 1)] == [3, 3]
    assert registry.of(table, DAY) == ({}, {})
    assert [table.detached(number) for number in (0, 1)] == [[], []]


def test_a_state_that_is_lost_is_repaired_and_no_restore_loses_it_again(
    table: ReplicatedTable,
    operator: Operator,
    registry: Registry,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    state = f"{table.path}/block_numbers/{DAY}/State"
    registry.hot.set(state, b"HOT")
    backup = tmp_path / "backup"
    backup.mkdir()
    variables = {
        "partmove_repair_kind": "cold_unmarked",
        "partmove_repair_shard_paths": [table.path],
        "partmove_repair_backup": str(backup),
        "partmove_repair_journal": "",
    }

    checked = operator.play("repair", "partmove_repair", variables, "--check")
    assert changed(checked) == 1
    assert "Would be repaired: 2 partitions of replicas." in checked.output
    assert f"hot: set {state} to 'COLD'" in checked.output
    assert (registry.hot.get(state)[0], list(backup.iterdir())) == (b"HOT", [])

    done = operator.play("repair", "partmove_repair", variables)
    assert changed(done) == 1
    assert f"{table.path} {DAY} of r1: {PART}" in done.output
    assert "partitions of replicas: 4 consistent, 0 inconsistent, 0 not judged" in done.output
    (file,) = backup.iterdir()
    assert f"Backup of deleted and changed znodes: {file}" in done.output
    assert registry.hot.get(state)[0] == b"COLD"
    assert not (tmp_path / "state").exists()

    again = operator.play("repair", "partmove_repair", variables)
    assert changed(again) == 0
    assert "Found: 0 partitions of replicas that are cold_unmarked, on 0 shard paths." in again.output

    # A restore makes no finding: State HOT over parts in cold only would be one.
    asked = {**operator.ensembles, "clickhouse": operator.clickhouse}
    call = Call("part_restore", {**asked, "backup": str(file)})
    (restored,) = run_modules(call)
    assert [(row["path"], row["action"]) for row in restored["rows"]] == [(state, "left")]
    assert "cold_unmarked" in restored["msg"]
    assert registry.hot.get(state)[0] == b"COLD"


def test_what_cannot_be_repaired_is_told_with_the_way_out(
    table: ReplicatedTable, operator: Operator, registry: Registry, cold: Ensemble, tmp_path: Path
) -> None:
    """A replica of which nobody knows whether it will come back is registered in cold alone."""
    parts = f"{table.path}/replicas/{{}}/parts"
    part, other = f"{parts.format('r1')}/{PART}", f"{parts.format('r9')}/20190101_0_0_0"
    for name in ("", *(f"/{each}" for each in registry.cold.get_children(part))):
        registry.cold.create(f"{other}{name}", registry.cold.get(f"{part}{name}")[0], makepath=True)
    variables = {
        "partmove_repair_kind": "another_replica",
        "partmove_repair_shard_paths": [table.path],
        "partmove_repair_backup": str(tmp_path),
        # Not needed for that, and read all the same.
        "partmove_repair_registrations_files": {"data_dir": str(cold.members[0].data_dir)},
        "partmove_repair_python": sys.executable,
    }
    run = operator.play("repair", "partmove_repair", variables)
    assert changed(run) == 0
    assert "Run the program" in run.output
    assert "Left: 1 partition." in run.output
    assert (
        "If the server of that replica is gone for good, run part_repair with replica_is_gone." in run.output
    )
    assert "another_replica 1: " in run.output


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({}, "partmove_repair_kind and partmove_repair_backup are not given."),
        ({"backup": "/tmp", "kind": "cold"}, "value of partmove_repair_kind must be one of"),
        (
            {"backup": "/none", "kind": "ghost", "root": "/"},
            "partmove_repair_backup is /none, which is not a folder",
        ),
        ({"backup": "/tmp", "kind": "ghost"}, "Give exactly one of partmove_repair_root and"),
        (
            {
                "backup": "/tmp",
                "kind": "ghost",
                "root": "/",
                "registrations": "/a",
                "registrations_files": {"data_dir": "/b"},
            },
            "Give one of partmove_repair_registrations and partmove_repair_registrations_files, not both",
        ),
    ],
)
def test_what_a_repair_needs_has_to_be_said(
    operator: Operator, variables: dict[str, Any], message: str
) -> None:
    named = {f"partmove_repair_{name}": value for name, value in variables.items()}
    run = operator.play("repair", "partmove_repair", named)
    assert run.status != 0
    assert message in run.output
    assert "TASK [olap.partmove.partmove_repair : Audit]" not in run.output
