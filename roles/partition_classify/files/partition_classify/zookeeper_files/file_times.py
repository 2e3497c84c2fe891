# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Modification times of a snapshot and its logs: was the log read after the snapshot was finished?

Deletions during a snapshot may leave no trace in it. The question is superfluous where the server writes the
last zxid into the snapshot, as from 3.6 on.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from olap_partmove._partmove.errors import EnsembleError

from .damage import DamagedFile, unreadable
from .empty_tree import EMPTY_TREE
from .folders import ZxidFile
from .txn_log import LogSequence

_COUNTER = 0xFFFFFFFF


@dataclass(frozen=True)
class FileTimes:
    """Size and times (nanoseconds) of the files before they are read."""

    snapshot: Path
    size: int
    snapshot_time: int
    log_time: int

    @classmethod
    def of(cls, snapshot: Path, logs: Sequence[ZxidFile]) -> FileTimes:
        """Ask the operating system. Raises EnsembleError when it refuses."""
        log_time = max((_stat(log.path).st_mtime_ns for log in logs), default=0)
        if snapshot == EMPTY_TREE:
            return cls(snapshot, 0, 0, log_time)
        stat = _stat(snapshot)
        return cls(snapshot, stat.st_size, stat.st_mtime_ns, log_time)

    def check_unchanged(self) -> None:
        """Raise DamagedFile if the snapshot was still being written when the log was read."""
        if self.snapshot == EMPTY_TREE:
            return
        stat = _stat(self.snapshot)
        if (stat.st_size, stat.st_mtime_ns) != (self.size, self.snapshot_time):
            raise DamagedFile(
                self.snapshot,
                self.size,
                "the file was still being written: it has grown",
                remedy="Run again",
                is_cut_off=True,
            )

    def check_covered(self, zxid: int, logs: Sequence[ZxidFile], log: LogSequence) -> None:
        """Raise EnsembleError unless the log was written after the end of a snapshot without last zxid.

        zxid: of the snapshot's name. With a counter of 0, nothing was written during the snapshot: it is the
            first of its epoch.
        log: the pass over the logs. Before a server begins a snapshot, it logs a transaction after its zxid;
            only a snapshot at the start of a server ends with the last logged transaction.
        """
        if not zxid & _COUNTER:
            return
        if log.reached < zxid:
            raise EnsembleError(
                f"{self.snapshot} has no zxid of its end, and the log ends before it, with 0x{log.reached:x}:"
                " the log may lack transactions that the snapshot has in part",
                remedy="Copy the log again, after the snapshot; include dataLogDir; if the member has logged"
                " nothing since, wait for its next transaction",
            )
        latest = logs[-1].path
        if self.log_time <= self.snapshot_time:
            raise EnsembleError(
                f"{self.snapshot} has no zxid of its end, and {latest} was not written after it: the log may"
                " lack transactions that the snapshot has in part",
                remedy="Copy the log again, after the snapshot, with its time (rsync -a); if the member has"
                " logged nothing since, wait for its next transaction, or touch the log if copied last",
            )
        if not log.is_padded:
            raise EnsembleError(
                f"{self.snapshot} has no zxid of its end, and {latest} has no zeros at its end, as a server's"
                " file has: the copy of the log may be cut short",
                remedy="Copy the log again, to a disk with enough space, or take the files of another member",
            )


def _stat(path: Path) -> os.stat_result:
    try:
        return path.stat()
    except OSError as error:
        raise unreadable(path, error) from error
