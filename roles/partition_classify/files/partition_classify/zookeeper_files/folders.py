# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Data folders of an ensemble member: settings, and listing of snapshots and transaction logs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from olap_partmove._partmove.errors import EnsembleError
from olap_partmove._partmove.records import TEXT, Settings

from .damage import unreadable
from .empty_tree import EMPTY_TREE
from .wrong_folders import VERSION, check_folder, check_no_keeper, wrong_name

_FOLDER = Settings(
    dict.fromkeys(("data_dir", "data_log_dir", "chroot", "sorted_dir"), TEXT), error=EnsembleError
)
_SNAPSHOT = re.compile(r"snapshot\.([0-9a-f]{1,16})(?:\.gz|\.snappy)?")
_LOG = re.compile(r"log\.([0-9a-f]{1,16})")
# Suffix of files still being written.
_UNFINISHED = ".tmp"
# First zxid of a standalone server (epoch 0). Quorum members always write a snapshot first.
_FIRST = 1


@dataclass(frozen=True)
class DataFolder:
    """Folders of one ensemble member, original or copied.

    name: the ensemble in messages, ``hot`` or ``cold``.
    data_dir: the member's dataDir, parent of ``version-2``; or a folder with snapshots of ClickHouse Keeper.
    data_log_dir: the member's dataLogDir; ``""`` where the logs are in ``data_dir``.
    chroot: prefix of every znode path, ``""`` for none.
    sorted_dir: folder for the sorted copy of a snapshot of Keeper; ``""`` for the temporary folder.
    copy_of: the given folder, where ``data_dir`` is such a copy; otherwise ``""``.
    """

    name: str
    data_dir: str
    data_log_dir: str = ""
    chroot: str = ""
    sorted_dir: str = ""
    copy_of: str = ""

    def __post_init__(self) -> None:
        """Reject an empty data_dir and an invalid chroot."""
        if not self.data_dir:
            raise EnsembleError(
                f"The files of ensemble {self.name} have no data_dir",
                remedy="Give the dataDir of a member, or the path of its copy",
            )
        names = self.chroot.split("/")[1:]
        if self.chroot and (self.chroot[0] != "/" or not all(names) or {".", ".."} & set(names)):
            raise EnsembleError(
                f"The chroot {self.chroot!r} of ensemble {self.name} is not a path of a znode",
                remedy='Write the chroot as /a/b, without a slash at the end, or "" for none',
            )

    @property
    def place(self) -> str:
        """The folder that was given, for messages."""
        return self.copy_of or self.data_dir

    @property
    def label(self) -> str:
        """Ensemble, folder and chroot, for messages and plan headers: ``hot=/data:/chroot``."""
        return f"{self.name}={self.place}{':' if self.chroot else ''}{self.chroot}"


class ZxidFile(NamedTuple):
    """A snapshot or transaction log with the zxid in its name.

    - Snapshot: contains every transaction up to the zxid, perhaps also parts of later transactions.
    - Log: starts with the zxid.
    """

    zxid: int
    path: Path


class FileListing(NamedTuple):
    """Files of a member.

    snapshots, logs: snapshots, newest first; logs, oldest first.
    others: snapshots in writing, snapshots in dataLogDir and logs in dataDir. They are not read, but their
        names prove that transactions existed.
    """

    snapshots: tuple[ZxidFile, ...]
    logs: tuple[ZxidFile, ...]
    others: tuple[ZxidFile, ...] = ()

    def check_reached(self, last: int) -> None:
        """Raise EnsembleError if a name proves that transactions after ``last`` existed."""
        latest = max((*self.snapshots, *self.others), default=None)
        if latest is not None and latest.zxid > last:
            raise EnsembleError(
                f"The log ends with 0x{last:x}, but the name of {latest.path} proves that transactions up to"
                f" 0x{latest.zxid:x} existed",
                remedy="Copy all log files again, after the snapshots; include dataLogDir",
            )


def folders_of(name: str, settings: object) -> tuple[DataFolder, ...]:
    """Parse ``settings`` of the ensemble ``name``: one mapping or a list of mappings.

    Reads no files. Raises EnsembleError for invalid settings.
    """
    several = settings if isinstance(settings, list) else [settings]
    if not several:
        raise EnsembleError(f"No folder was given for ensemble {name}", remedy="Give its data_dir")
    return tuple(_folder(name, each) for each in several)


def list_files(folder: DataFolder) -> FileListing:
    """List the snapshots and logs of a folder.

    Returns EMPTY_TREE as the snapshot of a server that has logs since its first transaction, but no snapshot
    yet.
    Raises EnsembleError when the snapshots or the logs are missing.
    """
    check_folder(Path(folder.data_dir), "data_dir")
    data = log_folder = Path(folder.data_dir, VERSION)
    if folder.data_log_dir:
        check_folder(Path(folder.data_log_dir), "data_log_dir")
        log_folder = Path(folder.data_log_dir, VERSION)
    snapshots, others = _named(data, "snapshot", _SNAPSHOT)
    logs, _unfinished = _named(log_folder, "log", _LOG)
    if log_folder != data:
        others += [each for files in _named(log_folder, "snapshot", _SNAPSHOT) for each in files]
        others += [each for files in _named(data, "log", _LOG) for each in files]
    snapshots.sort(reverse=True)
    logs.sort()
    if not snapshots and logs and logs[0].zxid == _FIRST:
        snapshots = [ZxidFile(0, EMPTY_TREE)]
    if not snapshots:
        check_no_keeper(data)
        raise EnsembleError(
            f"There is no snapshot in {data}",
            remedy="Give the dataDir of a member, the folder with the subfolder version-2",
        )
    if not logs and snapshots[0].zxid:
        raise EnsembleError(
            f"There is no transaction log in {log_folder}: transactions after the snapshot"
            f" {snapshots[0].path.name} are missing",
            remedy="Give data_log_dir, the dataLogDir of the member's zoo.cfg, and copy that folder, too",
        )
    return FileListing(tuple(snapshots), tuple(logs), tuple(others))


def _folder(name: str, settings: object) -> DataFolder:
    given = _FOLDER.read(settings, f"The folder of ensemble {name}")
    return DataFolder(name, **({"data_dir": ""} | given))


def _named(folder: Path, kind: str, pattern: re.Pattern[str]) -> tuple[list[ZxidFile], list[ZxidFile]]:
    """Return the files of this kind in a folder, and those that are still being written."""
    try:
        paths = [path for path in folder.iterdir() if path.name.startswith(f"{kind}.")]
    except OSError as error:
        raise unreadable(folder, error) from error
    files: list[ZxidFile] = []
    unfinished: list[ZxidFile] = []
    for path in paths:
        is_unfinished = path.suffix == _UNFINISHED
        match = pattern.fullmatch(path.name.removesuffix(_UNFINISHED))
        if match is not None:
            (unfinished if is_unfinished else files).append(ZxidFile(int(match[1], 16), path))
        elif not is_unfinished:
            raise wrong_name(path, kind)
    return files, unfinished
