# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Progress lines of the job."""

from __future__ import annotations

import re
import time

import pytest
from pyspark.sql import SparkSession

from partition_classify.progress import StageProgress


def test_progress_lists_running_stages(spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
    with StageProgress(spark, seconds=0.05):
        spark.sparkContext.parallelize(range(4), 4).foreach(lambda _: time.sleep(0.3))
    log = capsys.readouterr().err
    assert re.search(r"^partition_classify: stage \d+: [0-4] of 4 tasks done$", log, re.MULTILINE)
