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
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import BinaryIO, NamedTuple

from ..errors import PlanError
from ..formats.state import State
from .lines import (
    OtherVersion,
    PlanHeader,
    PlanRow,
    encode_header,
    encode_row,
    parse_header,
    parse_item,
    parse_row,
)

__all__ = [
    "Plan",
    "PlanHeader",
    "PlanRow",
    "encode_rows",
    "group_rows",
    "read_header",
    "read_plan",
    "rows_from_list",
    "staged_plan",
    "write_plan",
]

BY_NAME = "given by name"

# Few enough bytes to have some chunks in memory, enough of them that one more chunk costs nothing.
_CHUNK_BYTES = 1 << 20


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


class Plan:
    """A plan file whose every line was checked. Holds no rows: they are read again when asked for."""

    def __init__(self, path: Path, header: PlanHeader, file_id: _FileId) -> None:
        self.path = path
        self.header = header
        self._file_id = file_id

    def rows(self) -> Iterator[PlanRow]:
        """All rows in the order of the file.

        Raises PlanError when the file was replaced or written to since it was checked.
        """
        with _open(self.path) as stream:
            if _FileId.of(stream) != self._file_id:
                raise PlanError(
                    f"{self.path}: the plan file was changed while it was in use",
                    remedy="Let nothing write to the plan while it is carried out, then run again",
                )
            stream.readline()
            for number, line in enumerate(stream, start=2):
                yield parse_row(line, f"{self.path}:{number}")

    def by_shard_path(self) -> Iterator[tuple[str, tuple[PlanRow, ...]]]:
        """Each shard path with its rows; only the rows of one shard path are in memory."""
        return group_rows(self.rows())


def group_rows(rows: Iterable[PlanRow]) -> Iterator[tuple[str, tuple[PlanRow, ...]]]:
    """Each shard path with its rows; the rows must be sorted by shard path."""
    for shard_path, group in groupby(rows, key=lambda row: row.shard_path):
        yield shard_path, tuple(group)


def read_plan(path: str | os.PathLike[str]) -> Plan:
    """Check the whole file: header, row count, digest, and every field, order and duplicates of the rows.

    Raises PlanError with file and line for anything that is not as `write_plan` writes it.
    """
    plan_path = Path(path)
    with _open(plan_path) as stream:
        file_id = _FileId.of(stream)
        header = parse_header(stream.readline(), f"{plan_path}:1")
        digest = hashlib.sha256()
        count = 0
        last: PlanRow | None = None
        for number, line in enumerate(stream, start=2):
            where = f"{plan_path}:{number}"
            row = parse_row(line, where)
            _check_order(last, row, where)
            digest.update(line)
            count, last = count + 1, row
    if count != header.rows:
        raise PlanError(
            f"{plan_path}:1: the header announces {header.rows} rows and the file holds {count}",
            remedy="The file was cut short or edited; run the classification again",
        )
    if digest.hexdigest() != header.rows_digest:
        raise PlanError(
            f"{plan_path}:1: the rows do not have the digest that the header gives",
            remedy="The file was edited; classify again, or name the partitions in the playbook",
        )
    return Plan(plan_path, header, file_id)


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


def write_plan(
    path: str | os.PathLike[str],
    rows: Iterable[PlanRow],
    *,
    policy_digest: str,
    source: str,
    as_of: int,
) -> PlanHeader:
    """Write the plan so that readers see the old file or the whole new one, never a part of it.

    ``rows`` must come sorted and is consumed once; ``policy_digest`` is the SHA-256 of the policy in
    hex, ``source`` names what was read, ``as_of`` is in milliseconds since 1970. Raises PlanError for
    rows that `read_plan` would refuse, and OSError when the folder cannot be written.
    """
    chunks = encode_rows(rows, f"for {path}")
    with staged_plan(path, chunks, policy_digest=policy_digest, source=source, as_of=as_of) as header:
        return header


def encode_rows(rows: Iterable[PlanRow], where: str) -> Iterator[bytes]:
    """The rows as the lines of a plan file, in chunks of about _CHUNK_BYTES; no chunk is empty.

    Raises PlanError, which says ``where``, for rows that `read_plan` would refuse: also for what is out of
    order or twice among them.
    """
    lines: list[bytes] = []
    size = 0
    last: PlanRow | None = None
    for number, row in enumerate(rows, start=1):
        line = encode_row(row)
        parse_row(line, f"row {number} {where}")
        _check_order(last, row, f"row {number} {where}")
        lines.append(line)
        size, last = size + len(line), row
        if size >= _CHUNK_BYTES:
            yield b"".join(lines)
            lines, size = [], 0
    if lines:
        yield b"".join(lines)


@contextmanager
def staged_plan(
    path: str | os.PathLike[str],
    chunks: Iterable[bytes],
    *,
    policy_digest: str,
    source: str,
    as_of: int,
) -> Iterator[PlanHeader]:
    """Write the plan beside its place as `write_plan` does, and put it there at the end of the block.

    ``chunks`` are what `encode_rows` has made and checked, maybe in other processes and each of a stretch of
    the rows: what is checked here is the order from one chunk to the next, and PlanError is raised for that.
    Where the block raises, the old file stays: whoever compares with it finds what has not been finished.
    """
    target = Path(path)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as folder:
        rows_path, plan_path = Path(folder, "rows"), Path(folder, "plan")
        digest = hashlib.sha256()
        count = 0
        last: PlanRow | None = None
        with rows_path.open("wb") as stream:
            for chunk in chunks:
                where = f"row {count + 1} for {target}"
                first_line, last_line = chunk[: chunk.find(b"\n") + 1], chunk[chunk.rfind(b"\n", 0, -1) + 1 :]
                _check_order(last, parse_row(first_line, where), where)
                stream.write(chunk)
                digest.update(chunk)
                count, last = count + chunk.count(b"\n"), parse_row(last_line, where)
        header = PlanHeader(policy_digest, source, as_of, count, digest.hexdigest())
        _assemble(plan_path, header, rows_path, f"header for {target}")
        yield header
        _put_in_place(plan_path, target)


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
    rows.sort(key=_place)
    for last, row in zip(rows, rows[1:]):
        _check_order(last, row, "The list of partitions")
    return rows


def _place(row: PlanRow) -> tuple[str, str]:
    return row.shard_path, row.partition


def _check_order(last: PlanRow | None, row: PlanRow, where: str) -> None:
    if last is None or _place(last) < _place(row):
        return
    if _place(last) == _place(row):
        raise PlanError(
            f"{where}: partition {row.partition} of {row.shard_path} is listed twice",
            remedy="List each partition of a shard path once",
        )
    raise PlanError(
        f"{where}: partition {row.partition} of {row.shard_path} is out of order",
        remedy="Sort the rows by shard path and then by partition, or run the classification again",
    )


def _open(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise PlanError(
            f"{path}: the plan file cannot be read: {error.strerror}",
            remedy="Give the path of a plan that the classification wrote",
        ) from error


def _assemble(plan_path: Path, header: PlanHeader, rows_path: Path, where: str) -> None:
    first_line = encode_header(header)
    parse_header(first_line, where)
    with plan_path.open("wb") as stream:
        stream.write(first_line)
        with rows_path.open("rb") as rows:
            shutil.copyfileobj(rows, stream)
        stream.flush()
        os.fsync(stream.fileno())


def _put_in_place(plan_path: Path, target: Path) -> None:
    """Rename, and see to it that the new name survives a power cut too."""
    plan_path.replace(target)
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
