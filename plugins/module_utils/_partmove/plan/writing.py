# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Writes plan files: rows are encoded, perhaps by many processes, and the file is replaced atomically."""

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
from .origin import OriginReader, topmost
from .staging import file_errors_as, staging_folder, unwritable

# Several chunks fit into memory, and the overhead of a chunk is negligible.
_CHUNK_BYTES = 1 << 20


def write_plan(
    path: str | os.PathLike[str],
    rows: Iterable[PlanRow],
    *,
    policy_digest: str,
    source: str,
    origin: OriginReader,
    as_of: int,
) -> PlanHeader:
    """Write a plan atomically: readers see either the old file or the complete new file.

    rows: sorted; consumed once.
    policy_digest: SHA-256 of the policy, in hex.
    source: the classified ensembles, without credentials.
    origin: returns the topmost znodes in hot at or above the shard paths.
    as_of: time in milliseconds since 1970.

    Raises PlanError for invalid or unsorted rows, and for a file that cannot be written. Raises the errors of
    ``origin``.
    """
    chunks = encode_rows(rows, f"for {path}")
    staged = staged_plan(path, chunks, policy_digest=policy_digest, source=source, origin=origin, as_of=as_of)
    with staged as header:
        return header


class Chunk(NamedTuple):
    """Consecutive rows, encoded as lines of a plan file."""

    lines: bytes
    topmost_paths: Collection[str]
    """The paths of the topmost znodes at or above the shard paths of the rows."""


def encode_rows(rows: Iterable[PlanRow], where: str) -> Iterator[Chunk]:
    """Encode rows in chunks of about 1 MiB; no chunk is empty.

    Raises PlanError, with ``where`` in the message, for invalid, unsorted and duplicate rows.
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
    origin: OriginReader,
    as_of: int,
) -> Iterator[PlanHeader]:
    """Write the plan to a staging folder, and rename the file to its target at the end of the block.

    If the block raises, the old plan stays. A later comparison with the old plan then includes all changes.

    chunks: the output of `encode_rows`, perhaps from several processes. Only the order between chunks is
    checked.

    Raises PlanError for unsorted chunks and as `write_plan` does.
    """
    target = Path(path)
    plan_errors = partial(file_errors_as, partial(unwritable, target))
    with staging_folder(target) as folder:
        rows_path, plan_path = folder / "rows", folder / "plan"
        digest = hashlib.sha256()
        count = 0
        last: PlanRow | None = None
        tops: set[str] = set()
        with plan_errors(), rows_path.open("wb") as stream:
            for lines, topmost_paths in chunks:
                where = f"row {count + 1} for {target}"
                first_line, last_line = lines[: lines.find(b"\n") + 1], lines[lines.rfind(b"\n", 0, -1) + 1 :]
                check_order(last, parse_row(first_line, where), where)
                stream.write(lines)
                digest.update(lines)
                tops.update(topmost_paths)
                count, last = count + lines.count(b"\n"), parse_row(last_line, where)
        znodes = tuple(sorted(origin(sorted(tops)))) if tops else ()
        header = PlanHeader(policy_digest, source, znodes, as_of, count, digest.hexdigest())
        with plan_errors():
            _assemble(plan_path, header, rows_path, f"header for {target}")
        yield header
        with plan_errors():
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
    """Rename the file, and sync the folder, so that the new name survives a power cut."""
    plan_path.replace(target)
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
