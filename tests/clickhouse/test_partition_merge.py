# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""partition_merge and its playbook on tables of real servers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import LeaseKeeper
from ansible_collections.olap.partmove.plugins.module_utils._tasks.resources import SystemClock
from partition_classify.report.figures import MergeFigures
from partition_classify.report.merges import sql_lines
from support.ansible.calls import Call, call_modules, run_playbook
from support.servers.moving import open_stores
from support.servers.registered import Registry
from support.servers.replicated import WITHOUT_MERGES, ReplicatedTable, TableMaker, wait_for
from support.servers.zookeeper import Ensemble

MOVED, SEVERAL, MERGED, ALSO = "20191201", "20191202", "20191203", "20191204"


@pytest.fixture
def table(make_table: TableMaker) -> Iterator[ReplicatedTable]:
    """A table with a part in each partition, and in two of them a second one."""
    found = make_table(WITHOUT_MERGES)
    found.fill(["2019-12-01", "2019-12-02", "2019-12-03", "2019-12-04"])
    # Rows that are not those of before, or the block would be taken for the same.
    found.fill(["2019-12-02", "2019-12-04"], rows=4)
    found.settle()
    yield found
    for server in found.servers:
        server.execute(f"SYSTEM START REPLICATION QUEUES {found.name}")


@pytest.fixture
def options(hot: Ensemble, cold: Ensemble, table: ReplicatedTable) -> dict[str, Any]:
    """How to reach the ensembles and the servers."""
    endpoints = {name: f"127.0.0.1:{server.http_port}" for name, server in table.replicas.items()}
    return {
        "hot": {"hosts": hot.connect_string.split(",")},
        "cold": {"hosts": cold.connect_string.split(",")},
        "clickhouse": {"endpoints": endpoints},
    }


def wanted(table: ReplicatedTable, *partitions: str) -> list[dict[str, str]]:
    return [{"shard_path": table.path, "partition": each} for each in partitions]


def written(folder: Path, table: ReplicatedTable, *partitions: str) -> str:
    """The path of a file as a report writes it, for a table whose name no server was asked for."""
    path = folder / "merges.sql"
    merges = [
        MergeFigures(table.path, each, f"OPTIMIZE TABLE … PARTITION ID '{each}' FINAL", 4, 2, None)
        for each in partitions
    ]
    path.write_text("".join(sql_lines(merges)), encoding="utf-8")
    return str(path)


def counts(table: ReplicatedTable) -> list[dict[str, int]]:
    """How many parts each server has of each partition."""
    return [
        {partition: len(parts) for partition, parts in table.active_parts(number).items()}
        for number in range(len(table.servers))
    ]


def test_only_what_is_hot_and_has_several_parts_is_merged(
    tmp_path: Path, table: ReplicatedTable, options: dict[str, Any]
) -> None:
    """A cold partition that got an insert has two parts as well: to merge it would lose its rows."""
    move = {**options, "partitions": wanted(table, MOVED), "min_age": "0", "assume_patched": True}
    (moved,), _output = call_modules(tmp_path, Call("part_move", move))
    assert moved["counts"]["moved"] == 1, moved
    table.fill(["2019-12-01"], rows=5)
    table.settle()
    rows = table.rows()
    before = counts(table)
    assert before == [{MOVED: 2, SEVERAL: 2, MERGED: 1, ALSO: 2}] * 2

    source = Path(written(tmp_path, table, MOVED, SEVERAL, MERGED, ALSO))
    gone = {"shard_path": f"{table.path}_gone", "partition": MOVED}
    line = f"OPTIMIZE TABLE gone PARTITION ID '{MOVED}' FINAL; -- {json.dumps(gone)}\n"
    source.write_text(source.read_text(encoding="utf-8") + line, encoding="utf-8")
    given = {**options, "src": str(source), "poll": "1s"}
    (checked,), _output = call_modules(tmp_path, Call("partition_merge", given, check_mode=True))
    assert counts(table) == before
    limited = Call("partition_merge", {**given, "limit": 1})
    (first, second, again), _output = call_modules(
        tmp_path, limited, Call("partition_merge", given), Call("partition_merge", given)
    )

    passed_by = [
        {**gone, "reason": f"{gone['shard_path']} is no table with replicas in hot"},
        *({**each, "reason": "the partition is not in hot only"} for each in wanted(table, MOVED)),
    ]
    assert checked["changed"]
    assert checked["merged"] == wanted(table, SEVERAL, ALSO)
    assert (checked["merged_already"], checked["passed_by"], checked["left"]) == (1, passed_by, 0)
    assert (first["merged"], first["left"]) == (wanted(table, SEVERAL), 2)
    assert (second["merged"], second["left"]) == (wanted(table, ALSO), 0)
    assert (again["changed"], again["merged"], again["merged_already"]) == (False, [], 3)
    assert again["passed_by"] == passed_by
    assert counts(table) == [{MOVED: 2, SEVERAL: 1, MERGED: 1, ALSO: 1}] * 2
    assert table.rows() == rows
    assert [table.detached(number) for number in range(2)] == [[], []]


def test_nothing_is_merged_while_another_run_has_the_table(
    hot: Ensemble, cold: Ensemble, tmp_path: Path, table: ReplicatedTable, options: dict[str, Any]
) -> None:
    before = counts(table)
    given = {
        **options,
        "partitions": wanted(table, SEVERAL),
        "lock_wait": "1s",
        "patience": "1s",
        "poll": "1s",
    }
    with open_stores(hot.connect_string, cold.connect_string) as stores:
        leases = LeaseKeeper(*stores, SystemClock(), owner="a move")
        lease = leases.acquire(table.path)
        (refused,), _output = call_modules(tmp_path, Call("partition_merge", given))
        leases.release(lease)
    assert refused["failed"]
    assert f"Stopped before partition {SEVERAL} of {table.path}: " in refused["msg"]
    assert "a move" in refused["msg"]
    assert (refused["merged"], refused["left"], counts(table)) == ([], 1, before)

    (done,), _output = call_modules(tmp_path, Call("partition_merge", given))
    assert done["merged"] == wanted(table, SEVERAL)


def test_playbook_stops_while_servers_are_busy_and_goes_on_later(
    tmp_path: Path, table: ReplicatedTable, registry: Registry, options: dict[str, Any]
) -> None:
    behind = table.servers[1]
    behind.execute(f"SYSTEM STOP REPLICATION QUEUES {table.name}")
    table.fill(["2019-12-02"], rows=5)
    name = table.name
    wait_for(lambda: behind.query(f"SELECT queue_size FROM system.replicas WHERE table = '{name}'") == [(1,)])
    variables = {f"part_move_{key}": value for key, value in options.items()}
    variables["merge_parts_file"] = written(tmp_path, table, SEVERAL, ALSO)
    # Where moves of this table would have their locks.
    root = variables["part_move_coordination_root"] = f"{table.path}-partmove"
    extra = tmp_path / "vars.json"
    extra.write_text(json.dumps(variables))
    playbook = tmp_path / "site.yml"
    playbook.write_text(json.dumps([{"ansible.builtin.import_playbook": "olap.partmove.merge_parts"}]))

    limits = {"merge_parts_max_queue": 0, "merge_parts_patience": "1s"}
    stopped = run_playbook(playbook, "-e", f"@{extra}", "-e", json.dumps(limits))
    assert stopped.status != 0
    assert f"Stopped before partition {SEVERAL} of {table.path}: ClickHouse at 127.0.0.1:" in stopped.output
    assert "has 1 entries in its queue for the table, more than max_queue, 0" in stopped.output
    assert '"left": "2"' in stopped.output or '"left": 2' in stopped.output
    assert counts(table)[0][ALSO] == 2

    behind.execute(f"SYSTEM START REPLICATION QUEUES {table.name}")
    table.settle()
    checked = run_playbook(playbook, "-e", f"@{extra}", "--check")
    assert checked.status == 0, checked.told
    assert f"{table.path} {SEVERAL}" in checked.output
    assert counts(table)[0][SEVERAL] == 3
    done = run_playbook(playbook, "-e", f"@{extra}")
    assert done.status == 0, done.told
    assert counts(table) == [{MOVED: 1, SEVERAL: 1, MERGED: 1, ALSO: 1}] * 2
    assert registry.hot.get_children(f"{root}/epochs") == [quote(table.path, safe="")]
