# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The partitions to merge, in order: from merges.sql of a report, or from a list."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from .._partmove.errors import FormatError
from .._partmove.formats.layout import check_shard_path
from .._partmove.formats.names import check_partition_id
from .._partmove.text import shortened

_LINE = re.compile(r"OPTIMIZE TABLE \S.* PARTITION ID '(?P<partition>[^']+)' FINAL; -- (?P<about>\{.*\})")


class Merge(NamedTuple):
    """A partition to merge."""

    shard_path: str
    partition: str


def requested_merges(params: Mapping[str, Any]) -> Iterator[Merge]:
    """Yield each requested partition once, in the order of first occurrence.

    params: the options ``src`` and ``partitions`` of partition_merge.

    Raises FormatError for invalid names, and for a file that cannot be read.
    """
    if params["src"] is None:
        given = [
            Merge(check_shard_path(each["shard_path"]), check_partition_id(each["partition"], "partitions"))
            for each in params["partitions"]
        ]
        yield from dict.fromkeys(given)
        return
    try:
        with Path(params["src"]).open(encoding="utf-8") as lines:
            yield from dict.fromkeys(merges_in(lines, params["src"]))
    except (OSError, UnicodeDecodeError) as error:
        path = Path(params["src"])
        where = str(path) if path.is_absolute() else f"{path} in {Path.cwd()}"
        raise FormatError(
            f"{where} cannot be read: {getattr(error, 'strerror', None) or error}",
            remedy="Give the absolute path of a merges.sql on the host that runs the module",
        ) from error


def merges_in(lines: Iterable[str], where: str) -> Iterator[Merge]:
    """Yield the merges in the lines of the file ``where``. Skips comments and empty lines.

    Raises FormatError for any other line that no report writes.

    >>> about = '{"partition": "2019", "shard_path": "/ch/a"}'
    >>> line = f"OPTIMIZE TABLE a PARTITION ID '2019' FINAL; -- {about}"
    >>> list(merges_in(["-- a comment", line], "merges.sql"))
    [Merge(shard_path='/ch/a', partition='2019')]
    """
    for number, line in enumerate(map(str.strip, lines), start=1):
        if line and not line.startswith("--"):
            yield _merge(line, f"{where}, line {number}")


def _merge(line: str, where: str) -> Merge:
    match = _LINE.fullmatch(line)
    try:
        about = json.loads(match["about"]) if match else None
    except (ValueError, RecursionError):
        about = None
    if match is None or not isinstance(about, dict) or about.get("partition") != match["partition"]:
        raise FormatError(
            f"{where}: this is not a statement of a report: {shortened(line)}",
            remedy="You may delete lines of the file, but leave all other lines unchanged",
        )
    path = about.get("shard_path")
    return Merge(
        check_shard_path(path if isinstance(path, str) else ""), check_partition_id(match["partition"], where)
    )
