# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a snapshot has before and after its znodes."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from partition_classify.keeper_files.fields import FieldReader
from partition_classify.keeper_files.header import SnapshotHeader, read_end, read_header
from partition_classify.zookeeper_files.damage import DamagedFile
from support.files.keeper_snapshots import INDEX, VERSIONS, ZXID, KeeperSnapshotFile


def fields_of(data: bytes) -> FieldReader:
    return FieldReader(io.BytesIO(data), Path("snapshot_7.bin"))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("has_digest", [True, False])
def test_header_of_every_version(version: int, has_digest: bool) -> None:
    fields = fields_of(KeeperSnapshotFile(version, has_digest=has_digest).head())
    # Before version 5 the zxid is the index.
    assert read_header(fields) == SnapshotHeader(version, INDEX, ZXID if version >= 5 else INDEX)
    assert fields.is_at_end()


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("has_cluster", [True, False])
@pytest.mark.parametrize("sessions", [{}, {1: 30_000, 2: 5}])
def test_end_of_every_version(version: int, has_cluster: bool, sessions: dict[int, int]) -> None:
    file = KeeperSnapshotFile(version, has_cluster=has_cluster, sessions=sessions)
    read_end(fields_of(file.end()), version)
    problem = "unknown bytes follow the sessions" if has_cluster else "its end is cut off"
    with pytest.raises(DamagedFile, match=problem):
        read_end(fields_of(file.end() + b"\xc8more"), version)


def test_later_version_is_refused() -> None:
    with pytest.raises(DamagedFile, match="the format version is 10, known are 0 to 9 at byte 0") as error:
        read_header(fields_of(b"\x0a" + KeeperSnapshotFile(9).head()[1:]))
    assert error.value.remedy.startswith("Read the running ensemble")


def test_negative_zxid_is_refused() -> None:
    with pytest.raises(DamagedFile, match="the last transaction is -5"):
        read_header(fields_of(KeeperSnapshotFile(6, zxid=-5).head()))


def test_missing_index_is_refused() -> None:
    with pytest.raises(DamagedFile, match="the index of the last log entry is missing at byte 1"):
        read_header(fields_of(b"\x06\x02ab"))


@pytest.mark.parametrize("version", VERSIONS)
def test_torn_header_is_refused(version: int) -> None:
    head = KeeperSnapshotFile(version).head()
    for end in range(len(head)):
        with pytest.raises(DamagedFile) as error:
            read_header(fields_of(head[:end]))
        assert error.value.is_cut_off, end
