# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Writes the files of a report."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from olap_partmove._partmove.errors import PlanError
from olap_partmove._partmove.plan.staging import check_writable, file_errors_as

from .figures import MergeFigures, ReportFigures, json_text
from .merges import sql_lines

REPORT_FILES = ("report.html", "report.json", "merges.sql")


def report_place(folder: Path | None) -> str | None:
    """Return the path of the report page for the summary; None without a report."""
    return str(folder / REPORT_FILES[0]) if folder else None


def prepare_report(folder: Path) -> None:
    """Create the report's folder at the start of the job, before reading.

    Raises PlanError when Jinja2 is missing or cannot be imported, and when the folder is not writable.
    """
    _check_jinja2()
    with file_errors_as(partial(_unwritable, folder)):
        folder.mkdir(parents=True, exist_ok=True)
        check_writable(folder)


def _check_jinja2() -> None:
    """Import Jinja2: a version that does not fit another package is found by its import alone."""
    remedy = "Install Jinja2 for this Python, or run without a report"
    if find_spec("jinja2") is None:
        raise PlanError(
            "The Python of the job lacks the package jinja2, needed for the report", remedy=remedy
        )
    try:
        import_module("jinja2")
    except Exception as error:  # a package may raise anything while it is imported
        raise PlanError(
            f"The Python of the job cannot import the package jinja2, needed for the report: {error}",
            remedy=remedy,
        ) from error


def write_report(
    figures: ReportFigures, merges: Iterable[MergeFigures], folder: Path, due_hours: float = 0.0
) -> None:
    """Write all files atomically: each to a temporary name, then renamed.

    merges: all merges, possibly too many for memory. due_hours: see `page.html_text`. Raises PlanError when
    writing fails.
    """
    from .page import html_text  # noqa: PLC0415 - Jinja2 is optional, needed for the report only

    contents: tuple[Iterable[str], ...] = (
        [html_text(figures, due_hours)],
        [json_text(figures)],
        sql_lines(merges),
    )
    with file_errors_as(partial(_unwritable, folder)):
        for name, content in zip(REPORT_FILES, contents, strict=True):
            written = folder / f".{name}.new"
            with written.open("w", encoding="utf-8") as file:
                file.writelines(content)
            written.replace(folder / name)


def _unwritable(folder: Path, error: OSError) -> PlanError:
    return PlanError(
        f"{folder}: the report cannot be written there: {error.strerror or error}",
        remedy="Give a folder with free space and write permission for this user; the old plan is unchanged",
    )
