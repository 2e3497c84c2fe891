# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where a transaction log file ends, and which files are damaged."""

from __future__ import annotations

import io
from pathlib import Path
from typing import IO

import pytest

from olap_partmove._partmove.errors import EnsembleError
from partition_classify.zookeeper_files.damage import DamagedFile
from partition_classify.zookeeper_files.log_records import LogFile
from support.classify.members import names_of, write_log, write_snapshot
from support.files import log_files as log
from support.files.log_files import LogWriter


@pytest.mark.parametrize("padding", [1, 5000, 3 << 20])
def test_log_ends_where_the_zeros_begin(tmp_path: Path, padding: int) -> None:
    write_snapshot(tmp_path)
    writer = write_log(tmp_path, 11, "x", "y")
    writer.write(tmp_path, padding)
    assert names_of(tmp_path) == ["x", "y"]


@pytest.mark.parametrize("padding", [100, 1000])
def test_unfinished_transaction_at_the_end_does_not_count(tmp_path: Path, padding: int) -> None:
    write_snapshot(tmp_path)
    writer = write_log(tmp_path, 11, "x")
    whole = len(writer.content)
    writer.add(log.CREATE, log.create("/a/y"))
    for size in range(whole, len(writer.content) - 1):
        (tmp_path / "version-2" / "log.b").write_bytes(bytes(writer.content[:size]) + bytes(padding))
        assert names_of(tmp_path) == ["x"], size


def test_hole_in_a_log_is_refused(tmp_path: Path) -> None:
    write_snapshot(tmp_path)
    writer = LogWriter(11)
    writer.add(log.CREATE, log.create("/a/x"))
    hole = len(writer.content)
    writer.add(log.CREATE, log.create("/a/y"))
    writer.content[hole : hole + 30] = bytes(30)
    path = writer.write(tmp_path)
    with pytest.raises(DamagedFile, match=f"^{path}: a transaction is torn, .* at byte {hole}"):
        names_of(tmp_path)


@pytest.mark.parametrize("padding", [1, 5000])
def test_no_bit_of_a_log_can_flip_unnoticed(tmp_path: Path, padding: int) -> None:
    """Except in the database id, which servers ignore."""
    write_snapshot(tmp_path)
    writer = write_log(tmp_path, 11, "x", "y", "z")
    path = writer.write(tmp_path, padding)
    whole = bytes(writer.content)
    for bit in range(len(whole) * 8):
        if 8 <= bit // 8 < len(log.HEADER):
            continue
        content = bytearray(whole)
        content[bit // 8] ^= 1 << bit % 8
        path.write_bytes(bytes(content) + bytes(padding))
        with pytest.raises(EnsembleError):
            assert names_of(tmp_path) == [], bit


def test_how_a_file_ends(tmp_path: Path) -> None:
    writer = write_log(tmp_path, 11, "x")
    path = writer.write(tmp_path, 50)
    whole = len(writer.content)
    writer.add(log.CREATE, log.create("/a/y"))
    cases = [
        (bytes(writer.content[:whole]) + bytes(50), True, None, True),
        (bytes(writer.content[:whole]), True, None, False),
        (bytes(writer.content[:-1]) + bytes(50), True, None, True),
        (bytes(writer.content[:-5]), True, whole, False),
        (bytes(writer.content[: whole + 9]), True, whole, False),
        (b"", False, None, False),
        (b"ZKLG", False, None, False),
        (bytes(100), False, None, False),
    ]
    for content, has_header, cut_at, is_padded in cases:
        path.write_bytes(content)
        file = LogFile(path)
        assert [txn.zxid for txn in file] == ([11] if has_header else [])
        assert (file.has_header, file.cut_at, file.is_padded) == (has_header, cut_at, is_padded), content


class Stale(io.BytesIO):
    """What was read of a file before its server went on."""


@pytest.mark.parametrize("begun", [0, 1, 20])
@pytest.mark.parametrize("more", [1, 2])
@pytest.mark.parametrize("left", [0, 7])
def test_file_that_grows_while_it_is_read_ends_where_it_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begun: int, more: int, left: int
) -> None:
    """The server finishes a transaction, and begins others, between two reads of the same bytes."""
    writer = write_log(tmp_path, 11, "x")
    path = writer.write(tmp_path, 4096)
    whole = len(writer.content)
    for number in range(more):
        writer.add(log.CREATE, log.create(f"/a/y{number}"))
    content = bytes(writer.content[: len(writer.content) - left])
    path.write_bytes(content + bytes(4096))
    before = content[: whole + begun] + bytes(4096)
    real = Path.open

    def open_stale(self: Path, mode: str = "r", buffering: int = -1) -> IO[bytes]:
        return Stale(before) if buffering > 0 else real(self, mode)

    monkeypatch.setattr(Path, "open", open_stale)
    file = LogFile(path)
    assert [txn.zxid for txn in file] == [11]
    assert file.cut_at is None
