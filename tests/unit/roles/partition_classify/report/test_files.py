# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The files of a report."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NoReturn

import pytest

from olap_partmove._partmove.errors import PlanError
from partition_classify.report.figures import json_text
from partition_classify.report.files import prepare_report, report_place, write_report
from partition_classify.report.merges import sql_lines
from partition_classify.report.page import html_text
from support.classify.reports import empty, large


def test_python_without_jinja2_fails_before_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(PlanError, match="lacks the package jinja2"):
        prepare_report(tmp_path / "report")


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("from markupsafe import soft_unicode_of_old", "cannot import name 'soft_unicode_of_old'"),
        ("import a_package_that_is_not_there", "No module named 'a_package_that_is_not_there'"),
        ("raise AttributeError('no Markup')", "no Markup"),
    ],
)
def test_a_jinja2_that_cannot_be_imported_fails_before_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, reason: str
) -> None:
    """As with a jinja2 and a markupsafe that do not fit each other."""
    broken = tmp_path / "site" / "jinja2"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text(f"{code}\n")
    for name in [each for each in sys.modules if each.partition(".")[0] == "jinja2"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(str(broken.parent))
    with pytest.raises(PlanError, match="cannot import the package jinja2, needed for the report: ") as error:
        prepare_report(tmp_path / "report")
    assert reason in error.value.message
    assert not (tmp_path / "report").exists()
    assert not (tmp_path / "report").exists()


@pytest.mark.parametrize("name", ["file", "file/below"])
def test_unwritable_folder_fails_before_reading(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(PlanError, match=f"^{tmp_path}/{name}: the report cannot be written there: "):
        prepare_report(tmp_path / name)


def test_page_that_cannot_be_replaced_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "report.html").mkdir()
    with pytest.raises(PlanError, match=f"^{tmp_path}: the report cannot be written there: Is a directory. "):
        write_report(empty(), (), tmp_path)


def test_lost_spark_is_not_reported_as_an_unwritable_folder(tmp_path: Path) -> None:
    def lost(_number: int) -> NoReturn:
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        write_report(empty(), map(lost, range(1)), tmp_path)


def test_all_files_are_written_and_nothing_else(tmp_path: Path) -> None:
    prepare_report(tmp_path / "a" / "b")
    for figures in (empty(), large()):
        write_report(figures, iter(figures.merges.first), tmp_path / "a" / "b")
    assert {each.name: each.read_text(encoding="utf-8") for each in (tmp_path / "a" / "b").iterdir()} == {
        "report.html": html_text(large()),
        "report.json": json_text(large()),
        "merges.sql": "".join(sql_lines(large().merges.first)),
    }


def test_place_of_a_report_is_its_page(tmp_path: Path) -> None:
    assert report_place(tmp_path) == str(tmp_path / "report.html")
    assert report_place(None) is None
