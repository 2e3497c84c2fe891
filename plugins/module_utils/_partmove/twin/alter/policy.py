# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The storage policies of replicas: each replica may have its own, and a statement may change it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..move.gates import shared_definition
from ..move.tables import Side, TwinTables
from .statement import AlterKind, Statement
from .words import words_of

_SETTINGS = " SETTINGS "
_ONE = r"(\w+) = (?:'(?:[^'\\]|\\.)*'|[^\s,']+)"
_SETTING, _LIST = re.compile(_ONE), re.compile(rf"{_ONE}(?:, {_ONE})*")
_POLICY = "STORAGE_POLICY"
_DEFAULT = "the default storage policy"


def policy_of(definition: str) -> str:
    """Return the setting with the storage policy in a definition; "" without one.

    >>> policy_of("() ORDER BY d SETTINGS a = 1, storage_policy = 'x'")
    "storage_policy = 'x'"
    """
    if shared_definition(definition) == definition:
        return ""
    found = _SETTING.finditer(definition.rpartition(_SETTINGS)[2])
    return next((each[0] for each in found if each[1] == _POLICY.lower()), "")


def with_policy(definition: str, policy: str) -> str:
    """Return the definition with another storage policy, as `policy_of` returns it.

    >>> with_policy("() ORDER BY d SETTINGS a = 1, storage_policy = 'x', z = 2", "storage_policy = 'y'")
    "() ORDER BY d SETTINGS a = 1, storage_policy = 'y', z = 2"
    """
    if not policy:
        return shared_definition(definition)
    rest, _separator, settings = definition.rpartition(_SETTINGS)
    if not _LIST.fullmatch(settings):
        return f"{definition}{_SETTINGS}{policy}"
    others = [each[0] for each in _SETTING.finditer(settings) if each[1] != _POLICY.lower()]
    return f"{rest}{_SETTINGS}{', '.join(sorted((*others, policy)))}"


def changes_policy(statement: Statement) -> bool:
    """Whether the statement may change the storage policy: MODIFY or RESET SETTING storage_policy."""
    if statement.kind is not AlterKind.STRUCTURE or not statement.of_each_replica:
        return False
    words = [each.value for each in words_of(statement.text) if each.kind == "word"]
    return "SETTING" in words and _POLICY in words[words.index("SETTING") :]


def different_policies(every: Sequence[TwinTables], side: Side) -> str:
    """Return two replicas with different storage policies of a table, for people; "" if all have the same."""
    first = every[0]
    expected = policy_of(first.on(side).definition)
    for each in every:
        policy = policy_of(each.on(side).definition)
        if policy != expected:
            one, other = expected or _DEFAULT, policy or _DEFAULT
            return f"{first.on(side)} has {one} on {first.server}, and {other} on {each.server}"
    return ""
