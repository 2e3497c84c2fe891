# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Makes the archives of classes with which Spark and ZooKeeper start in half the time (JEP 350).

Usage: python -m support.servers.class_archives
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from build_package import build
from support.files.snapshot_files import GeneratedTree, write_generated
from support.servers.jvm import ARCHIVES, SMALL_SPARK_SETTINGS, SPARK, ZOOKEEPER, archiving_jvm
from support.servers.zookeeper import Ensemble
from support.servers.zookeeper_config import EnsembleOptions

_JOB = Path(__file__).resolve().parents[3] / "roles" / "partition_classify" / "files" / "classify.py"


def main() -> None:
    """Make both."""
    ARCHIVES.mkdir(parents=True, exist_ok=True)
    _make(SPARK, _classify)
    _make(ZOOKEEPER, _serve)


def _make(name: str, run: Callable[[Path, Path], None]) -> None:
    with tempfile.TemporaryDirectory(dir=ARCHIVES) as folder:
        archive = Path(folder, name)
        run(archive, Path(folder))
        archive.rename(ARCHIVES / name)


def _classify(archive: Path, folder: Path) -> None:
    tree = GeneratedTree(shard_paths=1, parts=4, replicas=2, partitions=2, cold=1)
    write_generated(folder / "data", tree)
    build(folder / "package.zip")
    (folder / "policy.yml").write_text("version: 1\n")
    (folder / "connections.json").write_text(json.dumps({"hot": {"data_dir": str(folder / "data")}}))
    # The driver is this program itself, so that its end is waited for.
    submit = [str(Path(sys.executable).with_name("spark-submit")), "--master", "local[2]"]
    submit += ["--driver-java-options", " ".join(archiving_jvm(archive))]
    submit += [f"--conf={name}={value}" for name, value in SMALL_SPARK_SETTINGS.items()]
    submit += ["--py-files", str(folder / "package.zip"), str(_JOB)]
    job = ["--source=zookeeper_snapshot", f"--root={tree.root}", f"--policy={folder}/policy.yml"]
    job += [f"--connections={folder}/connections.json", f"--plan={folder}/plan.jsonl"]
    job += [f"--parquet={folder}/rows", f"--report={folder}/report"]
    done = subprocess.run(
        [*submit, *job],
        env=os.environ | {"PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"no archive of classes for Spark, since the job failed:\n{done.stdout}")


def _serve(archive: Path, folder: Path) -> None:
    with Ensemble(folder, EnsembleOptions(participants=3, jvm=archiving_jvm(archive))) as ensemble:
        # The others are killed, and write nothing.
        ensemble.leader().stop()


if __name__ == "__main__":
    main()
