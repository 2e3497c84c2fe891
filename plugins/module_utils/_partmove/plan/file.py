# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The plan file: the desired state of each partition, with a reason.

The format is JSON Lines: a header in the first line, then a row in each line. Rows are sorted by shard path
and then by partition id, by code point, which equals the order of UTF-8 bytes. The header has the number and
the digest of the rows. So a truncated or edited file is refused as a whole.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

from ..errors import PlanError
from ..formats.state import State
from .lines import (
    OtherVersion,
    PlanHeader,
    PlanRow,
    parse_desired_state,
    parse_header,
    parse_item,
    parse_row,
)
from .order import check_order, row_key
from .origin import topmost

__all__ = [
    "Plan",
    "PlanHeader",
    "PlanRow",
    "read_header",
    "read_plan",
    "rows_from_list",
]

BY_NAME = "given by name"


class _FileId(NamedTuple):
    """Attributes of a file that change when the file is replaced or written."""

    device: int
    inode: int
    size: int
    mtime_ns: int

    @classmethod
    def of(cls, stream: BinaryIO) -> _FileId:
        stat = os.fstat(stream.fileno())
        return cls(stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns)


class _Section(NamedTuple):
    """The consecutive lines of one shard path."""

    line: int
    """Number of the first line in the file."""
    offset: int
    """Offset of the first line in bytes."""
    counts: Counter[State]


class Plan:
    """A checked plan file. Rows are not kept in memory, but read again on request."""

    def __init__(
        self, path: Path, header: PlanHeader, sections: Mapping[str, _Section], file_id: _FileId
    ) -> None:
        self.path = path
        self.header = header
        self._sections = sections
        self._file_id = file_id

    @property
    def counts(self) -> dict[str, Counter[State]]:
        """Shard path → desired state → number of partitions, in the order of the file."""
        return {shard_path: section.counts for shard_path, section in self._sections.items()}

    def read(self, shard_path: str) -> list[PlanRow]:
        """Read the rows of one shard path, sorted by partition id.

        Raises PlanError if the file was replaced or written since the check.
        """
        return [parse_row(line, f"{self.path}:{number}") for number, line in self._lines(shard_path)]

    def partitions(self, shard_path: str, state: State) -> list[str]:
        """Read the ids of the partitions of one shard path with this desired state, in order.

        Parses only these fields of the checked lines. Raises as `read` does.
        """
        desired_states = (
            parse_desired_state(line, f"{self.path}:{number}") for number, line in self._lines(shard_path)
        )
        return [partition for partition, desired in desired_states if desired is state]

    def _lines(self, shard_path: str) -> Iterator[tuple[int, bytes]]:
        """Yield number and text of each line of one shard path."""
        section = self._sections[shard_path]
        with _open(self.path) as stream:
            if _FileId.of(stream) != self._file_id:
                raise PlanError(
                    f"{self.path}: the plan file was changed while it was in use",
                    remedy="Keep the plan unchanged while it is carried out, then run again",
                )
            stream.seek(section.offset)
            yield from enumerate(islice(stream, sum(section.counts.values())), section.line)

    def rows(self) -> Iterator[PlanRow]:
        """Read all rows in the order of the file, with one shard path at a time in memory."""
        return chain.from_iterable(map(self.read, self._sections))


class _Contents:
    """The sections, count and digest of the rows, collected during the check of a file."""

    def __init__(self, topmost_paths: Collection[str], offset: int) -> None:
        """``topmost_paths``: the paths of the origin. ``offset``: of the first row, in bytes."""
        self._topmost_paths = topmost_paths
        self.sections: dict[str, _Section] = {}
        self.rows = 0
        self._digest = hashlib.sha256()
        self._offset = offset
        self._last: PlanRow | None = None

    @property
    def digest(self) -> str:
        return self._digest.hexdigest()

    def add(self, line: bytes, number: int, where: str) -> None:
        """Add a line. Raises PlanError for an invalid row, and for a row that may not follow the last row."""
        row = parse_row(line, where)
        check_order(self._last, row, where)
        if self._last is None or self._last.shard_path != row.shard_path:
            _check_topmost(self._topmost_paths, row, where)
            self.sections[row.shard_path] = _Section(number, self._offset, Counter())
        self.sections[row.shard_path].counts[row.state] += 1
        self._digest.update(line)
        self._offset += len(line)
        self._last = row
        self.rows += 1


def read_plan(path: str | os.PathLike[str]) -> Plan:
    """Check a whole plan file: header, number and digest of the rows, fields, order and duplicates.

    Raises PlanError, with file and line, for every deviation from the format of `write_plan`.
    """
    plan_path = Path(path)
    with _open(plan_path) as stream:
        file_id = _FileId.of(stream)
        first = stream.readline()
        header = parse_header(first, f"{plan_path}:1")
        contents = _Contents({each.path for each in header.origin}, len(first))
        for number, line in enumerate(stream, start=2):
            contents.add(line, number, f"{plan_path}:{number}")
    if contents.rows != header.rows:
        raise PlanError(
            f"{plan_path}:1: the header announces {header.rows} rows and the file holds {contents.rows}",
            remedy="The file was cut short or edited; run the classification again",
        )
    if contents.digest != header.rows_digest:
        raise PlanError(
            f"{plan_path}:1: the rows do not have the digest that the header gives",
            remedy="The file was edited; classify again, or name the partitions in the playbook",
        )
    return Plan(plan_path, header, contents.sections, file_id)


def read_header(path: str | os.PathLike[str]) -> PlanHeader | None:
    """Read only the header, to compare two plans. Returns None for a plan of another version.

    Raises PlanError if the file cannot be read, or the first line is not a header.
    """
    with _open(Path(path)) as stream:
        try:
            return parse_header(stream.readline(), f"{path}:1")
        except OtherVersion:
            return None


def rows_from_list(items: Iterable[object], state: State) -> list[PlanRow]:
    """Return sorted rows for partitions named by a person, without the figures of a classification.

    items: mappings with shard_path and partition.

    Raises PlanError, with the number of the item from 1, for other items and for duplicates.
    """
    rows = []
    for number, item in enumerate(items, start=1):
        where = f"Item {number} of the list of partitions"
        shard_path, partition = parse_item(item, where)
        rows.append(PlanRow(shard_path, partition, state, BY_NAME, None, None, None, None))
    rows.sort(key=row_key)
    for last, row in zip(rows, rows[1:]):
        check_order(last, row, "The list of partitions")
    return rows


def _check_topmost(topmost_paths: Collection[str], row: PlanRow, where: str) -> None:
    """Raise PlanError for a row outside of the origin in the header: its cluster would be unverified."""
    if topmost(row.shard_path) not in topmost_paths:
        raise PlanError(
            f"{where}: {row.shard_path} is below no znode of the origin in the header",
            remedy="The file was edited; run the classification again",
        )


def _open(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise PlanError(
            f"{path}: the plan file cannot be read: {error.strerror}",
            remedy="Give the path of a plan that the classification wrote",
        ) from error
