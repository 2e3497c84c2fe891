# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The backup file of a repair: every znode as it was before the repair deletes or changes it.

Lines of JSON. The first line names the repair; each other line has one znode::

    {"format": "olap.partmove/backup", "version": 1, "time": …, "shard_path": …, "czxid": …, "kind": …}
    {"ensemble": "hot" or "cold", "path": …, "data": <base64>, "version": …}

If the last line is cut off, the run was killed before it changed the znode of that line.
"""

from __future__ import annotations

import json
from base64 import b64encode
from typing import NamedTuple

from ...envelope import Envelope, json_object
from ...errors import FormatError
from ...formats.layout import check_shard_path
from ...records import COUNT, TEXT, FieldType, Record, one_of, parse_base64
from ...tree.znodes import Znode

FORMAT = "olap.partmove/backup"
VERSION = 1

_REMEDY = "Give an unchanged file of part_repair"
_ENVELOPE = Envelope("backup of a repair", FORMAT, VERSION, remedy=_REMEDY)


_HEADER = Record({"time": TEXT, "shard_path": TEXT, "czxid": COUNT, "kind": TEXT}, remedy=_REMEDY)
_SAVED = Record(
    {
        "ensemble": one_of("hot", "cold"),
        "path": TEXT,
        "data": FieldType(parse_base64, "base64"),
        "version": COUNT,
    },
    remedy=_REMEDY,
)


class BackupHeader(NamedTuple):
    """The repair: when, where, and for which kind."""

    time: str
    shard_path: str
    czxid: int
    """The transaction that created the shard path in hot; it differs if the table was created anew.

    0 if hot does not have the table.
    """
    kind: str

    def encode(self) -> bytes:
        """Return the first line."""
        return _line(_ENVELOPE.around(self._asdict()))


class SavedZnode(NamedTuple):
    """A znode before its deletion or change."""

    ensemble: str
    path: str
    data: bytes
    version: int

    @classmethod
    def of(cls, ensemble: str, znode: Znode) -> SavedZnode:
        """Return the znode as it was read."""
        return cls(ensemble, znode.path, znode.data, znode.stat.version)

    @classmethod
    def parse(cls, line: bytes, where: str) -> SavedZnode:
        """Parse a line of `encode`. Raises FormatError for any other line."""
        try:
            fields = json_object(line)
        except ValueError as error:
            raise FormatError(f"{where} is no JSON object", remedy=_REMEDY) from error
        return cls(**_SAVED.read(fields, where))

    def encode(self) -> bytes:
        """Return the line."""
        return _line({**self._asdict(), "data": b64encode(self.data).decode()})


def parse_backup(data: bytes, where: str) -> tuple[BackupHeader, list[SavedZnode]]:
    """Parse a backup file. Raises FormatError for any other file."""
    first, *others = data.split(b"\n")
    if others and others[-1]:
        # The run was killed while it wrote this line, so it had not changed the znode yet.
        others.pop()
    header = BackupHeader(**_HEADER.read(_ENVELOPE.parsed(first, f"{where}, line 1"), f"{where}, line 1"))
    check_shard_path(header.shard_path)
    saved = [
        SavedZnode.parse(line, f"{where}, line {number}") for number, line in enumerate(others, 2) if line
    ]
    return header, saved


def _line(fields: dict[str, object]) -> bytes:
    return json.dumps(fields, sort_keys=True).encode() + b"\n"
