# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The time up to which the files of a member show changes: nothing is known about later ones."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from .damage import DamagedFile
from .folders import DataFolder, ZxidFile, list_files
from .log_records import LogFile, Txn
from .snapshot import open_snapshot

# mtime of a packed StoredStat.
_MTIME = struct.Struct(">32xq")


def last_change(folder: DataFolder) -> int:
    """Return the time of the last transaction of the log, in milliseconds since 1970.

    Where the log does not reach the newest snapshot (a snapshot of Keeper has no log), the newest mtime of
    the znodes, or the time of the log if that is later. Either may be earlier than the last transaction, but
    not later. Reads the last log file, and the snapshot only if needed.

    Raises EnsembleError for files that cannot be read.
    """
    listing = list_files(folder)
    logged = _last_logged(listing.logs)
    if logged is not None and logged.zxid >= listing.snapshots[0].zxid:
        return logged.time
    return max(_newest_mtime(listing.snapshots), 0 if logged is None else logged.time)


def _last_logged(logs: tuple[ZxidFile, ...]) -> Txn | None:
    for log in reversed(logs):
        last: Txn | None = None
        for txn in LogFile(log.path):
            last = txn
        if last is not None:
            return last
    return None


def _newest_mtime(snapshots: tuple[ZxidFile, ...]) -> int:
    """Return the newest mtime in the newest undamaged snapshot; 0 without one."""
    for snapshot in snapshots:
        try:
            with open_snapshot(snapshot.path) as scan:
                mtimes: Iterator[int] = (_MTIME.unpack_from(each[3])[0] for each in scan.records())
                return max(mtimes)
        except DamagedFile:
            # The inventory reports it, and refuses or skips it.
            continue
    return 0
