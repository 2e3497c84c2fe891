# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Snapshots in a folder: finished and unfinished ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from olap_partmove._partmove.errors import EnsembleError
from partition_classify.keeper_files.listing import keeper_snapshots
from partition_classify.zookeeper_files.folders import DataFolder


def named(folder: Path, **options: str) -> list[tuple[int, str]]:
    found = keeper_snapshots(DataFolder("hot", str(folder), **options))
    return [(each.log_index, each.path.name) for each in found]


def touch(folder: Path, *names: str) -> None:
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).touch()


@pytest.mark.parametrize("subfolder", ["", "snapshots"])
def test_newest_comes_first(subfolder: str, tmp_path: Path) -> None:
    names = ["snapshot_9.bin.zstd", "snapshot_100.bin", "snapshot_20_00ff00ff00ff00ff.bin.zstd"]
    touch(tmp_path / subfolder, *names, "changelog_1_100000.bin.zstd", "state", "snapshot_7.bin.gz")
    assert named(tmp_path) == [(100, names[1]), (20, names[2]), (9, names[0])]


@pytest.mark.parametrize(
    "unfinished", [("tmp_snapshot_9.bin",), ("tmp_snapshot_9.bin", "snapshot_9.bin")], ids=["older", "newer"]
)
def test_unfinished_snapshot_is_left_out(unfinished: tuple[str, ...], tmp_path: Path) -> None:
    touch(tmp_path, *unfinished)
    with pytest.raises(EnsembleError) as error:
        named(tmp_path)
    assert error.value.message.startswith(f"{tmp_path}/snapshot_9.bin is unfinished")
    assert "csnp" in error.value.remedy
    touch(tmp_path, "snapshot_8.bin")
    assert named(tmp_path) == [(8, "snapshot_8.bin")]


def test_a_file_may_be_given(tmp_path: Path) -> None:
    touch(tmp_path, "snapshot_8.bin", "snapshot_9.bin.zstd", "copy.bin")
    assert named(tmp_path / "snapshot_8.bin") == [(8, "snapshot_8.bin")]
    assert named(tmp_path / "copy.bin") == []
    for name in ("snapshot_9.bin.zstd", "tmp_snapshot_9.bin.zstd"):
        touch(tmp_path, "tmp_snapshot_9.bin.zstd")
        with pytest.raises(EnsembleError, match=r"snapshot_9.bin.zstd is unfinished"):
            named(tmp_path / name)


def test_folders_of_others_have_none(tmp_path: Path) -> None:
    assert named(tmp_path / "missing") == []
    touch(tmp_path / "logs", "changelog_1_100000.bin.zstd")
    assert named(tmp_path / "logs") == []
    # A member of ZooKeeper remains one, whatever else is in its folder.
    touch(tmp_path / "member", "snapshot_9.bin")
    assert named(tmp_path / "member") == [(9, "snapshot_9.bin")]
    (tmp_path / "member" / "version-2").mkdir()
    assert named(tmp_path / "member") == []


def test_a_log_is_refused(tmp_path: Path) -> None:
    touch(tmp_path, "snapshot_9.bin")
    with pytest.raises(EnsembleError, match="needs no log, but data_log_dir is /log") as error:
        named(tmp_path, data_log_dir="/log")
    assert error.value.remedy == "Remove data_log_dir"
