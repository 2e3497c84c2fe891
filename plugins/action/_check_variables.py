# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Fails with one clear error if variables are missing, misspelled or unreadable, before a play does anything.

An internal helper of the playbooks and roles, without a connection to the host.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.olap.partmove.plugins.plugin_utils._spelling import described_in, misspelled

_NOT_GIVEN = (None, "")
"""Values that count as not given; an empty list may be intended."""
_UNDEFINED = re.compile(r"'(\w+)' is undefined")


class ActionModule(ActionBase):  # type: ignore[misc] # ansible-core has no type information
    """Reads variables as tasks do, and lists every mistake before a later task fails."""

    TRANSFERS_FILES = False
    _requires_connection = False
    _supports_check_mode = True

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Fail with a message about all mistakes. The message shows no value except a wrong choice."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        del tmp
        names = {"type": "list", "elements": "str", "default": []}
        _validated, wanted = self.validate_argument_spec(
            {
                "playbook": {"type": "str"},
                "roles": {"type": "list", "elements": "str", "required": True},
                "needed": names,
                "one_of": {**names, "elements": "list"},
                "choices": {"type": "dict", "default": {}},
            }
        )
        variables = task_vars or {}
        mistakes = [*_misspelled(variables, wanted), *self._unusable(variables, wanted)]
        if not mistakes:
            return result | {"changed": False}
        return result | {"failed": True, "msg": " ".join(mistakes)}

    def _unusable(self, variables: Mapping[str, Any], wanted: Mapping[str, Any]) -> Iterator[str]:
        """Describe missing variables, wrong choices and unreadable values, and the remedy."""
        if wanted["playbook"] is None:
            # The argument specs of the role have checked the values.
            return
        values, unreadable = self._read(wanted, variables)
        absent = [
            name for name in wanted["needed"] if name not in unreadable and values.get(name) in _NOT_GIVEN
        ]
        groups = [
            group
            for group in wanted["one_of"]
            if not any(name in unreadable or values.get(name) for name in group)
        ]
        faults = [
            f"{name} is {values[name]!r} and has to be {' or '.join(choices)}"
            for name, choices in wanted["choices"].items()
            if values.get(name) not in (*_NOT_GIVEN, *choices)
        ]
        faults += [f"{_listed(absent)} {_is(absent)} not given"] if absent else []
        faults += [f"one of {', '.join(group)} has to be given" for group in groups]
        faults += [f"{name} cannot be read, as {reason}" for name, reason in sorted(unreadable.items())]
        if not faults:
            return
        yield f"{'; '.join(faults)}."
        yield _remedy([*absent, *(name for group in groups for name in group)], wanted["roles"])

    def _read(
        self, wanted: Mapping[str, Any], variables: Mapping[str, Any]
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """Return the values of the given variables, and the reasons for unreadable values, by name."""
        groups = [wanted["needed"], wanted["choices"], *wanted["one_of"]]
        asked = {name for group in groups for name in group}
        prefixes = tuple(f"{role}_" for role in wanted["roles"])
        # A name with two underscores is internal to the role, and its value may exist only later.
        of_roles = {name for name in variables if name.startswith(prefixes) and "__" not in name}
        values, unreadable = {}, {}
        for name in asked & variables.keys() | of_roles:
            try:
                values[name] = self._templar.template(variables[name])
            except AnsibleError as error:
                unreadable[name] = _reason(str(error))
        return values, unreadable


def _misspelled(variables: Mapping[str, Any], wanted: Mapping[str, Any]) -> Iterator[str]:
    playbook = wanted["playbook"]
    running = [*wanted["roles"], *([playbook] if playbook else [])]
    for each in misspelled(variables, running):
        sentence = (
            f"{each.name} is not a variable of this collection. Did you mean {each.meant}? "
            f"See {described_in(each.meant, [each.owner])}."
        )
        if each.certain:
            yield sentence
        else:
            Display().warning(sentence)


def _reason(error: str) -> str:
    """Return the reason of a failed template, without the template itself, which may contain a secret."""
    undefined = sorted(set(_UNDEFINED.findall(error)))
    if undefined:
        return f"{_listed(undefined)} {_is(undefined)} undefined"
    return error.splitlines()[0].rstrip(".")


def _remedy(absent: Sequence[str], roles: Sequence[str]) -> str:
    """Name the documentation of the absent variables, or of the roles if none is absent."""
    pages = [described_in(name, roles) for name in absent]
    pages = pages or [f"`ansible-doc --type role olap.partmove.{role}`" for role in roles]
    return (
        "Give the variables that are missing, such as in a file with -e @vars.yml. "
        f"See {_listed(list(dict.fromkeys(pages)))} for what each variable means."
    )


def _listed(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _is(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"
