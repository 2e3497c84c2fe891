# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""YAML that is read strictly: no key twice, no key unknown, and messages that name file and key."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import yaml

from olap_partmove._partmove.errors import PartMoveError


class PolicyError(PartMoveError):
    """A policy file that is not understood."""


class Keys:
    """The keys of one mapping of the file; each is taken once, and none may be left.

    ``prefix`` is what the messages put before a key: the place of the mapping, with a dot at its end.
    """

    def __init__(self, values: Mapping[Any, Any], where: str, prefix: str) -> None:
        self.given = list(values)
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
            raise self.refused(key, f"is {value!r}", f"Write {expected}")
        return checked

    def refused(self, key: str, problem: str, remedy: str) -> PolicyError:
        """The error for a key of this mapping."""
        return PolicyError(f"{self._where}: {self._prefix}{key} {problem}", remedy=remedy)

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


def load(content: bytes, where: str) -> Mapping[Any, Any]:
    """The mapping in the bytes of the file ``where``; raises PolicyError when there is none."""
    try:
        values = yaml.load(content, _Loader)
    except yaml.YAMLError as error:
        problem = " ".join(str(error).split())
        raise PolicyError(f"{where}: the policy is not YAML: {problem}", remedy="Correct it there") from error
    if not isinstance(values, dict):
        raise PolicyError(f"{where}: the policy is no mapping", remedy="Begin it with the key version")
    return values
