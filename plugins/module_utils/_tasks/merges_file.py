# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read merges.sql of a report: the partitions to merge, in order."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from .._partmove.errors import FormatError
from .._partmove.formats.layout import check_shard_path
from .._partmove.formats.names import check_partition_id
from .._partmove.text import shortened

_LINE = re.compile(r"OPTIMIZE TABLE \S.* PARTITION ID '(?P<partition>[^']+)' FINAL; -- (?P<about>\{.*\})")


class Merge(NamedTuple):
    """A partition to merge."""

    shard_path: str
    partition: str


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
