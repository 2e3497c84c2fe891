# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""part_repair of all kinds: in rounds, in order, and check mode shows the very steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import NoSuchTable
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.to_cold import move_shard
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.backup import (
    parse_backup,
)
from support.memory.bench import DAY, LOCK, OTHER, PART, PATH, Bench
from support.memory.part_repairs import STATE, Repairs
from support.memory.tables import TableOptions, build_table

SECOND = f"{PATH}_second"
OLD = "20180101"
"""A partition that was dropped after another tool had copied it."""
EVERYTHING: dict[str, Any] = {
    "kind": "all",
    "shard_path": None,
    "shard_paths": [PATH, SECOND],
    "disks_are_mounted": True,
    "without_hashes": True,
    "quiet": "0",
}


def left_by_another(bench: Bench) -> None:
    """Let another tool move two partitions, one of them without State, after it had copied a dropped one."""
    for replica in ("r1", "r2"):
        for part in (bench.part(replica), bench.part(replica).replace(DAY, OTHER)):
            data = bench.hot.get(part)[0]
            bench.cold.create(part, data, makepath=True)
            bench.hot.delete(part)
        bench.cold.create(bench.part(replica).replace(DAY, OLD), data)
    bench.hot.create(STATE, b"COLD", makepath=True)


@pytest.fixture
def drifted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repairs:
    """Return repairs of a table of another tool, and of one whose cold partition is not marked."""
    repairs = Repairs(tmp_path, monkeypatch)
    build_table(repairs.bench.hot, SECOND, TableOptions())
    assert move_shard(repairs.bench.context, SECOND, [DAY], repairs.bench.options).moved
    repairs.bench.hot.set(STATE.replace(PATH, SECOND), b"HOT")
    left_by_another(repairs.bench)
    return repairs


STEPS = [
    ("dropped", PATH, 1),
    ("foreign", PATH, 2),
    ("cold_unmarked", SECOND, 1),
    ("cold_unmarked", PATH, 1),
]
"""The second table needs no round of its own; `cold_unmarked` of the first one comes with its adoption."""


def steps(result: dict[str, Any]) -> list[tuple[str, str, int]]:
    return [(each["kind"], each["shard_path"], each["repaired"]) for each in result["steps"]]


def paths(result: dict[str, Any]) -> list[str]:
    """Return the operations without what they write: a new identity differs from run to run."""
    return [" ".join(each.split()[:3]) for each in result["operations"]]


def test_check_mode_shows_the_very_steps(drifted: Repairs) -> None:
    before = drifted.trees()
    checked = drifted.run(check_mode=True, **EVERYTHING)
    assert drifted.trees() == before
    assert drifted.files() == []
    assert steps(checked) == STEPS
    done = drifted.run(**EVERYTHING)
    assert (steps(done), paths(done)) == (STEPS, paths(checked))
    assert done["counts"] == checked["counts"] == {"repaired": 5, "left": 0}
    assert done["repaired"] == checked["repaired"]
    assert drifted.run(**EVERYTHING)["steps"] == []


def test_each_step_has_its_own_backup(drifted: Repairs) -> None:
    """The last one creates the State of a partition without one, and changes and deletes nothing."""
    result = drifted.run(**EVERYTHING)
    headers = [parse_backup(Path(each).read_bytes(), each)[0] for each in result["backups"]]
    assert [(each.kind, each.shard_path) for each in headers] == [step[:2] for step in STEPS[:-1]]
    assert result["backup"] == ""


def test_what_is_left_is_that_of_the_last_round(drifted: Repairs) -> None:
    result = drifted.run(**{**EVERYTHING, "disks_are_mounted": False})
    assert steps(result) == [
        *(("dropped", PATH, 0), ("foreign", PATH, 0), ("cold_unmarked", SECOND, 1)),
        *(("dropped", PATH, 0), ("foreign", PATH, 0)),
    ]
    assert [(row["kind"], row["partition"]) for row in result["left"]] == [
        ("dropped", OLD),
        *(("foreign", each) for each in sorted((DAY, OTHER))),
    ]
    assert result["counts"] == {"repaired": 1, "left": 3}


def test_only_the_partitions_that_were_asked_for(drifted: Repairs) -> None:
    assert steps(drifted.run(**EVERYTHING, partitions=[OLD])) == [("dropped", PATH, 1)]


@pytest.mark.parametrize("check_mode", [False, True], ids=["run", "check mode"])
def test_a_table_that_fails_keeps_no_other_and_is_not_tried_again(drifted: Repairs, check_mode: bool) -> None:
    drifted.bench.cold_store.denied.add(f"{PATH}/replicas/r1/parts")
    task, resources = drifted.task(check_mode=check_mode, **EVERYTHING)
    task.run(resources)
    resources.close()
    result = task.result()
    assert steps(result) == [("cold_unmarked", SECOND, 1)]
    assert [row["shard_path"] for row in result["failed_shard_paths"]] == [PATH]
    assert task.failure.startswith(f"1 of 2 shard paths could not be repaired: {PATH}: ")


def test_a_table_that_is_locked_is_left_after_its_first_step(drifted: Repairs) -> None:
    drifted.bench.before_lease(lambda: drifted.bench.hot.create(LOCK, b"another run"))
    task, resources = drifted.task(**EVERYTHING)
    task.run(resources)
    resources.close()
    result = task.result()
    assert ("dropped", PATH, 0) in steps(result)
    assert {each[1] for each in steps(result) if each[2]} == {SECOND}
    assert "locked by another run" in task.failure
    assert drifted.bench.cold.exists(f"{PATH}/replicas/r1/parts/{PART.replace(DAY, OLD)}")


def test_none_of_the_tables_is_there(drifted: Repairs) -> None:
    with pytest.raises(NoSuchTable):
        drifted.run(**{**EVERYTHING, "shard_paths": ["/none", "/no/other"]})
