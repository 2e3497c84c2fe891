# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Proves that no INSERT that began before an exchange of names is still on its way on a server.

An INSERT passes through up to three stations, and each must be empty after the one before it:

1. a statement in progress, which resolved the name when it began;
2. the queue of asynchronous inserts, whose entries keep the table that had the name;
3. work in the background, which no server lists as a statement: flushes of the queue and of Buffer tables,
   and consumers such as Kafka.

Only the statements have a time. Of the other two, everything that is seen after the last older statement has
ended counts as older, until it was not seen once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class InsertsInProgress(NamedTuple):
    """What may still insert on a server: names that identify each of them → texts for people.

    The stations are read in this order, so that nothing passes unseen from one to the next.
    """

    statements: Mapping[str, str]
    """Statements that began before the exchange, and are not proven to insert nothing."""
    queued: Mapping[str, str]
    """Asynchronous inserts into one of the two tables."""
    background: Mapping[str, str]
    """Work in the background that inserts, whatever the tables."""


class OlderInserts:
    """Observes a server until it has no older insert any more. Starts anew in each run."""

    def __init__(self) -> None:
        self._queued: Mapping[str, str] | None = None
        self._background: Mapping[str, str] | None = None
        self.remaining: Sequence[str] = ()
        """What may still insert, for people, by the last observation."""

    def observe(self, seen: InsertsInProgress) -> bool:
        """Return whether everything that began before the exchange has ended."""
        self.remaining = [*seen.statements.values(), *seen.queued.values(), *seen.background.values()]
        if seen.statements:
            self._queued = self._background = None
            return False
        self._queued = _seen_again(self._queued, seen.queued)
        if self._queued:
            self._background = None
            self.remaining = [*self._queued.values(), *seen.background.values()]
            return False
        self._background = _seen_again(self._background, seen.background)
        self.remaining = list(self._background.values())
        return not self._background


def _seen_again(before: Mapping[str, str] | None, now: Mapping[str, str]) -> Mapping[str, str]:
    return now if before is None else {name: text for name, text in now.items() if name in before}
