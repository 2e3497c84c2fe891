# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Makes folders readable as those of ZooKeeper members, whichever server wrote their files."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from olap_partmove._partmove.errors import EnsembleError
from olap_partmove._partmove.plan.staging import check_writable, file_errors_as, staging_folder

from ..zookeeper_files.damage import DamagedFile
from ..zookeeper_files.folders import DataFolder
from .listing import KeeperSnapshot, keeper_snapshots
from .sorted_copy import write_sorted_copy

_COPY = "partition_classify_keeper"


@contextmanager
def readable_folders(
    folders: Sequence[DataFolder], log: Callable[[str], None], *, older_snapshot: bool = False
) -> Iterator[tuple[DataFolder, ...]]:
    """Replace each folder with snapshots of Keeper by the folder of a sorted copy; return all folders.

    The copies exist during the block. The next run removes the copies of a killed run.

    log: receives lines for people.
    older_snapshot: skip damaged snapshots of Keeper, and read the newest undamaged one. Without a log an
        older snapshot is an older state, so a torn snapshot is not skipped by default either.

    Raises EnsembleError for a snapshot that is not usable, and for a copy that cannot be written.
    """
    with ExitStack() as stack:
        yield tuple(
            stack.enter_context(_readable(each, log, older_snapshot=older_snapshot)) for each in folders
        )


def place_of_copy(folder: DataFolder) -> Path:
    """Return the parent folder of the sorted copies."""
    return Path(folder.sorted_dir or tempfile.gettempdir())


@contextmanager
def _readable(
    folder: DataFolder, log: Callable[[str], None], *, older_snapshot: bool
) -> Iterator[DataFolder]:
    snapshots = keeper_snapshots(folder)
    if not snapshots:
        yield folder
        return
    place = place_of_copy(folder)
    with file_errors_as(partial(_unwritable, place)):
        if not place.is_dir():
            raise NotADirectoryError(0, "it is not a folder")
        check_writable(place)
    with staging_folder(place / _COPY) as copies:
        copy = _sort_newest(snapshots, copies, log, older_snapshot=older_snapshot)
        yield replace(folder, data_dir=str(copy), copy_of=folder.place)


def _sort_newest(
    snapshots: Sequence[KeeperSnapshot], copies: Path, log: Callable[[str], None], *, older_snapshot: bool
) -> Path:
    """Return the folder, below ``copies``, of the copy of the newest usable snapshot."""
    for snapshot in snapshots:
        copy = copies / snapshot.path.name
        try:
            with file_errors_as(partial(_unwritable, copies.parent)):
                copy.mkdir()
                write_sorted_copy(snapshot, copy, log)
        except DamagedFile as error:
            if not older_snapshot or snapshot == snapshots[-1]:
                raise
            log(f"{error.message}; an older snapshot is read instead")
            shutil.rmtree(copy, ignore_errors=True)
        else:
            return copy
    raise AssertionError("there is at least one snapshot")


def _unwritable(place: Path, error: OSError) -> EnsembleError:
    return EnsembleError(
        f"The sorted copy of a snapshot of ClickHouse Keeper cannot be written to {place}:"
        f" {error.strerror or error}",
        remedy="Give a folder with room for twice the content of the snapshot as sorted_dir, or as TMPDIR",
    )
