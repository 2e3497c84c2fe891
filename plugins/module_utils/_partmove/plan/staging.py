# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Folders beside the place of a file, in which the file is written before it is renamed to that place."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from ..errors import PartMoveError, PlanError

_LEFT = ".partial"
_PROBE = b"\0" * 4096


@contextmanager
def staging_folder(target: Path) -> Iterator[Path]:
    """A folder beside ``target`` for the time of the block; folders of runs that were killed are removed.

    The kernel takes back the lock on a folder when its run dies, however it dies: so a folder that can be
    locked is nobody's. Raises PlanError where the folder cannot be made.
    """
    with failures_told(partial(unwritable, target)):
        _remove_leftovers(target)
        # It gets the name that others look for once it is locked.
        made = target.with_name(f".{target.name}.{uuid.uuid4().hex}")
        made.mkdir(mode=0o700)
    folder = made.with_name(made.name + _LEFT)
    descriptor = os.open(made, os.O_RDONLY)
    try:
        _lock(descriptor)
        made.rename(folder)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(made, ignore_errors=True)
        os.close(descriptor)


def check_writable(folder: Path) -> None:
    """Raise OSError unless a file can be written in the folder, or in the one that it would be made in.

    Nothing stays, and nobody sees a file meanwhile. A disk that is full already is found, too.
    """
    there = next(each for each in (folder, *folder.parents) if each.exists() or each.is_symlink())
    with tempfile.TemporaryFile(dir=there) as probe:
        probe.write(_PROBE)
        probe.flush()


@contextmanager
def failures_told(tell: Callable[[OSError], PartMoveError]) -> Iterator[None]:
    """Raise what ``tell`` makes of it where a file cannot be written in the block, as where a disk is full.

    What is written may come from a connection: where that is lost, it is no fault of the file.
    """
    try:
        yield
    except ConnectionError:
        raise
    except OSError as error:
        raise tell(error) from error


def unwritable(target: Path, error: OSError) -> PlanError:
    """What is said of a file that cannot be written."""
    return PlanError(
        f"{target}: the file cannot be written: {error.strerror or error}",
        remedy=f"See that this user can write to {target.parent} and that it has room, or give another path;"
        " what was there before is as it was",
    )


def _remove_leftovers(target: Path) -> None:
    with os.scandir(target.parent) as entries:
        names = [
            entry.name
            for entry in entries
            if entry.name.startswith(f".{target.name}.")
            and entry.name.endswith(_LEFT)
            and entry.is_dir(follow_symlinks=False)
        ]
    for name in names:
        _remove_if_dead(target.with_name(name))


def _remove_if_dead(folder: Path) -> None:
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:  # Another run was quicker, or it is another user's.
        return
    try:
        if _lock(descriptor):
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> bool:
    """Whether it is locked now; False where another process has the lock, or the file system has none."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
