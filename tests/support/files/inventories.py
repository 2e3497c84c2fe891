# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The inventory of the same ensembles from both sources."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from partition_classify.sources.live import ZooKeeperSource
from partition_classify.sources.snapshot import SnapshotSource
from support.servers.zookeeper import Ensemble


def live(
    spark: SparkSession,
    root: str,
    *,
    hot: Ensemble,
    cold: Ensemble | None = None,
    chroot: str = "",
    groups: bool = False,
) -> DataFrame:
    """What ``zookeeper`` reads of the ensembles, both with this chroot."""
    spark.dataSource.register(ZooKeeperSource)
    ensembles = {"hot": hot} | ({"cold": cold} if cold else {})
    secrets = {
        f"{name}_secret": json.dumps({"hosts": ensemble.connect_string.split(","), "chroot": chroot})
        for name, ensemble in ensembles.items()
    }
    return spark.read.format("zookeeper").options(root=root, groups=groups, **secrets).load()


def files(spark: SparkSession, root: str, **options: Any) -> DataFrame:
    """What ``zookeeper_snapshot`` reads; an option that is no text is given as JSON."""
    spark.dataSource.register(SnapshotSource)
    texts = {name: each if isinstance(each, str) else json.dumps(each) for name, each in options.items()}
    return spark.read.format("zookeeper_snapshot").options(root=root, **texts).load()


def copied(ensemble: Ensemble, target: Path, chroot: str = "") -> Mapping[str, str]:
    """The settings of a copy of the data folder of a member, which may be running."""
    shutil.copytree(ensemble.leader().data_dir, target)
    return {"data_dir": str(target), "chroot": chroot}
