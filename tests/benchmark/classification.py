# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The classification of a large generated tree: from its snapshot, and from a server started from it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.file import read_plan
from benchmark.measured_census import CensusMeasurement
from benchmark.measured_inventory import Reading
from support.files.snapshot_files import NOW, GeneratedTree, write_generated
from support.servers.zookeeper import Ensemble, EnsembleOptions

HEAP = "2g"
SNAPSHOT = "zookeeper_snapshot"
LIVE = "zookeeper"
OPTIONS_OF_THE_ROLE = "-XX:TieredStopAtLevel=1 -XX:MetaspaceSize=256m"
"""With which the role starts Java."""

_JOB = Path(__file__).resolve().parents[2] / "roles" / "partition_classify" / "files" / "classify.py"
_POLICY = "version: 1\ndefaults: {cold_after: 30d, keep_newest: 3}\n"
_AS_OF = datetime.fromtimestamp(NOW / 1000, UTC).isoformat()


@dataclass(frozen=True)
class Classification:
    """What one run of the job took, from the start of Python to its end."""

    source: str
    cores: int
    parts: int
    archive: str
    """What became of an archive of classes: ``""`` where there is none, ``made`` or ``used``."""
    seconds: float
    rows_digest: str
    """Of the rows of the plan: equal digests, equal rows."""


@dataclass(frozen=True)
class Scene:
    """A tree as a snapshot, and maybe as what a running server has."""

    folder: Path
    tree: GeneratedTree
    sources: dict[str, Any]
    """Source → what it needs to know of hot."""

    def read(self, source: str, processes: int = 1) -> Reading:
        """Read the inventory without Spark, in one process; a snapshot also in several.

        Raises:
            RuntimeError: it failed, or not every part was read.
        """
        hot = self.sources[source]
        arguments = {"source": source, "root": self.tree.root, "hot": hot, "processes": processes}
        answer = _run([sys.executable, "-m", "benchmark.measured_inventory"], {}, json.dumps(arguments))
        reading = Reading(**json.loads(answer))
        if reading.parts != self.tree.parts:
            raise RuntimeError(f"{reading.parts} parts were read of {self.tree.parts}")
        return reading

    def census(self, source: str) -> CensusMeasurement:
        """Count all znodes in one process.

        Raises:
            RuntimeError: it failed, or not every znode was counted.
        """
        measured = measured_census(source, self.sources[source])
        if measured.znodes <= self.tree.parts:
            raise RuntimeError(f"{measured.znodes} znodes were counted, and {self.tree.parts} are of parts")
        return measured

    def classify(self, source: str, cores: int, archive: Path | None = None) -> Classification:
        """Run the job as a person does, with so many cores for its tasks.

        archive: of classes; one that is not there is made.

        Raises:
            RuntimeError: it failed.
        """
        plan = self.folder / f"{source}.{cores}.jsonl"
        files = {"policy": _POLICY, "connections": json.dumps({"hot": self.sources[source]})}
        given = {name: self.folder / name for name in files}
        for name, content in files.items():
            given[name].write_text(content)
        options = [f"--{name}={path}" for name, path in given.items()]
        options += [
            f"--source={source}",
            f"--root={self.tree.root}",
            f"--plan={plan}",
            f"--as-of={_AS_OF}",
            "--future",
            "--latency-target=0",
        ]
        given_to_java = os.environ.get("SPARK_SUBMIT_OPTS", OPTIONS_OF_THE_ROLE)
        spark = {
            "PYSPARK_SUBMIT_ARGS": f"--master local[{cores}] pyspark-shell",
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_SUBMIT_OPTS": " ".join([given_to_java, *_options_for(archive)]),
        }
        became = "" if archive is None else "used" if archive.exists() else "made"
        begin = time.perf_counter()
        _run([sys.executable, str(_JOB), *options], spark)
        seconds = time.perf_counter() - begin
        digest = read_plan(plan).header.rows_digest
        return Classification(source, cores, self.tree.parts, became, seconds, digest)


def measured_census(source: str, hot: Mapping[str, Any]) -> CensusMeasurement:
    """Count all znodes of hot in one process. Raises RuntimeError if it fails."""
    arguments = {"source": source, "hot": hot}
    answer = _run([sys.executable, "-m", "benchmark.measured_census"], {}, json.dumps(arguments))
    return CensusMeasurement(**json.loads(answer))


@contextmanager
def snapshot_of(tree: GeneratedTree) -> Iterator[Scene]:
    """Write the snapshot, and remove it at the end."""
    with tempfile.TemporaryDirectory(prefix="partmove-bench-") as name:
        folder = Path(name)
        write_generated(folder / "data", tree)
        yield Scene(folder, tree, {SNAPSHOT: {"data_dir": str(folder / "data")}})


@contextmanager
def running_server(scene: Scene) -> Iterator[Scene]:
    """Start a server from the snapshot of the scene: no znode has to be created for that."""
    ensemble = Ensemble(scene.folder / "hot", EnsembleOptions(jvm=(f"-Xmx{HEAP}",)))
    write_generated(ensemble.members[0].data_dir, scene.tree)
    with ensemble:
        yield Scene(scene.folder, scene.tree, {**scene.sources, LIVE: {"hosts": [ensemble.connect_string]}})


def _options_for(archive: Path | None) -> Sequence[str]:
    if archive is None:
        return ()
    if archive.exists():
        return ("-Xshare:auto", "-Xlog:disable", f"-XX:SharedArchiveFile={archive}")
    return (f"-XX:ArchiveClassesAtExit={archive}",)


def _run(command: Sequence[str], more: Mapping[str, str], given: str = "") -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **more}
    done = subprocess.run(command, input=given, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"exit status {done.returncode} of {' '.join(command)}:\n{done.stderr}")
    return done.stdout
