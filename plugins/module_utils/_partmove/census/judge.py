# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Judges a census: finds superfluous znodes and gives advice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ..formats.sql import literal
from ..text import first_few, format_time
from .advice import Advice, AdviceKind
from .census import Census
from .kind import ZnodeKind
from .servers import Servers
from .table import NEVER, ReplicaCensus, TableCensus

_MILLISECONDS = 1000
_DDL_SECONDS = 14 * 86_400
_MOST_STATEMENTS = 5
_LAST = 253_402_300_799_999
_SEE_QUEUE = (
    "SELECT database, table, type, new_part_name, num_tries, last_exception, postpone_reason"
    " FROM system.replication_queue ORDER BY create_time LIMIT 10"
)


class CensusLimits(NamedTuple):
    """Values above a limit lead to advice. Times are in seconds."""

    inactive_after: int = 7 * 86_400
    """Time without a write of a replica without a session."""
    stuck_after: int = 86_400
    """Age of a queue entry, of an unfinished mutation, and of the last change of a table on no server."""
    unused_after: int = 30 * 86_400
    """Age of a partition without parts."""
    queue_length: int = 1_000
    """Entries of a queue."""
    log_entries: int = 100
    """Entries of a log needed only by replicas without a session."""
    deduplication_window: int = 1_000
    """Hashes of blocks kept by servers; up to twice as many are normal."""
    finished_mutations_to_keep: int = 100
    """Finished mutations kept by servers; up to twice as many are normal."""
    ddl_tasks: int = 1_000
    """Tasks of distributed DDL kept by servers."""


def judge(census: Census, limits: CensusLimits, now: int, servers: Servers | None = None) -> list[Advice]:
    """Return all advice, sorted by saved znodes, the largest first.

    now: the time in milliseconds since 1970. servers: the answers of the queried servers, None without a
    query.
    """
    advice = [*_judge_ddl(census, limits, now)]
    for table in census.tables.values():
        advice += _TableJudge(table, limits, now, servers).advice()
    return sorted(advice, key=lambda each: (-each.znodes, each.kind.value, each.path, each.replica))


class _TableJudge:
    def __init__(self, table: TableCensus, limits: CensusLimits, now: int, servers: Servers | None) -> None:
        self._table = table
        self._limits = limits
        self._now = now
        self._servers = servers
        self._replicas = [table.replicas[name] for name in sorted(table.replicas)]
        self._running = [each for each in self._replicas if each.has_session]

    def advice(self) -> Iterator[Advice]:
        """Yield all advice about the table.

        - A table on no server, or without a session, gets no advice about its parts.
        - A table with unreadable znodes gets only advice that the unread znodes cannot contradict.
        """
        yield from self._legacy_headers()
        if not self._table.is_whole:
            return
        if self._is_on_no_server():
            yield self._about_table(AdviceKind.TABLE_ON_NO_SERVER)
            return
        if self._is_abandoned():
            yield self._about_table(AdviceKind.TABLE_WITHOUT_SESSION)
            return
        for replica in self._replicas:
            yield from self._replica(replica)
        yield from self._log_held()
        yield from self._blocks()
        yield from self._mutations()
        yield from self._partitions()

    def _legacy_headers(self) -> Iterator[Advice]:
        kinds = self._table.kinds
        if ZnodeKind.PART_CHILD in kinds:
            children, parts = kinds[ZnodeKind.PART_CHILD].znodes, kinds[ZnodeKind.PART].znodes
            yield self._advice(
                AdviceKind.LEGACY_HEADERS,
                children,
                f"{children:,} of its znodes are columns and checksums of {parts:,} registered parts.",
                ("<use_minimalistic_part_header_in_zookeeper>1</use_minimalistic_part_header_in_zookeeper>",),
            )

    def _is_abandoned(self) -> bool:
        if not self._replicas:
            return self._is_older(self._table.created, self._limits.inactive_after)
        return all(self._is_away(replica, self._limits.inactive_after) for replica in self._replicas)

    def _is_away(self, replica: ReplicaCensus, seconds: int) -> bool:
        """Whether the replica has no session, and has written nothing for the seconds."""
        return not replica.has_session and self._is_older(replica.last_change, seconds)

    def _is_on_no_server(self) -> bool:
        """Whether all servers lack the table, no replica has a session, and the last change is old.

        The age matters because a new table has znodes before a server lists it.
        """
        servers = self._servers
        if servers is None or servers.unjudged or self._running:
            return False
        is_old = self._is_older(self._table.last_change, self._limits.stuck_after)
        return is_old and not servers.has_table(self._table.shard_path)

    def _about_table(self, kind: AdviceKind) -> Advice:
        replicas = first_few(each.name for each in self._replicas)
        since = shown_time(max((each.last_change for each in self._replicas), default=0))
        evidence = (
            f"None of its {len(self._replicas)} replicas ({replicas}) has is_active, and the last change of"
            f" a replica was at {since}."
            if self._replicas
            else "It has no replica."
        )
        if self._servers is not None:
            evidence = f"{evidence} {self._servers.sentence_about_table(self._table.shard_path)}"
        return self._advice(
            kind,
            self._table.total.znodes,
            evidence,
            tuple(_drop_replica(each.name, self._table.shard_path) for each in self._replicas),
        )

    def _replica(self, replica: ReplicaCensus) -> Iterator[Advice]:
        if self._is_away(replica, self._limits.inactive_after):
            lost = ", and other replicas count it as lost" if replica.is_lost else ""
            servers = self._servers
            path = self._table.shard_path
            sentence = "" if servers is None else servers.sentence_about_replica(path, replica.name)
            yield self._advice(
                AdviceKind.REPLICA_WITHOUT_SESSION,
                replica.total.znodes,
                f"It has no is_active, its last change was at {shown_time(replica.last_change)},"
                f" and log_pointer is {replica.log_pointer}{lost}. {sentence}".rstrip(),
                (_drop_replica(replica.name, path),),
                replica.name,
            )
        is_stuck = self._is_older(replica.oldest_queued, self._limits.stuck_after)
        if replica.has_session and (replica.queued > self._limits.queue_length or is_stuck):
            yield self._advice(
                AdviceKind.LONG_QUEUE,
                replica.queued,
                f"Its queue has {replica.queued:,} entries, the oldest of"
                f" {shown_time(replica.oldest_queued)}.",
                (_SEE_QUEUE,),
                replica.name,
            )

    def _log_held(self) -> Iterator[Advice]:
        away = [each for each in self._replicas if self._is_away(each, self._limits.stuck_after)]
        away = [each for each in away if not each.is_lost]
        if not away or not self._running:
            return
        needed = min(each.log_pointer for each in self._running)
        kept_from = min(each.log_pointer for each in away)
        held = sum(1 for number in self._table.log if kept_from <= number < needed)
        if held > self._limits.log_entries:
            names = first_few(each.name for each in away if each.log_pointer < needed)
            yield self._advice(
                AdviceKind.LOG_HELD,
                held,
                f"Only {names} need {held:,} of the {len(self._table.log):,} entries of its log: their"
                " log_pointer"
                f" is from {kept_from} on, the log_pointer of the other replicas from {needed} on.",
            )

    def _blocks(self) -> Iterator[Advice]:
        window = self._limits.deduplication_window
        if self._table.blocks > 2 * window:
            yield self._advice(
                AdviceKind.MANY_BLOCKS,
                self._table.blocks - window,
                f"It has {self._table.blocks:,} hashes of blocks; the limit is {window:,}.",
                ("ALTER TABLE … MODIFY SETTING replicated_deduplication_window = …",),
            )

    def _mutations(self) -> Iterator[Advice]:
        mutations = self._table.mutations
        behind = {name: self._behind(name) for name in sorted(mutations)}
        old = [
            name
            for name, replicas in behind.items()
            if replicas and self._is_older(mutations[name], self._limits.stuck_after)
        ]
        if old:
            yield self._advice(
                AdviceKind.MUTATION_UNFINISHED,
                len(old),
                f"{first_few(old)} of {shown_time(mutations[old[0]])} and later: by mutation_pointer, not"
                f" finished by {first_few(behind[old[0]])}.",
                tuple(
                    f"KILL MUTATION WHERE database = '…' AND table = '…' AND mutation_id = {literal(name)}"
                    for name in old[:_MOST_STATEMENTS]
                ),
            )
        pointers = [each.mutation_pointer for each in self._replicas]
        finished = sum(1 for name in mutations if pointers and name <= min(pointers))
        keep = self._limits.finished_mutations_to_keep
        if keep and finished > 2 * keep:
            yield self._advice(
                AdviceKind.MUTATIONS_KEPT,
                finished - keep,
                f"It has {finished:,} mutations finished by all replicas; the limit is {keep:,}.",
            )

    def _behind(self, mutation: str) -> Sequence[str]:
        """Return the replicas with a session that have not finished the mutation.

        Names of mutations have leading zeros, so they compare like numbers.
        """
        return [each.name for each in self._running if each.mutation_pointer < mutation]

    def _partitions(self) -> Iterator[Advice]:
        partitions = self._table.partitions_without_part()
        old = sorted(
            name for name, created in partitions.items() if self._is_older(created, self._limits.unused_after)
        )
        if old:
            oldest = shown_time(min(partitions[name] for name in old))
            yield self._advice(
                AdviceKind.PARTITIONS_GONE,
                len(old),
                f"{len(old):,} partitions have no part and no State: {first_few(old)}; the first insert into"
                f" the oldest was at {oldest}.",
                tuple(
                    f"ALTER TABLE … FORGET PARTITION ID {literal(name)}" for name in old[:_MOST_STATEMENTS]
                ),
            )

    def _is_older(self, time: int, seconds: int) -> bool:
        return time != NEVER and self._now - time > seconds * _MILLISECONDS

    def _advice(
        self,
        kind: AdviceKind,
        znodes: int,
        evidence: str,
        statements: tuple[str, ...] = (),
        replica: str = "",
    ) -> Advice:
        return Advice(kind, self._table.shard_path, replica, znodes, evidence, statements)


def _judge_ddl(census: Census, limits: CensusLimits, now: int) -> Iterator[Advice]:
    if not census.is_ddl_whole:
        return
    created: Mapping[str, int] = {name: task.created for name, task in census.tasks.items()}
    too_many = sorted(created)[: max(0, len(created) - limits.ddl_tasks)]
    too_old = [name for name, time in created.items() if now - time > _DDL_SECONDS * _MILLISECONDS]
    superfluous = {*too_many, *too_old}
    if superfluous:
        yield Advice(
            AdviceKind.DDL_QUEUE,
            census.ddl_path,
            "",
            sum(census.tasks[name].znodes for name in superfluous),
            f"It has {len(created):,} tasks, the oldest of {shown_time(min(created.values()))};"
            f" {len(superfluous):,} are beyond the newest {limits.ddl_tasks:,} or older than two weeks.",
        )


def shown_time(milliseconds: int) -> str:
    """Format milliseconds since 1970. Times outside of the calendar become its first or last time.

    >>> shown_time(1_795_212_900_000), shown_time(2**62)
    ('2026-11-20T22:15:00.000Z', '9999-12-31T23:59:59.999Z')
    """
    return format_time(min(max(milliseconds, 0), _LAST))


def _drop_replica(replica: str, shard_path: str) -> str:
    return f"SYSTEM DROP REPLICA {literal(replica)} FROM ZKPATH {literal(shard_path)}"
