# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compares what modules return with the RETURN of their documentation."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import yaml

from support.source import PLUGINS

_OF_ANSIBLE = frozenset({"failed", "changed", "msg", "diff", "invocation", "warnings", "deprecations"})
"""Values that Ansible documents for all modules."""
_OF_PATH = frozenset({"gid", "group", "mode", "owner", "size", "state", "uid"})
"""Values that Ansible adds where a module returns a path."""
_OPEN = {"journal_info": "events"}
"""Values with further ones, which docs/reference/journal.md describes."""


def undocumented(module: str, answer: Mapping[str, Any]) -> list[str]:
    """Return the values of an answer that the documentation of the module does not have, as paths."""
    documented = returned(module)
    known = {*documented, *_OF_ANSIBLE, *(_OF_PATH if "path" in answer else ())}
    unknown = {name for name in answer if name not in known}
    inner = {
        name: value for name, value in answer.items() if name in documented and name != _OPEN.get(module)
    }
    return sorted(unknown | set(_unknown(inner, documented, "")))


def _unknown(values: Mapping[str, Any], documented: Mapping[str, Any], path: str) -> Iterator[str]:
    for name, value in values.items():
        if name not in documented:
            yield f"{path}{name}"
            continue
        contains = documented[name].get("contains")
        for each in value if isinstance(value, list) else [value]:
            if contains and isinstance(each, dict):
                yield from _unknown(each, contains, f"{path}{name}.")


@cache
def returned(module: str) -> Mapping[str, Any]:
    """Return the values in the RETURN of a module, by name."""
    tree = ast.parse((PLUGINS / "modules" / f"{module}.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and [ast.unparse(each) for each in node.targets] == ["RETURN"]:
            found: Mapping[str, Any] = yaml.safe_load(ast.literal_eval(node.value))
            return found
    raise AssertionError(f"{module} has no RETURN")
