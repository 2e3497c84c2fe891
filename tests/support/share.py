# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which cases of a test run in `make test`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

EVERY = "*"
"""Stands for each test of a file that has no entry of its own."""


class Share(NamedTuple):
    """Which cases of a test run in `make test`, and why the others do not."""

    reason: str
    one_of: int = 0
    """Every so manieth case, counted along each parameter; 1 for all, 0 for none."""
    stay: Sequence[str] = ()
    """Ids of cases that run besides."""

    def has(self, place: int, case: str) -> bool:
        """Whether a case runs in `make test`. place: see `places`. case: the id of its parameters."""
        return (bool(self.one_of) and place % self.one_of == 0) or case in self.stay


def places(cases: Sequence[Mapping[str, object]]) -> list[int]:
    """Return for each case of a test the sum of the places of its values among those of their parameters.

    So every so manieth place has each value of each parameter. Parameters that change together count once.

    cases: parameter → value, of all cases in their order. What pytest calls indices are numbers of cases.
    """
    columns: set[tuple[int, ...]] = set()
    for name in cases[0] if cases else ():
        # The cases have the very objects of the list of values.
        seen: dict[int, int] = {}
        columns.add(tuple([seen.setdefault(id(case[name]), len(seen)) for case in cases]))
    return [sum(column[number] for column in columns) for number in range(len(cases))]
