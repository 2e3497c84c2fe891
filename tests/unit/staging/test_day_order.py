# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Orders of old rows, and which processes a killed controller has."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from datetime import date
from pathlib import Path

import pytest

from staging.day.config import Order
from staging.day.kill import descendants
from staging.day.order import await_all, orders, place


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Clients with a table by day, one by month and a view, on two shards; they run."""
    tables = [
        {"name": "daily", "read": "", "insert": "INSERT INTO daily VALUES", "partition": "%Y%m%d"},
        {"name": "monthly", "read": "", "insert": "INSERT INTO monthly VALUES", "partition": "%Y%m"},
        {"name": "view", "read": "", "source": "daily"},
    ]
    replicas = [{"shard": shard, "name": f"r{shard}", "address": "localhost:1"} for shard in ("1", "2")]
    (tmp_path / "config.json").write_text(json.dumps({"tables": tables}))
    (tmp_path / "replicas.json").write_text(json.dumps(replicas))
    (tmp_path / "inserted").mkdir()
    (tmp_path / "started").touch()
    return tmp_path


def test_each_table_gets_rows_in_so_many_partitions(folder: Path) -> None:
    found = [*orders(folder, date(2024, 3, 20), 3, 2)]
    assert [(shard, order.table) for shard, order in found] == [
        ("1", "daily"),
        ("1", "monthly"),
        ("2", "daily"),
        ("2", "monthly"),
    ]
    assert found[0][1].dates == ["2024-03-20", "2024-03-19", "2024-03-18"]
    assert [day[:7] for day in found[1][1].dates] == ["2024-03", "2024-02", "2024-01"]


def test_only_the_named_tables_get_rows(folder: Path) -> None:
    assert {order.table for _shard, order in orders(folder, date(2024, 3, 20), 3, 2, ["daily"])} == {"daily"}


def test_the_error_of_an_order_is_reported(folder: Path) -> None:
    outcomes = [place(folder, name, "1", Order("daily", ["2024-03-20"], 1)) for name in ("good", "bad")]
    assert json.loads((folder / "insert" / "1" / "good.json").read_text())["table"] == "daily"
    outcomes[0].write_text("")
    outcomes[1].write_text("refused")
    assert await_all(folder, outcomes, 60.0) == ["bad: refused"]


def test_clients_that_have_ended_are_not_waited_for(folder: Path) -> None:
    long_ago = time.time() - 3600
    os.utime(folder / "started", (long_ago, long_ago))
    assert await_all(folder, [folder / "inserted" / "never"], 600.0) == [
        "the clients have ended: see what their program wrote"
    ]


def test_descendants_may_have_sessions_of_their_own() -> None:
    with subprocess.Popen(["sh", "-c", "setsid sleep 600 & wait"]) as shell:
        try:
            end = time.monotonic() + 60
            while _sessions(shell.pid) < 2 and time.monotonic() < end:
                time.sleep(0.05)
            assert _sessions(shell.pid) == 2
        finally:
            for process in reversed(descendants(shell.pid)):
                os.kill(process, signal.SIGKILL)


def _sessions(process: int) -> int:
    return len({os.getsid(each) for each in descendants(process)})
