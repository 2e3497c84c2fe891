# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Refuses variables that are missing or cannot be read, in one sentence, before a play does anything.

It is an internal helper of the playbooks, and needs nothing on the host.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase

_NOTHING = (None, "")
"""What counts as not given; an empty list may be meant."""
_UNDEFINED = re.compile(r"'(\w+)' is undefined")


class ActionModule(ActionBase):  # type: ignore[misc] # ansible-core has no type information
    """Reads variables as tasks do, and tells of all at once that would make one fail later."""

    TRANSFERS_FILES = False
    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Fail with one sentence where something is missing; no value is shown but a wrong choice."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        del tmp
        names = {"type": "list", "elements": "str", "default": []}
        _validated, wanted = self.validate_argument_spec(
            {
                "needed": names,
                "one_of": {**names, "elements": "list"},
                "choices": {"type": "dict", "default": {}},
                "roles": {"type": "list", "elements": "str", "required": True},
            }
        )
        values, unreadable = self._read(wanted, task_vars or {})
        absent = [
            name for name in wanted["needed"] if name not in unreadable and values.get(name) in _NOTHING
        ]
        told = [
            f"{name} is {values[name]!r} and has to be {' or '.join(choices)}"
            for name, choices in wanted["choices"].items()
            if values.get(name) not in (*_NOTHING, *choices)
        ]
        told += [f"{_listed(absent)} {'is' if len(absent) == 1 else 'are'} not given"] if absent else []
        told += [
            f"one of {', '.join(group)} has to be given"
            for group in wanted["one_of"]
            if not any(name in unreadable or values.get(name) for name in group)
        ]
        told += [f"{name} cannot be read, as {reason}" for name, reason in sorted(unreadable.items())]
        if not told:
            return result | {"changed": False}
        return result | {"failed": True, "msg": f"{'; '.join(told)}. {_way_out(wanted['roles'])}"}

    def _read(
        self, wanted: Mapping[str, Any], variables: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """Return the values of all that is given, and why what cannot be read cannot, by name."""
        groups = [wanted["needed"], wanted["choices"], *wanted["one_of"]]
        asked = {name for group in groups for name in group}
        prefixes = tuple(f"{role}_" for role in wanted["roles"])
        # What has two underscores is the role's own, and may be known only later.
        of_roles = {name for name in variables if name.startswith(prefixes) and "__" not in name}
        values, unreadable = {}, {}
        for name in asked & variables.keys() | of_roles:
            try:
                values[name] = self._templar.template(variables[name])
            except AnsibleError as error:
                unreadable[name] = _reason(str(error))
        return values, unreadable


def _reason(error: str) -> str:
    """Why a variable cannot be read, without the template itself, which may have a secret."""
    undefined = sorted(set(_UNDEFINED.findall(error)))
    if undefined:
        return f"{_listed(undefined)} {'is' if len(undefined) == 1 else 'are'} undefined"
    return error.splitlines()[0].rstrip(".")


def _listed(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _way_out(roles: Sequence[str]) -> str:
    explained = _listed([f"`ansible-doc --type role olap.partmove.{role}`" for role in roles])
    return (
        "Give what is missing, such as in a file with -e @vars.yml. "
        f"{explained} {'tells' if len(roles) == 1 else 'tell'} what each variable is."
    )
