# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Queries to servers, without answers; tests/clickhouse has the rest."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from olap_partmove._clickhouse.usage import PartitionUsage
from olap_partmove._partmove.errors import PartMoveError
from partition_classify.sources.signals import SIGNAL_SCHEMA, read_signal, window_starts
from partition_classify.spark_errors import message_of


def test_columns_are_the_fields_of_partition_usage() -> None:
    assert tuple(SIGNAL_SCHEMA.names) == PartitionUsage._fields


def test_each_server_is_queried_in_a_separate_task(spark: SparkSession) -> None:
    frame = read_signal(spark, {"hosts": ["127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:1"]})
    assert frame.schema == SIGNAL_SCHEMA
    assert frame.rdd.getNumPartitions() == 2


def test_windows_begin_before_the_moment_and_not_before_1970() -> None:
    assert window_starts([20_000, 2000], 9500) == [(2000, 7), (20_000, 0)]


def test_unreachable_server_is_a_clear_error(spark: SparkSession) -> None:
    with pytest.raises(PySparkException) as error:
        read_signal(spark, {"hosts": ["127.0.0.1:1"]}).collect()
    assert message_of(error.value).startswith(
        "ClickHouse at 127.0.0.1:1 cannot be reached: Connection refused."
    )


def test_invalid_settings_are_refused(spark: SparkSession) -> None:
    with pytest.raises(PartMoveError, match="ClickHouse: pasword is not a known key") as error:
        read_signal(spark, {"hosts": ["ch1"], "pasword": "hunter2"})
    assert "hunter2" not in str(error.value)
