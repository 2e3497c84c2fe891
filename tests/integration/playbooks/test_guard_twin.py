# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The playbook guard.yml for cold twins on real servers: what it does, leaves unchanged, and reports."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.state import State
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.bars import Bar, Hold, path_of_bar
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.partition import TwinOptions
from support.ansible.calls import Call, PlaybookRun, run_modules, run_playbook
from support.ansible.dying_servers import DyingServers, run_until_killed
from support.ansible.twin_runs import TwinGround
from support.exposition import parsed
from support.plans import as_spark_submit
from support.servers.kazoo_client import connected
from support.servers.modern.server import ModernShard
from support.servers.replicated import wait_for
from support.servers.zookeeper import Ensemble

OLD, LATER = "20240101", "20240102"
STEPS = {"guard_finish": True, "guard_repair": True}

pytestmark = [pytest.mark.ladder, pytest.mark.long(minutes=2)]


class Guard(TwinGround):
    """Tables with twins, and runs of the guard."""

    def __init__(self, shard: ModernShard, hot: Ensemble, base: str, folder: Path) -> None:
        super().__init__(shard, hot, base, folder)
        self.metrics, self.success = folder / "partmove.prom", folder / "success.prom"
        self.line = folder / "line"

    def run(self, *options: str, **variables: Any) -> PlaybookRun:
        """Run the playbook with variables from a file, and show how it went if it failed."""
        common = {
            "separation": "twin",
            **{f"partmove_audit_{name}": value for name, value in self.given.items()},
            "partmove_audit_root": self.base,
            "partmove_audit_metrics": str(self.metrics),
            "guard_success_metrics": str(self.success),
            "guard_line_dest": str(self.line),
        }
        extra, playbook = self.folder / "vars.json", self.folder / "site.yml"
        extra.write_text(json.dumps({**common, **variables}))
        playbook.write_text(json.dumps([{"ansible.builtin.import_playbook": "olap.partmove.guard"}]))
        self.line.unlink(missing_ok=True)
        self.success.unlink(missing_ok=True)
        return run_playbook(playbook, "-e", f"@{extra}", *options)

    def told(self, *options: str, **variables: Any) -> str:
        """Return the one-line report of a run that ends well, without its beginning."""
        done = self.run(*options, **variables)
        assert done.status == 0, done.told
        return self.line.read_text().rstrip("\n").removeprefix("PARTMOVE guard").removeprefix(": ")

    def figures(self, name: str) -> dict[str, float]:
        """Return the samples of a metric by the last label, without zeros."""
        found = parsed(self.metrics.read_text())[f"partmove_twin_audit_{name}"]
        return {
            dict(labels).get("kind", dict(labels).get("shard_path", "")): value
            for labels, value in found.items()
            if value
        }

    def twin_table(self, *days: str) -> str:
        """Create a table with a twin, which has a part of two rows in each partition."""
        name = self.table({day: [[number, number + 100]] for number, day in enumerate(days)})
        self.give_twins(self.shard_path(name))
        return name

    def kill_run(self, name: str, *, given: bool) -> None:
        """Kill a run that moves OLD to the twin, before or after its ATTACH."""
        servers = DyingServers(self.asked(), 0, given=given)
        path = self.shard_path(name)
        run_until_killed(lambda: self.move_here(servers, "cold", path, OLD, TwinOptions(min_age=0)))

    def merged_with_others(self, name: str) -> None:
        """Let clones of a killed run be merged with rows that the twin had, so that no run knows them."""
        self.insert_into(f"{name}_cold", 900)
        self.kill_run(name, given=True)
        self.first.execute(f"OPTIMIZE TABLE {name}_cold FINAL", alter_sync=2)
        deleted = f"SELECT count() = 0 FROM system.parts WHERE NOT active AND table = '{name}_cold'"
        wait_for(lambda: all(server.value(deleted) for server in self.shard.servers))

    def classification(self, *wanted: tuple[str, str]) -> dict[str, Any]:
        """The variables of a separation that moves these partitions, with a decision in place of Spark."""
        states = {(self.shard_path(name), day): State.COLD for name, day in wanted}
        with connected(self.hot.connect_string) as client:
            program = as_spark_submit(self.folder, client, states)
        given = {
            "hot": self.given["hot"],
            "root": self.base,
            "policy": {"version": 1, "defaults": {"keep_newest": 1, "cold_after": "1s"}},
            "as_of": "2100-01-01T00:00:00Z",
            "future": True,
            "plan_dest": str(self.folder / "plan.jsonl"),
            "spark_submit": str(program),
            "python": sys.executable,
        }
        of_role = {f"partition_classify_{name}": value for name, value in given.items()}
        return {"guard_separate": True, **of_role, **self.variables()}

    def leases(self) -> list[str]:
        with connected(self.hot.connect_string) as client:
            names: list[str] = client.get_children(f"{self.root}/guard")
        return names


@pytest.fixture
def guard(modern: ModernShard, hot: Ensemble, base: str, tmp_path: Path) -> Guard:
    return Guard(modern, hot, base, tmp_path)


def test_what_the_guard_finishes_repairs_and_moves(guard: Guard) -> None:
    begun, unknown, whole = guard.twin_table(OLD), guard.twin_table(OLD), guard.twin_table(OLD, LATER)
    guard.kill_run(begun, given=True)
    guard.merged_with_others(unknown)
    tables = [f"{name}{end}" for name in (begun, unknown, whole) for end in ("", "_cold")]
    before = {table: guard.ids(table) for table in tables}
    drifted = "2 kinds of inconsistency (unknown 1, cloned 1)"

    silent = {"endpoints": {**guard.shard.endpoints, "r2": "127.0.0.1:9"}}
    incomplete = guard.told(**STEPS, partmove_audit_clickhouse=silent)
    assert incomplete.endswith(" not judged; nothing changed: not everything could be judged")
    assert not guard.success.exists()

    checked = guard.told("--check", **STEPS)
    assert checked == f" (check mode): {drifted}; 1 finished; 1 repaired"
    assert {table: guard.ids(table) for table in tables} == before

    alone = guard.told()
    assert alone == drifted
    assert guard.figures("drift") == {"unknown": 1, "cloned": 1}
    assert guard.figures("oldest_record_timestamp_seconds").keys() == {
        guard.shard_path(begun),
        guard.shard_path(unknown),
    }
    assert {table: guard.ids(table) for table in tables} == before

    done = guard.told(**STEPS, **guard.classification((whole, OLD)))
    assert done == "everything consistent; 1 finished; 1 repaired; 1 moved"
    assert guard.figures("drift") == guard.figures("oldest_record_timestamp_seconds") == {}
    for name in (begun, unknown, whole):
        assert sorted(guard.ids(name)[0] + guard.ids(f"{name}_cold")[0]) == sorted(
            {*before[name][0], *before[f"{name}_cold"][0]}
        )
        assert guard.ids(name)[0] == guard.ids(name)[1]
    assert guard.ids(f"{whole}_cold") == [[0, 100]] * 2
    succeeded = parsed(guard.success.read_text())["partmove_guard_last_success_timestamp_seconds"]
    assert time.time() - succeeded[("separation", "twin"),] < 600
    # The next separation is not due before a day has passed.
    assert guard.leases() == ["separate-twin"]


def test_what_the_guard_says_and_leaves_unchanged(guard: Guard) -> None:
    lost, unlike, held = guard.twin_table(OLD), guard.twin_table(OLD), guard.twin_table(OLD)
    guard.shard.execute(f"ALTER TABLE {unlike} COMMENT COLUMN v 'of the table only'", alter_sync=2)
    guard.first.execute(f"ALTER TABLE {unlike} ADD COLUMN w UInt8", alter_sync=2)
    guard.kill_run(held, given=False)
    with connected(guard.hot.connect_string) as client:
        for bar, name, data in (
            (Bar.ALTER, unlike, b"anything"),
            (Bar.HOLD, held, Hold("me", "a migration", 1000).data),
        ):
            client.create(path_of_bar(guard.root, bar, guard.shard_path(name)), data, makepath=True)
    said = guard.told()
    assert said == (
        f"NO PARTITION CAN MOVE of {guard.shard_path(unlike)}; 2 kinds of inconsistency (twin_unlike 2,"
        f" recorded 1); 1 unfinished by twin_alter ({guard.shard_path(unlike)});"
        f" 1 held for too long ({guard.shard_path(held)})"
    )
    assert guard.figures("alter_unfinished_since_timestamp_seconds").keys() == {guard.shard_path(unlike)}
    assert guard.success.exists()

    moved = guard.move(partitions=guard.partitions(lost, OLD))
    assert moved["counts"]["moved"] == 1, moved
    guard.first.execute(f"ALTER TABLE {lost}_cold DROP PARTITION ID '{OLD}'", alter_sync=2)
    said = guard.told(guard_finish=True)
    assert said.startswith(f"TWINS LACK ROWS: {guard.shard_path(lost)} {OLD}; NO PARTITION CAN MOVE of ")
    assert said.endswith("; nothing changed: rows that should be in a twin are not there")
    assert not guard.success.exists()
    assert guard.figures("oldest_record_timestamp_seconds").keys() == {guard.shard_path(held)}


def test_another_guard_has_the_lease_or_a_step_fails(guard: Guard) -> None:
    guard.kill_run(guard.twin_table(OLD), given=True)
    common = {name: guard.given[name] for name in ("hot", "coordination_root")}
    run_modules(Call("guard_lease", {**common, "owner": "another guard"}))
    assert guard.told(**STEPS) == (
        "1 kind of inconsistency (cloned 1); nothing changed: the lease belongs to another guard"
    )
    assert not guard.success.exists()
    run_modules(Call("guard_lease", {**common, "owner": "another guard", "state": "given_back"}))

    nobody = {"user": "nobody", "endpoints": guard.shard.endpoints}
    drifted = "1 kind of inconsistency (cloned 1)"
    for wrong, reason in (
        ({"twin_move_clickhouse": nobody}, "ClickHouse at "),
        ({"twin_move_lock_wait": "soon"}, ""),
    ):
        failed = guard.run(**STEPS, **wrong)
        assert failed.status == 2, failed.told
        line = guard.line.read_text()
        assert line.startswith(f"PARTMOVE guard: FAILED: finish: {reason}")
        assert line.endswith(f"; {drifted}\n")
        assert not guard.success.exists()
    assert guard.leases() == []
    assert guard.told(**STEPS) == "everything consistent; 1 finished"
