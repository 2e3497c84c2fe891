# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Finds misspelled names of variables, and the documentation of a variable."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import yaml

from ._playbooks import FACTS, OF_OTHER_HOSTS, PAGE, PLAYBOOKS

ROLES = Path(__file__).resolve().parents[2] / "roles"

DISTINCTIVE = frozenset(
    {
        "cold_zookeeper_config",
        "part_move",
        "partition_classify",
        "partmove_audit",
        "partmove_census",
        "partmove_guard",
        "partmove_repair",
        "twin_move",
        "twin_view",
        "while_hot",
    }
)
"""Roles and playbooks whose prefix nobody else uses, so that an unknown name with this prefix is a mistake.

Users may have variables of their own that begin with ``clickhouse_node_``, ``drop_`` or ``rollout_``. With
such a prefix a name counts as misspelled only if it is almost that of a variable.
"""
SHARED = frozenset({"zookeeper"})
"""Roles whose prefix other published roles have, too, with names such as ``zookeeper_host``.

A name that is almost that of a variable may still be right, so it deserves a warning and no error.
"""
_LONG = 8
"""Characters after the prefix from which on a name may have two mistakes, not one."""


class Misspelled(NamedTuple):
    """A variable that nothing reads.

    meant: the known variable with the most similar name.
    owner: the role or playbook that has this known variable.
    certain: False if another collection may have a variable of this name.
    """

    name: str
    meant: str
    owner: str
    certain: bool


def misspelled(variables: Iterable[str], running: Collection[str]) -> Iterator[Misspelled]:
    """Find variables that no role and no playbook of this collection knows.

    variables: the names of all variables in scope.
    running: the roles and playbooks that run; their prefixes are checked although they are not distinctive.
    """
    owners = sorted({*DISTINCTIVE, *running}, key=len, reverse=True)
    prefixes = tuple(f"{owner}_" for owner in owners)
    for name in sorted(each for each in variables if each.startswith(prefixes) and "__" not in each):
        owner = next(each for each in owners if name.startswith(f"{each}_"))
        known = known_of(owner)
        if name in known:
            continue
        (meant,) = difflib.get_close_matches(name, known, n=1, cutoff=0)
        if owner in DISTINCTIVE or _almost(name, known, owner):
            yield Misspelled(name, meant, owner, certain=owner not in SHARED)


def _almost(name: str, known: Iterable[str], owner: str) -> bool:
    """Whether one or two mistakes make the name from a known one."""
    allowed = 2 if len(name) - len(owner) - 1 >= _LONG else 1
    return any(_mistakes(name, each) <= allowed for each in known if abs(len(each) - len(name)) <= allowed)


def _mistakes(first: str, second: str) -> int:
    """Count the characters to insert, delete, replace or swap with the next one to get the second name."""
    before: list[int] = []
    row = list(range(len(second) + 1))
    for i, left in enumerate(first, 1):
        above, last = row, before
        row = [i]
        for j, right in enumerate(second, 1):
            cost = min(above[j] + 1, row[-1] + 1, above[j - 1] + (left != right))
            if i > 1 and j > 1 and left == second[j - 2] and first[i - 2] == right:
                cost = min(cost, last[j - 2] + 1)
            row.append(cost)
        before = above
    return row[-1]


@cache
def known_of(owner: str) -> frozenset[str]:
    """Return the public variables of a role, of a playbook, or of both where they have the same name."""
    playbook = PLAYBOOKS.get(owner)
    return frozenset(
        {
            *options_of(owner),
            *FACTS.get(owner, ()),
            *OF_OTHER_HOSTS.get(owner, ()),
            *(playbook.variables if playbook else ()),
        }
    )


@cache
def options_of(role: str) -> frozenset[str]:
    """Return the options that the argument specs of the role describe; none if there is no such role."""
    path = ROLES / role / "meta" / "argument_specs.yml"
    if not path.is_file():
        return frozenset()
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    specs = yaml.load(path.read_text(encoding="utf-8"), Loader=loader)["argument_specs"]
    return frozenset(name for entry in specs.values() for name in entry.get("options") or ())


def described_in(name: str, roles: Iterable[str]) -> str:
    """Return the command or the page that describes a variable; roles: those to search first."""
    for role in (*roles, *sorted(path.name for path in ROLES.iterdir() if path.is_dir())):
        if name in options_of(role):
            return f"`ansible-doc --type role olap.partmove.{role}`"
    return f"{PAGE} of the collection"
