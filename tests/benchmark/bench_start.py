# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Measures the first look at a small cluster: the role partition_classify with a report, in check mode.

The parts come from a generated snapshot. Beside it, in the same run: what Ansible takes for a play that does
nothing, and Spark for a query of ten rows as it is started by default. Environment: PARTS (60) and RUNS (5).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from benchmark.machine import this_machine
from benchmark.spread import RUNS, Spread
from support.ansible.calls import COLLECTIONS
from support.files.snapshot_files import GeneratedTree, write_generated

ANSIBLE = "Ansible, a play with one ping"
SPARK = "Spark, a query of ten rows"
FIRST = "the role, without an archive of classes"
SECOND = "the role, with the archive"
KINDS = (ANSIBLE, SPARK, FIRST, SECOND)

_PROGRAMS = Path(sys.executable).parent
_QUERY = (
    "from pyspark.sql import SparkSession\n"
    "spark = SparkSession.builder.getOrCreate()\nassert spark.range(10).count() == 10\nspark.stop()\n"
)
_ARCHIVE_SECONDS = 300.0


def main() -> None:
    """Measure and print."""
    parts = int(os.environ.get("PARTS") or 60)
    print(f"A snapshot with {parts} part znodes.\n{this_machine()}\n", flush=True)
    with tempfile.TemporaryDirectory(prefix="bench-start-") as name:
        report(measure(Path(name), parts, RUNS))


def measure(folder: Path, parts: int, runs: int) -> Mapping[str, Sequence[float]]:
    """Run each kind so many times, in turn; return the seconds. Raises RuntimeError if plans differ."""
    tree = GeneratedTree(shard_paths=2, parts=parts, replicas=2, partitions=5)
    write_generated(folder / "data", tree)
    query = folder / "query.py"
    query.write_text(_QUERY)
    found: dict[str, list[float]] = {kind: [] for kind in KINDS}
    plans = set()
    for number in range(runs):
        cache = folder / f"cache{number}"
        ping = _play(folder / "ping.yml", [{"ansible.builtin.ping": {}}])
        found[ANSIBLE].append(_seconds([_PROGRAMS / "ansible-playbook", ping], cache))
        found[SPARK].append(_seconds([_PROGRAMS / "spark-submit", "--master", "local[2]", query], cache))
        for kind in (FIRST, SECOND):
            plan = folder / f"{number}.{KINDS.index(kind)}.jsonl"
            role = _play(folder / "role.yml", _role(folder, tree.root, plan))
            found[kind].append(_seconds([_PROGRAMS / "ansible-playbook", role], cache))
            plans.add(plan.read_bytes())
            _wait_for_archive(cache)
    if len(plans) > 1:
        raise RuntimeError("the plans of one tree differ")
    return found


def report(measured: Mapping[str, Sequence[float]]) -> None:
    """Print the seconds of each kind."""
    for kind, seconds in measured.items():
        print(f"{kind:<42}{Spread.of(seconds):.1f} s, {len(seconds)} runs")
    both = Spread.of(measured[ANSIBLE]).median + Spread.of(measured[SPARK]).median
    ratio = Spread.of(measured[SECOND]).median / both
    print(f"With the archive, the role takes {ratio:.2f} times what Ansible and Spark take alone.")


def _role(folder: Path, root: str, plan: Path) -> list[dict[str, Any]]:
    given = {
        "source": "zookeeper_snapshot",
        "hot_files": [{"data_dir": str(folder / "data")}],
        "root": root,
        "as_of": "2100-01-01T00:00:00Z",
        "future": True,
        "policy": {"version": 1, "defaults": {"keep_newest": 1}},
        "plan_dest": str(plan),
        "report_dest": str(folder / "report"),
        "spark_submit": str(_PROGRAMS / "spark-submit"),
        "spark_master": "local[2]",
        "python": sys.executable,
    }
    variables = {f"partition_classify_{name}": value for name, value in given.items()}
    role = {"name": "olap.partmove.partition_classify"}
    return [{"ansible.builtin.include_role": role, "vars": variables}]


def _play(path: Path, tasks: Sequence[Mapping[str, Any]]) -> Path:
    play = {"hosts": "localhost", "gather_facts": False, "tasks": list(tasks)}
    path.write_text(yaml.safe_dump([play]))
    return path


def _seconds(command: Sequence[str | Path], cache: Path) -> float:
    """Return how long the command takes. Raises RuntimeError if it fails."""
    environment = {
        **os.environ,
        "ANSIBLE_COLLECTIONS_PATH": str(COLLECTIONS),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "XDG_CACHE_HOME": str(cache),
    }
    begin = time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - begin
    if done.returncode:
        raise RuntimeError(f"{json.dumps([str(each) for each in command])}:\n{done.stdout}\n{done.stderr}")
    return seconds


def _wait_for_archive(cache: Path) -> None:
    """Wait until the archive is written, so that nothing else runs beside the next measurement."""
    deadline = time.monotonic() + _ARCHIVE_SECONDS
    while not list(cache.glob("olap.partmove/spark-*.jsa")):
        if time.monotonic() > deadline:
            raise RuntimeError("no archive of classes was written")
        time.sleep(0.2)


if __name__ == "__main__":
    main()
