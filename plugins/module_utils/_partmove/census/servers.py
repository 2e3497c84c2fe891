# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The answers of ClickHouse servers for a census: the replicas of each server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..text import first_few
from .table import TableCensus


class ServerAnswer(NamedTuple):
    """The answer of a server."""

    label: str
    """The name of the server in messages."""
    replicas: Sequence[tuple[str, str]] = ()
    """Shard path and name of each replica in system.replicas."""
    problem: str = ""
    """Why the server did not answer, a sentence without full stop; empty after an answer."""


class Servers:
    """The answers of all queried servers, compared with the tables of an ensemble."""

    def __init__(self, answers: Sequence[ServerAnswer], tables: Mapping[str, TableCensus]) -> None:
        """Compare the answers with the tables. The servers must be queried after the census."""
        self.asked = len(answers)
        self._holders: dict[tuple[str, str], list[str]] = {}
        self._with_table: dict[str, set[str]] = {}
        for answer in answers:
            for path, replica in answer.replicas:
                self._holders.setdefault((path, replica), []).append(answer.label)
                self._with_table.setdefault(path, set()).add(answer.label)
        has_none = bool(tables) and self._with_table.keys().isdisjoint(tables)
        partial = [path for path, table in sorted(tables.items()) if not table.is_whole]
        self.unjudged = _why_not_judged(answers, self._unnamed(tables), partial, has_none=has_none)
        """Why tables on no server are unknown, in sentences without the last full stop; empty if known."""

    def has_table(self, shard_path: str) -> bool:
        """Whether an answer has a replica of the table."""
        return shard_path in self._with_table

    def sentence_about_table(self, shard_path: str) -> str:
        """Return a sentence that names the servers of the table."""
        return self._sentence(sorted(self._with_table.get(shard_path, ())), "the table")

    def sentence_about_replica(self, shard_path: str, replica: str) -> str:
        """Return a sentence that names the servers of the replica."""
        return self._sentence(self._holders.get((shard_path, replica), []), "the replica")

    def _sentence(self, labels: Sequence[str], what: str) -> str:
        if labels:
            return f"{first_few(labels)} {'has' if len(labels) == 1 else 'have'} {what} in system.replicas."
        if self.unjudged:
            return f"Whether a server has {what} was not judged: {self.unjudged}."
        return f"None of the {self.asked} queried servers has {what} in system.replicas."

    def _unnamed(self, tables: Mapping[str, TableCensus]) -> list[str]:
        """Return the replicas with a session that no queried server has; other servers have them."""
        return [
            f"{replica.name} of {path}"
            for path, table in sorted(tables.items())
            for replica in table.replicas.values()
            if replica.has_session and (path, replica.name) not in self._holders
        ]


def _why_not_judged(
    answers: Sequence[ServerAnswer], unnamed: Sequence[str], partial: Sequence[str], *, has_none: bool
) -> str:
    silent = [answer.problem for answer in answers if answer.problem]
    if silent:
        of = f"{len(silent)} of {len(answers)} servers did not answer"
        return f"{of}. {silent[0]}" if len(silent) == 1 else f"{of}. The first: {silent[0]}"
    if unnamed:
        return (
            f"{len(unnamed)} replicas with a session are on none of the queried servers, such as"
            f" {unnamed[0]}:"
            " some servers were not named, or the table was created or dropped meanwhile. Name all servers,"
            " and take the census again"
        )
    if partial:
        return (
            f"{len(partial)} tables have unreadable znodes, such as {partial[0]}, which may hide replicas"
            " with a session on servers that were not named. Give an identity that may read these znodes"
        )
    if has_none:
        return (
            "No queried server has a table of this ensemble. Name servers that use this ensemble, and check"
            " that the chroot is theirs"
        )
    return ""
