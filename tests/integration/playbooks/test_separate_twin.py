# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The playbooks separate.yml and reheat.yml without a patch: from classification to cold twins, and back."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from support.ansible.calls import PlaybookRun, run_playbook
from support.ansible.role_runs import changed, summary
from support.ansible.twin_runs import TwinGround
from support.servers import warm_spark
from support.servers.jvm import SMALL_SPARK_CONF
from support.servers.modern.history import UPDATE
from support.servers.modern.server import ModernShard
from support.servers.zookeeper import Ensemble

pytestmark = pytest.mark.ladder

OLD, LATER, NEWEST = "20240101", "20240102", "20240103"


@pytest.fixture
def ground(modern: ModernShard, hot: Ensemble, base: str, tmp_path: Path) -> TwinGround:
    return TwinGround(modern, hot, base, tmp_path)


def run(ground: TwinGround, name: str, variables: dict[str, Any], *options: str) -> PlaybookRun:
    """Run a playbook as a user does, with the twins' variables in a file."""
    extra = ground.folder / "vars.json"
    extra.write_text(json.dumps({"separation": "twin", **ground.variables(), **variables}))
    playbook = ground.folder / "site.yml"
    playbook.write_text(json.dumps([{"ansible.builtin.import_playbook": f"olap.partmove.{name}"}]))
    return run_playbook(playbook, "-e", f"@{extra}", *options)


def classification(ground: TwinGround) -> dict[str, Any]:
    """What the role partition_classify needs for the tables of the test, the newest partition being hot."""
    given = {
        "hot": ground.given["hot"],
        "clickhouse": {"hosts": list(ground.shard.endpoints.values())},
        "root": ground.base,
        "policy": {"version": 1, "defaults": {"keep_newest": 1, "cold_after": "1s"}},
        "as_of": "2100-01-01T00:00:00Z",
        "future": True,
        "plan_dest": str(ground.folder / "plan.jsonl"),
        "report_dest": str(ground.folder / "report"),
        "spark_submit": str(warm_spark.program()),
        "spark_master": "local[2]",
        "spark_conf": SMALL_SPARK_CONF,
        "python": sys.executable,
    }
    return {f"partition_classify_{name}": value for name, value in given.items()}


def check_plan(ground: TwinGround, hits: str, visits: str, *, has_patch: bool) -> None:
    """Several parts are no obstacle; patches of rows that were updated in place are no partition."""
    _header, *lines = (ground.folder / "plan.jsonl").read_text().splitlines()
    rows = {(row["shard_path"], row["partition"]): row for row in map(json.loads, lines)}
    cold = {key for key, row in rows.items() if row["state"] == "COLD"}
    assert cold == {(ground.shard_path(each), day) for each in (hits, visits) for day in (OLD, LATER)}
    assert {row["gate"] for row in rows.values()} == {None}
    patches = [row for (_path, partition), row in rows.items() if partition.startswith("patch-")]
    assert len(patches) == has_patch
    assert all(row["reason"].startswith("patches of a lightweight update never move") for row in patches)
    figures = json.loads((ground.folder / "report" / "report.json").read_text())["hot"]
    assert (figures["now"]["partitions"], figures["one_part"]["partitions"]) == (4, 3)


def test_from_the_classification_to_the_twins_and_back(ground: TwinGround) -> None:
    """Of one table all that is old goes; of the other an update in place has to be applied first.

    Versions without such updates take what is old of both.
    """
    hits = ground.table({OLD: [[1, 2], [3]], LATER: [[4]], NEWEST: [[5]]})
    visits = ground.table({OLD: [[6]], LATER: [[7]], NEWEST: [[8]]})
    has_patch = ground.first.knows(UPDATE)
    if has_patch:
        ground.first.execute(f"UPDATE {visits} SET v = 1 WHERE id = 6", **{UPDATE: 1})
    ground.shard.execute(f"SYSTEM SYNC REPLICA {visits}")
    variables = {**classification(ground), "twin_move_create_twins": True}

    planned = run(ground, "separate", variables, "--tags", "classify")
    assert planned.status == 0, planned.told
    check_plan(ground, hits, visits, has_patch=has_patch)
    assert ground.has_table(f"{hits}_cold") == [False, False]

    checked = run(ground, "separate", variables, "--tags", "move", "--check")
    assert changed(checked) == 1
    assert summary(checked)[0] == "Twins that would be created: 4, of 4 on all replicas."
    assert ground.has_table(f"{hits}_cold") == [False, False]

    moved = run(ground, "separate", variables, "--tags", "move")
    assert changed(moved) == 2
    told = "\n".join(summary(moved))
    assert told.startswith("Twins created: 4, of 4 on all replicas.\n")
    if has_patch:
        assert "Moved to the twins: 2 partitions, 3 parts, 4 rows, " in told
        assert "  2 by twin_at_rest. " in told
        assert "has the patch part " in told
    else:
        assert "Moved to the twins: 4 partitions, 5 parts, 6 rows, " in told
    assert f"Not for this run: {2 + has_patch} partitions that the plan wants HOT." in told
    assert (ground.ids(hits), ground.ids(f"{hits}_cold")) == ([[5]] * 2, [[1, 2, 3, 4]] * 2)
    left, gone = ([6, 7, 8], []) if has_patch else ([8], [6, 7])
    assert (ground.ids(visits), ground.ids(f"{visits}_cold")) == ([left] * 2, [gone] * 2)
    assert changed(run(ground, "separate", variables, "--tags", "move")) == 0

    # That it is foretold, and nothing to do for a second run, is seen for the role.
    returned = run(ground, "reheat", {"twin_move_shard_paths": [ground.shard_path(hits)]})
    assert changed(returned) == 1
    assert summary(returned)[0].startswith("Brought back: 2 partitions, 3 parts, 4 rows, ")
    assert (ground.ids(hits), ground.ids(f"{hits}_cold")) == ([[1, 2, 3, 4, 5]] * 2, [[]] * 2)
