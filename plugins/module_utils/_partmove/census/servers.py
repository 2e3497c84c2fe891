# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What ClickHouse servers say of the tables of a census: which of them have which replica."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..text import first_few
from .table import TableCensus


class ServerAnswer(NamedTuple):
    """What one server said."""

    label: str
    """The server, as messages name it."""
    replicas: Sequence[tuple[str, str]] = ()
    """Shard path and name of each replica that it has, as in system.replicas."""
    problem: str = ""
    """Why it did not answer, a sentence without its full stop; empty where it did."""


class Servers:
    """The answers of all servers that were asked, beside the tables that an ensemble has."""

    def __init__(self, answers: Sequence[ServerAnswer], tables: Mapping[str, TableCensus]) -> None:
        """Take the answers, which are of a moment after that of the census."""
        self.asked = len(answers)
        self._on: dict[tuple[str, str], list[str]] = {}
        self._with_table: dict[str, set[str]] = {}
        for answer in answers:
            for path, replica in answer.replicas:
                self._on.setdefault((path, replica), []).append(answer.label)
                self._with_table.setdefault(path, set()).add(answer.label)
        knows_none = bool(tables) and self._with_table.keys().isdisjoint(tables)
        partial = [path for path, table in sorted(tables.items()) if not table.is_whole]
        self.unjudged = _why_not_judged(answers, self._unnamed(tables), partial, knows_none=knows_none)
        """Why it is not known what no server has, in sentences without the last full stop; else empty."""

    def has_table(self, shard_path: str) -> bool:
        """Whether a server that answered has a replica of the table."""
        return shard_path in self._with_table

    def told_of_table(self, shard_path: str) -> str:
        """A sentence that says which servers have the table."""
        return self._told(sorted(self._with_table.get(shard_path, ())), "the table")

    def told_of_replica(self, shard_path: str, replica: str) -> str:
        """A sentence that says which servers have the replica."""
        return self._told(self._on.get((shard_path, replica), []), "the replica")

    def _told(self, labels: Sequence[str], what: str) -> str:
        if labels:
            return f"{first_few(labels)} {'has' if len(labels) == 1 else 'have'} {what} in system.replicas."
        if self.unjudged:
            return f"Whether a server has {what} was not judged: {self.unjudged}."
        return f"Of the {self.asked} servers that were asked none has {what} in system.replicas."

    def _unnamed(self, tables: Mapping[str, TableCensus]) -> list[str]:
        """Replicas with a session that no server has: that of a server that was not asked."""
        return [
            f"{replica.name} of {path}"
            for path, table in sorted(tables.items())
            for replica in table.replicas.values()
            if replica.has_session and (path, replica.name) not in self._on
        ]


def _why_not_judged(
    answers: Sequence[ServerAnswer], unnamed: Sequence[str], partial: Sequence[str], *, knows_none: bool
) -> str:
    silent = [answer.problem for answer in answers if answer.problem]
    if silent:
        of = f"{len(silent)} of {len(answers)} servers did not answer"
        return f"{of}. {silent[0]}" if len(silent) == 1 else f"{of}. The first: {silent[0]}"
    if unnamed:
        return (
            f"{len(unnamed)} replicas with a session are on no server that was asked, such as {unnamed[0]}:"
            " there are servers that were not named, or the table was made or dropped meanwhile. Name all"
            " servers, and take the census again"
        )
    if partial:
        return (
            f"{len(partial)} tables have znodes that may not be read, such as {partial[0]}: replicas with a"
            " session, of servers that were not named, may be among them. Give an identity that may read them"
        )
    if knows_none:
        return (
            "No server that was asked has any table of this ensemble. Name servers that use it, and see that"
            " the chroot is theirs"
        )
    return ""
