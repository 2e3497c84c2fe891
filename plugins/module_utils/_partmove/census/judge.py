# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Judges a census: finds superfluous znodes and gives advice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..formats.sql import literal
from ..text import count_of, first_few, shown_time
from .advice import Advice, AdviceKind
from .census import Census
from .kind import ZnodeKind
from .queues import judge_queues
from .removal import Removal, drop_replica, drop_table, forget_partitions, needed_partitions
from .servers import Servers
from .settings import CensusLimits
from .table import NEVER, ReplicaCensus, TableCensus

_MILLISECONDS = 1000
_MOST_STATEMENTS = 5
_SEE_QUEUE = (
    "SELECT database, table, type, new_part_name, num_tries, last_exception, postpone_reason"
    " FROM system.replication_queue ORDER BY create_time LIMIT 10"
)


def judge(census: Census, limits: CensusLimits, now: int, servers: Servers | None = None) -> list[Advice]:
    """Return all advice, sorted by saved znodes, the largest first.

    now: the time in milliseconds since 1970. servers: the answers of the queried servers, None without a
    query.
    """
    advice = list(judge_queues(census, limits, now))
    for table in census.tables.values():
        advice += _TableJudge(table, limits, now, servers).advice()
    return sorted(advice, key=lambda each: (-each.znodes, each.kind.value, each.path, each.replica))


class _TableJudge:
    def __init__(self, table: TableCensus, limits: CensusLimits, now: int, servers: Servers | None) -> None:
        self._table = table
        self._limits = limits
        self._now = now
        self._servers = servers
        self._replicas = [
            table.replicas[name] for name in sorted(table.replicas) if not _is_of_table_below(table, name)
        ]
        self._running = [each for each in self._replicas if each.has_session]

    def advice(self) -> Iterator[Advice]:
        """Yield all advice about the table.

        - A table on no server, or without a session, gets no advice about its parts.
        - A table with unreadable znodes gets only advice that the unread znodes cannot contradict.
        """
        yield from self._legacy_headers()
        yield from self._tables_below()
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
        yield from self._log_passed()
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

    def _tables_below(self) -> Iterator[Advice]:
        below = self._table.tables_below
        if below:
            yield self._advice(
                AdviceKind.TABLE_BELOW_TABLE,
                len(below),
                f"Below it are {first_few(below)}. The census did not judge the tables below it.",
            )

    def _is_abandoned(self) -> bool:
        if ZnodeKind.EPHEMERAL in self._table.kinds:
            return False
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
        if servers is None or servers.unjudged or ZnodeKind.EPHEMERAL in self._table.kinds:
            return False
        is_old = self._is_older(self._table.last_change, self._limits.stuck_after)
        return is_old and not servers.has_table(self._table.shard_path)

    def _about_table(self, kind: AdviceKind) -> Advice:
        replicas = first_few(each.name for each in self._replicas)
        since = shown_time(max((each.last_change for each in self._replicas), default=0))
        evidence = (
            f"It has {count_of(len(self._replicas), 'replica')} without is_active ({replicas}), and the last"
            f" change of a replica was at {since}."
            if self._replicas
            else "It has no replica."
        )
        if self._servers is not None:
            evidence = f"{evidence} {self._servers.sentence_about_table(self._table.shard_path)}"
        removal = drop_table(self._table, self._servers)
        return self._removal(kind, self._table.total.znodes, evidence, removal)

    def _replica(self, replica: ReplicaCensus) -> Iterator[Advice]:
        if self._is_away(replica, self._limits.inactive_after):
            lost = ", and other replicas count it as lost" if replica.is_lost else ""
            servers = self._servers
            path = self._table.shard_path
            sentence = "" if servers is None else servers.sentence_about_replica(path, replica.name)
            yield self._removal(
                AdviceKind.REPLICA_WITHOUT_SESSION,
                replica.total.znodes,
                f"It has no is_active, its last change was at {shown_time(replica.last_change)},"
                f" and log_pointer is {replica.log_pointer}{lost}. {sentence}".rstrip(),
                drop_replica(self._table, replica, servers),
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

    def _log_passed(self) -> Iterator[Advice]:
        reading = [each.log_pointer for each in self._replicas if not each.is_lost]
        if not reading:
            return
        needed = min(reading)
        passed = sum(1 for number in self._table.log if number < needed)
        if passed > self._limits.passed_log_entries:
            yield self._advice(
                AdviceKind.LOG_PASSED,
                passed,
                f"{passed:,} of the {len(self._table.log):,} entries of its log are before {needed}, the"
                " smallest log_pointer of its replicas: no replica needs these entries.",
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
        needed = needed_partitions(self._table, old, self._servers)
        gone = [name for name in old if name not in needed]
        if gone:
            oldest = shown_time(min(partitions[name] for name in gone))
            more = (
                f" {len(needed):,} further partitions without a part are needed, such as {min(needed)}:"
                f" {needed[min(needed)]}."
                if needed
                else ""
            )
            yield self._removal(
                AdviceKind.PARTITIONS_GONE,
                len(gone),
                f"{count_of(len(gone), 'partition')} without a part and without State: {first_few(gone)}; the"
                f" first insert into the oldest was at {oldest}.{more}",
                forget_partitions(self._table, gone, self._servers),
            )

    def _is_older(self, time: int, seconds: int) -> bool:
        return time != NEVER and self._now - time > seconds * _MILLISECONDS

    def _removal(
        self, kind: AdviceKind, znodes: int, evidence: str, removal: Removal, replica: str = ""
    ) -> Advice:
        evidence = f"{evidence} {removal.missing or removal.condition}".rstrip()
        return self._advice(kind, znodes, evidence, removal.statements, replica)

    def _advice(
        self,
        kind: AdviceKind,
        znodes: int,
        evidence: str,
        statements: tuple[str, ...] = (),
        replica: str = "",
    ) -> Advice:
        return Advice(kind, self._table.shard_path, replica, znodes, evidence, statements)


def _is_of_table_below(table: TableCensus, replica: str) -> bool:
    """Whether the child of ``replicas`` is the shard path of another table, or a parent of one."""
    path = f"{table.shard_path}/replicas/{replica}/"
    return any(f"{each}/".startswith(path) for each in table.tables_below)
