# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Measures the classification of more rows than fit into memory, on one machine and on a cluster.

Prints what it finds: the time by the clock and of processors, and the most memory and disk that the processes
of Spark took. ``ROWS`` in the environment is how many parts there are, 50 million if it is not set; of ten
each a partition is made. A tenth of it is how many parts one partition has, whose names all matter. ``RUNS``
(5) is how often each is done.

``ZNODES=50000000`` measures the classification and a census of a snapshot file in place of that, with so many
znodes of parts, a multiple of 1,000. A million takes 250 MB of ``TMPDIR``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.file import read_header
from benchmark.classification import LIVE, OPTIONS_OF_THE_ROLE, SNAPSHOT, measured_census
from benchmark.machine import this_machine
from benchmark.made_up_job import MANY, NOW, ONE, ROWS_OF_A_PARTITION
from benchmark.process_watch import ProcessWatch
from benchmark.spread import RUNS, Spread
from build_package import build
from support.files.snapshot_files import NOW as SNAPSHOT_NOW, GeneratedTree, write_generated
from support.servers.spark_cluster import HOST, LOCAL_FOLDER, standalone_cluster

ROWS = 50_000_000
HEAP_MB = 1024
"""Of the driver, and of each executor."""
MOST_MB = {
    "driver, Java": HEAP_MB + 768,
    "driver, Python": 384,
    "executor, Java": HEAP_MB + 768,
    "task, Python": 384,
    "range, Python": 64,
}
"""Kind of process → what none of them may need more of, whatever the number of rows, in MiB."""

FILE_HEAP_MB = 512
"""The same for a snapshot file, of which fewer rows are left."""
JAVA_OPTIONS = ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions")
FILE_JAVA = "-XX:+UseSerialGC -XX:MinHeapFreeRatio=10 -XX:MaxHeapFreeRatio=20"
"""Options of Java with which the heap of driver and executors stays near what they use."""

_MADE_UP_JOB = Path(__file__).resolve().with_name("made_up_job.py")
_JOB = Path(__file__).resolve().parents[2] / "roles" / "partition_classify" / "files" / "classify.py"
_POLICY = "version: 1\ndefaults: {cold_after: 30d, keep_newest: 3}\n"


@dataclass(frozen=True)
class ScaleRun:
    """What one run of the job took."""

    master: str
    seconds: float
    rows_digest: str
    rows: int
    plan_bytes: int
    peak_mb: Mapping[str, float]
    disk_mb: float
    cpu_seconds: float
    together_mb: float = 0.0


@dataclass(frozen=True)
class Work:
    """What a run classifies.

    program: of spark-submit, with the arguments before those of the job.
    hot: the connection settings. now: the moment to decide for, in milliseconds since 1970.
    java: options of Java, for the driver and the executors.
    """

    program: Sequence[str]
    partitions: int
    hot: Mapping[str, str]
    source: str = LIVE
    now: int = NOW
    heap_mb: int = HEAP_MB
    java: str = ""


def main() -> None:
    """Measure and print.

    Raises:
        RuntimeError: a run failed, needed too much memory, or wrote another plan.
    """
    if os.environ.get("ZNODES"):
        measure_file(int(os.environ["ZNODES"]))
        return
    rows = int(os.environ.get("ROWS") or ROWS)
    print(f"{rows:,} parts. {this_machine()}", flush=True)
    with tempfile.TemporaryDirectory(prefix="partmove-scale-") as name:
        folder = Path(name)
        many = [repeated(each, folder, rows) for each in (on_one_machine, on_a_cluster)]
        require_one_plan([run for runs in many for run in runs])
        require_one_plan(repeated(of_one_partition, folder, rows // 10))
    print("The first two wrote the same plan, and none needed more memory than it may.")


def measure_file(znodes: int) -> None:
    """Write a snapshot with so many znodes of parts, and measure its classification and its census.

    Raises:
        RuntimeError: a run failed, needed too much memory, or wrote another plan.
    """
    with tempfile.TemporaryDirectory(prefix="partmove-scale-") as name:
        folder = Path(name)
        begin = time.perf_counter()
        tree = GeneratedTree(shard_paths=500, parts=znodes, replicas=2, partitions=1000)
        write_generated(folder / "data", tree)
        size = sum(each.stat().st_size for each in (folder / "data").rglob("snapshot.*"))
        print(f"{znodes:,} znodes of parts in a file of {size / 1e9:.1f} GB. {this_machine()}", flush=True)
        print(f"written in {time.perf_counter() - begin:.0f} s", flush=True)
        several = [repeated(each, folder, znodes) for each in (file_on_one_machine, file_on_a_cluster)]
        require_one_plan([run for runs in several for run in runs])
        censuses = [measured_census(SNAPSHOT, {"data_dir": str(folder / "data")}) for _run in range(RUNS)]
        print(
            f"census: {censuses[0].znodes:,} znodes in {Spread.of(each.seconds for each in censuses):.0f} s,"
            f" {Spread.of(each.znodes / each.seconds for each in censuses):,.0f} znodes/s,"
            f" {max(each.peak_rss_mb for each in censuses):.0f} MB at most"
        )


def file_on_one_machine(folder: Path, znodes: int, settings: Mapping[str, str] | None = None) -> ScaleRun:
    """Classify the file with two threads in one Java process."""
    return _measure("local[2]", folder, folder / "local", _of_file(folder, znodes), settings or {})


def file_on_a_cluster(folder: Path, znodes: int, settings: Mapping[str, str] | None = None) -> ScaleRun:
    """Classify the file on two workers with one core each."""
    cluster = folder / "cluster"
    with standalone_cluster(cluster, cores=1, workers=2) as url:
        return _measure(url, folder, cluster / LOCAL_FOLDER, _of_file(folder, znodes), settings or {})


def repeated(measured: Callable[[Path, int], ScaleRun], folder: Path, rows: int) -> Sequence[ScaleRun]:
    """Measure it so often that it is a figure, and print that."""
    runs: list[ScaleRun] = []
    while len(runs) < RUNS:
        runs.append(measured(folder, rows))
        print(f"run {len(runs)} of {RUNS} took {runs[-1].seconds:.0f} s", flush=True)
    print_runs(runs)
    return runs


def on_one_machine(
    folder: Path, rows: int, settings: Mapping[str, str] | None = None, threads: int = 2
) -> ScaleRun:
    """Run it with so many threads in one Java process."""
    return _measure(f"local[{threads}]", folder, folder / "local", _made_up(MANY, rows), settings or {})


def of_one_partition(folder: Path, rows: int, settings: Mapping[str, str] | None = None) -> ScaleRun:
    """Run it with two threads, for one partition whose parts all keep their names: one task has them all."""
    return _measure("local[2]", folder, folder / "local", _made_up(ONE, rows), settings or {})


def on_a_cluster(folder: Path, rows: int, settings: Mapping[str, str] | None = None) -> ScaleRun:
    """Run it on two workers with one core each."""
    cluster = folder / "cluster"
    with standalone_cluster(cluster, cores=1, workers=2) as url:
        return _measure(url, folder, cluster / LOCAL_FOLDER, _made_up(MANY, rows), settings or {})


def require_one_plan(runs: Sequence[ScaleRun]) -> None:
    """Refuse runs whose plans differ, or that needed too much memory.

    Raises:
        RuntimeError: they do, or did.
    """
    if len({each.rows_digest for each in runs}) != 1:
        raise RuntimeError(f"the plans of the same rows differ: {runs}")
    for run in runs:
        require_little_memory(run)


def require_little_memory(run: ScaleRun) -> None:
    """Refuse a run that needed too much memory.

    Raises:
        RuntimeError: it did.
    """
    for kind, peak in run.peak_mb.items():
        if peak > MOST_MB[kind]:
            raise RuntimeError(f"{run.master}: {kind} had {peak:.0f} MB, and {MOST_MB[kind]} is the most")


def _made_up(shape: str, rows: int) -> Work:
    partitions = -(-rows // ROWS_OF_A_PARTITION) if shape == MANY else 1
    return Work((str(_MADE_UP_JOB), shape, str(rows)), partitions, {})


def _of_file(folder: Path, znodes: int) -> Work:
    tree = GeneratedTree(shard_paths=500, parts=znodes, replicas=2, partitions=1000)
    partitions = tree.shard_paths * min(tree.partitions, znodes // tree.shard_paths // tree.replicas)
    hot = {"data_dir": str(folder / "data")}
    return Work((str(_JOB),), partitions, hot, SNAPSHOT, SNAPSHOT_NOW, FILE_HEAP_MB, FILE_JAVA)


def _measure(master: str, folder: Path, local: Path, work: Work, settings: Mapping[str, str]) -> ScaleRun:
    """Run the job."""
    (folder / "policy.yml").write_text(_POLICY)
    (folder / "connections.json").write_text(json.dumps({"hot": work.hot}))
    build(folder / "package.zip")
    local.mkdir(exist_ok=True)
    plan = folder / "plan.jsonl"
    plan.unlink(missing_ok=True)
    conf = {
        "spark.driver.memory": f"{work.heap_mb}m",
        "spark.executor.memory": f"{work.heap_mb}m",
        "spark.local.dir": str(local),
        "spark.driver.host": HOST,
        "spark.driver.bindAddress": HOST,
        "spark.ui.enabled": "false",
        **dict.fromkeys(JAVA_OPTIONS if work.java else (), work.java),
        **settings,
    }
    command = [str(Path(sys.executable).with_name("spark-submit")), "--master", master]
    command += [f"--conf={name}={value}" for name, value in conf.items()]
    command += ["--py-files", str(folder / "package.zip"), *work.program, f"--plan={plan}"]
    command += [f"--source={work.source}"]
    command += [f"--policy={folder}/policy.yml", f"--connections={folder}/connections.json", "--root=/"]
    command += [f"--as-of={datetime.fromtimestamp(work.now / 1000, UTC).isoformat()}", "--future"]
    environment = {"SPARK_SUBMIT_OPTS": OPTIONS_OF_THE_ROLE, **os.environ}
    environment |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_DIRS": str(local)}
    begin = time.perf_counter()
    with ProcessWatch(os.getpid(), local) as watch:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - begin
    if done.returncode:
        # spark-submit hands on as output what the job says.
        said = f"{done.stderr}\n{done.stdout}"
        raise RuntimeError(f"exit status {done.returncode} of {' '.join(command)}:\n{said}")
    header = read_header(plan)
    if header is None or header.rows != work.partitions:
        raise RuntimeError(f"{header} is not of {work.partitions} partitions: {json.loads(done.stdout)}")
    return ScaleRun(
        master,
        seconds,
        header.rows_digest,
        header.rows,
        plan.stat().st_size,
        dict(watch.peak_mb),
        watch.disk_mb,
        sum(watch.cpu_seconds.values()),
        watch.together_mb,
    )


def print_runs(runs: Sequence[ScaleRun]) -> None:
    """What runs of the same took: times as median and spread, and the most of the rest."""
    first = runs[0]
    where = first.master if first.master.startswith("local") else "two workers with one core each"
    print(
        f"\n{where}: {first.rows:,} partitions, a plan of {first.plan_bytes / 1e6:,.1f} MB\n"
        f"  by the clock    {Spread.of(each.seconds for each in runs):.0f} s, {len(runs)} runs\n"
        f"  of processors   {Spread.of(each.cpu_seconds for each in runs):.0f} s"
    )
    for kind in sorted({kind for each in runs for kind in each.peak_mb}):
        print(f"  {kind:<16}{max(each.peak_mb.get(kind, 0) for each in runs):>8,.0f} MB at most")
    print(f"  all together    {max(each.together_mb for each in runs):>8,.0f} MB at most")
    print(f"  local disk      {max(each.disk_mb for each in runs):>8,.0f} MB at most")
    print(f"  digest of the rows {first.rows_digest}", flush=True)


if __name__ == "__main__":
    main()
