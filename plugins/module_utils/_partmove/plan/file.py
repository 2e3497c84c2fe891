# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The plan file: which state each partition should be in, and why.

JSON Lines: a header object on the first line, then one row a line, sorted by shard path and then by
partition id (by code point, which is also the order of their UTF-8 bytes). The header carries the
number of rows and their digest, so a file that was cut short or edited is refused as a whole.
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
    parse_header,
    parse_item,
    parse_row,
    parse_wanted,
)
from .order import check_order, place_of
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

# Few enough bytes to have some chunks in memory, enough of them that one more chunk costs nothing.


class _FileId(NamedTuple):
    """What changes when a file is replaced or written to."""

    device: int
    inode: int
    size: int
    mtime_ns: int

    @classmethod
    def of(cls, stream: BinaryIO) -> _FileId:
        stat = os.fstat(stream.fileno())
        return cls(stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns)


class _Section(NamedTuple):
    """The lines of one shard path, which stand together."""

    line: int
    """The number of the first one in the file."""
    offset: int
    """Where in the file it begins, in bytes."""
    counts: Counter[State]


class Plan:
    """A plan file whose every line was checked. Holds no rows: they are read again when asked for."""

    def __init__(
        self, path: Path, header: PlanHeader, sections: Mapping[str, _Section], file_id: _FileId
    ) -> None:
        self.path = path
        self.header = header
        self._sections = sections
        self._file_id = file_id

    @property
    def counts(self) -> dict[str, Counter[State]]:
        """Shard path → how many partitions should be in which state; in the order of the file."""
        return {shard_path: section.counts for shard_path, section in self._sections.items()}

    def read(self, shard_path: str) -> list[PlanRow]:
        """The rows of one shard path, by partition id.

        Raises PlanError when the file was replaced or written to since it was checked.
        """
        return [parse_row(line, f"{self.path}:{number}") for number, line in self._lines(shard_path)]

    def partitions(self, shard_path: str, state: State) -> list[str]:
        """Ids of the partitions of one shard path that should be in the state, in their order.

        Of lines that were checked before no more is looked at than this takes. Raises as `read` does.
        """
        found = (parse_wanted(line, f"{self.path}:{number}") for number, line in self._lines(shard_path))
        return [partition for partition, wanted in found if wanted is state]

    def _lines(self, shard_path: str) -> Iterator[tuple[int, bytes]]:
        """Number and text of each line of one shard path."""
        section = self._sections[shard_path]
        with _open(self.path) as stream:
            if _FileId.of(stream) != self._file_id:
                raise PlanError(
                    f"{self.path}: the plan file was changed while it was in use",
                    remedy="Let nothing write to the plan while it is carried out, then run again",
                )
            stream.seek(section.offset)
            yield from enumerate(islice(stream, sum(section.counts.values())), section.line)

    def rows(self) -> Iterator[PlanRow]:
        """All rows in the order of the file; only those of one shard path are in memory."""
        return chain.from_iterable(map(self.read, self._sections))


class _Contents:
    """What is kept of the rows of a file while it is checked."""

    def __init__(self, tops: Collection[str], offset: int) -> None:
        """``tops`` are the paths of the origin; ``offset`` is where the first row begins, in bytes."""
        self._tops = tops
        self.sections: dict[str, _Section] = {}
        self.rows = 0
        self._digest = hashlib.sha256()
        self._offset = offset
        self._last: PlanRow | None = None

    @property
    def digest(self) -> str:
        return self._digest.hexdigest()

    def add(self, line: bytes, number: int, where: str) -> None:
        """Raises PlanError for what is no row, or may not follow the one before it."""
        row = parse_row(line, where)
        check_order(self._last, row, where)
        if self._last is None or self._last.shard_path != row.shard_path:
            _check_top(self._tops, row, where)
            self.sections[row.shard_path] = _Section(number, self._offset, Counter())
        self.sections[row.shard_path].counts[row.state] += 1
        self._digest.update(line)
        self._offset += len(line)
        self._last = row
        self.rows += 1


def read_plan(path: str | os.PathLike[str]) -> Plan:
    """Check the whole file: header, row count, digest, and every field, order and duplicates of the rows.

    Raises PlanError with file and line for anything that is not as `write_plan` writes it.
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
    """The header alone, for comparing two plans; the rows are not looked at.

    None for a plan of another version, which is like no plan of this one. Raises PlanError when the
    file cannot be read or its first line is no header.
    """
    with _open(Path(path)) as stream:
        try:
            return parse_header(stream.readline(), f"{path}:1")
        except OtherVersion:
            return None


def rows_from_list(items: Iterable[object], state: State) -> list[PlanRow]:
    """Rows for partitions that a person names, sorted: ``items`` are {shard_path, partition} mappings.

    What a classification would have measured is None in these rows. Raises PlanError for anything
    else in the list, with the number of the item (from 1).
    """
    rows = []
    for number, item in enumerate(items, start=1):
        where = f"Item {number} of the list of partitions"
        shard_path, partition = parse_item(item, where)
        rows.append(PlanRow(shard_path, partition, state, BY_NAME, None, None, None, None))
    rows.sort(key=place_of)
    for last, row in zip(rows, rows[1:]):
        check_order(last, row, "The list of partitions")
    return rows


def _check_top(tops: Collection[str], row: PlanRow, where: str) -> None:
    """Refuse a row that the header tells no cluster of."""
    if topmost(row.shard_path) not in tops:
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
