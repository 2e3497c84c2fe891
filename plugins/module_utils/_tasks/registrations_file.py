# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Registrations that were kept in files: by a repair in its backup, or by runs in their journal."""

from __future__ import annotations

from pathlib import Path

from .._partmove.envelope import json_object
from .._partmove.errors import PartMoveError
from .._partmove.formats.layout import ShardLayout
from .._partmove.repair.backup import FORMAT, SavedZnode
from .._partmove.repair.journalled import journalled_znodes
from .backup_file import read_backup


def read_registrations(path: str, layout: ShardLayout) -> list[SavedZnode]:
    """The znodes of a backup, or those of the table that a journal has.

    Raises PartMoveError where the file cannot be read, FormatError where it is neither.
    """
    try:
        with Path(path).open("rb") as lines:
            if not _is_of_backup(lines.readline()):
                lines.seek(0)
                return journalled_znodes(lines, layout, path)
    except OSError as error:
        raise PartMoveError(
            f"The registrations {path} cannot be read: {error.strerror}",
            remedy="Give a backup of part_repair, or a journal, on the host that this runs on",
        ) from error
    return read_backup(path)[1]


def _is_of_backup(line: bytes) -> bool:
    try:
        return json_object(line).get("format") == FORMAT
    except ValueError:
        return False
