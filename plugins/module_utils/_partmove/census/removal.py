# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decides whether a statement that deletes znodes may be given, and states what is missing otherwise.

Everything that was not checked counts as missing. What no server can tell is the condition of the statements.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from ..formats.sql import literal
from ..text import first_few
from .kind import ZnodeKind
from .servers import ANY_PARTITION, Servers
from .table import ReplicaCensus, TableCensus

_DROPS_REPLICAS = (20, 5)
_FORGETS_PARTITIONS = (24, 2)
_PATCHES = "patch-"
_MOST_STATEMENTS = 5
_MOST_REASONS = 5
_ON_A_SERVER = "A server has it. Find out there why it has no session: is_readonly in system.replicas."
COMPARE_DATABASES = (
    "First compare the files metadata/*.sql of each server with system.databases: a file without a row is of"
    " a detached database, whose tables ATTACH DATABASE brings back"
)
DETACHED_DATABASES = f"A database may be detached, which no system table shows. {COMPARE_DATABASES}."
"""What the answers of servers cannot show."""


class Removal(NamedTuple):
    """Statements that delete with their condition, or the reasons against them; one of both is empty."""

    statements: tuple[str, ...] = ()
    missing: str = ""
    """Sentences with the missing evidence and how to get it."""
    condition: str = ""
    """What has to be verified before the statements, and how."""


def drop_replica(table: TableCensus, replica: ReplicaCensus, servers: Servers | None) -> Removal:
    """Return the statement that drops one replica of a table."""
    return _removal(_against_replica(table, replica, servers), [_drop(table, replica)])


def drop_table(table: TableCensus, servers: Servers | None) -> Removal:
    """Return the statements that drop all replicas of a table, and the table with the last one."""
    replicas = [table.replicas[name] for name in sorted(table.replicas)]
    if not replicas:
        return Removal()
    against = [each for replica in replicas for each in _against_replica(table, replica, servers)]
    if servers is not None and servers.has_table(table.shard_path):
        against.insert(0, _ON_A_SERVER)
    return _removal(against, [_drop(table, each) for each in replicas])


def forget_partitions(table: TableCensus, partitions: Sequence[str], servers: Servers | None) -> Removal:
    """Return statements that remove the znodes of these partitions, which have no part on any replica."""
    return _removal(
        _against_forgetting(table, partitions, servers),
        [f"ALTER TABLE … FORGET PARTITION ID {literal(each)}" for each in partitions[:_MOST_STATEMENTS]],
    )


def needed_partitions(
    table: TableCensus, partitions: Collection[str], servers: Servers | None
) -> dict[str, str]:
    """Return the partitions without a part that a server needs, each with the reason."""
    needed: dict[str, str] = {}
    for answer in () if servers is None else servers.answers:
        for path, partition, reason in answer.uses or ():
            if path == table.shard_path:
                used = partitions if partition == ANY_PARTITION else {partition} & set(partitions)
                needed.update((each, reason) for each in used)
    return needed


def _removal(against: Iterable[str], statements: Sequence[str]) -> Removal:
    reasons = tuple(dict.fromkeys(against))
    if not reasons:
        return Removal(tuple(statements), condition=DETACHED_DATABASES)
    more = f" Further reasons: {len(reasons) - _MOST_REASONS}." if len(reasons) > _MOST_REASONS else ""
    return Removal(missing=f"No statement is given. {' '.join(reasons[:_MOST_REASONS])}{more}")


def _drop(table: TableCensus, replica: ReplicaCensus) -> str:
    return f"SYSTEM DROP REPLICA {literal(replica.name)} FROM ZKPATH {literal(table.shard_path)}"


def _against_replica(table: TableCensus, replica: ReplicaCensus, servers: Servers | None) -> Iterator[str]:
    path = table.shard_path
    if replica.has_session:
        yield f"{path}/replicas/{replica.name} has a znode of a session."
    if replica.stray:
        yield (
            f"{path}/{replica.stray} is no znode of a replica, and the statement would delete it. Find out"
            " which table or program has it."
        )
    others = [each for each in table.replicas.values() if each is not replica and not each.stray]
    if not any(each.has_session for each in others):
        yield from _against_table(table)
    if ZnodeKind.STATE in table.own:
        yield (
            "Partitions of the table have a State marker, so their parts may be in a cold ensemble. First"
            " bring back the cold partitions."
        )
    yield from _against_servers(servers)
    if servers is None or servers.unjudged:
        return
    if servers.has_replica(path, replica.name):
        yield _ON_A_SERVER
    elif not servers.answered_at(replica.host):
        host = f"names {replica.host}" if replica.host else "is missing or empty"
        yield (
            f"The znode host of {replica.name} {host}, which belongs to no queried server. Start this server"
            " or name it to the census. Only if you know that the server and its data are gone for good, drop"
            " the replica."
        )


def _against_table(table: TableCensus) -> Iterator[str]:
    """Yield why the znodes outside of replicas must stay. The statement for the last replica deletes them."""
    if ZnodeKind.EPHEMERAL in table.own:
        yield f"{table.shard_path} has a znode of a session."
    if table.stray:
        yield (
            f"{table.shard_path}/{table.stray} is no znode of a table, and the statement would delete it."
            " Find out which table or program has it."
        )


def _against_servers(servers: Servers | None) -> Iterator[str]:
    """Yield why the answers do not prove that no server has a certain replica."""
    if servers is None:
        yield "No server was queried. Name all servers to the census."
        return
    if servers.unjudged:
        yield "It is not known that every server answered and lacks it, for the reason given."
        return
    unlisted = [each.label for each in servers.answers if each.detached is None]
    if unlisted:
        yield (
            f"{first_few(unlisted)} cannot list detached tables. Compare the .sql files below metadata of"
            " each server with metadata_path in system.tables: a file without a row is of a detached table."
        )
    detached = [f"{name} on {each.label}" for each in servers.answers for name in each.detached or ()]
    if detached:
        yield f"A detached table may have the znodes: {first_few(detached)}. First attach or drop it."
    if all(each.version < _DROPS_REPLICAS for each in servers.answers):
        yield (
            "No queried server has SYSTEM DROP REPLICA, which exists from 20.5 on. Leave the znodes, or"
            " run the statement on a later server that uses this ensemble."
        )


def _against_forgetting(
    table: TableCensus, partitions: Sequence[str], servers: Servers | None
) -> Iterator[str]:
    if servers is None:
        yield "No server was queried. Name all servers to the census."
        return
    if servers.unjudged:
        yield f"Whether a server needs the partitions was not judged: {servers.unjudged}."
        return
    away = [each.name for each in table.replicas.values() if not each.has_session or each.is_lost]
    if away:
        yield f"Replicas without a session may have parts of the partitions: {first_few(sorted(away))}."
    queues = [each.name for each in table.replicas.values() if each.queued]
    if queues:
        yield f"Entries in the queue of {first_few(sorted(queues))} may be about the partitions."
    answers = servers.with_table(table.shard_path)
    old = [each.label for each in answers if each.version < _FORGETS_PARTITIONS]
    if old or not answers:
        yield f"FORGET PARTITION exists from 24.2 on, and not on {first_few(old) or 'a queried server'}."
    unlisted = [each.label for each in servers.answers if each.uses is None and each.label not in old]
    if unlisted:
        yield f"{first_few(unlisted)} did not list detached parts and tables of other ensembles."
    if any(each.startswith(_PATCHES) for each in partitions):
        yield "Partitions with names from patch- on belong to lightweight updates of other partitions."
