# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How Java programs are started that do not run for long: most of their time goes into loading classes."""

from __future__ import annotations

from pathlib import Path

ARCHIVES = Path(__file__).resolve().parents[3] / "build" / "classes"
"""Folder of what support.servers.class_archives makes; programs start without it, and more slowly."""

SPARK = "spark.jsa"
ZOOKEEPER = "zookeeper.jsa"

LITTLE_COMPILED = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""The options for Java that have nothing to do with archives, as one text."""

# Where an archive is of no use Java warns on the standard output, which is the program's.
_QUICK = (*LITTLE_COMPILED.split(), "-Xshare:auto", "-Xlog:disable")


def small_jvm(archive: str) -> tuple[str, ...]:
    """Return options with which little is compiled, and classes come from the archive SPARK or ZOOKEEPER."""
    return (*_QUICK, f"-XX:SharedArchiveFile={ARCHIVES / archive}")


def archiving_jvm(archive: Path) -> tuple[str, ...]:
    """Return options with which all classes that were loaded are written to the archive at the end."""
    return (*_QUICK, f"-XX:ArchiveClassesAtExit={archive}")


SMALL_SPARK = " ".join(small_jvm(SPARK))
"""The options for Spark, which takes one text."""

SMALL_SPARK_SETTINGS = {
    "spark.driver.memory": "512m",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    # To compile a query takes longer than to interpret it for so few rows, and so does planning it anew after
    # each of its stages. Tests of the job as it is started, and of the benchmark, leave both as they are.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}
"""The settings for a Spark that has a handful of rows to sort; its defaults are for millions."""

SMALL_SPARK_CONF = SMALL_SPARK_SETTINGS | {
    "spark.driver.extraJavaOptions": SMALL_SPARK,
    "spark.executor.extraJavaOptions": SMALL_SPARK,
}
"""The same with options for Java."""

ARCHIVING_SPARK_CONF = SMALL_SPARK_CONF | {"spark.driver.extraJavaOptions": LITTLE_COMPILED}
"""The same where the role says what is done about archives: two of them would be in each other's way."""
