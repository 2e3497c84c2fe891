# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Earlier runs, from their Parquet data set."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from olap_partmove._partmove.errors import PartMoveError
from partition_classify import history
from partition_classify.history import EarlierRun, history_of
from partition_classify.plan_output import write_parquet

SCHEMA = (
    "shard_path string, partition string, last_modified bigint, has_hot boolean, action string, znodes bigint"
)
IN_2026 = 1_795_212_900_000
ROWS = [
    ("/a", "1", 0, True, "move", 100),
    ("/a", "2", 0, True, "stay", 20),
    ("/a", "3", 0, False, "stay", 3),
    ("/b", "1", 0, True, "busy", 4000),
    # In both ensembles: its move was cut short.
    ("/b", "2", 0, True, "move", 50_000),
    ("/c", "1", 0, True, "leave", 600_000),
]


@pytest.fixture(scope="module")
def runs(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The rows of three runs, the last one written first, beside something else."""
    folder = tmp_path_factory.mktemp("runs")
    for as_of, rows in ((IN_2026, ROWS), (7, ROWS[:2]), (IN_2026 - 1, ROWS[2:3])):
        write_parquet(spark.createDataFrame(rows, SCHEMA), f"{folder}/", as_of)
    (folder / "README").write_text("rows of runs\n")
    return f"{folder}/"


def test_runs_from_the_oldest_to_the_newest(spark: SparkSession, runs: str) -> None:
    assert history_of(spark, runs) == [
        EarlierRun(7, 120, 100),
        EarlierRun(IN_2026 - 1, 0, 0),
        EarlierRun(IN_2026, 654_120, 50_100),
    ]


def test_only_the_newest_runs_are_read(
    spark: SparkSession, runs: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "RUNS_READ", 2)
    assert [run.as_of for run in history_of(spark, runs)] == [IN_2026 - 1, IN_2026]


@pytest.mark.parametrize("made", [False, True])
def test_folder_without_runs_is_refused(spark: SparkSession, tmp_path: Path, made: bool) -> None:
    folder = tmp_path / "rows"
    if made:
        folder.mkdir()
    with pytest.raises(PartMoveError, match="rows of earlier runs cannot be read") as refusal:
        history_of(spark, str(folder))
    assert refusal.value.message.startswith(f"{folder}: ")
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("schema", "missing"),
    [
        ("has_hot boolean, action string", "znodes of type bigint"),
        ("has_hot boolean, action string, znodes string", "znodes of type bigint"),
        ("action string, znodes bigint", "has_hot of type boolean"),
    ],
)
def test_other_rows_are_refused(spark: SparkSession, tmp_path: Path, schema: str, missing: str) -> None:
    spark.createDataFrame([], schema).write.parquet(str(tmp_path / "as_of=1"))
    with pytest.raises(PartMoveError) as refusal:
        history_of(spark, str(tmp_path))
    assert refusal.value.message == (
        f"{tmp_path}: not the rows of earlier runs: there is no column {missing}"
    )


def test_other_files_than_parquet_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "as_of=1").mkdir()
    (tmp_path / "as_of=1" / "rows.parquet").write_text("my notes\n")
    with pytest.raises(PartMoveError, match="rows of earlier runs cannot be read"):
        history_of(spark, str(tmp_path))
