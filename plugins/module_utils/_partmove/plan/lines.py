# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The two kinds of line in a plan file, as values and as bytes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from typing import Any, NamedTuple

from ..errors import FormatError, PlanError
from ..formats.layout import check_shard_path
from ..formats.names import check_partition_id
from ..text import format_time

FORMAT = "olap.partmove/plan"
VERSION = 2
COLD = "COLD"
HOT = "HOT"
STATES = (COLD, HOT)

QUEUE_CLEAR = "queue_clear"
ONE_PART = "one_part"
MUTATIONS_APPLIED = "mutations_applied"
FORESEEN_GATES = (QUEUE_CLEAR, ONE_PART, MUTATIONS_APPLIED)
"""The gates that a classification can see to be closed, by their names."""

_AGAIN = "Run the classification again to get a plan that can be read"
_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)\.(\d{3})Z", re.ASCII)
_DIGEST = re.compile(r"[0-9a-f]{64}")


class OtherVersion(PlanError):
    """A plan of a version of the format that is not read."""


class PlanHeader(NamedTuple):
    """The first line of a plan file."""

    policy_digest: str
    """SHA-256 of the policy file, in hex."""
    source: str
    """What was read: the ensembles, without credentials."""
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
    state: str
    """`COLD` or `HOT`."""
    reason: str
    last_modified: int | None
    """When the newest part was registered, in milliseconds since 1970."""
    parts: int | None
    znodes: int | None
    """The part znodes and their children."""
    bytes: int | None
    """Data of these znodes."""
    gate: str | None = None
    """The one of FORESEEN_GATES that was closed; None where none was."""


def encode_header(header: PlanHeader) -> bytes:
    """The header as a line."""
    return _encode(
        {
            "format": FORMAT,
            "version": VERSION,
            "policy_digest": header.policy_digest,
            "source": header.source,
            "as_of": format_time(header.as_of),
            "rows": header.rows,
            "rows_digest": header.rows_digest,
        }
    )


def encode_row(row: PlanRow) -> bytes:
    """A row as a line."""
    values = row._asdict()
    if row.last_modified is not None:
        values["last_modified"] = format_time(row.last_modified)
    return _encode(values)


def parse_header(line: bytes, where: str) -> PlanHeader:
    """The header in a line; raises PlanError for anything but a header of this version."""
    values = _decode(line, where)
    if values.get("format") != FORMAT:
        raise PlanError(
            f"{where}: this is no header of a plan file, its format is not {FORMAT}",
            remedy="Give the path of a plan that the classification wrote",
        )
    version = values.get("version")
    if isinstance(version, bool) or not isinstance(version, int) or version != VERSION:
        raise OtherVersion(
            f"{where}: the plan has version {version!r}, this collection reads version {VERSION}",
            remedy="Classify again, with the version of the collection that the move has",
        )
    del values["format"], values["version"]
    return PlanHeader(**_fields(values, _HEADER_FIELDS, where))


def parse_row(line: bytes, where: str) -> PlanRow:
    """The row in a line; raises PlanError for anything but a complete row."""
    return PlanRow(**_fields(_decode(line, where), _ROW_FIELDS, where))


def shard_path_field(value: object, where: str) -> str:
    """The value when it can be a shard path, else PlanError."""
    return _path_or_id("shard_path", value, where, check_shard_path)


def partition_field(value: object, where: str) -> str:
    """The value when it can be a partition id, else PlanError."""
    return _path_or_id("partition", value, where, lambda text: check_partition_id(text, "partition"))


def _path_or_id(name: str, value: object, where: str, check: Callable[[str], str]) -> str:
    if not isinstance(value, str):
        raise _wrong(where, name, value, "text in quotes")
    try:
        return check(value)
    except FormatError as error:
        raise PlanError(f"{where}: {error.message}", remedy=error.remedy) from error


def _encode(values: Mapping[str, object]) -> bytes:
    return json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _decode(line: bytes, where: str) -> dict[str, Any]:
    if not line.endswith(b"\n"):
        problem = "the file is empty" if not line else "the last line has no line end, the file was cut short"
        raise PlanError(f"{where}: {problem}", remedy=_AGAIN)
    try:
        values = _DECODER.decode(line.decode())
    except (ValueError, RecursionError) as error:
        raise PlanError(f"{where}: the line is no JSON object: {error}", remedy=_AGAIN) from error
    if not isinstance(values, dict):
        raise PlanError(f"{where}: the line is no JSON object", remedy=_AGAIN)
    return values


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        raise ValueError("a key occurs twice")
    return values


# Made once: json.loads makes a new one for each line.
_DECODER = json.JSONDecoder(object_pairs_hook=_without_duplicates)


def _fields(
    values: Mapping[str, Any], checks: Mapping[str, Callable[[object, str], Any]], where: str
) -> dict[str, Any]:
    if values.keys() != checks.keys():
        unknown = sorted(values.keys() - checks.keys())
        if unknown:
            raise PlanError(f"{where}: unknown field {unknown[0]!r}", remedy=_AGAIN)
        missing = [name for name in checks if name not in values]
        raise PlanError(f"{where}: field {missing[0]!r} is missing", remedy=_AGAIN)
    return {name: check(values[name], where) for name, check in checks.items()}


def _wrong(where: str, name: str, value: object, expected: str) -> PlanError:
    return PlanError(f"{where}: {name} is {value!r}", remedy=f"It has to be {expected}")


def _text(name: str) -> Callable[[object, str], str]:
    def check(value: object, where: str) -> str:
        if isinstance(value, str) and value:
            return value
        raise _wrong(where, name, value, "text that is not empty")

    return check


def _digest(name: str) -> Callable[[object, str], str]:
    def check(value: object, where: str) -> str:
        if isinstance(value, str) and _DIGEST.fullmatch(value):
            return value
        raise _wrong(where, name, value, "a SHA-256 digest, 64 lower-case hex digits")

    return check


def _count(name: str) -> Callable[[object, str], int]:
    def check(value: object, where: str) -> int:
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
        raise _wrong(where, name, value, "a whole number, 0 or more")

    return check


def _time(name: str) -> Callable[[object, str], int]:
    def check(value: object, where: str) -> int:
        found = _TIME.fullmatch(value) if isinstance(value, str) else None
        if found:
            year, month, day, hour, minute, second, millisecond = map(int, found.groups())
            try:
                moment = datetime(year, month, day, hour, minute, second, tzinfo=timezone.utc)
            except ValueError:
                pass  # such as a 30th of February, refused below like any other text
            else:
                return int(moment.timestamp()) * 1000 + millisecond
        raise _wrong(where, name, value, "a time in UTC such as 2026-11-20T22:15:00.000Z")

    return check


def _state(value: object, where: str) -> str:
    if isinstance(value, str) and value in STATES:
        return value
    raise _wrong(where, "state", value, "COLD or HOT")


def _gate(value: object, where: str) -> str | None:
    if value is None or (isinstance(value, str) and value in FORESEEN_GATES):
        return value
    raise _wrong(where, "gate", value, f"null or one of {', '.join(FORESEEN_GATES)}")


_HEADER_FIELDS: Mapping[str, Callable[[object, str], Any]] = {
    "policy_digest": _digest("policy_digest"),
    "source": _text("source"),
    "as_of": _time("as_of"),
    "rows": _count("rows"),
    "rows_digest": _digest("rows_digest"),
}
_ROW_FIELDS: Mapping[str, Callable[[object, str], Any]] = {
    "shard_path": shard_path_field,
    "partition": partition_field,
    "state": _state,
    "reason": _text("reason"),
    "last_modified": _time("last_modified"),
    "parts": _count("parts"),
    "znodes": _count("znodes"),
    "bytes": _count("bytes"),
    "gate": _gate,
}
