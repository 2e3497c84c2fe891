# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs the demos, and checks what they show with servers and without."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from datetime import datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from demo import patched, twin
from demo.runs import Runs, Separation
from demo.tables import COLD_AFTER_SECONDS, POLICY, ROOT as TABLES_ROOT
from partition_classify.job import main as classify
from support.ansible.calls import COLLECTIONS, ROOT, Call, run_modules


class RunsHere(Runs):
    """Does what the playbook separate.yml does, without Ansible, in the Spark of this process."""

    def separate(
        self, name: str, as_of: datetime, readiness: Mapping[str, Any], *, check: bool = False
    ) -> Separation:
        """Classify, and move what the plan says is cold."""
        plan = self._scratch / ("checked.jsonl" if check else "plan.jsonl")
        report = self._logs.resolve() / f"{name}-report"
        times = [f"--as-of={as_of.isoformat()}", f"--report={report}"]
        classified = self._classify(name, TABLES_ROOT, POLICY, self._connections, plan, *times)
        options = {"plan": str(plan), "min_age": f"{COLD_AFTER_SECONDS}s", **readiness}
        (moved,) = run_modules(Call("part_move", {**self._connections, **options}, check))
        assert not moved["failed"], moved
        return Separation(classified, moved)

    def separate_twins(
        self, name: str, root: str, policy: Mapping[str, Any], clickhouse: Mapping[str, Any]
    ) -> Separation:
        """Classify, create the twins that are missing, and move what the plan says is cold."""
        plan = self._scratch / "plan.jsonl"
        hot = {"hot": self._connections["hot"]}
        # Without Ansible an insert is not a second ago yet.
        later = ["--separation=twin", "--as-of=2100-01-01T00:00:00Z", "--future"]
        classified = self._classify(name, root, json.dumps(policy), hot, plan, *later)
        asked = {**hot, "clickhouse": clickhouse, "plan": str(plan)}
        for answer in run_modules(Call("twin_table", asked), Call("twin_move", {**asked, "min_age": "0"})):
            assert not answer["failed"], answer
        return Separation(classified, answer)

    def reheat_twins(self, name: str, shard_path: str, clickhouse: Mapping[str, Any]) -> Mapping[str, Any]:
        """Bring all partitions of a table back."""
        options = {"state": "hot", "shard_paths": [shard_path], "clickhouse": clickhouse}
        (answer,) = run_modules(Call("twin_move", {"hot": self._connections["hot"], **options}))
        assert not answer["failed"], (name, answer)
        return answer

    def _classify(
        self, name: str, root: str, policy: str, connections: Mapping[str, Any], plan: Path, *options: str
    ) -> Mapping[str, Any]:
        """Write a plan; return what the job told."""
        files = {
            "policy": (self._scratch / "policy.yml", policy),
            "connections": (self._scratch / "connections.json", json.dumps(connections)),
        }
        for path, text in files.values():
            path.write_text(text)
        output = StringIO()
        with (self._logs / f"{name}.log").open("w") as log, redirect_stdout(output), redirect_stderr(log):
            given = [f"--{option}={path}" for option, (path, _text) in files.items()]
            status = classify([*given, f"--root={root}", f"--plan={plan}", *options])
        assert status == 0, (self._logs / f"{name}.log").read_text()
        answer: Mapping[str, Any] = json.loads(output.getvalue())
        return answer


def play_here(folder: Path, patch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """Run the demo without ClickHouse in this process, check what it always shows, and return all of that.

    What Ansible has to do with it the demo with servers shows.
    """
    logs, scratch = folder / "logs", folder / "scratch"
    scratch.mkdir()
    patch.setattr(patched, "Runs", RunsHere)
    patch.setattr(sys, "argv", ["demo", "--recorded", "--logs", str(logs)])
    patch.setattr(tempfile, "tempdir", str(scratch))

    status = patched.main()

    shown = capsys.readouterr()
    assert (status, shown.err) == (0, ""), shown.out + shown.err
    _check(shown.out, logs, scratch)
    return shown.out


def play_twin_here(folder: Path, patch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """Run the demo without a patch in this process, and return all that it has shown.

    It raises what is not as it claims. That the playbooks do the same has tests of its own.
    """
    logs, scratch = folder / "logs", folder / "scratch"
    scratch.mkdir()
    patch.setattr(twin, "Runs", RunsHere)
    patch.setattr(twin, "LOGS", logs)
    patch.setattr(tempfile, "tempdir", str(scratch))

    status = twin.main()

    shown = capsys.readouterr()
    assert (status, shown.err) == (0, ""), shown.out + shown.err
    assert (logs / "late.log").exists()
    assert [path.name for path in scratch.iterdir() if path.name.startswith("partmove")] == []
    return shown.out


def play(folder: Path) -> str:
    """Run the demo as a person does, check what it always shows, and return all that it has shown."""
    logs, scratch = folder / "logs", folder / "scratch"
    scratch.mkdir()

    done = subprocess.run(
        [sys.executable, "-m", "demo.patched", "--logs", str(logs)],
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
    _check(done.stdout, logs, scratch)
    return done.stdout


def _check(shown: str, logs: Path, scratch: Path) -> None:
    assert "16 moved, 1 deferred, 0 failed, 0 unchanged" in shown
    assert "20191213   HOT    r1 2, r2 2  -" in shown
    assert "20191214   COLD   -           r1 1, r2 1" in shown
    assert "All of that held" in shown
    assert (logs / "3-move.log").exists()
    report = logs / "3-move-report" / "report.html"
    assert f"\n   {report}\n" in shown
    assert "jason" in report.read_text(encoding="utf-8")
    assert [path.name for path in scratch.iterdir() if path.name.startswith("partmove")] == []
