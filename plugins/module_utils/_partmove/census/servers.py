# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The answers of ClickHouse servers for a census: the replicas of each server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ..text import count_of, first_few
from .table import ReplicaCensus, TableCensus

ANY_PARTITION = ""
"""Partition id of detached parts whose partition the server does not know."""


class PartitionUse(NamedTuple):
    """A partition that has no active part in a table, but is still needed on a server."""

    shard_path: str
    partition_id: str
    """`ANY_PARTITION` for all partitions of the table."""
    reason: str
    """Why the partition is needed, a sentence without full stop."""


class ServerAnswer(NamedTuple):
    """The answer of a server."""

    label: str
    """The name of the server in messages."""
    replicas: Sequence[tuple[str, str]] = ()
    """Shard path and name of each replica in system.replicas."""
    problem: str = ""
    """Why the server did not answer, a sentence without full stop; empty after an answer."""
    hidden: str = ""
    """Why the server may have further tables, a sentence without full stop; empty if it has none."""
    detached: Sequence[str] | None = None
    """Names of detached tables; None if the server cannot list detached tables."""
    version: tuple[int, int] = (0, 0)
    """Year and month of the version, such as (20, 5)."""
    uses: Sequence[PartitionUse] | None = None
    """Partitions that are needed without an active part; None if the server cannot list these."""


class Servers:
    """The answers of all queried servers, compared with the tables of an ensemble."""

    def __init__(self, answers: Sequence[ServerAnswer], tables: Mapping[str, TableCensus]) -> None:
        """Compare the answers with the tables. The servers must be queried after the census."""
        self.asked = len(answers)
        self.answers = tuple(answers)
        self._holders: dict[tuple[str, str], list[str]] = {}
        self._with_table: dict[str, dict[str, ServerAnswer]] = {}
        self._by_host: dict[str, str] = {}
        for answer in answers:
            for path, replica in answer.replicas:
                self._holders.setdefault((path, replica), []).append(answer.label)
                self._with_table.setdefault(path, {})[answer.label] = answer
                self._add_host(tables.get(path), replica, answer.label)
        has_none = bool(tables) and self._with_table.keys().isdisjoint(tables)
        partial = [path for path, table in sorted(tables.items()) if not table.is_whole]
        self.unjudged = _why_not_judged(answers, self._why_unnamed(tables), partial, has_none=has_none)
        """Why tables on no server are unknown, in sentences without the last full stop; empty if known."""

    def has_table(self, shard_path: str) -> bool:
        """Whether an answer has a replica of the table."""
        return shard_path in self._with_table

    def has_replica(self, shard_path: str, replica: str) -> bool:
        """Whether an answer has the replica."""
        return (shard_path, replica) in self._holders

    def with_table(self, shard_path: str) -> list[ServerAnswer]:
        """Return the answers with a replica of the table."""
        return list(self._with_table.get(shard_path, {}).values())

    def answered_at(self, host: str) -> bool:
        """Whether the host in a replica's znode is the host of a replica that a queried server has."""
        return host in self._by_host

    def sentence_about_table(self, shard_path: str) -> str:
        """Return a sentence that names the servers of the table."""
        return self._sentence(sorted(self._with_table.get(shard_path, ())), "the table")

    def sentence_about_replica(self, shard_path: str, replica: str) -> str:
        """Return a sentence that names the servers of the replica."""
        return self._sentence(self._holders.get((shard_path, replica), []), "the replica")

    def _add_host(self, table: TableCensus | None, name: str, label: str) -> None:
        replica = None if table is None else table.replicas.get(name)
        if replica is not None and replica.host:
            self._by_host[replica.host] = label

    def _sentence(self, labels: Sequence[str], what: str) -> str:
        if labels:
            return f"{first_few(labels)} {'has' if len(labels) == 1 else 'have'} {what} in system.replicas."
        if self.unjudged:
            return f"Whether a server has {what} was not judged: {self.unjudged}."
        of = (
            "The queried server does not have"
            if self.asked == 1
            else f"None of the {self.asked} queried servers has"
        )
        return f"{of} {what} in system.replicas."

    def _why_unnamed(self, tables: Mapping[str, TableCensus]) -> str:
        """Return why a replica with a session is in no answer; empty if there is no such replica."""
        unnamed = list(self._unnamed(tables))
        if not unnamed:
            return ""
        path, replica = unnamed[0]
        such = f"{count_of(len(unnamed), 'replica')} with a session, such as {replica.name} of {path},"
        for path, replica in unnamed:
            label = self._by_host.get(replica.host)
            if label is not None:
                return (
                    f"{such} {'is' if len(unnamed) == 1 else 'are'} in no answer, although the znode host of"
                    f" {replica.name} of {path} names a server that was queried, {label}: the user may not"
                    " see all tables, or the table was created or dropped meanwhile. GRANT SHOW TABLES ON *.*"
                    " to the user, remove row policies and allow_databases of the user, and take the census"
                    " again"
                )
        return (
            f"{such} {'is' if len(unnamed) == 1 else 'are'} on none of the queried servers: some servers were"
            " not named, the user may not see all tables, or the table was created or dropped meanwhile."
            " Name all servers, and take the census again"
        )

    def _unnamed(self, tables: Mapping[str, TableCensus]) -> Iterator[tuple[str, ReplicaCensus]]:
        """Yield the replicas with a session that are in no answer."""
        for path, table in sorted(tables.items()):
            for replica in table.replicas.values():
                is_held = (path, replica.name) in self._holders
                if (
                    replica.has_session
                    and not is_held
                    and not self._is_table_below(f"{path}/replicas/{replica.name}")
                ):
                    yield path, replica

    def _is_table_below(self, path: str) -> bool:
        """Whether a server has another table at or below the path of a replica."""
        return any(f"{each}/".startswith(f"{path}/") for each in self._with_table)


def _why_not_judged(
    answers: Sequence[ServerAnswer], unnamed: str, partial: Sequence[str], *, has_none: bool
) -> str:
    silent = [answer.problem for answer in answers if answer.problem]
    if silent:
        of = f"{len(silent)} of {count_of(len(answers), 'server')} did not answer"
        return f"{of}. {silent[0]}" if len(silent) == 1 else f"{of}. The first: {silent[0]}"
    hidden = [answer.hidden for answer in answers if answer.hidden]
    if hidden:
        return hidden[0]
    if unnamed:
        return unnamed
    if partial:
        tables = f"{count_of(len(partial), 'table')} {'has' if len(partial) == 1 else 'have'}"
        return (
            f"{tables} unreadable znodes, such as {partial[0]}, which may hide replicas"
            " with a session on servers that were not named. Give an identity that may read these znodes"
        )
    if has_none:
        return (
            "No queried server has a table of this ensemble. Name servers that use this ensemble, and check"
            " that the chroot is theirs"
        )
    return ""
