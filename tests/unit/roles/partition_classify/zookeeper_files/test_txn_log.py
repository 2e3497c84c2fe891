# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where a transaction log ends, and which logs are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from olap_partmove._partmove.errors import EnsembleError
from partition_classify.zookeeper_files.damage import DamagedFile
from support.classify.members import names_of, write_log, write_snapshot
from support.files import log_files as log
from support.files.log_files import LogWriter


@pytest.mark.parametrize("padding", [0, 1, 5000, 3 << 20])
def test_log_ends_where_the_zeros_begin(tmp_path: Path, padding: int) -> None:
    write_snapshot(tmp_path)
    writer = write_log(tmp_path, 11, "x", "y")
    writer.write(tmp_path, padding)
    assert names_of(tmp_path) == ["x", "y"]


@pytest.mark.parametrize("padding", [0, 1000])
def test_unfinished_transaction_at_the_end_does_not_count(tmp_path: Path, padding: int) -> None:
    write_snapshot(tmp_path)
    writer = write_log(tmp_path, 11, "x")
    whole = len(writer.content)
    writer.add(log.CREATE, log.create("/a/y"))
    for size in range(whole, len(writer.content) - 1):
        (tmp_path / "version-2" / "log.b").write_bytes(bytes(writer.content[:size]) + bytes(padding))
        assert names_of(tmp_path) == ["x"], size


def test_log_goes_on_after_a_server_died_in_a_transaction(tmp_path: Path) -> None:
    write_snapshot(tmp_path)
    writer = write_log(tmp_path, 11, "x", "torn")
    del writer.content[-20:]
    writer.write(tmp_path, 500)
    write_log(tmp_path, 12, "y")
    assert names_of(tmp_path) == ["x", "y"]


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


def test_missing_log_file_is_refused(tmp_path: Path) -> None:
    write_snapshot(tmp_path)
    write_log(tmp_path, 11, "x")
    write_log(tmp_path, 13, "z")
    with pytest.raises(EnsembleError, match="transaction 0xd follows 0xb, so those between them are missing"):
        names_of(tmp_path)


def test_new_leader_begins_to_count_again(tmp_path: Path) -> None:
    write_snapshot(tmp_path)
    write_log(tmp_path, 11, "x")
    write_log(tmp_path, (7 << 32) + 1, "y")
    assert names_of(tmp_path) == ["x", "y"]


def test_transaction_that_was_logged_twice_counts_once(tmp_path: Path) -> None:
    write_snapshot(tmp_path)
    writer = LogWriter(11)
    writer.add(log.CREATE, log.create("/a/x"))
    writer.add(log.DELETE, log.delete("/a/x"))
    writer.zxid = 11
    writer.add(log.CREATE, log.create("/a/x"))
    writer.write(tmp_path)
    assert names_of(tmp_path) == []
