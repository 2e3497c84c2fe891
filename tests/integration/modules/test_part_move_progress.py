# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How far part_move is, while it runs."""

from __future__ import annotations

from typing import Any

import pytest

from support.ansible.calls import run_playbook, write_playbook
from support.ansible.modules import ASSUMED, Pair, partitions_of
from support.memory.tables import Table, build_table, days

(FIRST,) = days(1)


@pytest.fixture
def slow_task(pair: Pair, table: Table) -> dict[str, Any]:
    """A task that moves one partition, waits for a lock, and moves another one."""
    tables = [table, *(build_table(pair.hot, f"{pair.base}/{name}") for name in ("orders", "visits"))]
    lock = f"{pair.options['coordination_root']}/locks/{tables[1].path.replace('/', '%2F')}"
    pair.hot.create(lock, b"another run", ephemeral=True, makepath=True)
    wanted = [item for each in tables for item in partitions_of(each, FIRST)]
    return {
        "olap.partmove.part_move": {**pair.options, **ASSUMED, "partitions": wanted, "lock_wait": "3s"},
        "register": "move",
    }


def test_progress_is_shown_on_the_controller(pair: Pair, table: Table, slow_task: dict[str, Any]) -> None:
    files = pair.folder / "progress"
    files.mkdir()
    run = run_playbook(write_playbook(pair.folder, [slow_task]), TMPDIR=str(files))
    assert run.status == 0, run.output
    line = (
        f"olap.partmove.part_move: 1 moved, 1 deferred, 0 failed, 0 unchanged, done with {pair.base}/orders"
    )
    lines = run.output.splitlines()
    assert lines.count(line) == 1
    result = next(number for number, each in enumerate(lines) if each.startswith("changed: [localhost]"))
    assert lines.index(line) < result
    assert list(files.iterdir()) == []


def test_a_task_in_the_background_runs_without(pair: Pair, table: Table, slow_task: dict[str, Any]) -> None:
    run = run_playbook(write_playbook(pair.folder, [slow_task | {"async": 3600, "poll": 1}]))
    assert run.status == 0, run.output
    assert "done with" not in run.output
    assert '"msg": "2 moved, 1 deferred, 0 failed, 0 unchanged"' in run.output
