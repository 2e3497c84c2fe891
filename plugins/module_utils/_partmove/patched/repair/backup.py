# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The backup file of a repair: every znode as it was before the repair, and as the repair leaves it.

Lines of JSON. The first line names the repair. Lines of znodes are on disk before the write that they
announce. Lines of partitions are written at the end of the repair, under its lease::

    {"format": "olap.partmove/backup", "version": 2, "time": …, "shard_path": …, "czxid": …, "ctime": …,
     "hot_id": …, "cold_id": …, "kind": …}
    {"ensemble": "hot" or "cold", "path": …, "data": <base64>, "version": …, "left": <left>}
    {"ensemble": "hot" or "cold", "path": …, "left": <left>}
    {"partition": …, "state": <left> or null, "hot": {<replica>: [<part>, …]}, "cold": {…}}

A line without ``data`` is a write to a znode that the repair itself created or changed before. ``<left>`` is
``{"data": <base64>, "version": …}``, with null for the data of a deleted znode. Version 1 has no ``left``, no
lines of partitions and no ids. If the last line is cut off, the run was killed before the write of that line.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, Union

from ...envelope import Envelope, json_object, named_version
from ...errors import FormatError
from ...formats.layout import check_shard_path
from ...records import COUNT, TEXT, FieldType, Record, list_of, mapping_of, one_of, or_none, parse_base64
from ...tree.znodes import Znode

FORMAT = "olap.partmove/backup"
VERSION = 2

_REMEDY = "Give an unchanged file of part_repair"
_DATA = FieldType(parse_base64, "base64")
_ENSEMBLE = one_of("hot", "cold")
_FIRST_HEADER = {"time": TEXT, "shard_path": TEXT, "czxid": COUNT, "kind": TEXT}
_HEADERS = {1: _FIRST_HEADER, 2: {**_FIRST_HEADER, "ctime": COUNT, "hot_id": TEXT, "cold_id": TEXT}}
_LEFT = Record({"data": or_none(_DATA), "version": COUNT})
_STATE = Record({"data": _DATA, "version": COUNT})
_SAVED = Record(
    {"ensemble": _ENSEMBLE, "path": TEXT, "data": _DATA, "version": COUNT}, {"left": _LEFT}, remedy=_REMEDY
)
_WRITTEN = Record({"ensemble": _ENSEMBLE, "path": TEXT, "left": _LEFT}, remedy=_REMEDY)
_NAMES = mapping_of(list_of(TEXT))
_PARTITION = Record(
    {"partition": TEXT, "state": or_none(_STATE), "hot": _NAMES, "cold": _NAMES}, remedy=_REMEDY
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
    ctime: int = 0
    """The time of that transaction, in milliseconds since 1970; 0 if unknown."""
    hot_id: str = ""
    """The identity of the hot ensemble; empty if it had none."""
    cold_id: str = ""
    """The identity of the cold ensemble; empty if it had none."""

    def encode(self) -> bytes:
        """Return the first line."""
        return _line(_envelope(VERSION).around(self._asdict()))


class Left(NamedTuple):
    """A znode as a write of the repair leaves it."""

    data: bytes | None
    """None if the write deletes the znode."""
    version: int

    @classmethod
    def of(cls, znode: Znode) -> Left:
        """Return the data and version of the znode."""
        return cls(znode.data, znode.stat.version)

    def encoded(self) -> dict[str, object]:
        """Return the fields for a line."""
        data = None if self.data is None else b64encode(self.data).decode()
        return {"data": data, "version": self.version}


DELETED = Left(None, 0)


class SavedZnode(NamedTuple):
    """A znode before its deletion or change."""

    ensemble: str
    path: str
    data: bytes
    version: int
    left: Left | None = None
    """The znode after its deletion or change; None if unknown, as in files of version 1."""

    @classmethod
    def of(cls, ensemble: str, znode: Znode, left: Left | None = None) -> SavedZnode:
        """Return the znode as it was read."""
        return cls(ensemble, znode.path, znode.data, znode.stat.version, left)

    @classmethod
    def parse(cls, line: bytes, where: str) -> SavedZnode:
        """Parse a line of `encode`. Raises FormatError for any other line."""
        return _saved(_object(line, where), where)

    def encode(self) -> bytes:
        """Return the line."""
        fields: dict[str, object] = {**self._asdict(), "data": b64encode(self.data).decode()}
        del fields["left"]
        return _line(fields if self.left is None else {**fields, "left": self.left.encoded()})


class WrittenZnode(NamedTuple):
    """A write to a znode that the repair itself created or wrote before."""

    ensemble: str
    path: str
    left: Left

    def encode(self) -> bytes:
        """Return the line."""
        return _line({**self._asdict(), "left": self.left.encoded()})


class PartitionLeft(NamedTuple):
    """State and the names of the parts of a partition, at the end of a repair."""

    partition: str
    state: Left | None
    """None without a State."""
    hot: Mapping[str, Sequence[str]]
    """Replica → names in hot, sorted; a replica without parts is no key."""
    cold: Mapping[str, Sequence[str]]

    def encode(self) -> bytes:
        """Return the line."""
        return _line({**self._asdict(), "state": None if self.state is None else self.state.encoded()})


BackupLine = Union[SavedZnode, WrittenZnode, PartitionLeft]


class Backup(NamedTuple):
    """The content of a backup file, in the order of its lines."""

    header: BackupHeader
    saved: list[SavedZnode]
    written: list[WrittenZnode]
    partitions: list[PartitionLeft]

    @classmethod
    def of(cls, header: BackupHeader, lines: Collection[BackupLine]) -> Backup:
        """Sort the lines by their kind."""
        return cls(
            header,
            [each for each in lines if isinstance(each, SavedZnode)],
            [each for each in lines if isinstance(each, WrittenZnode)],
            [each for each in lines if isinstance(each, PartitionLeft)],
        )


def parse_backup(data: bytes, where: str) -> Backup:
    """Parse a backup file. Raises FormatError for any other file."""
    first, *others = data.split(b"\n")
    if others and others[-1]:
        # The run was killed while it wrote this line, so it had not changed the znode yet.
        others.pop()
    version, place = named_version(first, _HEADERS), f"{where}, line 1"
    fields = _envelope(version).parsed(first, place)
    header = BackupHeader(**Record(_HEADERS[version], remedy=_REMEDY).read(fields, place))
    check_shard_path(header.shard_path)
    lines = [_parse(line, f"{where}, line {number}") for number, line in enumerate(others, 2) if line]
    return Backup.of(header, lines)


def _parse(line: bytes, where: str) -> BackupLine:
    fields = _object(line, where)
    if "partition" in fields:
        read = _PARTITION.read(fields, where)
        return PartitionLeft(**{**read, "state": _left(read["state"])})
    if "data" in fields:
        return _saved(fields, where)
    read = _WRITTEN.read(fields, where)
    return WrittenZnode(read["ensemble"], read["path"], Left(**read["left"]))


def _saved(fields: Mapping[str, Any], where: str) -> SavedZnode:
    read = _SAVED.read(fields, where)
    return SavedZnode(**{**read, "left": _left(read.get("left"))})


def _left(fields: Mapping[str, Any] | None) -> Left | None:
    return None if fields is None else Left(**fields)


def _object(line: bytes, where: str) -> dict[str, Any]:
    try:
        return json_object(line)
    except ValueError as error:
        raise FormatError(f"{where} is no JSON object", remedy=_REMEDY) from error


def _envelope(version: int) -> Envelope:
    return Envelope("backup of a repair", FORMAT, version, remedy=_REMEDY)


def _line(fields: dict[str, object]) -> bytes:
    return json.dumps(fields, sort_keys=True).encode() + b"\n"
