# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Folders of Keeper become readable as those of ZooKeeper, and their copies disappear."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from olap_partmove._partmove.errors import EnsembleError
from partition_classify.keeper_files.readable import place_of_copy, readable_folders
from partition_classify.zookeeper_files.damage import DamagedFile
from partition_classify.zookeeper_files.folders import DataFolder
from support.files.keeper_snapshots import KeeperSnapshotFile, tree_of
from support.files.member_files import tree_of as tree_in
from support.files.small_disk import small_disk


@pytest.fixture
def sorted_dir(tmp_path: Path) -> Path:
    """An empty folder for copies."""
    folder = tmp_path / "sorted"
    folder.mkdir()
    return folder


def read(folder: Path, sorted_dir: Path, *, older: bool = False) -> tuple[list[str], list[str]]:
    """The paths below /a, and the lines for people."""
    lines: list[str] = []
    given = DataFolder("hot", str(folder), chroot="/ch", sorted_dir=str(sorted_dir))
    with readable_folders([given], lines.append, older_snapshot=older) as (found,):
        assert (found.name, found.chroot, found.place) == ("hot", "/ch", str(folder))
        assert found.label == f"hot={folder}:/ch"
        assert Path(found.data_dir).is_relative_to(sorted_dir)
        paths = sorted(tree_in(Path(found.data_dir), "/a"))
    assert not list(sorted_dir.iterdir())
    return paths, lines


def test_newest_snapshot_is_read(tmp_path: Path, sorted_dir: Path) -> None:
    KeeperSnapshotFile(index=8).write(tmp_path / "keeper", tree_of("/a"))
    KeeperSnapshotFile(index=9).write(tmp_path / "keeper", tree_of("/a", "/a/b"))
    paths, lines = read(tmp_path / "keeper", sorted_dir)
    assert paths == ["/a", "/a/b"]
    assert [line.split()[0] for line in lines] == ["sorting", "sorted"]
    (tmp_path / "keeper" / "tmp_snapshot_9.bin.zstd").touch()
    assert read(tmp_path / "keeper", sorted_dir)[0] == ["/a"]


def test_damaged_snapshot_is_skipped_only_on_request(tmp_path: Path, sorted_dir: Path) -> None:
    KeeperSnapshotFile(index=8).write(tmp_path / "keeper", tree_of("/a"))
    newest = KeeperSnapshotFile(index=9).write(tmp_path / "keeper", tree_of("/a", "/a/b"))
    newest.write_bytes(newest.read_bytes()[:-5])
    with pytest.raises(DamagedFile, match="ends too early"):
        read(tmp_path / "keeper", sorted_dir)
    assert not list(sorted_dir.iterdir())
    paths, lines = read(tmp_path / "keeper", sorted_dir, older=True)
    assert paths == ["/a"]
    assert any(line.endswith("an older snapshot is read instead") for line in lines)
    (tmp_path / "keeper" / "snapshot_8.bin.zstd").unlink()
    with pytest.raises(DamagedFile, match="ends too early"):
        read(tmp_path / "keeper", sorted_dir, older=True)


def test_folders_of_zookeeper_stay_as_they_are(tmp_path: Path) -> None:
    KeeperSnapshotFile().write(tmp_path / "keeper", tree_of("/a"))
    (tmp_path / "member" / "version-2").mkdir(parents=True)
    member, keeper = (DataFolder("hot", str(tmp_path / name)) for name in ("member", "keeper"))
    with readable_folders([member, keeper, member], lambda _line: None) as (first, second, third):
        assert first == third == member
        assert second.copy_of == keeper.data_dir
        assert Path(second.data_dir).is_dir()
    assert not Path(second.data_dir).exists()


def test_copy_of_a_killed_run_is_removed(tmp_path: Path, sorted_dir: Path) -> None:
    left = sorted_dir / ".partition_classify_keeper.0123.partial"
    (left / "version-2").mkdir(parents=True)
    KeeperSnapshotFile().write(tmp_path / "keeper", tree_of("/a"))
    read(tmp_path / "keeper", sorted_dir)
    assert not left.exists()


def test_temporary_folder_is_the_default_place(tmp_path: Path) -> None:
    assert place_of_copy(DataFolder("hot", "/a")) == Path(tempfile.gettempdir())
    assert place_of_copy(DataFolder("hot", "/a", sorted_dir=str(tmp_path))) == tmp_path


def test_missing_place_is_refused(tmp_path: Path) -> None:
    KeeperSnapshotFile().write(tmp_path / "keeper", tree_of("/a"))
    with pytest.raises(EnsembleError) as error:
        read(tmp_path / "keeper", tmp_path / "none")
    assert error.value.message == (
        "The sorted copy of a snapshot of ClickHouse Keeper cannot be written to"
        f" {tmp_path}/none: it is not a folder"
    )
    assert "sorted_dir" in error.value.remedy


def test_full_disk_is_one_sentence(tmp_path: Path) -> None:
    znodes = tree_of("/a", *(f"/a/{number:0200}" for number in range(1000)))
    KeeperSnapshotFile().write(tmp_path / "keeper", znodes)
    with (
        small_disk(tmp_path / "small", "64k") as folder,
        pytest.raises(EnsembleError, match="No space left on device") as error,
    ):
        read(tmp_path / "keeper", folder)
    assert error.value.message.startswith("The sorted copy of a snapshot of ClickHouse Keeper cannot be")
