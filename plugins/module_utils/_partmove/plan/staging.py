# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Staging folders beside a target file: the file is written there, then renamed to its target."""

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
    """Create a folder beside ``target`` for the time of the block, and remove the folders of killed runs.

    Every run locks its folder, and the kernel releases the lock when the run ends in any way. So an unlocked
    folder belongs to no run.

    Raises PlanError if the folder cannot be created.
    """
    with file_errors_as(partial(unwritable, target)):
        _remove_leftovers(target)
        # The folder gets its final name only after it is locked: other runs remove unlocked folders of that
        # name.
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
    """Raise OSError unless a file can be written in the folder, or in its nearest existing parent.

    Writes an unnamed temporary file, which is invisible to other processes. So a full disk is detected, too.
    """
    existing = next(each for each in (folder, *folder.parents) if each.exists() or each.is_symlink())
    with tempfile.TemporaryFile(dir=existing) as probe:
        probe.write(_PROBE)
        probe.flush()


@contextmanager
def file_errors_as(error_of: Callable[[OSError], PartMoveError]) -> Iterator[None]:
    """Convert an OSError of the block, such as a full disk, to ``error_of(error)``.

    A ConnectionError is raised unchanged: the block may read its data from a connection, whose loss is no
    problem of the file.
    """
    try:
        yield
    except ConnectionError:
        raise
    except OSError as error:
        raise error_of(error) from error


def unwritable(target: Path, error: OSError) -> PlanError:
    """Return the error for a file that cannot be written."""
    return PlanError(
        f"{target}: the file cannot be written: {error.strerror or error}",
        remedy=f"Check that this user can write to {target.parent} and that the disk has room, or give"
        " another path; the old file is unchanged",
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
    except OSError:  # Another run has removed the folder, or the folder belongs to another user.
        return
    try:
        if _lock(descriptor):
            shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> bool:
    """Lock the folder. Returns False if another process has the lock, or the file system has no locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
