# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Missing packages of workers are found before the first task."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from olap_partmove._partmove.errors import PartMoveError
from partition_classify.packages import DRIVER_PACKAGES, missing_packages
from partition_classify.workers import check_executors, check_python
from support.classify.hidden import python_without


def test_this_python_has_all_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    assert missing_packages(DRIVER_PACKAGES) == []
    assert missing_packages(["json", "no_such_package", "no_such.package"]) == [
        "no_such_package",
        "no_such.package",
    ]
    for python in (None, sys.executable):
        monkeypatch.delenv("PYSPARK_PYTHON", raising=False)
        if python:
            monkeypatch.setenv("PYSPARK_PYTHON", python)
        check_python()


def test_another_python_on_this_host_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", str(python_without(tmp_path, "pyarrow")))
    with pytest.raises(PartMoveError, match=f"^{tmp_path}/python has no Python package pyarrow. Install "):
        check_python()
    check_python(["kazoo"])


@pytest.mark.parametrize("program", ["/none/python", "/bin/false"])
def test_python_that_cannot_be_run_is_named(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", program)
    with pytest.raises(PartMoveError, match=f"^{program}, the Python of Spark's workers, cannot be run: "):
        check_python()


def test_executors_are_checked(spark: SparkSession) -> None:
    check_executors(spark)
    with pytest.raises(PartMoveError) as refusal:
        check_executors(spark, ["kazoo", "no_such_package"])
    assert refusal.value.message.startswith(f"{sys.executable} on the executor ")
    assert refusal.value.message.endswith(" has no Python package no_such_package")
