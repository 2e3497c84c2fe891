# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The SQL of remedies, with the names of the server, the database, the table and the partition.

A statement that changes data is for one server, and is returned only where the evidence says that it keeps
all rows. It begins with a comment that says where, and when, to run it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ...formats.sql import identifier, literal
from .evidence import PartitionEvidence, ReplicaEvidence, ServerTable
from .judge import Verdict, judge
from .kind import FindingKind

Statements = Callable[[PartitionEvidence, ReplicaEvidence, ServerTable], Iterator[str]]


def statements_of(
    partition: PartitionEvidence, replica: ReplicaEvidence, verdict: Verdict
) -> tuple[str, ...]:
    """Return the SQL for the remedy of a verdict; empty if the remedy has none, or the table is unknown."""
    find = _STATEMENTS.get(verdict.kind)
    return () if find is None or replica.table is None else tuple(find(partition, replica, replica.table))


def _detach_and_attach(
    partition: PartitionEvidence, replica: ReplicaEvidence, table: ServerTable
) -> Iterator[str]:
    """Yield the statements for one server that has every part of the partition, and for no other server.

    DETACH removes the parts from every replica, and ATTACH adds all folders of the partition in `detached`.
    """
    if replica.name != _first_with_all_parts(partition):
        return
    where = f"{_at(replica, table)}, on this server alone"
    yield f"/* {where} */ {_alter(table)} DETACH PARTITION ID {literal(partition.partition_id)}"
    check = "" if replica.detached is not None else ", if detached/ had no folder of the partition before"
    yield f"/* {where}{check} */ {_alter(table)} ATTACH PARTITION ID {literal(partition.partition_id)}"


def _first_with_all_parts(partition: PartitionEvidence) -> str:
    """Return the first replica that has every part that any disk has; empty unless it is unregistered.

    Empty as well while a server is silent, or while cold registers parts of the partition, which a DETACH
    would leave there.
    """
    replicas = [each for each in partition.replicas if each.is_in_hot]
    if any(each.active is None or each.cold for each in replicas):
        return ""
    parts = {part for each in replicas for part in each.active or ()}
    kinds = judge(partition)
    for each in sorted(replicas, key=_by_name):
        if parts <= set(each.active or ()) and not _has_detached(partition, each):
            return each.name if kinds[each.name].kind is FindingKind.UNREGISTERED else ""
    return ""


def _has_detached(partition: PartitionEvidence, replica: ReplicaEvidence) -> bool:
    return any(f"{partition.partition_id}_" in name for name in replica.detached or ())


def _optimize(partition: PartitionEvidence, replica: ReplicaEvidence, table: ServerTable) -> Iterator[str]:
    """Yield the merge of the partition, for the first server of it."""
    if replica.name == min(each.name for each in partition.replicas if each.table is not None):
        yield (
            f"/* {_at(replica, table)}, only after part_move with state: hot brought the partition back */"
            f" OPTIMIZE TABLE {_name(table)} PARTITION ID {literal(partition.partition_id)} FINAL"
        )


def _parts(partition: PartitionEvidence, replica: ReplicaEvidence, table: ServerTable) -> Iterator[str]:
    """Yield a query for the parts of the partition and their rows."""
    yield (
        f"/* {_at(replica, table)} */ SELECT name, rows, modification_time FROM system.parts WHERE active AND"
        f" {_of(table)} AND partition_id = {literal(partition.partition_id)} ORDER BY name"
    )


def _queue(_partition: PartitionEvidence, replica: ReplicaEvidence, table: ServerTable) -> Iterator[str]:
    """Yield a query for the entries that the replica has yet to execute."""
    yield (
        f"/* {_at(replica, table)} */ SELECT type, new_part_name, num_tries, last_exception FROM"
        f" system.replication_queue WHERE {_of(table)}"
    )


def _at(replica: ReplicaEvidence, table: ServerTable) -> str:
    # A name may have the end of a comment.
    return f"{replica.name}, {table.server}".replace("*/", "* /")


def _alter(table: ServerTable) -> str:
    return f"ALTER TABLE {_name(table)}"


def _name(table: ServerTable) -> str:
    return f"{identifier(table.database)}.{identifier(table.name)}"


def _of(table: ServerTable) -> str:
    return f"database = {literal(table.database)} AND table = {literal(table.name)}"


def _by_name(replica: ReplicaEvidence) -> str:
    return replica.name


_STATEMENTS: Mapping[FindingKind, Statements] = {
    FindingKind.UNREGISTERED: _detach_and_attach,
    FindingKind.SET_ASIDE: _parts,
    FindingKind.LACKS_DATA: _parts,
    FindingKind.GHOST: _parts,
    FindingKind.DROPPED: _parts,
    FindingKind.NOT_ON_DISK: _queue,
    FindingKind.SEVERAL_COLD_PARTS: _optimize,
}
"""Kinds whose remedy has SQL; the other kinds are repaired by modules, or at the files of a server."""
