# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Registrations in files: backups of repairs, journals of runs, what was taken from files of ZooKeeper."""

from __future__ import annotations

from pathlib import Path

from .._partmove.envelope import json_object
from .._partmove.errors import PartMoveError
from .._partmove.formats.layout import ShardLayout
from .._partmove.patched.repair import backup, registrations
from .._partmove.patched.repair.backup import SavedZnode
from .._partmove.patched.repair.journalled import journalled_znodes
from .backup_file import read_backup


def read_registrations(path: str, layout: ShardLayout) -> list[SavedZnode]:
    """The znodes of a backup, or those of the table that a journal or a file of registrations has.

    Raises PartMoveError where the file cannot be read, FormatError where it is none of these.
    """
    try:
        with Path(path).open("rb") as lines:
            kind = _format_of(lines.readline())
            lines.seek(0)
            if kind == registrations.FORMAT:
                return registrations.parse_registrations(lines, layout, path)
            if kind != backup.FORMAT:
                return journalled_znodes(lines, layout, path)
    except OSError as error:
        raise PartMoveError(
            f"The registrations {path} cannot be read: {error.strerror}",
            remedy="Give a backup of part_repair, a journal, or what registrations.py has written, on the"
            " host that this runs on",
        ) from error
    return read_backup(path)[1]


def _format_of(line: bytes) -> object:
    try:
        return json_object(line).get("format")
    except ValueError:
        return None
