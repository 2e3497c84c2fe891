# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""repair.yml with all kinds in one run, on patched servers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from kazoo.security import make_acl

from support.ansible.role_runs import changed
from support.html_page import Page, check_page
from support.servers.moving import Mover
from support.servers.operator import Operator
from support.servers.registered import Registry
from support.servers.replicated import ReplicatedTable, TableMaker
from support.servers.zookeeper import Ensemble

DAY, OTHER, DROPPED = "20191201", "20191202", "20190101"
DROPPED_STEP = r"1\. dropped: 1 shard path, 1 partition, 2 parts of replicas"
FOREIGN_STEP = r"2\. foreign: 1 shard path, 2 partitions, 4 parts of replicas"

pytestmark = [
    pytest.mark.long(minutes=2),
    pytest.mark.clickhouse,
    pytest.mark.patched,
    pytest.mark.usefixtures("healthy"),
]


@pytest.fixture
def table(make_table: TableMaker, registry: Registry) -> ReplicatedTable:
    """A table of which another tool has moved two partitions, one without State; and cold has a dropped part.

    The dropped part keeps the others from adoption, and `cold_unmarked` appears after the adoption.
    """
    made = make_table()
    made.fill(["2019-12-01", "2019-12-02"])
    made.settle()
    hot, cold = registry.hot, registry.cold
    for replica in made.replicas:
        for day in (DAY, OTHER):
            _copy(registry, made, replica, f"{day}_0_0_0", f"{day}_0_0_0")
        _copy(registry, made, replica, f"{DAY}_0_0_0", f"{DROPPED}_0_0_0")
        for day in (DAY, OTHER):
            hot.delete(f"{made.path}/replicas/{replica}/parts/{day}_0_0_0", recursive=True)
    hot.create(f"{made.path}/block_numbers/{DAY}/State", b"COLD")
    assert cold.exists(f"{made.path}/replicas/r1/parts/{DROPPED}_0_0_0")
    return made


def _copy(registry: Registry, table: ReplicatedTable, replica: str, part: str, name: str) -> None:
    folder = f"{table.path}/replicas/{replica}/parts"
    children = registry.hot.get_children(f"{folder}/{part}")
    for below in ("", *(f"/{each}" for each in children)):
        data = registry.hot.get(f"{folder}/{part}{below}")[0]
        registry.cold.create(f"{folder}/{name}{below}", data, makepath=True)


def test_all_kinds_are_repaired_in_one_run(
    table: ReplicatedTable, operator: Operator, registry: Registry, tmp_path: Path
) -> None:
    backup, page = tmp_path / "backup", tmp_path / "repair.html"
    backup.mkdir()
    variables: dict[str, Any] = {
        "partmove_repair_kind": "all",
        "partmove_repair_shard_paths": [table.path],
        "partmove_repair_backup": str(backup),
        "partmove_repair_disks_are_mounted": True,
        "partmove_repair_quiet": "0",
        "partmove_repair_page": str(page),
    }
    rows = [table.rows(number) for number in (0, 1)]

    check_mode_shows_the_plan(operator, variables)
    assert not page.exists()
    assert list(backup.iterdir()) == []

    # No server shows the dropped part, whose disk may not be mounted.
    leave_what_is_not_confirmed(operator, variables)
    assert registry.cold.exists(f"{table.path}/replicas/r1/parts/{DROPPED}_0_0_0")
    assert shown(page) == (1, False, {"dropped": ("2", "2", "0"), "foreign": ("4", "4", "0")})

    # The servers show no hashes, so foreign parts are left without a confirmation.
    unconfirmed = operator.play("repair", "partmove_repair", variables)
    assert changed(unconfirmed) == 1, unconfirmed.told
    assert "Rounds: 2." in unconfirmed.output
    assert "  dropped: 2" in unconfirmed.output
    assert "Left: 2 partitions." in unconfirmed.output
    assert "run part_repair with without_hashes" in unconfirmed.output

    # The page goes on, with the audit before the first run.
    assert shown(page) == (2, False, {"dropped": ("2", "0", "2"), "foreign": ("4", "4", "0")})
    assert "run part_repair with without_hashes" in page.read_text()

    confirmed = {**variables, "partmove_repair_without_hashes": True}
    done = operator.play("repair", "partmove_repair", confirmed)
    assert changed(done) == 2, done.told
    assert "Rounds: 2." in done.output
    assert "  foreign: 4" in done.output
    assert "  cold_unmarked: 2" in done.output
    assert "Left: 0 partitions." in done.output
    assert "4 consistent, 0 inconsistent, 0 not judged" in done.output
    assert registry.hot.get(f"{table.path}/block_numbers/{OTHER}/State")[0] == b"COLD"
    assert [table.rows(number) for number in (0, 1)] == rows

    assert re.search(r"Time: foreign [\d.]+ s, cold_unmarked [\d.]+ s\.", done.output)
    repaired = {"dropped": ("2", "0", "2"), "foreign": ("4", "0", "4"), "cold_unmarked": ("0", "0", "2")}
    assert shown(page) == (3, True, {**repaired, "cold": ("0", "4", "0")})

    # What is finished is not continued.
    again = operator.play("repair", "partmove_repair", confirmed)
    assert changed(again) == 0, again.told
    assert shown(page) == (1, True, {"cold": ("4", "4", "0")})
    assert "Plan: 0 kinds to repair." in again.output
    assert "Rounds: 0." in again.output


def check_mode_shows_the_plan(operator: Operator, variables: dict[str, Any]) -> None:
    """Expect the kinds with their estimates, and the operations."""
    checked = operator.play("repair", "partmove_repair", variables, "--check")
    assert changed(checked) == 1, checked.told
    assert "Plan: 2 kinds to repair, in this order." in checked.output
    estimate = r"; about [\d.]+ s, at most"
    assert re.search(DROPPED_STEP + estimate + " 0 znodes to write and 6 to delete", checked.output)
    assert re.search(FOREIGN_STEP + estimate + " 1 znode to write and 0 to delete", checked.output)
    assert re.search(r"Estimate: about [\d.]+ s by the time of this audit", checked.output)
    confirmed = {**variables, "partmove_repair_without_hashes": True}
    simulated = operator.play("repair", "partmove_repair", confirmed, "--check")
    steps = re.findall(r"\d\. (\w+) of \S+: (\d) partitions? would be repaired, (\d) left", simulated.output)
    assert steps == [("dropped", "1", "0"), ("foreign", "2", "0"), ("cold_unmarked", "1", "0")]


def leave_what_is_not_confirmed(operator: Operator, variables: dict[str, Any]) -> None:
    """Expect that nothing is repaired without a word about the disks."""
    unconfirmed = {**variables, "partmove_repair_disks_are_mounted": False}
    blind = operator.play("repair", "partmove_repair", unconfirmed)
    assert changed(blind) == 0, blind.told
    assert "dropped: left without partmove_repair_disks_are_mounted where no disk has a part." in blind.output
    assert "then run part_repair with disks_are_mounted." in blind.output


def shown(page: Path) -> tuple[int, bool, dict[str, tuple[str, ...]]]:
    """Return the number of runs, whether they are finished, and kind → findings before, now and repaired."""
    text = page.read_text()
    check_page(text)
    state = json.loads(Path(f"{page}.json").read_text())
    assert ("Finished" in Page(text).words) is state["finished"]
    row = re.compile(
        r'data-label="Kind"><span[^>]*>(\w+)</span></th>' + r'<td class="n"[^>]*>([\d,]+)</td>' * 3
    )
    return state["runs"], state["finished"], {kind: tuple(rest) for kind, *rest in row.findall(text)}


@pytest.mark.parametrize(
    ("variables", "text", "message"),
    [
        ({"partmove_repair_kind": "ghost"}, "", "partmove_repair_page is for partmove_repair_kind all."),
        ({}, "a page of somebody", "is no state of an earlier repair. Give another partmove_repair_page"),
        ({}, '{"format": "olap.partmove/repair-page", "version": 12}', "is no state of an earlier repair."),
    ],
    ids=["one kind", "another file", "another version"],
)
def test_a_page_that_cannot_be_written(
    table: ReplicatedTable,
    operator: Operator,
    tmp_path: Path,
    variables: dict[str, Any],
    text: str,
    message: str,
) -> None:
    page = tmp_path / "repair.html"
    Path(f"{page}.json").write_text(text)
    given: dict[str, Any] = {
        "partmove_repair_kind": "all",
        "partmove_repair_shard_paths": [table.path],
        "partmove_repair_backup": str(tmp_path),
        "partmove_repair_page": str(page),
        **variables,
    }
    run = operator.play("repair", "partmove_repair", given)
    assert run.status != 0
    assert message in run.output
    assert not page.exists()
    assert Path(f"{page}.json").read_text() == text


def test_a_table_that_may_not_be_written_keeps_no_other_and_fails_the_play_at_its_end(
    table: ReplicatedTable,
    make_table: TableMaker,
    operator: Operator,
    registry: Registry,
    tmp_path: Path,
) -> None:
    """The audit may read the table, and the repair may not raise its epoch."""
    denied = make_table()
    denied.fill(["2019-12-01"])
    denied.settle()
    registry.set_state(denied, DAY, b"COLD")
    registry.hot.ensure_path("/partmove/epochs")
    epoch = f"/partmove/epochs/{quote(denied.path, safe='')}"
    registry.hot.create(epoch, b"", [make_acl("world", "anyone", read=True)])
    variables: dict[str, Any] = {
        "partmove_repair_kind": "all",
        "partmove_repair_shard_paths": [denied.path, table.path],
        "partmove_repair_backup": str(tmp_path),
        "partmove_repair_disks_are_mounted": True,
        "partmove_repair_without_hashes": True,
        "partmove_repair_quiet": "0",
    }
    run = operator.play("repair", "partmove_repair", variables)
    assert run.status != 0
    assert "Rounds: 3." in run.output
    assert "  foreign: 4" in run.output
    assert "  cold_unmarked: 2" in run.output
    assert f"Shard paths could not be repaired: {denied.path}: " in run.output
    assert registry.hot.get(f"{denied.path}/block_numbers/{DAY}/State")[0] == b"COLD"


def test_a_round_that_fails_is_reported(table: ReplicatedTable, operator: Operator, tmp_path: Path) -> None:
    """An invalid value of an option is found by part_repair."""
    variables: dict[str, Any] = {
        "partmove_repair_kind": "all",
        "partmove_repair_shard_paths": [table.path],
        "partmove_repair_backup": str(tmp_path),
        "partmove_repair_quiet": "long",
    }
    run = operator.play("repair", "partmove_repair", variables)
    assert run.status != 0
    assert "Rounds: 1." in run.output
    assert "Failed: dropped: " in run.output
    assert "Failed: foreign: " in run.output
    assert "Audit again" not in run.output


@pytest.mark.parametrize("kind", ["ghost", "all"])
def test_a_root_without_tables_is_no_success(
    table: ReplicatedTable, operator: Operator, tmp_path: Path, kind: str
) -> None:
    variables: dict[str, Any] = {
        "partmove_repair_kind": kind,
        "partmove_repair_root": "/partmove",
        "partmove_repair_backup": str(tmp_path),
    }
    run = operator.play("repair", "partmove_repair", variables)
    assert run.status != 0
    assert "Nothing was found to repair, but the audit is not complete" in run.output


@pytest.mark.parametrize("kind", ["another_replica", "all"])
def test_what_a_dropped_table_left_in_cold_goes_only_after_a_confirmation(
    make_table: TableMaker,
    mover: Mover,
    registry: Registry,
    hot: Ensemble,
    cold: Ensemble,
    tmp_path: Path,
    kind: str,
) -> None:
    table = make_table()
    table.fill(["2019-12-01"])
    table.settle()
    assert mover.move(table, [DAY]).moved.keys() == {DAY}
    for server in table.servers:
        server.execute(f"DROP TABLE {table.name}")
    operator = Operator(table, hot, cold, tmp_path)
    variables: dict[str, Any] = {
        "partmove_repair_kind": kind,
        "partmove_repair_shard_paths": [table.path],
        "partmove_repair_backup": str(tmp_path),
    }
    part = f"{table.path}/replicas/r1/parts/{DAY}_0_0_0"

    left = operator.play("repair", "partmove_repair", variables)
    assert changed(left) == 0, left.told
    assert (
        "If the server of that replica is gone for good, run part_repair with replica_is_gone." in left.output
    )
    assert registry.cold.exists(part)

    done = operator.play("repair", "partmove_repair", {**variables, "partmove_repair_replica_is_gone": True})
    assert changed(done) == 1, done.told
    assert "Repaired: 2 partitions of replicas." in done.output
    assert "0 inconsistent, 0 not judged" in done.output
    assert not registry.cold.exists(part)
