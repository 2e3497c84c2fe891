# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Read registrations from files: backups of repairs, journals of runs, and files of registrations.py."""

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
    """Return the znodes of a backup, or the znodes of this table in a journal or a file of registrations.

    Raises PartMoveError if the file cannot be read, FormatError for any other format.
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
            remedy="Give a backup of part_repair, a journal, or a file written by registrations.py, on the"
            "  host that runs the module",
        ) from error
    return read_backup(path).saved


def _format_of(line: bytes) -> object:
    try:
        return json_object(line).get("format")
    except ValueError:
        return None
