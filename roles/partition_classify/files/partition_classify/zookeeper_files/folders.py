# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where the files of a member are: its settings, and what lies in its folders."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from olap_partmove._partmove.errors import EnsembleError
from olap_partmove._partmove.records import TEXT, Settings

from .damage import unreadable
from .empty_tree import EMPTY_TREE

_VERSION = "version-2"
_FOLDER = Settings(dict.fromkeys(("data_dir", "data_log_dir", "chroot"), TEXT), error=EnsembleError)
_SNAPSHOT = re.compile(r"snapshot\.([0-9a-f]{1,16})(?:\.gz|\.snappy)?")
_LOG = re.compile(r"log\.([0-9a-f]{1,16})")
# How a file is called while it is being written.
_UNFINISHED = ".tmp"
# The first transaction of an ensemble without epochs; a quorum never writes one without a snapshot.
_FIRST = 1


@dataclass(frozen=True)
class DataFolder:
    """Where one member of an ensemble keeps its files, or where they were copied to.

    name: what messages call the ensemble, ``hot`` or ``cold``.
    data_dir: the dataDir of the member, which has ``version-2`` in it.
    data_log_dir: its dataLogDir, ``""`` where that is not a folder of its own.
    chroot: the znode that every path is below, ``""`` for none.
    """

    name: str
    data_dir: str
    data_log_dir: str = ""
    chroot: str = ""

    def __post_init__(self) -> None:
        """Refuse what cannot be a folder or a chroot."""
        if not self.data_dir:
            raise EnsembleError(
                f"The files of ensemble {self.name} have no data_dir",
                remedy="Give the dataDir of one of its members, or where it was copied to",
            )
        names = self.chroot.split("/")[1:]
        if self.chroot and (self.chroot[0] != "/" or not all(names) or {".", ".."} & set(names)):
            raise EnsembleError(
                f"The chroot {self.chroot!r} of ensemble {self.name} is not a path of a znode",
                remedy='Write it as /a/b, without a slash at its end, or "" for none',
            )

    @property
    def label(self) -> str:
        """The ensemble and its folder, for messages and for the header of a plan."""
        return f"{self.name}={self.data_dir}{':' if self.chroot else ''}{self.chroot}"


class NamedFile(NamedTuple):
    """A snapshot or a log and the transaction id in its name.

    A snapshot has everything up to that transaction, and maybe some of what came later; a log begins
    with it.
    """

    zxid: int
    path: Path


class Listing(NamedTuple):
    """What a member has: snapshots, the newest first, and logs, the oldest first."""

    snapshots: tuple[NamedFile, ...]
    logs: tuple[NamedFile, ...]


def folders_of(name: str, settings: object) -> tuple[DataFolder, ...]:
    """The folders of ``settings``, which is one mapping or a list of them, all of the ensemble ``name``.

    Raises EnsembleError for settings that are not understood; looks into no folder.
    """
    several = settings if isinstance(settings, list) else [settings]
    if not several:
        raise EnsembleError(f"No folder was given for ensemble {name}", remedy="Give its data_dir")
    return tuple(_folder(name, each) for each in several)


def list_files(folder: DataFolder) -> Listing:
    """The snapshots and logs in the folder.

    A server that has not written a snapshot yet has all it did in its logs: then EMPTY_TREE is the snapshot.
    Raises EnsembleError where something is missing that a member has.
    """
    data = Path(folder.data_dir, _VERSION)
    log_folder = Path(folder.data_log_dir, _VERSION) if folder.data_log_dir else data
    snapshots = sorted(_named(data, "snapshot", _SNAPSHOT), reverse=True)
    logs = sorted(_named(log_folder, "log", _LOG))
    if not snapshots and logs and logs[0].zxid == _FIRST:
        snapshots = [NamedFile(0, EMPTY_TREE)]
    if not snapshots:
        raise EnsembleError(
            f"There is no snapshot in {data}",
            remedy="Give the dataDir of a member, the folder that has version-2 in it",
        )
    if not logs and snapshots[0].zxid:
        raise EnsembleError(
            f"There is no transaction log in {log_folder}, and what was written after the snapshot"
            f" {snapshots[0].path.name} is missing",
            remedy="Give data_log_dir, which is the dataLogDir of the member's zoo.cfg, and copy it, too",
        )
    return Listing(tuple(snapshots), tuple(logs))


def _folder(name: str, settings: object) -> DataFolder:
    given = _FOLDER.read(settings, f"The folder of ensemble {name}")
    return DataFolder(name, **({"data_dir": ""} | given))


def _named(folder: Path, kind: str, pattern: re.Pattern[str]) -> list[NamedFile]:
    try:
        paths = [path for path in folder.iterdir() if path.name.startswith(f"{kind}.")]
    except OSError as error:
        raise unreadable(folder, error) from error
    found = []
    for path in paths:
        match = pattern.fullmatch(path.name)
        if match is not None:
            found.append(NamedFile(int(match[1], 16), path))
        elif path.suffix != _UNFINISHED:
            raise EnsembleError(
                f"{path} is not named as ZooKeeper names a {kind}", remedy="Move it to another folder"
            )
    return found
