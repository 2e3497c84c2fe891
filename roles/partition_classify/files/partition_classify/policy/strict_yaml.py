# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""YAML that is read strictly: no key is there twice."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from olap_partmove._partmove.errors import PartMoveError


class PolicyError(PartMoveError):
    """A policy file that is not understood."""


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
    except RecursionError as error:
        raise PolicyError(
            f"{where}: the policy is not YAML that can be read: it is nested too deeply",
            remedy="Correct it there: nothing in a policy is more than four deep",
        ) from error
    except (yaml.YAMLError, ValueError) as error:
        # The last is what the loader makes of days that there are not, and numbers of thousands of digits.
        problem = " ".join(str(error).split())
        raise PolicyError(f"{where}: the policy is not YAML: {problem}", remedy="Correct it there") from error
    if not isinstance(values, dict):
        raise PolicyError(f"{where}: the policy is no mapping", remedy="Begin it with the key version")
    return values
