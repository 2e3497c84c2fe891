# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The report of a run over a root as a page of Markdown, for people."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .._partmove.errors import PartMoveError
from .._partmove.text import shown_time
from .progress import shown_duration
from .resources import SystemClock


def write_report(path: str, root: str, result: Mapping[str, Any]) -> None:
    """Replace the file at the path by the report. Raises PartMoveError if it cannot be written."""
    target = Path(path)
    new = target.with_name(f"{target.name}.{os.getpid()}.tmp")
    try:
        new.write_text("\n".join(_lines(root, result)) + "\n", encoding="utf-8")
        new.replace(target)
    except OSError as error:
        new.unlink(missing_ok=True)
        raise PartMoveError(
            f"The report {path} cannot be written: {error.strerror}. The result of the module has the same",
            remedy="Give as report a path in a folder that exists and that this user may write to",
        ) from error


def _lines(root: str, result: Mapping[str, Any]) -> Iterator[str]:
    yield f"# Tables below `{root}`"
    yield ""
    yield f"{shown_time(int(SystemClock().now() * 1000))}: {result['msg']}."
    yield ""
    yield f"Next: {result['next']}."
    yield ""
    yield "| Table | State | Partitions moved | Time | Znodes in hot | Gate | Reason | Remedy |"
    yield "|---|---|---|---|---|---|---|---|"
    for each in result["outcomes"]:
        seconds = each["seconds"]
        cells = [
            each["table"],
            each["state"],
            f"{each['moved']:,}",
            "" if seconds is None else shown_duration(seconds),
            f"{each['hot_znodes'] or 0:,}",
            *(each[name] for name in ("gate", "reason", "remedy")),
        ]
        yield f"| {' | '.join(map(_cell, cells))} |"
    if result["unknown_paths"]:
        yield from ("", "## Paths of no known table", "")
        yield from (f"- `{each['shard_path']}`: {each['reason']}" for each in result["unknown_paths"])
    if result["drops"]:
        yield from ("", "## Drop the old tables", "")
        yield "Each statement deletes rows for good. Execute it on its server, if no rollback is needed."
        yield ""
        yield from (f"- {each['server']}: `{each['statement']}`" for each in result["drops"])


def _cell(text: str) -> str:
    return " ".join(text.replace("|", r"\|").split())
