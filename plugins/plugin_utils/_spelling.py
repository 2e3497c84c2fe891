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
        "alter_twin",
        "cold_zookeeper_config",
        "part_move",
        "partition_classify",
        "partmove_audit",
        "partmove_census",
        "partmove_guard",
        "partmove_repair",
        "twin_move",
        "twin_repair",
        "twin_view",
        "while_hot",
    }
)
"""Roles and playbooks with a prefix of their own: an unknown name with such a prefix is a mistake.

Prefixes such as ``clickhouse_node_``, ``drop_`` or ``rollout_`` may also begin a variable of a user. A name
with such a prefix counts as misspelled only if it is almost equal to a known name.
"""
SHARED = frozenset({"zookeeper"})
"""Roles with the same prefix as other published roles, which have names such as ``zookeeper_host``.

An unknown name may be right even if it is almost equal to a known name. So it causes a warning, not an error.
"""
_LONG = 8
"""Least length after the prefix for two mistakes in a name; shorter names have one mistake at most."""


class Misspelled(NamedTuple):
    """An unknown variable.

    meant: the known variable with the most similar name.
    owner: the role or playbook of the known variable.
    certain: False if another collection may have a variable of this name.
    """

    name: str
    meant: str
    owner: str
    certain: bool


def misspelled(variables: Iterable[str], running: Collection[str]) -> Iterator[Misspelled]:
    """Find variables with the prefix of a role or playbook, but without its support.

    variables: the names of all variables in scope.
    running: the roles and playbooks that run; their prefixes are checked although they are not distinctive.
    """
    owners = sorted({*DISTINCTIVE, *running}, key=len, reverse=True)
    prefixes = tuple(f"{owner}_" for owner in owners)
    for name in sorted(each for each in variables if each.startswith(prefixes) and "__" not in each):
        owner, *_shorter = (each for each in owners if name.startswith(f"{each}_"))
        known = known_of(owner)
        if name in known:
            continue
        (meant,) = difflib.get_close_matches(name, known, n=1, cutoff=0)
        if owner in DISTINCTIVE or _almost(name, known, owner):
            yield Misspelled(name, meant, owner, certain=owner not in SHARED)


def _almost(name: str, known: Iterable[str], owner: str) -> bool:
    """Return whether the name differs from a known name by one or two mistakes only."""
    allowed = 2 if len(name) - len(owner) - 1 >= _LONG else 1
    return any(_mistakes(name, each) <= allowed for each in known if abs(len(each) - len(name)) <= allowed)


def _mistakes(first: str, second: str) -> int:
    """Return the edit distance of two names, in which a swap of two neighbours counts as one mistake."""
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
    """Return the options in the argument specs of a role; an empty set without such a role."""
    path = ROLES / role / "meta" / "argument_specs.yml"
    if not path.is_file():
        return frozenset()
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    specs = yaml.load(path.read_text(encoding="utf-8"), Loader=loader)["argument_specs"]
    return frozenset(name for entry in specs.values() for name in entry.get("options") or ())


def described_in(name: str, roles: Iterable[str]) -> str:
    """Return the command or the page with the documentation of a variable; ``roles`` are searched first."""
    for role in (*roles, *sorted(path.name for path in ROLES.iterdir() if path.is_dir())):
        if name in options_of(role):
            return f"`ansible-doc --type role olap.partmove.{role}`"
    return f"{PAGE} of the collection"
