# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Logs that do not belong to their snapshot."""

from __future__ import annotations

from pathlib import Path

import pytest

from olap_partmove._partmove.errors import EnsembleError
from partition_classify.zookeeper_files.evidence import LogTimes
from partition_classify.zookeeper_files.log_records import Txn
from support.classify.members import names_of, write_log, write_snapshot
from support.files import log_files as log
from support.files.log_files import TIME, LogWriter
from support.files.snapshot_files import Trailers, snapshot_file

APART = "snapshot.a and the transaction log do not belong together: "


def refused(data_dir: Path) -> str:
    with pytest.raises(EnsembleError) as info:
        names_of(data_dir)
    assert "data_dir and data_log_dir of one member" in info.value.remedy
    return info.value.message


def foreign_log(data_dir: Path, first: int, *operations: tuple[int, bytes], digest: bool = False) -> None:
    """A log of an ensemble that wrote its transactions a second later."""
    writer = LogWriter(first, digest=digest)
    for kind, body in operations:
        writer.add(kind, body)
    (data_dir / "version-2").mkdir(exist_ok=True)
    for path in (data_dir / "version-2").glob("log.*"):
        path.unlink()
    writer.write(data_dir)


def test_transaction_with_another_time_than_its_znode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with snapshot_file(tmp_path, 10) as snapshot:
        snapshot.begin()
        for path, zxid in (("", 0), ("/a", 1), ("/a/x", 9)):
            snapshot.znode(path, zxid=zxid)
        snapshot.end()
    monkeypatch.setattr(log, "TIME", TIME + 1)
    foreign_log(tmp_path, 8, *[(log.CREATE, log.create(f"/a/{name}")) for name in "uvyz"])
    assert f"{APART}transaction 0x9 has the time {TIME + 9001} in the log, and {TIME + 9000}" in refused(
        tmp_path
    )


def test_earlier_logs_are_compared_where_no_znode_is_as_new_as_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_snapshot(tmp_path, "x")
    foreign_log(tmp_path, 10, (log.ERROR, log.error()), (log.CREATE, log.create("/a/y")))
    assert names_of(tmp_path) == ["x", "y"]
    monkeypatch.setattr(log, "TIME", TIME + 1)
    write_log(tmp_path, 1, *"abcdefghi")
    assert f"{APART}transaction 0x1 has the time" in refused(tmp_path)


def test_log_that_repeats_transactions_of_another_with_other_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_snapshot(tmp_path, "x")
    write_log(tmp_path, 11, "y", "z")
    write_log(tmp_path, 12, "z", "u")
    assert names_of(tmp_path) == ["u", "x", "y", "z"]
    monkeypatch.setattr(log, "TIME", TIME + 1)
    write_log(tmp_path, 12, "a", "b")
    with pytest.raises(EnsembleError, match="Two log files have different transactions 0xc, of the times"):
        names_of(tmp_path)


def test_damage_of_an_earlier_log_does_not_matter(tmp_path: Path) -> None:
    write_snapshot(tmp_path, "x")
    foreign_log(tmp_path, 10, (log.ERROR, log.error()), (log.CREATE, log.create("/a/y")))
    (tmp_path / "version-2" / "log.1").write_bytes(b"damaged" * 10)
    assert names_of(tmp_path) == ["x", "y"]


def test_child_of_a_znode_that_does_not_exist(tmp_path: Path) -> None:
    write_snapshot(tmp_path, "x")
    foreign_log(tmp_path, 11, (log.CREATE, log.create("/b/x")))
    assert refused(tmp_path).endswith(
        f"{APART}transaction 0xb of the log needs the znode /b, which neither the snapshot nor the log has"
    )


def test_deleted_child_of_a_znode_that_does_not_exist(tmp_path: Path) -> None:
    write_snapshot(tmp_path, "x")
    foreign_log(tmp_path, 11, (log.DELETE, log.delete("/b/x")))
    assert "needs the znode /b" in refused(tmp_path)


def test_parent_may_be_deleted_while_the_snapshot_is_written(tmp_path: Path) -> None:
    """The snapshot of transaction 10 was finished after 12."""
    write_snapshot(tmp_path, "x")
    deleted = ((log.DELETE, log.delete("/b/x")), (log.DELETE, log.delete("/b")))
    created = ((log.CREATE, log.create("/b")), (log.CREATE, log.create("/b/y")))
    foreign_log(tmp_path, 11, *deleted, *created)
    assert names_of(tmp_path) == ["x"]


def test_snapshot_has_a_transaction_that_the_log_lacks(tmp_path: Path) -> None:
    """The log goes on under a new leader; the snapshot has more of the one before."""
    write_snapshot(tmp_path, "x", newest=12)
    writer = LogWriter(11)
    writer.add(log.CREATE, log.create("/a/y"))
    writer.zxid = (7 << 32) + 1
    writer.add(log.CREATE, log.create("/a/z"))
    writer.write(tmp_path)
    assert refused(tmp_path).endswith(f"{APART}the log has no transaction 0xc, which the snapshot has")


def test_digest_of_the_snapshot_is_that_of_the_log(tmp_path: Path) -> None:
    path = write_snapshot(tmp_path, "x", trailers=Trailers(digest=11, tree=777))
    assert path.name == "snapshot.a"
    foreign_log(tmp_path, 11, (log.ERROR, log.error()), digest=True)
    assert refused(tmp_path).endswith(f"{APART}their digests of the tree at 0xb differ")
    write_snapshot(tmp_path, "x", trailers=Trailers(digest=11, tree=12345))
    assert names_of(tmp_path) == ["x"]


def test_times_are_kept_over_jumps_and_repetitions() -> None:
    times = LogTimes()
    for zxid in (5, 6, 6, 9, 5, 10):
        times.note(Txn(0, 1, zxid, zxid * 100, -1, b""))
    assert times.first == 5
    assert [times.at(zxid) for zxid in (4, 5, 6, 7, 9, 10, 11)] == [
        None,
        (500, 0),
        (600, 0),
        None,
        (900, 0),
        (1000, 0),
        None,
    ]
