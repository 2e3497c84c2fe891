# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Policy file: defines for each table when a partition counts as cold.

YAML::

    version: 1
    defaults:
      cold_after: 1d
      keep_newest: 0
    rules:
      - table: /clickhouse/tables/*/events
        cold_after: 36h
        keep_newest: 2
        max_reads: 10
        reads_within: 30d
        pin_hot: ["202601"]
        pin_cold: ["201912", "202001"]
      - table: /clickhouse/tables/*/audit
        never: true

The first rule with a pattern matching the whole shard path applies; omitted keys come from the defaults.
Patterns: ``*`` matches any characters except a slash, ``**`` any characters, ``?`` one character except a
slash; all other characters match literally.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeGuard

from olap_partmove._partmove.errors import FormatError
from olap_partmove._partmove.formats.names import check_partition_id
from olap_partmove._partmove.records import (
    FLAG,
    WHOLE_NUMBER,
    FieldType,
    InvalidValue,
    Record,
    list_of,
    satisfying,
)
from olap_partmove._partmove.text import SECONDS, parse_duration

from .strict_yaml import PolicyError, load

VERSION = 1
DAY_MS = 1000 * SECONDS["d"]
ANY = "any"
_WILDCARDS = re.compile(r"\*\*|\*|\?")
_WILDCARD_PATTERNS = {"**": "(?s:.*)", "*": "[^/]*", "?": "[^/]"}


@dataclass(frozen=True)
class PolicySettings:
    """Conditions for a cold partition of a table."""

    cold_after_ms: int
    """Minimum time without a change of a cold partition, in milliseconds."""
    keep_newest: int
    """Number of newest partitions of a shard path that stay hot at any age."""
    pin_hot: tuple[str, ...] = ()
    """Ids of partitions that are hot, regardless of all other settings."""
    pin_cold: tuple[str, ...] = ()
    """Ids of partitions that are cold at any age."""
    never: bool = False
    """Leave the tables alone: neither move nor reheat their partitions."""
    max_reads: int | None = None
    """Maximum number of reads of a cold partition; None for no limit."""
    reads_within_ms: int = 7 * DAY_MS
    """Length of the window in which reads are counted, in milliseconds."""


@dataclass(frozen=True)
class Rule:
    """Settings for shard paths that match a pattern."""

    table: str
    settings: PolicySettings

    @property
    def regex(self) -> str:
        """The pattern as a regular expression for whole paths, valid in Python and Java."""
        return f"^(?:{_regex(self.table)})$"


@dataclass(frozen=True)
class Policy:
    """Rules in file order, and the settings for all other tables."""

    rules: tuple[Rule, ...]
    defaults: PolicySettings
    digest: str
    """SHA-256 of the file, in hex."""

    @property
    def read_windows(self) -> frozenset[int]:
        """All windows for which reads are needed, in milliseconds."""
        all_settings = (self.defaults, *(rule.settings for rule in self.rules))
        return frozenset(
            each.reads_within_ms for each in all_settings if each.max_reads is not None and not each.never
        )


BUILT_IN = PolicySettings(cold_after_ms=DAY_MS, keep_newest=0)
"""Base values for the defaults of a policy."""


def read_policy(path: Path) -> Policy:
    """Read a policy file. Raises PolicyError with file and key."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise PolicyError(
            f"{path}: the policy cannot be read: {error.strerror}", remedy="Give the path of a policy file"
        ) from error
    return parse_policy(content, str(path))


def parse_policy(content: bytes, where: str) -> Policy:
    """Parse a policy file; ``where`` is its path for messages. Raises PolicyError."""
    values = load(content, where)
    version = _VERSIONED.read(values, where)["version"]
    if version != VERSION:
        raise PolicyError(
            f"{where}: version is {version!r}, this job reads policies of version {VERSION}",
            remedy=f"Begin the policy with version: {VERSION}",
        )
    given = _POLICY.read(values, where)
    defaults = _settings(given.get("defaults", {}), BUILT_IN, f"{where}: defaults.")
    rules = tuple(
        _rule(item, defaults, f"{where}: rules[{number}].")
        for number, item in enumerate(given.get("rules", ()))
    )
    return Policy(rules, defaults, hashlib.sha256(content).hexdigest())


def duration_text(milliseconds: int) -> str:
    """Return a duration in words, in the largest unit without remainder: ``36 hours``, ``1 day``."""
    seconds = milliseconds // 1000
    units = (("day", "d"), ("hour", "h"), ("minute", "m"), ("second", "s"))
    name, unit = next((name, unit) for name, unit in units if seconds % SECONDS[unit] == 0)
    count = seconds // SECONDS[unit]
    return f"{count} {name}{'' if count == 1 else 's'}"


def _rule(given: Mapping[str, Any], defaults: PolicySettings, place: str) -> Rule:
    """Parse a rule. ``place``: prefix of its keys in messages."""
    settings = _settings(given, defaults, place)
    idle = [key for key in given if key not in {"table", "never"}]
    if settings.never and idle:
        raise PolicyError(
            f"{place}{idle[0]} has no effect, because never is true for these tables",
            remedy="Remove the key, or write never: false in the rule",
        )
    if settings.max_reads is None and "reads_within" in given:
        raise PolicyError(
            f"{place}reads_within has no effect, because max_reads is any for these tables",
            remedy="Remove reads_within, or give a number for max_reads in the rule",
        )
    return Rule(given["table"], settings)


def _settings(given: Mapping[str, Any], base: PolicySettings, place: str) -> PolicySettings:
    """Return the settings of a rule or of the defaults; omitted keys come from ``base``."""
    named = {_FIELDS.get(key, key): given[key] for key in given if key != "table"}
    settings = replace(base, **named)
    for partition in settings.pin_hot:
        if partition in settings.pin_cold:
            raise PolicyError(
                f"{place}pin_hot and pin_cold both have partition {partition}",
                remedy="Keep the partition in one list; a list omitted in a rule comes from the defaults",
            )
    return settings


def _duration(value: object) -> int:
    # Other options take a number without a unit as seconds; here, authors writing 30 mean days.
    has_unit = isinstance(value, str) and not value[-1:].isdigit()
    try:
        seconds = parse_duration(str(value), "cold_after") if has_unit else 0
    except FormatError as error:
        raise InvalidValue from error
    if not seconds:
        raise InvalidValue
    return 1000 * seconds


def _ids(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise InvalidValue
    try:
        ids = tuple(check_partition_id(each, "pin") for each in value)
    except FormatError as error:
        raise InvalidValue from error
    if len(set(ids)) < len(ids):
        raise InvalidValue
    return ids


def _max_reads(value: object) -> int | None:
    if value == ANY:
        return None
    if not _is_count(value):
        raise InvalidValue
    return value


def _is_count(value: object) -> TypeGuard[int]:
    # Spark compares the value with 32-bit numbers.
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31


_FIELDS = {"cold_after": "cold_after_ms", "reads_within": "reads_within_ms"}
"""Keys whose field of PolicySettings has another name."""

_DURATION = FieldType(_duration, "a duration above 0 with its unit, such as 90m, 36h, 7d or 2w")
_PINNED = FieldType(_ids, 'a list of partition ids in quotes, each once, such as ["202610"]')
_SETTINGS = {
    "cold_after": _DURATION,
    "keep_newest": satisfying(_is_count, "a whole number, 0 or more"),
    "max_reads": FieldType(_max_reads, f"a whole number, 0 or more, or {ANY}"),
    "reads_within": _DURATION,
    "pin_hot": _PINNED,
    "pin_cold": _PINNED,
    "never": FLAG,
}
_PATTERN = satisfying(
    lambda value: isinstance(value, str) and value.startswith(("/", "**")),
    "a pattern of shard paths that begins with a slash or with **",
)
_VERSION = WHOLE_NUMBER._replace(expected=f"the number {VERSION}")
# Checked first, because other versions may have other keys.
_VERSIONED = Record({"version": _VERSION}, error=PolicyError, extra_keys=True)
_POLICY = Record(
    {"version": _VERSION},
    {
        "defaults": Record({}, _SETTINGS),
        "rules": list_of(Record({"table": _PATTERN}, _SETTINGS), "a list of rules"),
    },
    error=PolicyError,
)


def _regex(pattern: str) -> str:
    literals = _WILDCARDS.split(pattern)
    wildcards = [_WILDCARD_PATTERNS[found] for found in _WILDCARDS.findall(pattern)]
    return "".join(
        re.escape(literal) + wildcard for literal, wildcard in zip(literals, [*wildcards, ""], strict=True)
    )
