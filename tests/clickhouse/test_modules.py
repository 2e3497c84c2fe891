# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The modules on a table of real servers, which part_move asks what they have on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.ansible.calls import Call, call_modules
from support.servers.replicated import TableMaker
from support.servers.zookeeper import Ensemble

FIRST, SECOND = "20191201", "20191202"


def test_look_check_move_and_look_again(
    hot: Ensemble, cold: Ensemble, make_table: TableMaker, tmp_path: Path
) -> None:
    table = make_table()
    table.fill(["2019-12-01", "2019-12-02"])
    table.settle()
    rows = table.rows()
    ensembles = {
        "hot": {"hosts": hot.connect_string.split(",")},
        "cold": {"hosts": cold.connect_string.split(",")},
    }
    endpoints = {name: f"127.0.0.1:{server.http_port}" for name, server in table.replicas.items()}
    wanted = [{"shard_path": table.path, "partition": each} for each in (FIRST, SECOND)]
    move: dict[str, Any] = {
        **ensembles,
        "partitions": wanted,
        "min_age": "0",
        "assume_patched": True,
        "clickhouse": {"endpoints": endpoints},
    }
    look = Call("part_info", {**ensembles, "shard_paths": [table.path]})
    audit = Call(
        "part_audit_info",
        {
            **ensembles,
            "shard_paths": [table.path],
            "clickhouse": {"endpoints": endpoints},
            "compare_content": True,
        },
    )
    # With the servers mixed up, none has the replica that it is asked for.
    mixed = dict(zip(endpoints, reversed(endpoints.values()), strict=True))

    results, _output = call_modules(
        tmp_path,
        audit,
        look,
        Call("part_move", {**move, "clickhouse": {"endpoints": mixed}}),
        Call("part_move", move, check_mode=True),
        Call("part_move", move),
        Call("part_move", move),
        look,
        audit,
    )

    audited_before, before, refused, checked, moved, again, after, audited_after = results
    for audited, kind in ((audited_before, "hot"), (audited_after, "cold")):
        assert (audited["findings"], audited["complete"]) == ([], True)
        assert audited["kinds"][kind] == 2 * len(endpoints)
    assert [entry["location"] for entry in before["partitions"]] == ["hot", "hot"]
    assert refused["failed"]
    assert f"shows no table that is replica r1 of {table.path}" in refused["msg"]
    assert checked["moved"] == moved["moved"]
    assert checked["diff"] == moved["diff"]
    assert (moved["counts"]["moved"], again["counts"]["unchanged"], again["changed"]) == (2, 2, False)
    assert [entry["location"] for entry in after["partitions"]] == ["cold", "cold"]
    assert after["totals"]["cold"] == before["totals"]["hot"]
    assert table.rows() == rows
