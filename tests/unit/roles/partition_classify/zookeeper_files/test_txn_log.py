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


def test_log_continues_after_a_crash_in_a_transaction(tmp_path: Path) -> None:
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
    with pytest.raises(
        EnsembleError, match="transaction 0xd follows 0xb; transactions between them are missing"
    ):
        names_of(tmp_path)


NEW_LEADER = (7 << 32) + 1


def test_new_leader_begins_to_count_again(tmp_path: Path) -> None:
    write_snapshot(tmp_path)
    writer = LogWriter(11)
    writer.add(log.CREATE, log.create("/a/x"))
    writer.zxid = NEW_LEADER
    writer.add(log.CREATE, log.create("/a/y"))
    writer.write(tmp_path)
    assert names_of(tmp_path) == ["x", "y"]


def test_first_leader_begins_after_the_empty_tree(tmp_path: Path) -> None:
    write_snapshot(tmp_path, zxid=0, newest=0)
    write_log(tmp_path, (1 << 32) + 1, "x")
    assert names_of(tmp_path) == ["x"]


def test_file_starting_with_a_new_leader_needs_proof_of_completeness(
    tmp_path: Path,
) -> None:
    write_snapshot(tmp_path)
    write_log(tmp_path, 11, "x")
    write_log(tmp_path, NEW_LEADER, "y")
    with pytest.raises(
        EnsembleError, match="log.700000001 begins with .* 0x700000001 of a new leader, .* that 0xb"
    ) as info:
        names_of(tmp_path)
    assert "snapshot.700000000 or newer" in info.value.remedy


def test_file_starting_with_a_new_leader_after_the_snapshot_is_refused(tmp_path: Path) -> None:
    write_snapshot(tmp_path)
    write_log(tmp_path, NEW_LEADER, "y")
    with pytest.raises(EnsembleError, match="nothing proves that 0xa "):
        names_of(tmp_path)


@pytest.mark.parametrize(("tree", "expected"), [(12345, ["x", "y"]), (12346, None)], ids=["same", "another"])
def test_equal_digest_proves_completeness(tmp_path: Path, tree: int, expected: list[str] | None) -> None:
    write_snapshot(tmp_path)
    old = LogWriter(11, digest=True)
    old.add(log.CREATE, log.create("/a/x"))
    old.write(tmp_path)
    new = LogWriter(NEW_LEADER, digest=True, tree=tree)
    new.add(log.CREATE_SESSION, log.create_session())
    new.tree += 1
    new.add(log.CREATE2, log.create("/a/y"))
    new.write(tmp_path)
    if expected is None:
        with pytest.raises(EnsembleError, match="nothing proves that 0xb"):
            names_of(tmp_path)
    else:
        assert names_of(tmp_path) == expected


def test_digest_after_a_change_proves_nothing(tmp_path: Path) -> None:
    write_snapshot(tmp_path)
    for zxid, name in ((11, "x"), (NEW_LEADER, "y")):
        writer = LogWriter(zxid, digest=True)
        writer.add(log.CREATE2, log.create(f"/a/{name}"))
        writer.write(tmp_path)
    with pytest.raises(EnsembleError, match="nothing proves that 0xb"):
        names_of(tmp_path)


@pytest.mark.parametrize("padding", [0, 5000])
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


def test_transaction_logged_twice_counts_once(tmp_path: Path) -> None:
    write_snapshot(tmp_path)
    writer = LogWriter(11)
    writer.add(log.CREATE, log.create("/a/x"))
    writer.add(log.DELETE, log.delete("/a/x"))
    writer.zxid = 11
    writer.add(log.CREATE, log.create("/a/x"))
    writer.write(tmp_path)
    assert names_of(tmp_path) == []
