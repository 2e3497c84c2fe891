# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Makes the archives of classes with which Spark and ZooKeeper start in half the time (JEP 350).

Usage: python -m support.servers.class_archives
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from support.ansible.classify_role import Role, role_variables
from support.files.snapshot_files import GeneratedTree, write_generated
from support.servers.jvm import ARCHIVES, ARCHIVING_SPARK_CONF, SPARK, ZOOKEEPER, archiving_jvm
from support.servers.zookeeper import Ensemble
from support.servers.zookeeper_config import EnsembleOptions

_SECONDS = 900.0


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
    """Have the role do it, with all that it can read and write of files."""
    tree = GeneratedTree(shard_paths=1, parts=4, replicas=2, partitions=2, cold=1)
    write_generated(folder / "data", tree)
    variables = role_variables(folder, tree.root, hot=[], cold=[])
    for live in ("hot", "cold"):
        del variables[f"partition_classify_{live}"]
    done = Role(folder, variables).run(
        source="zookeeper_snapshot",
        spark_conf=ARCHIVING_SPARK_CONF,
        hot_files=[{"data_dir": str(folder / "data")}],
        policy={"version": 1},
        parquet_dest=str(folder / "rows"),
        report_dest=str(folder / "report"),
        class_archive=str(archive),
    )
    if done.status:
        raise SystemExit(f"no archive of classes for Spark, since the job failed:\n{done.output}")
    wait_for_archive(archive)


def wait_for_archive(archive: Path) -> None:
    """Wait for what Java writes after the run of the role. Raises SystemExit if that takes minutes."""
    deadline = time.monotonic() + _SECONDS
    while not archive.exists():
        if time.monotonic() > deadline:
            raise SystemExit(f"no archive of classes for Spark: {archive} was not written")
        time.sleep(0.2)


def _serve(archive: Path, folder: Path) -> None:
    with Ensemble(folder, EnsembleOptions(participants=3, jvm=archiving_jvm(archive))) as ensemble:
        # The others are killed, and write nothing.
        ensemble.leader().stop()


if __name__ == "__main__":
    main()
