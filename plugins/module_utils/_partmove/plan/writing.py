# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Writes plan files: rows as lines, maybe by many processes, and the file in its place in one step."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from .lines import PlanHeader, PlanRow, encode_header, encode_row, parse_header, parse_row
from .order import check_order
from .origin import OriginOf, topmost
from .staging import failures_told, staging_folder, unwritable

_CHUNK_BYTES = 1 << 20


def write_plan(
    path: str | os.PathLike[str],
    rows: Iterable[PlanRow],
    *,
    policy_digest: str,
    source: str,
    origin: OriginOf,
    as_of: int,
) -> PlanHeader:
    """Write the plan so that readers see the old file or the whole new one, never a part of it.

    ``rows`` must come sorted and is consumed once; ``policy_digest`` is the SHA-256 of the policy in
    hex, ``source`` names what was read, ``origin`` gives the topmost znodes of hot that the shard paths are
    below, ``as_of`` is in milliseconds since 1970. Raises PlanError for rows that `read_plan` would refuse,
    and where the file cannot be written, and what ``origin`` raises.
    """
    chunks = encode_rows(rows, f"for {path}")
    staged = staged_plan(path, chunks, policy_digest=policy_digest, source=source, origin=origin, as_of=as_of)
    with staged as header:
        return header


class Chunk(NamedTuple):
    """Some rows, as the lines of a plan file."""

    lines: bytes
    tops: Collection[str]
    """The topmost znodes that their shard paths are below."""


def encode_rows(rows: Iterable[PlanRow], where: str) -> Iterator[Chunk]:
    """The rows as the lines of a plan file, in chunks of about _CHUNK_BYTES; no chunk is empty.

    Raises PlanError, which says ``where``, for rows that `read_plan` would refuse: also for what is out of
    order or twice among them.
    """
    lines: list[bytes] = []
    tops: set[str] = set()
    size = 0
    last: PlanRow | None = None
    for number, row in enumerate(rows, start=1):
        line = encode_row(row)
        parse_row(line, f"row {number} {where}")
        check_order(last, row, f"row {number} {where}")
        lines.append(line)
        tops.add(topmost(row.shard_path))
        size, last = size + len(line), row
        if size >= _CHUNK_BYTES:
            yield Chunk(b"".join(lines), sorted(tops))
            lines, tops, size = [], set(), 0
    if lines:
        yield Chunk(b"".join(lines), sorted(tops))


@contextmanager
def staged_plan(
    path: str | os.PathLike[str],
    chunks: Iterable[Chunk],
    *,
    policy_digest: str,
    source: str,
    origin: OriginOf,
    as_of: int,
) -> Iterator[PlanHeader]:
    """Write the plan beside its place as `write_plan` does, and put it there at the end of the block.

    ``chunks`` are what `encode_rows` has made and checked, maybe in other processes and each of a stretch of
    the rows: what is checked here is the order from one chunk to the next, and PlanError is raised for that.
    Where the block raises, the old file stays: whoever compares with it finds what has not been finished.
    """
    target = Path(path)
    told = partial(failures_told, partial(unwritable, target))
    with staging_folder(target) as folder:
        rows_path, plan_path = folder / "rows", folder / "plan"
        digest = hashlib.sha256()
        count = 0
        last: PlanRow | None = None
        tops: set[str] = set()
        with told(), rows_path.open("wb") as stream:
            for lines, below in chunks:
                where = f"row {count + 1} for {target}"
                first_line, last_line = lines[: lines.find(b"\n") + 1], lines[lines.rfind(b"\n", 0, -1) + 1 :]
                check_order(last, parse_row(first_line, where), where)
                stream.write(lines)
                digest.update(lines)
                tops.update(below)
                count, last = count + lines.count(b"\n"), parse_row(last_line, where)
        znodes = tuple(sorted(origin(sorted(tops)))) if tops else ()
        header = PlanHeader(policy_digest, source, znodes, as_of, count, digest.hexdigest())
        with told():
            _assemble(plan_path, header, rows_path, f"header for {target}")
        yield header
        with told():
            _put_in_place(plan_path, target)


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
