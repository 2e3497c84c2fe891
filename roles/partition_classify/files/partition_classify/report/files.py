# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Writes the files of a report into its folder."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from olap_partmove._partmove.errors import PlanError
from olap_partmove._partmove.plan.staging import check_writable, failures_told

from .figures import MergeFigures, ReportFigures, json_text
from .merges import sql_lines

REPORT_FILES = ("report.html", "report.json", "merges.sql")


def report_place(folder: Path | None) -> str | None:
    """The path of the page of a report, as the summary has it; None without one."""
    return str(folder / REPORT_FILES[0]) if folder else None


def prepare_report(folder: Path) -> None:
    """Make the folder of a report, now rather than after everything was read.

    Raises PlanError when this Python has no Jinja2, and when nothing can be written to the folder.
    """
    if find_spec("jinja2") is None:
        raise PlanError(
            "The Python of the job has no package jinja2, which the report is written with",
            remedy="Install Jinja2 for it, or do without a report",
        )
    with failures_told(partial(_unwritable, folder)):
        folder.mkdir(parents=True, exist_ok=True)
        check_writable(folder)


def write_report(figures: ReportFigures, merges: Iterable[MergeFigures], folder: Path) -> None:
    """Write all files, each beside its place first, so that nobody sees half of one.

    ``merges`` are all that there are, which may be too many for memory. Raises PlanError where that cannot
    be done.
    """
    from .page import html_text  # noqa: PLC0415 - needs Jinja2, as no other part of the job does

    contents: tuple[Iterable[str], ...] = ([html_text(figures)], [json_text(figures)], sql_lines(merges))
    with failures_told(partial(_unwritable, folder)):
        for name, content in zip(REPORT_FILES, contents, strict=True):
            written = folder / f".{name}.new"
            with written.open("w", encoding="utf-8") as file:
                file.writelines(content)
            written.replace(folder / name)


def _unwritable(folder: Path, error: OSError) -> PlanError:
    return PlanError(
        f"{folder}: the report cannot be written there: {error.strerror or error}",
        remedy="Give a folder with room in it that this user can write to; the old plan is still there",
    )
