# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which logs are one sequence of transactions, and which are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from olap_partmove._partmove.errors import EnsembleError
from partition_classify.zookeeper_files.damage import DamagedFile
from support.classify.members import names_of, write_log, write_snapshot
from support.files import log_files as log
from support.files.log_files import LogWriter


def test_log_continues_after_a_crash_in_a_transaction(tmp_path: Path) -> None:
    write_snapshot(tmp_path)
    writer = write_log(tmp_path, 11, "x", "torn")
    del writer.content[-20:]
    writer.write(tmp_path, 500)
    write_log(tmp_path, 12, "y")
    assert names_of(tmp_path) == ["x", "y"]


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


def test_transaction_logged_twice_counts_once(tmp_path: Path) -> None:
    write_snapshot(tmp_path)
    writer = LogWriter(11)
    writer.add(log.CREATE, log.create("/a/x"))
    writer.add(log.DELETE, log.delete("/a/x"))
    writer.zxid = 11
    writer.add(log.CREATE, log.create("/a/x"))
    writer.write(tmp_path)
    assert names_of(tmp_path) == []


@pytest.mark.parametrize("cut", [5, 8, 20])
def test_last_log_that_was_cut_short_is_refused(tmp_path: Path, cut: int) -> None:
    write_snapshot(tmp_path)
    writer = write_log(tmp_path, 11, "x", "y")
    path = writer.write(tmp_path, 0)
    path.write_bytes(bytes(writer.content[:-cut]))
    with pytest.raises(
        DamagedFile, match="log.b: the log ends within a transaction after 0xb, .* cut short at"
    ):
        names_of(tmp_path)


def test_empty_log_after_a_log_that_was_cut_short_is_refused(tmp_path: Path) -> None:
    """A disk ran full while the folder was copied."""
    write_snapshot(tmp_path)
    writer = LogWriter(11)
    ends = [writer.add(log.CREATE, log.create(f"/a/{number}")) for number in range(47)]
    path = writer.write(tmp_path)
    path.write_bytes(bytes(writer.content[: ends[5]]))
    empty = path.with_name(f"log.{writer.zxid:x}")
    empty.touch()
    with pytest.raises(EnsembleError, match="log.3a has no transaction, but its name proves .* 0xf and 0x3a"):
        names_of(tmp_path)


@pytest.mark.parametrize("content", [b"", b"ZKLG", bytes(500)])
def test_empty_log_in_which_the_next_transaction_was_is_refused(tmp_path: Path, content: bytes) -> None:
    write_snapshot(tmp_path)
    write_log(tmp_path, 11, "x")
    (tmp_path / "version-2" / "log.c").write_bytes(content)
    with pytest.raises(
        EnsembleError,
        match="log.c is empty, so transaction 0xc, for which its server created it, may be missing",
    ):
        names_of(tmp_path)


def test_file_that_the_server_has_just_begun_is_read(tmp_path: Path) -> None:
    write_snapshot(tmp_path)
    write_log(tmp_path, 11, "x")
    (tmp_path / "version-2" / "log.c").write_bytes(log.HEADER + bytes(500))
    assert names_of(tmp_path) == ["x"]


def test_empty_log_of_a_later_leader_is_refused(tmp_path: Path) -> None:
    write_snapshot(tmp_path)
    write_log(tmp_path, 11, "x")
    (tmp_path / "version-2" / f"log.{NEW_LEADER:x}").write_bytes(log.HEADER + bytes(500))
    with pytest.raises(EnsembleError, match="log.700000001 has no transaction, but its name proves"):
        names_of(tmp_path)


def test_empty_log_that_the_snapshot_covers_does_not_matter(tmp_path: Path) -> None:
    write_snapshot(tmp_path, "x")
    (tmp_path / "version-2" / "log.5").touch()
    write_log(tmp_path, 11, "y")
    assert names_of(tmp_path) == ["x", "y"]


def test_blank_snapshot_does_not_precede_a_later_epoch(tmp_path: Path) -> None:
    """The logs of the epochs before may be missing."""
    write_snapshot(tmp_path, zxid=0, newest=0)
    write_log(tmp_path, (2 << 32) + 1, "x")
    with pytest.raises(EnsembleError, match="nothing proves that 0x0 was the last transaction"):
        names_of(tmp_path)


@pytest.mark.parametrize("epoch", [1, 5])
@pytest.mark.parametrize(
    ("tree", "is_read"), [(1371985504, True), (1371985505, False)], ids=["empty", "other"]
)
def test_digest_proves_that_the_tree_was_empty(tmp_path: Path, epoch: int, tree: int, is_read: bool) -> None:
    write_snapshot(tmp_path, zxid=0, newest=0)
    writer = LogWriter((epoch << 32) + 1, digest=True, tree=tree)
    writer.add(log.CREATE_SESSION, log.create_session())
    writer.add(log.CREATE2, log.create("/a/x"))
    writer.write(tmp_path)
    if is_read:
        assert names_of(tmp_path) == ["x"]
    else:
        with pytest.raises(EnsembleError, match="nothing proves that 0x0 was the last transaction"):
            names_of(tmp_path)


def test_file_with_another_digest_although_nothing_changed_is_of_another_ensemble(tmp_path: Path) -> None:
    write_snapshot(tmp_path)
    for zxid, tree in ((11, 12345), (12, 54321)):
        writer = LogWriter(zxid, digest=True, tree=tree)
        writer.add(log.CREATE_SESSION, log.create_session())
        writer.write(tmp_path)
    with pytest.raises(EnsembleError, match="log.c does not continue the file before it: transaction 0xc"):
        names_of(tmp_path)
