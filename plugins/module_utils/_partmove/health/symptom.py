# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A symptom: something that is not well with a replica, how to see it, and the way out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from .facts import HealthFacts


class Severity(Enum):
    """How bad a symptom is, worst first."""

    ERROR = "error"
    """Something is lost, or does not work now. The server is not healthy."""
    WARNING = "warning"
    """It works, and somebody should look."""
    NOTICE = "notice"
    """It works as it should, and is told because somebody may want to know."""


class Occurrence(NamedTuple):
    """One place where a symptom shows: a table, a znode or the server, and what is the matter with it."""

    where: str
    what: str


class Finding(NamedTuple):
    """What is told about a symptom that was seen."""

    symptom: str
    severity: str
    where: str
    what: str
    see: str
    remedy: str


@dataclass(frozen=True)
class Symptom:
    """A row of the table of symptoms.

    meaning: a sentence for people; see: where a person finds it; remedy: a sentence without its full stop.
    """

    name: str
    severity: Severity
    meaning: str
    see: str
    remedy: str
    look: Callable[[HealthFacts], Iterable[Occurrence]]

    def findings(self, facts: HealthFacts) -> list[Finding]:
        """Every place where it shows, sorted."""
        return [
            Finding(self.name, self.severity.value, where, what, self.see, self.remedy)
            for where, what in sorted(self.look(facts))
        ]
