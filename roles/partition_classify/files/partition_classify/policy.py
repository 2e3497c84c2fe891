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

The first rule whose pattern matches the whole shard path wins; what it leaves out comes from the
defaults. In a pattern ``*`` stands for any characters but a slash, ``**`` for any characters, ``?``
for one character but a slash; everything else stands for itself.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from olap_partmove.partmove.durations import SECONDS, parse_duration
from olap_partmove.partmove.errors import FormatError, PartMoveError

VERSION = 1
_WILDCARDS = re.compile(r"\*\*|\*|\?")
_WILDCARD_PATTERNS = {"**": "(?s:.*)", "*": "[^/]*", "?": "[^/]"}


class PolicyError(PartMoveError):
    """A policy file that is not understood."""


@dataclass(frozen=True)
class Settings:
    """When a partition is cold."""

    cold_after_ms: int
    """How long it must not have changed."""
    keep_newest: int
    """How many of the newest partitions of a shard path stay hot whatever their age."""


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
    values = _Keys(_load(content, where), where, "")
    version = values.take("version", _count, f"the number {VERSION}")
    if version != VERSION:
        raise PolicyError(
            f"{where}: version is {version!r}, this job reads policies of version {VERSION}",
            remedy=f"Begin the policy with version: {VERSION}",
        )
    given = values.take("defaults", _mapping, "a mapping", {})
    items = values.take("rules", _list, "a list of rules", [])
    values.nothing_else()
    defaults = _settings(_Keys(given, where, "defaults."), BUILT_IN)
    rules = tuple(_rule(item, where, f"rules[{number}]", defaults) for number, item in enumerate(items))
    return Policy(rules, defaults, hashlib.sha256(content).hexdigest())


def duration_text(milliseconds: int) -> str:
    """A duration in words, in the largest unit that leaves no remainder: ``36 hours``, ``1 day``."""
    seconds = milliseconds // 1000
    units = (("day", "d"), ("hour", "h"), ("minute", "m"), ("second", "s"))
    name, unit = next((name, unit) for name, unit in units if seconds % SECONDS[unit] == 0)
    count = seconds // SECONDS[unit]
    return f"{count} {name}{'' if count == 1 else 's'}"


class _Keys:
    """The keys of one mapping of the file; each is taken once, and none may be left."""

    def __init__(self, values: Mapping[Any, Any], where: str, prefix: str) -> None:
        self._values = dict(values)
        self._where = where
        self._prefix = prefix

    def take(self, key: str, check: Callable[[Any], Any], expected: str, *default: Any) -> Any:
        """The checked value; ``check`` gives None for what is not ``expected``."""
        if key not in self._values:
            if default:
                return default[0]
            raise PolicyError(f"{self._where}: {self._prefix}{key} is missing", remedy=f"Give {expected}")
        value = self._values.pop(key)
        checked = check(value)
        if checked is None:
            raise PolicyError(f"{self._where}: {self._prefix}{key} is {value!r}", remedy=f"Write {expected}")
        return checked

    def nothing_else(self) -> None:
        """Refuse keys that were not taken."""
        for key in self._values:
            raise PolicyError(
                f"{self._where}: unknown key {self._prefix}{key}", remedy="Correct its name, or leave it out"
            )


class _Loader(yaml.SafeLoader):
    """Refuses a key that a mapping has twice; plain YAML would take the last without a word."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen = set()
        for key_node, _value in node.value:
            key = (key_node.tag, key_node.value if isinstance(key_node.value, str) else None)
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    problem=f"key {key_node.value} is there twice", problem_mark=key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


def _load(content: bytes, where: str) -> Mapping[Any, Any]:
    try:
        values = yaml.load(content, _Loader)
    except yaml.YAMLError as error:
        problem = " ".join(str(error).split())
        raise PolicyError(f"{where}: the policy is not YAML: {problem}", remedy="Correct it there") from error
    if not isinstance(values, dict):
        raise PolicyError(f"{where}: the policy is no mapping", remedy=f"Begin it with version: {VERSION}")
    return values


def _rule(item: object, where: str, place: str, defaults: Settings) -> Rule:
    if not isinstance(item, dict):
        raise PolicyError(f"{where}: {place} is {item!r}", remedy="Write a mapping with the key table")
    values = _Keys(item, where, f"{place}.")
    table = values.take("table", _pattern, "a pattern of shard paths that begins with a slash or with **")
    return Rule(table, _settings(values, defaults))


def _settings(values: _Keys, base: Settings) -> Settings:
    settings = Settings(
        cold_after_ms=values.take(
            "cold_after",
            _duration,
            "a duration above 0 such as 90m, 36h, 7d or 2w",
            base.cold_after_ms,
        ),
        keep_newest=values.take("keep_newest", _count, "a whole number, 0 or more", base.keep_newest),
    )
    values.nothing_else()
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


def _regex(pattern: str) -> str:
    literals = _WILDCARDS.split(pattern)
    wildcards = [_WILDCARD_PATTERNS[found] for found in _WILDCARDS.findall(pattern)]
    return "".join(
        re.escape(literal) + wildcard for literal, wildcard in zip(literals, [*wildcards, ""], strict=True)
    )
