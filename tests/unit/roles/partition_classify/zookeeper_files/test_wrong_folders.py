# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Folders that are not a member's, each named for what it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from olap_partmove._partmove.errors import EnsembleError
from support.classify.members import names_of, write_log, write_snapshot

KEEPER = [
    "snapshot_1000.bin",
    "snapshot_1000.bin.zstd",
    "tmp_snapshot_1000.bin.zstd",
    "snapshot_1000_00ff00ff00ff00ff.bin.zstd",
    "changelog_1_100000.bin.zstd",
    "changelog_1_100000.bin",
]


def refusal(data_dir: Path, **options: Path) -> EnsembleError:
    with pytest.raises(EnsembleError) as info:
        names_of(data_dir, **options)
    return info.value


@pytest.mark.parametrize("folder", [".", "snapshots", "version-2"])
@pytest.mark.parametrize("name", KEEPER)
def test_files_of_keeper(tmp_path: Path, name: str, folder: str) -> None:
    (tmp_path / folder).mkdir(exist_ok=True)
    (tmp_path / folder / name).touch()
    error = refusal(tmp_path)
    assert f"has files of ClickHouse Keeper, {name}, but is not the folder of its snapshots" in error.message
    assert "snapshot_storage_path" in error.remedy


def test_missing_folder(tmp_path: Path) -> None:
    error = refusal(tmp_path / "none")
    assert error.message == f"data_dir {tmp_path}/none does not exist"
    assert error.remedy.startswith("Copy the folder of the member to this path")


def test_missing_folder_of_logs(tmp_path: Path) -> None:
    write_snapshot(tmp_path / "data", "x")
    error = refusal(tmp_path / "data", data_log_dir=tmp_path / "none")
    assert error.message == f"data_log_dir {tmp_path}/none does not exist"


def test_file_in_place_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert refusal(tmp_path / "file").message == f"data_dir {tmp_path}/file is not a folder"


def test_version_2_itself(tmp_path: Path) -> None:
    write_snapshot(tmp_path, "x")
    error = refusal(tmp_path / "version-2")
    assert "has the files of a member itself; they must be in a subfolder version-2" in error.message
    assert error.remedy == f"Give {tmp_path}"


def test_files_without_version_2(tmp_path: Path) -> None:
    write_snapshot(tmp_path, "x")
    (tmp_path / "version-2").rename(tmp_path / "copy")
    error = refusal(tmp_path / "copy")
    assert "has the files of a member itself" in error.message
    assert error.remedy == f"Move the files to {tmp_path}/copy/version-2; the setting stays"


def test_parent_of_the_folder(tmp_path: Path) -> None:
    write_snapshot(tmp_path / "data", "x")
    write_log(tmp_path / "data", 11, "y")
    error = refusal(tmp_path)
    assert error.message == f"data_dir {tmp_path} has no subfolder version-2, but {tmp_path}/data has one"
    assert error.remedy == f"Give {tmp_path}/data"


def test_folder_without_anything(tmp_path: Path) -> None:
    error = refusal(tmp_path)
    assert error.message == f"data_dir {tmp_path} has no subfolder version-2"
    assert error.remedy.startswith("Give the dataDir or dataLogDir of a member's zoo.cfg")
