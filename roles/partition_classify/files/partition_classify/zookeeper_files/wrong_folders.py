# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Folders that are not the dataDir of a member, named for what they are."""

from __future__ import annotations

import re
from pathlib import Path

from olap_partmove._partmove.errors import EnsembleError

from .damage import unreadable

VERSION = "version-2"
"""Subfolder of dataDir and dataLogDir with the files."""

_ZOOKEEPER = re.compile(r"(?:snapshot|log)\.[0-9a-f]{1,16}(?:\..*)?")
_KEEPER = re.compile(r"(?:tmp_)?(?:snapshot_\d+(?:_[0-9a-f]+)?|changelog_\d+_\d+)\.bin(?:\.zstd)?")
_COMPRESSED = {".gz": "gunzip", ".zst": "zstd -d", ".bz2": "bunzip2", ".xz": "unxz", ".lz4": "lz4 -d"}


def check_folder(folder: Path, setting: str) -> None:
    """Raise EnsembleError unless ``folder``, the value of ``setting``, has a readable subfolder version-2."""
    try:
        if not folder.exists():
            raise EnsembleError(
                f"{setting} {folder} does not exist",
                remedy="Copy the folder of the member to this path, on every host that runs the job",
            )
        if not folder.is_dir():
            raise EnsembleError(
                f"{setting} {folder} is not a folder", remedy=f"Give the folder with {VERSION}"
            )
        if not (folder / VERSION).exists():
            raise _without_version(folder, setting)
    except OSError as error:
        raise unreadable(folder, error) from error


def check_no_keeper(folder: Path) -> None:
    """Raise EnsembleError if the folder has files of ClickHouse Keeper in place of ZooKeeper's."""
    names = sorted(path.name for path in _entries(folder) if _KEEPER.fullmatch(path.name))
    if names:
        raise EnsembleError(
            f"{folder} has files of ClickHouse Keeper, {names[0]}, but is not the folder of its snapshots",
            remedy="Give the folder with snapshot_N.bin or snapshot_N.bin.zstd, its snapshot_storage_path;"
            " logs of Keeper cannot be read",
        )


def wrong_name(path: Path, kind: str) -> EnsembleError:
    """Return the error for a file whose name begins as the name of a snapshot or log does."""
    program = _COMPRESSED.get(path.suffix)
    return EnsembleError(
        f"{path} does not have a file name of a ZooKeeper {kind}",
        remedy="Move the file to another folder" if program is None else f"Decompress it: {program} {path}",
    )


def _without_version(folder: Path, setting: str) -> EnsembleError:
    entries = _entries(folder)
    check_no_keeper(folder)
    for each in entries:
        if each.is_dir():
            check_no_keeper(each)
    if any(_ZOOKEEPER.fullmatch(each.name) for each in entries):
        return EnsembleError(
            f"{setting} {folder} has the files of a member itself; they must be in a subfolder {VERSION}",
            remedy=f"Give {folder.parent}"
            if folder.name == VERSION
            else f"Move the files to {folder / VERSION}; the setting stays",
        )
    below = next((each for each in entries if (each / VERSION).is_dir()), None)
    if below is not None:
        return EnsembleError(
            f"{setting} {folder} has no subfolder {VERSION}, but {below} has one", remedy=f"Give {below}"
        )
    return EnsembleError(
        f"{setting} {folder} has no subfolder {VERSION}",
        remedy="Give the dataDir or dataLogDir of a member's zoo.cfg, or the path of its copy",
    )


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError as error:
        raise unreadable(folder, error) from error
