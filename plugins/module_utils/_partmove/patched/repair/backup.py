# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The file that a repair writes before it deletes or changes a znode, and that puts it back.

Lines of JSON. The first says what was repaired where; each other one has a znode as it was::

    {"format": "olap.partmove/backup", "version": 1, "time": …, "shard_path": …, "czxid": …, "kind": …}
    {"ensemble": "hot" or "cold", "path": …, "data": <base64>, "version": …}

A file of which the last line is cut off was written by a run that was killed before it used that line.
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

_REMEDY = "Give a file that part_repair has written, as it was written"
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
    """What was repaired where."""

    time: str
    shard_path: str
    czxid: int
    """Transaction that created the shard path in hot: another one after the table was made again.

    0 where hot does not have the table.
    """
    kind: str

    def encode(self) -> bytes:
        """The first line."""
        return _line(_ENVELOPE.around(self._asdict()))


class SavedZnode(NamedTuple):
    """A znode as it was before it was deleted or changed."""

    ensemble: str
    path: str
    data: bytes
    version: int

    @classmethod
    def of(cls, ensemble: str, znode: Znode) -> SavedZnode:
        """The znode as it was read."""
        return cls(ensemble, znode.path, znode.data, znode.stat.version)

    @classmethod
    def parse(cls, line: bytes, where: str) -> SavedZnode:
        """What `encode` wrote; raises FormatError for anything else."""
        try:
            fields = json_object(line)
        except ValueError as error:
            raise FormatError(f"{where} is no JSON object", remedy=_REMEDY) from error
        return cls(**_SAVED.read(fields, where))

    def encode(self) -> bytes:
        """A line."""
        return _line({**self._asdict(), "data": b64encode(self.data).decode()})


def parse_backup(data: bytes, where: str) -> tuple[BackupHeader, list[SavedZnode]]:
    """What `BackupHeader.encode` and `SavedZnode.encode` wrote; raises FormatError for anything else."""
    first, *others = data.split(b"\n")
    if others and others[-1]:
        # Written up to there when the run was killed: nothing had been done with it yet.
        others.pop()
    header = BackupHeader(**_HEADER.read(_ENVELOPE.parsed(first, f"{where}, line 1"), f"{where}, line 1"))
    check_shard_path(header.shard_path)
    saved = [
        SavedZnode.parse(line, f"{where}, line {number}") for number, line in enumerate(others, 2) if line
    ]
    return header, saved


def _line(fields: dict[str, object]) -> bytes:
    return json.dumps(fields, sort_keys=True).encode() + b"\n"
