# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The demo without ClickHouse servers, and the recording that it plays from."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from demo import demo
from demo.recording import RECORDING, read, write
from demo.screen import Screen, Surprise
from demo.tables import REPLICAS, TABLES
from support.ansible.calls import COLLECTIONS, ROOT

PART = re.compile(r"(/.*)/replicas/(.*)/parts/([^/_]+)_[^/]*")


@pytest.mark.clickhouse
def test_the_demo_holds_what_it_claims(clickhouse: str, tmp_path: Path) -> None:
    shown = play(tmp_path)

    assert "jason.live_events       ready  ready" in shown
    assert "Every row is there. Both know their cold parts again" in shown
    # The restart lets merges go on, so that there may be one part or two.
    assert re.search(r"20191213   HOT    r1 \d, r2 \d     -             -               -\n", shown)
    assert "20191214   COLD   -              -             r1 1, r2 1      -" in shown
    assert "jason.table_test_local on r2   3,500  1,000" in shown


def test_the_recorded_demo_holds_what_it_claims(tmp_path: Path) -> None:
    shown = play(tmp_path, "--recorded")

    assert "WITHOUT CLICKHOUSE SERVERS" in shown
    assert shown.count("Not shown: this is the demo without ClickHouse servers") == 3


def play(folder: Path, *options: str) -> str:
    """Run the demo, check what it always shows, and return all that it has shown."""
    logs, scratch = folder / "logs", folder / "scratch"
    scratch.mkdir()

    done = subprocess.run(
        [sys.executable, "-m", "demo.demo", *options, "--logs", str(logs)],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(COLLECTIONS), str(ROOT / "tests")]),
            "TMPDIR": str(scratch),
        },
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    assert "16 moved, 1 deferred, 0 failed, 0 unchanged" in done.stdout
    assert "20191213   HOT    r1 2, r2 2  -" in done.stdout
    assert "20191214   COLD   -           r1 1, r2 1" in done.stdout
    assert "All of that held" in done.stdout
    assert (logs / "3-move.log").exists()
    report = logs / "3-move-report" / "report.html"
    assert f"\n   {report}\n" in done.stdout
    assert "jason" in report.read_text(encoding="utf-8")
    assert [path.name for path in scratch.iterdir() if path.name.startswith("partmove")] == []
    return done.stdout


def test_a_surprise_ends_the_demo_with_status_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def perform(_screen: Screen, _logs: Path, *, recorded: bool) -> None:
        raise Surprise(f"recorded is {recorded}")

    monkeypatch.setattr(demo, "perform", perform)
    monkeypatch.setattr(sys, "argv", ["demo.py", "--recorded", "--logs", str(tmp_path)])

    assert demo.main() == 1
    assert capsys.readouterr().err == "\nThe demo failed: recorded is True\n"


def test_the_recording_has_the_partitions_that_the_demo_speaks_of() -> None:
    found = {match.groups() for znode in read().znodes if (match := PART.fullmatch(znode.path))}

    assert found == {
        (table.shard_path, replica, partition)
        for table in TABLES
        for replica in REPLICAS
        for partition in table.outcome
    }


def test_a_recording_is_written_as_it_was_read(tmp_path: Path) -> None:
    copy = tmp_path / "znodes.json"

    write(read(), copy)

    assert copy.read_bytes() == RECORDING.read_bytes()
