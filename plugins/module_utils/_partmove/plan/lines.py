# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Encodes and parses the header line and the row lines of a plan file."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any, NamedTuple

from ..envelope import Envelope, json_object
from ..errors import PlanError
from ..formats.layout import check_shard_path
from ..formats.names import check_partition_id
from ..formats.state import State
from ..gates.names import FORESEEN, GateName
from ..records import COUNT, TEXT, FieldType, InvalidValue, Record, list_of, or_none, satisfying, word_of
from ..text import format_time
from .origin import OriginZnode

FORMAT = "olap.partmove/plan"
VERSION = 3
_AGAIN = "Run the classification again to get a readable plan"
_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)\.(\d{3})Z", re.ASCII)
_TOPMOST_PATH = re.compile(r"/[^/]+")
_DIGEST = re.compile(r"[0-9a-f]{64}")


class OtherVersion(PlanError):
    """The plan has a version of the format unknown to this collection."""


class PlanHeader(NamedTuple):
    """The first line of a plan file."""

    policy_digest: str
    """SHA-256 of the policy file, in hex."""
    source: str
    """The classified ensembles, without credentials."""
    origin: tuple[OriginZnode, ...]
    """The topmost znodes at or above the shard paths, sorted; they identify the hot ensemble."""
    as_of: int
    """The time of the classified data, in milliseconds since 1970."""
    rows: int
    rows_digest: str
    """SHA-256 of all row lines with their line ends, in hex."""


class PlanRow(NamedTuple):
    """The desired state of one partition of one shard path.

    The fields after ``reason`` are totals of the classification, over all replicas. They are None for a
    partition named by a person.
    """

    shard_path: str
    partition: str
    state: State
    reason: str
    last_modified: int | None
    """Time of the newest part znode, in milliseconds since 1970."""
    parts: int | None
    znodes: int | None
    """Number of part znodes and their children."""
    bytes: int | None
    """Bytes of data in these znodes."""
    gate: GateName | None = None
    """The closed gate among the gates of a classification; None if all were open."""


def encode_header(header: PlanHeader) -> bytes:
    """Encode the header as a line."""
    origin = [each._asdict() | {"ctime": format_time(each.ctime)} for each in header.origin]
    values = header._asdict() | {"origin": origin, "as_of": format_time(header.as_of)}
    return _encode(_HEADER_ENVELOPE.around(values))


def encode_row(row: PlanRow) -> bytes:
    """Encode a row as a line."""
    values = row._asdict() | {"state": row.state.value, "gate": None if row.gate is None else row.gate.value}
    if row.last_modified is not None:
        values["last_modified"] = format_time(row.last_modified)
    return _encode(values)


def parse_header(line: bytes, where: str) -> PlanHeader:
    """Parse the header in a line. Raises OtherVersion for another version, PlanError for other text."""
    fields = _HEADER_ENVELOPE.opened(_decode(line, where), where)
    return PlanHeader(**_HEADER.read(fields, where))


def parse_row(line: bytes, where: str) -> PlanRow:
    """Parse the row in a line. Raises PlanError for other text and incomplete rows."""
    return PlanRow(**_ROW.read(_decode(line, where), where))


def parse_desired_state(line: bytes, where: str) -> tuple[str, State]:
    """Parse partition and state in a line that `parse_row` has accepted before. Raises PlanError."""
    try:
        fields = _decode(line, where)
        return _partition(fields.get("partition")), _STATE.check(fields.get("state"))
    except InvalidValue as error:
        raise PlanError(f"{where}: the line is no row of a plan", remedy=_AGAIN) from error


def parse_item(item: object, where: str) -> tuple[str, str]:
    """Parse shard path and partition id of an item written by a person. Raises PlanError."""
    fields = _ITEM.read(item, where)
    return fields["shard_path"], fields["partition"]


def _encode(values: Mapping[str, object]) -> bytes:
    return _ENCODER.encode(values).encode() + b"\n"


def _decode(line: bytes, where: str) -> dict[str, Any]:
    if not line.endswith(b"\n"):
        problem = "the file is empty" if not line else "the last line has no line end, the file was cut short"
        raise PlanError(f"{where}: {problem}", remedy=_AGAIN)
    try:
        return json_object(line)
    except ValueError as error:
        raise PlanError(f"{where}: the line is no JSON object: {error}", remedy=_AGAIN) from error


def _shard_path(value: object) -> str:
    if isinstance(value, str):
        return check_shard_path(value)
    raise InvalidValue


def _partition(value: object) -> str:
    if isinstance(value, str):
        return check_partition_id(value, "partition")
    raise InvalidValue


def _time(value: object) -> int:
    match = _TIME.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise InvalidValue
    year, month, day, hour, minute, second, millisecond = map(int, match.groups())
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=timezone.utc)
    except ValueError as error:  # such as a 30th of February
        raise InvalidValue from error
    return int(moment.timestamp()) * 1000 + millisecond


def _origin(value: object) -> tuple[OriginZnode, ...]:
    znodes = tuple(OriginZnode(**each) for each in _ORIGIN_ZNODES.check(value))
    if list(znodes) != sorted(set(znodes)):
        raise InvalidValue("is not sorted, or has a znode twice", _AGAIN)
    return znodes


# json.dumps would build an encoder for each line.
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))

_SHARD_PATH = FieldType(_shard_path, TEXT.expected)
_PARTITION = FieldType(_partition, TEXT.expected)
_NOT_EMPTY = satisfying(lambda value: isinstance(value, str) and value != "", "text that is not empty")
_SHA_256 = satisfying(
    lambda value: isinstance(value, str) and _DIGEST.fullmatch(value) is not None,
    "a SHA-256 digest, 64 lower-case hex digits",
)
_MOMENT = FieldType(_time, "a time in UTC such as 2026-11-20T22:15:00.000Z")

_TOPMOST = satisfying(
    lambda value: isinstance(value, str) and _TOPMOST_PATH.fullmatch(value) is not None,
    "the path of a topmost znode, such as /clickhouse",
)
_ORIGIN_ZNODES = list_of(Record({"path": _TOPMOST, "czxid": COUNT, "ctime": _MOMENT}))

_STATE = word_of({each.value: each for each in (State.COLD, State.HOT)})
_GATE = word_of({each.value: each for each in FORESEEN})
_HEADER_ENVELOPE = Envelope(
    "header of a plan file",
    FORMAT,
    VERSION,
    remedy="Give the path of a plan written by a classification with this version of the collection",
    error=PlanError,
    other_version=OtherVersion,
)
_HEADER = Record(
    {
        "policy_digest": _SHA_256,
        "source": _NOT_EMPTY,
        "origin": FieldType(_origin, _ORIGIN_ZNODES.expected),
        "as_of": _MOMENT,
        "rows": COUNT,
        "rows_digest": _SHA_256,
    },
    error=PlanError,
    remedy=_AGAIN,
)
_ROW = Record(
    {
        "shard_path": _SHARD_PATH,
        "partition": _PARTITION,
        "state": _STATE,
        "reason": _NOT_EMPTY,
        "last_modified": _MOMENT,
        "parts": COUNT,
        "znodes": COUNT,
        "bytes": COUNT,
        "gate": or_none(_GATE),
    },
    error=PlanError,
    remedy=_AGAIN,
)
_ITEM = Record({"shard_path": _SHARD_PATH, "partition": _PARTITION}, error=PlanError)
