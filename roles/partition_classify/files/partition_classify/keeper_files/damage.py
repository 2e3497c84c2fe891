# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Errors for snapshots of ClickHouse Keeper that cannot be used."""

from __future__ import annotations

from pathlib import Path

from ..zookeeper_files.damage import DamagedFile

_COPY_AGAIN = (
    "Copy the snapshot again once no tmp_ file is beside it, or take a snapshot of another member; the"
    " four-letter command csnp makes a new one"
)
_READ_LIVE = "Read the running ensemble; snapshots of Keeper are read in the versions 0 to 9"


def damaged(path: Path, offset: int | None, problem: str, *, is_cut_off: bool = False) -> DamagedFile:
    """Return the error for a torn or corrupt snapshot.

    offset: byte offset in the decompressed content, None where no single place is wrong.
    """
    return DamagedFile(path, offset, problem, remedy=_COPY_AGAIN, is_cut_off=is_cut_off)


def unknown_format(path: Path, offset: int, problem: str) -> DamagedFile:
    """Return the error for a file of a format that is not known, such as one of a later release."""
    return DamagedFile(path, offset, problem, remedy=_READ_LIVE)
