# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""drop.yml does not take a partition without part znodes for a dropped one, nor one table for another."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from support.ansible.role_runs import changed
from support.servers.operator import Operator, url_of
from support.servers.registered import Registry
from support.servers.replicated import ReplicatedTable, TableMaker
from support.source import ROOT

DAY = "20191201"
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


def dropping(table: ReplicatedTable, /, **other: Any) -> dict[str, Any]:
    """Variables for a drop of the cold partition."""
    wanted = {"shard_path": table.path, "table": table.name, "server": url_of(table, 0), "partition": DAY}
    return {"drop_partitions": [{**wanted, **other}], "drop_delay": 1}


def drop_by_hand(table: ReplicatedTable) -> None:
    """Drop the partition on both servers, as a run that is killed after its statement does."""
    table.servers[0].execute(
        f"ALTER TABLE {table.name} DROP PARTITION ID '{DAY}'", replication_alter_partitions_sync=2
    )


def state_of(table: ReplicatedTable, registry: Registry) -> bytes:
    data: bytes = registry.hot.get(f"{table.path}/block_numbers/{DAY}/State")[0]
    return data


def test_a_number_is_the_id_of_a_partition_and_a_quoted_name_is_a_table(
    table: ReplicatedTable, operator: Operator, registry: Registry
) -> None:
    """YAML makes a number of an id without quotes."""
    variables = dropping(table, partition=20191201, table=f"default.`{table.name}`")
    done = operator.play("drop", "part_move", variables)
    assert changed(done) == 2
    assert f"{table.path} {DAY}: cold" in done.output
    table.settle()
    assert [len(table.rows(number)) for number in (0, 1)] == [3, 3]
    assert registry.of(table, DAY) == ({}, {})
    assert state_of(table, registry) == b"HOT"


def test_a_partition_that_cold_has_lost_is_not_taken_for_a_dropped_one(
    table: ReplicatedTable, operator: Operator, registry: Registry
) -> None:
    for replica in ("r1", "r2"):
        registry.cold.delete(f"{table.path}/replicas/{replica}/parts/{PART}", recursive=True)
    for options in (["--check"], []):
        run = operator.play("drop", "part_move", dropping(table), *options)
        assert run.status != 0
        assert f"{table.path} {DAY} is not dropped: neither ensemble has its parts, but" in run.output
        assert f"registered in neither ensemble: r1 has {PART}" in run.output
        assert "Do not restart the server" in run.output
        assert "olap.partmove.audit" in run.output
    assert state_of(table, registry) == b"COLD"
    assert [len(table.rows(number)) for number in (0, 1)] == [6, 6]


def test_a_server_that_does_not_know_the_leader_yet_is_asked_again(
    table: ReplicatedTable, operator: Operator, registry: Registry
) -> None:
    with table.electing(registry.hot):
        done = operator.play("drop", "part_move", dropping(table))
    assert done.status == 0, done.told
    assert "FAILED - RETRYING: [localhost]: Drop the partition" in done.output
    assert registry.of(table, DAY) == ({}, {})
    assert state_of(table, registry) == b"HOT"


def test_a_run_after_the_drop_of_another_sets_state(
    table: ReplicatedTable, operator: Operator, registry: Registry
) -> None:
    drop_by_hand(table)
    assert state_of(table, registry) == b"COLD"
    checked = operator.play("drop", "part_move", dropping(table), "--check")
    assert changed(checked) == 0
    assert f"{table.path} {DAY}: absent" in checked.output
    assert changed(operator.play("drop", "part_move", dropping(table))) == 1
    assert state_of(table, registry) == b"HOT"


@pytest.mark.parametrize(("partition", "location"), [(DAY, "cold"), ("20191202", "hot")])
def test_a_former_replica_in_cold_is_named_and_waited_for_by_nobody(
    table: ReplicatedTable, operator: Operator, registry: Registry, partition: str, location: str
) -> None:
    part = f"{partition}_0_0_0"
    registry.cold.create(f"{table.path}/replicas/r9/parts/{part}", b"", makepath=True)
    done = operator.play("drop", "part_move", dropping(table, partition=partition))
    assert done.status == 0, done.told
    assert f"{table.path} {partition}: {location}" in done.output
    assert "of former replicas, which no server removes: r9. Repair the kind another_replica" in done.output
    table.settle()
    assert [len(table.rows(number)) for number in (0, 1)] == [3, 3]
    assert registry.of(table, partition) == ({}, {"r9": [part]})
    assert state_of(table, registry) == (b"HOT" if partition == DAY else b"COLD")


def test_hot_parts_of_a_partition_whose_state_stayed_cold_are_dropped(
    table: ReplicatedTable, operator: Operator, registry: Registry
) -> None:
    drop_by_hand(table)
    table.insert("('2019-12-01', 9)")
    table.settle()
    assert registry.of(table, DAY).hot.keys() == {"r1", "r2"}
    assert state_of(table, registry) == b"COLD"

    done = operator.play("drop", "part_move", dropping(table))
    assert done.status == 0, done.told
    table.settle()
    assert f"{table.path} {DAY}: drifted" in done.output
    assert [len(table.rows(number)) for number in (0, 1)] == [3, 3]
    assert registry.of(table, DAY) == ({}, {})
    assert state_of(table, registry) == b"HOT"


def test_a_table_at_another_path_is_not_touched(
    table: ReplicatedTable, make_table: TableMaker, operator: Operator, registry: Registry
) -> None:
    """One line of the list was copied from another shard; the lines before it are not dropped either."""
    other = make_table()
    other.fill(["2019-12-01"])
    other.settle()
    wrong = dropping(table)
    wrong["drop_partitions"] += dropping(table, table=other.name)["drop_partitions"]
    for variables, has in (
        (wrong, f"has the table at {other.path} as {other.name}"),
        (dropping(table, table="absent"), "has no replicated table as absent"),
    ):
        for options in (["--check"], []):
            run = operator.play("drop", "part_move", variables, *options)
            assert run.status != 0
            assert f"{url_of(table, 0)} {has}, and drop_partitions names {table.path} with it." in run.output
    assert registry.of(table, DAY) == ({}, {"r1": [PART], "r2": [PART]})
    assert [len(table.rows()), len(other.rows())] == [6, 3]


def test_cold_forgets_a_dropped_table_with_the_command_of_the_page(
    table: ReplicatedTable, operator: Operator, registry: Registry, tmp_path: Path
) -> None:
    """The variables of the page of repairs have a root."""
    for server in table.servers:
        server.execute(f"DROP TABLE {table.name}")
    assert registry.of(table, DAY) == ({}, {"r1": [PART], "r2": [PART]})
    variables = {"partmove_repair_root": "/", "partmove_repair_backup": str(tmp_path)}
    page = (ROOT / "docs" / "patched" / "drop.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"repair -e @vars.yml (.*=another_replica .*)", page)
    options = shlex.split(command.replace("/clickhouse/tables/01/hits", table.path))
    done = operator.play("repair", "partmove_repair", variables, *options)
    assert changed(done) == 1
    assert registry.of(table, DAY) == ({}, {})
