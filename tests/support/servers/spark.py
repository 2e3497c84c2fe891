# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A local Spark for tests, with the package of the classification job on its workers."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from build_package import build
from support.servers.jvm import SMALL_SPARK_CONF

_SETTINGS = {
    **SMALL_SPARK_CONF,
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.sql.shuffle.partitions": "3",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session with two threads that knows the data source ``zookeeper``."""
    # Only workers import from the zip; this process has the same modules from the working folder.
    package = tmp_path_factory.mktemp("spark") / "partition_classify.zip"
    build(package)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").appName("tests")
    for key, value in (_SETTINGS | {"spark.submit.pyFiles": str(package)}).items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    yield session
    session.stop()


@pytest.fixture
def kept_spark(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> SparkSession:
    """The session, which the job finds and takes for its own; when it stops it, that only clears its rows."""
    monkeypatch.setattr("partition_classify.job.stop_session", lambda session: session.catalog.clearCache())
    return spark
