# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A mutant: one small change that makes the protocol unsafe, and the tests that have to notice it."""

from __future__ import annotations

from typing import NamedTuple

DOMAIN = "plugins/module_utils/_partmove"
TESTS = "tests/unit/plugins/module_utils/_partmove"


class Mutant(NamedTuple):
    """One change of one file of the domain.

    name: what is unsafe about the changed code.
    file: the file, below `DOMAIN`.
    old: text that is in the file exactly once; new: what stands there in its place.
    tests: those that have to fail, as pytest names them, below `TESTS`.
    about_text: whether the words of a message are what is unsafe; otherwise a test of words kills nothing.
    line: that of a change that a program made, which may end in a crash or hang; 0 for a written one.
    """

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    about_text: bool = False
    line: int = 0

    @property
    def generated(self) -> bool:
        """Whether a program made the change."""
        return self.line > 0

    @property
    def path(self) -> str:
        """The file, from the root of the repository."""
        return f"{DOMAIN}/{self.file}"

    @property
    def node_ids(self) -> tuple[str, ...]:
        """The tests, from the root of the repository."""
        return tuple(f"{TESTS}/{test}" for test in self.tests)


class Stale(Exception):
    """The list of mutants does not fit the code or the tests any more."""


def applied(mutant: Mutant, source: str) -> str:
    """The source with the change. Raises Stale where the text is not there exactly once."""
    count = source.count(mutant.old)
    if count != 1:
        raise Stale(
            f"The mutant {mutant.name!r} is stale: what it replaces is {count} times in {mutant.path};"
            " write anew what would be unsafe there, or take the mutant out if nothing is"
        )
    if mutant.new == mutant.old:
        raise Stale(f"The mutant {mutant.name!r} changes nothing")
    return source.replace(mutant.old, mutant.new)
