# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Finds the snapshots of Keeper in a folder."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from olap_partmove._partmove.errors import EnsembleError

from ..zookeeper_files.damage import unreadable
from ..zookeeper_files.folders import DataFolder
from ..zookeeper_files.wrong_folders import VERSION

_SNAPSHOT = re.compile(r"snapshot_([0-9]{1,20})(?:_[0-9a-f]{16})?\.bin(?:\.zstd)?")
_UNFINISHED = "tmp_"
_SUBFOLDER = "snapshots"


class KeeperSnapshot(NamedTuple):
    """A finished snapshot. log_index: the last entry of the Raft log in it, by the name of the file."""

    log_index: int
    path: Path


def keeper_snapshots(folder: DataFolder) -> tuple[KeeperSnapshot, ...]:
    """Return the finished snapshots, newest first; empty for a folder without snapshots of Keeper.

    ``data_dir`` may be a snapshot, the folder with the snapshots, or the parent of a folder ``snapshots``.
    Folders with a subfolder version-2 belong to ZooKeeper.

    Raises EnsembleError if all snapshots are unfinished, for a ``data_log_dir``, and for unreadable folders.
    """
    given = Path(folder.data_dir)
    try:
        if given.is_file():
            names = [given] if _SNAPSHOT.fullmatch(given.name.removeprefix(_UNFINISHED)) else []
            beside = [given, *given.parent.glob(f"{_UNFINISHED}{given.name}")] if names else []
        elif given.is_dir() and not (given / VERSION).exists():
            beside = list(given.iterdir())
            if (given / _SUBFOLDER).is_dir():
                beside += (given / _SUBFOLDER).iterdir()
        else:
            return ()
    except OSError as error:
        raise unreadable(given, error) from error
    return _finished(beside, folder)


def _finished(paths: Iterable[Path], folder: DataFolder) -> tuple[KeeperSnapshot, ...]:
    found: list[KeeperSnapshot] = []
    unfinished: set[Path] = set()
    for path in paths:
        name = path.name.removeprefix(_UNFINISHED)
        match = _SNAPSHOT.fullmatch(name)
        if match is None:
            continue
        if name != path.name:
            unfinished.add(path.with_name(name))
        else:
            found.append(KeeperSnapshot(int(match[1]), path))
    finished = sorted((each for each in found if each.path not in unfinished), reverse=True)
    if not finished and unfinished:
        raise EnsembleError(
            f"{min(unfinished)} is unfinished: Keeper is still writing it, or stopped before its end",
            remedy=f"Wait until the file {_UNFINISHED}{min(unfinished).name} is gone, or make a new snapshot"
            " with the four-letter command csnp",
        )
    if finished and folder.data_log_dir:
        raise EnsembleError(
            f"A snapshot of ClickHouse Keeper needs no log, but data_log_dir is {folder.data_log_dir}",
            remedy="Remove data_log_dir",
        )
    return tuple(finished)
