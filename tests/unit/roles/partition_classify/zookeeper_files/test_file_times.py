# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A log is read after its snapshot, which its time shows where the snapshot does not say how it ends."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from olap_partmove._partmove.errors import EnsembleError
from partition_classify.zookeeper_files.damage import DamagedFile
from partition_classify.zookeeper_files.file_times import FileTimes
from support.classify.members import names_of, write_log, write_snapshot
from support.files import log_files as log
from support.files.snapshot_files import Trailers

EPOCH = 7 << 32
SECOND = 10**9


def make_older(data_dir: Path, pattern: str) -> None:
    """Give the files the time of a copy from long ago."""
    for path in (data_dir / "version-2").glob(pattern):
        os.utime(path, ns=(SECOND, SECOND))


def test_log_copied_before_the_snapshot_is_refused(tmp_path: Path) -> None:
    """Transaction 12 deleted y while the snapshot was written, after /a and before y: no trace is left."""
    write_snapshot(tmp_path, "x")
    write_log(tmp_path, 11, "y")
    make_older(tmp_path, "log.*")
    with pytest.raises(EnsembleError, match="snapshot.a has no zxid of its end, .*/log.b was not") as info:
        names_of(tmp_path)
    assert "Copy the log again, after the snapshot" in info.value.remedy


def test_log_that_ends_before_the_snapshot_is_refused(tmp_path: Path) -> None:
    write_snapshot(tmp_path, "x", zxid=20)
    (tmp_path / "version-2" / "log.1").unlink()
    write_log(tmp_path, 11, "x")
    with pytest.raises(EnsembleError, match="snapshot.14 has no zxid of its end, .* before it, with 0xb"):
        names_of(tmp_path)


def test_time_does_not_count_where_the_snapshot_has_its_last_zxid(tmp_path: Path) -> None:
    write_snapshot(tmp_path, "x", trailers=Trailers(digest=11))
    write_log(tmp_path, 11, "y")
    make_older(tmp_path, "log.*")
    assert names_of(tmp_path) == ["x", "y"]


@pytest.mark.parametrize("zxid", [0, EPOCH])
def test_time_does_not_count_at_the_begin_of_an_epoch(tmp_path: Path, zxid: int) -> None:
    write_snapshot(tmp_path, "x", zxid=zxid, newest=0)
    make_older(tmp_path, "log.*")
    assert names_of(tmp_path) == ["x"]


def test_last_log_without_zeros_may_be_cut(tmp_path: Path) -> None:
    write_snapshot(tmp_path, "x")
    write_log(tmp_path, 11, "y").write(tmp_path, 0)
    with pytest.raises(EnsembleError, match="log.b has no zeros at its end"):
        names_of(tmp_path)


def test_older_snapshot_ends_before_the_next_begins(tmp_path: Path) -> None:
    write_snapshot(tmp_path, "x")
    write_log(tmp_path, 11, "y")
    (tmp_path / "version-2" / "snapshot.b").touch()
    make_older(tmp_path, "log.*")
    assert names_of(tmp_path) == ["x", "y"]


def test_snapshot_that_grew_while_the_log_was_read_counts_as_unfinished(tmp_path: Path) -> None:
    path = write_snapshot(tmp_path, "x")
    times = FileTimes.of(path, [])
    times.check_unchanged()
    path.write_bytes(path.read_bytes() + b"more")
    with pytest.raises(DamagedFile, match="it has grown") as info:
        times.check_unchanged()
    assert info.value.is_cut_off


def test_deletion_of_the_snapshot_is_proved_by_the_parent(tmp_path: Path) -> None:
    """The zxid of the last change of children counts, too."""
    write_snapshot(tmp_path, "x", newest=12)
    write_log(tmp_path, 11, "y").add(log.ERROR, log.error())
    with pytest.raises(DamagedFile, match="has transaction 0xc, but the log ends with 0xb"):
        names_of(tmp_path)
