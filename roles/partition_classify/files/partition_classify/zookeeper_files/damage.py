# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Errors for files that cannot be used, with the byte offset of the damage."""

from __future__ import annotations

from pathlib import Path

from olap_partmove._partmove.errors import EnsembleError

READ_LIVE = "Read the running ensemble (source zookeeper); files are read of ZooKeeper 3.4 to 3.9"
"""Remedy for files of other servers and releases."""


class DamagedFile(EnsembleError):
    """A file of a member that is torn, corrupt, or in an unknown format.

    offset: byte offset in the file; for compressed files, offset in the decompressed content. None where no
        single place is wrong.
    is_cut_off: the bytes up to the offset are valid, as in a file still being written.
    """

    def __init__(
        self, path: Path, offset: int | None, problem: str, *, remedy: str = "", is_cut_off: bool = False
    ) -> None:
        place = "" if offset is None else f" at byte {offset}"
        super().__init__(f"{path}: {problem}{place}", remedy=remedy or _COPY_AGAIN)
        self.path = path
        self.offset = offset
        self.is_cut_off = is_cut_off


def unreadable(path: Path, error: OSError) -> EnsembleError:
    """Return the error for a file or folder that the operating system refuses to read."""
    return EnsembleError(
        f"{path} cannot be read: {error.strerror or error}",
        remedy="Give this user the right to read it, at the same path on every host that runs the job",
    )


_COPY_AGAIN = "Copy the folder again, snapshots first and then logs, or take the files of another member"
