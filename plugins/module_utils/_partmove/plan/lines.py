# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The two kinds of line in a plan file, as values and as bytes."""

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
_AGAIN = "Run the classification again to get a plan that can be read"
_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)\.(\d{3})Z", re.ASCII)
_TOPMOST_PATH = re.compile(r"/[^/]+")
_DIGEST = re.compile(r"[0-9a-f]{64}")


class OtherVersion(PlanError):
    """A plan is of another version of the format than this collection reads."""


class PlanHeader(NamedTuple):
    """The first line of a plan file."""

    policy_digest: str
    """SHA-256 of the policy file, in hex."""
    source: str
    """What was read: the ensembles, without credentials."""
    origin: tuple[OriginZnode, ...]
    """The topmost znodes that the shard paths are at or below, sorted: which hot ensemble it is of."""
    as_of: int
    """The moment the plan was made for, in milliseconds since 1970."""
    rows: int
    rows_digest: str
    """SHA-256 of all row lines with their line ends, in hex."""


class PlanRow(NamedTuple):
    """The state one partition of one shard path should be in.

    What follows the reason is what the classification saw, over all replicas; it is None for a
    partition that a person named.
    """

    shard_path: str
    partition: str
    state: State
    reason: str
    last_modified: int | None
    """When the newest part was registered, in milliseconds since 1970."""
    parts: int | None
    znodes: int | None
    """The part znodes and their children."""
    bytes: int | None
    """Bytes of data in these znodes."""
    gate: GateName | None = None
    """The one of the foreseen gates that was closed; None where none was."""


def encode_header(header: PlanHeader) -> bytes:
    """The header as a line."""
    origin = [each._asdict() | {"ctime": format_time(each.ctime)} for each in header.origin]
    values = header._asdict() | {"origin": origin, "as_of": format_time(header.as_of)}
    return _encode(_HEADER_ENVELOPE.around(values))


def encode_row(row: PlanRow) -> bytes:
    """A row as a line."""
    values = row._asdict() | {"state": row.state.value, "gate": None if row.gate is None else row.gate.value}
    if row.last_modified is not None:
        values["last_modified"] = format_time(row.last_modified)
    return _encode(values)


def parse_header(line: bytes, where: str) -> PlanHeader:
    """The header in a line; raises PlanError for anything else, which is OtherVersion for another version."""
    fields = _HEADER_ENVELOPE.opened(_decode(line, where), where)
    return PlanHeader(**_HEADER.read(fields, where))


def parse_row(line: bytes, where: str) -> PlanRow:
    """The row in a line; raises PlanError for anything but a complete row."""
    return PlanRow(**_ROW.read(_decode(line, where), where))


def parse_wanted(line: bytes, where: str) -> tuple[str, State]:
    """Partition and state in a line that `parse_row` took before; raises PlanError where it cannot have."""
    try:
        fields = _decode(line, where)
        return _partition(fields.get("partition")), _STATE.check(fields.get("state"))
    except InvalidValue as error:
        raise PlanError(f"{where}: the line is no row of a plan", remedy=_AGAIN) from error


def parse_item(item: object, where: str) -> tuple[str, str]:
    """Shard path and partition id of an item that a person wrote; raises PlanError for anything else."""
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
    found = _TIME.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        raise InvalidValue
    year, month, day, hour, minute, second, millisecond = map(int, found.groups())
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=timezone.utc)
    except ValueError as error:  # such as a 30th of February
        raise InvalidValue from error
    return int(moment.timestamp()) * 1000 + millisecond


def _origin(value: object) -> tuple[OriginZnode, ...]:
    found = tuple(OriginZnode(**each) for each in _ORIGIN_ZNODES.check(value))
    if list(found) != sorted(set(found)):
        raise InvalidValue("is not sorted, or has a znode twice", _AGAIN)
    return found


# Made once: json.dumps makes a new one for each line.
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
    remedy="Give the path of a plan that a classification with this version of the collection wrote",
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
