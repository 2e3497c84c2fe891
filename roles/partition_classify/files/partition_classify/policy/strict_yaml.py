# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Strict YAML: duplicate keys are errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from olap_partmove._partmove.errors import PartMoveError


class PolicyError(PartMoveError):
    """An invalid policy file."""


class _Loader(yaml.SafeLoader):
    """Rejects duplicate keys of a mapping; plain YAML silently keeps the last value."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = set()
        for key_node, _value in node.value:
            key = (key_node.tag, key_node.value if isinstance(key_node.value, str) else None)
            if key in keys:
                raise yaml.constructor.ConstructorError(
                    problem=f"duplicate key {key_node.value}", problem_mark=key_node.start_mark
                )
            keys.add(key)
        return super().construct_mapping(node, deep)


def load(content: bytes, where: str) -> Mapping[Any, Any]:
    """Parse the file ``where`` into a mapping. Raises PolicyError for any other content."""
    try:
        values = yaml.load(content, _Loader)
    except RecursionError as error:
        raise PolicyError(
            f"{where}: the policy is not readable YAML: it is nested too deeply",
            remedy="Correct the policy: its values are at most four levels deep",
        ) from error
    except (yaml.YAMLError, ValueError) as error:
        # The loader raises ValueError for impossible dates and for numbers of thousands of digits.
        problem = " ".join(str(error).split())
        raise PolicyError(
            f"{where}: the policy is not YAML: {problem}", remedy="Correct the policy at this place"
        ) from error
    if not isinstance(values, dict):
        raise PolicyError(f"{where}: the policy is not a mapping", remedy="Begin with the key version")
    return values
