# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A symptom: a problem of a replica, with the place to check and the remedy."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from .facts import HealthFacts


class Severity(Enum):
    """How bad a symptom is, worst first."""

    ERROR = "error"
    """Data is lost, or a function does not work now. The server is not healthy."""
    WARNING = "warning"
    """The server works, and the operator should check the finding."""
    NOTICE = "notice"
    """The server works as it should; the finding is for information."""


class Occurrence(NamedTuple):
    """One place with a symptom (a table, a znode or the server), and the problem there."""

    where: str
    what: str


class Finding(NamedTuple):
    """A symptom at one place, as listed in the report."""

    symptom: str
    severity: str
    where: str
    what: str
    see: str
    remedy: str


@dataclass(frozen=True)
class Symptom:
    """A row of the table of symptoms.

    meaning: a sentence; see: the place to check; remedy: a sentence without its full stop.
    find: yields the occurrences in the facts of a server.
    """

    name: str
    severity: Severity
    meaning: str
    see: str
    remedy: str
    find: Callable[[HealthFacts], Iterable[Occurrence]]

    def findings(self, facts: HealthFacts) -> list[Finding]:
        """Return one finding for every place with the symptom, sorted."""
        return [
            Finding(self.name, self.severity.value, where, what, self.see, self.remedy)
            for where, what in sorted(self.find(facts))
        ]
