# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The policy file: for which tables a partition counts as cold, and when.

YAML::

    version: 1
    defaults:
      cold_after: 1d
      keep_newest: 0
    rules:
      - table: /clickhouse/tables/*/events
        cold_after: 36h
        keep_newest: 2
        pin_hot: ["202601"]
        pin_cold: ["201912", "202001"]
      - table: /clickhouse/tables/*/audit
        never: true

The first rule whose pattern matches the whole shard path wins; what it leaves out comes from the
defaults. In a pattern ``*`` stands for any characters but a slash, ``**`` for any characters, ``?``
for one character but a slash; everything else stands for itself.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from olap_partmove._partmove.errors import FormatError
from olap_partmove._partmove.formats.names import check_partition_id
from olap_partmove._partmove.text import SECONDS, parse_duration

from .strict_yaml import Keys, PolicyError, load

VERSION = 1
_WILDCARDS = re.compile(r"\*\*|\*|\?")
_WILDCARD_PATTERNS = {"**": "(?s:.*)", "*": "[^/]*", "?": "[^/]"}


@dataclass(frozen=True)
class Settings:
    """What the policy says of the partitions of a table: when they are cold."""

    cold_after_ms: int
    """For how many milliseconds a partition must not have changed to be cold."""
    keep_newest: int
    """How many of the newest partitions of a shard path stay hot whatever their age."""
    pin_hot: tuple[str, ...] = ()
    """Ids of partitions that are hot, whatever else is said."""
    pin_cold: tuple[str, ...] = ()
    """Ids of partitions that are cold whatever their age."""
    never: bool = False
    """Whether the tables are left alone: neither moved nor reheated."""


@dataclass(frozen=True)
class Rule:
    """Settings for the shard paths that match a pattern."""

    table: str
    settings: Settings

    @property
    def regex(self) -> str:
        """The pattern as a regular expression that Python and Java read alike; matches whole paths."""
        return f"^(?:{_regex(self.table)})$"


@dataclass(frozen=True)
class Policy:
    """Rules in the order of the file, and the settings of everything else."""

    rules: tuple[Rule, ...]
    defaults: Settings
    digest: str
    """SHA-256 of the file, in hex."""


BUILT_IN = Settings(cold_after_ms=1000 * SECONDS["d"], keep_newest=0)
"""What the defaults of a policy start from."""


def read_policy(path: Path) -> Policy:
    """Read a policy file; raises PolicyError that names the file and the key."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise PolicyError(
            f"{path}: the policy cannot be read: {error.strerror}", remedy="Give the path of a policy file"
        ) from error
    return parse_policy(content, str(path))


def parse_policy(content: bytes, where: str) -> Policy:
    """The policy in the bytes of the file ``where``; raises PolicyError."""
    values = Keys(load(content, where), where, "")
    version = values.take("version", _count, f"the number {VERSION}")
    if version != VERSION:
        raise PolicyError(
            f"{where}: version is {version!r}, this job reads policies of version {VERSION}",
            remedy=f"Begin the policy with version: {VERSION}",
        )
    given = values.take("defaults", _mapping, "a mapping", {})
    items = values.take("rules", _list, "a list of rules", [])
    values.nothing_else()
    defaults = _settings(Keys(given, where, "defaults."), BUILT_IN)
    rules = tuple(_rule(item, where, f"rules[{number}]", defaults) for number, item in enumerate(items))
    return Policy(rules, defaults, hashlib.sha256(content).hexdigest())


def duration_text(milliseconds: int) -> str:
    """A duration in words, in the largest unit that leaves no remainder: ``36 hours``, ``1 day``."""
    seconds = milliseconds // 1000
    units = (("day", "d"), ("hour", "h"), ("minute", "m"), ("second", "s"))
    name, unit = next((name, unit) for name, unit in units if seconds % SECONDS[unit] == 0)
    count = seconds // SECONDS[unit]
    return f"{count} {name}{'' if count == 1 else 's'}"


def _rule(item: object, where: str, place: str, defaults: Settings) -> Rule:
    if not isinstance(item, dict):
        raise PolicyError(f"{where}: {place} is {item!r}", remedy="Write a mapping with the key table")
    values = Keys(item, where, f"{place}.")
    table = values.take("table", _pattern, "a pattern of shard paths that begins with a slash or with **")
    settings = _settings(values, defaults)
    idle = [key for key in values.given if key not in {"table", "never"}]
    if settings.never and idle:
        raise values.refused(
            idle[0],
            "says nothing, because never is true for these tables",
            "Leave it out, or write never: false in the rule",
        )
    return Rule(table, settings)


def _settings(values: Keys, base: Settings) -> Settings:
    ids = 'a list of partition ids in quotes, each once, such as ["202610"]'
    settings = Settings(
        cold_after_ms=values.take(
            "cold_after",
            _duration,
            "a duration above 0 such as 90m, 36h, 7d or 2w",
            base.cold_after_ms,
        ),
        keep_newest=values.take("keep_newest", _count, "a whole number, 0 or more", base.keep_newest),
        pin_hot=values.take("pin_hot", _ids, ids, base.pin_hot),
        pin_cold=values.take("pin_cold", _ids, ids, base.pin_cold),
        never=values.take("never", _flag, "true or false", base.never),
    )
    values.nothing_else()
    for partition in settings.pin_hot:
        if partition in settings.pin_cold:
            raise values.refused(
                "pin_hot",
                f"and pin_cold both have partition {partition}",
                "Leave it in one of them; the list that a rule leaves out is that of the defaults",
            )
    return settings


def _mapping(value: Any) -> Mapping[Any, Any] | None:
    return value if isinstance(value, dict) else None


def _list(value: Any) -> list[Any] | None:
    return value if isinstance(value, list) else None


def _pattern(value: Any) -> str | None:
    return value if isinstance(value, str) and value.startswith(("/", "**")) else None


def _duration(value: Any) -> int | None:
    try:
        seconds = parse_duration(value, "cold_after") if isinstance(value, str) else 0
    except FormatError:
        return None
    return 1000 * seconds or None


def _count(value: Any) -> int | None:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and 0 <= value < 2**31 else None


def _flag(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _ids(value: Any) -> tuple[str, ...] | None:
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        return None
    try:
        ids = tuple(check_partition_id(each, "pin") for each in value)
    except FormatError:
        return None
    return ids if len(set(ids)) == len(ids) else None


def _regex(pattern: str) -> str:
    literals = _WILDCARDS.split(pattern)
    wildcards = [_WILDCARD_PATTERNS[found] for found in _WILDCARDS.findall(pattern)]
    return "".join(
        re.escape(literal) + wildcard for literal, wildcard in zip(literals, [*wildcards, ""], strict=True)
    )
