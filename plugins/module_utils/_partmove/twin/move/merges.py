# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Merges of both tables, stopped for as long as a partition is in both of them, where that is asked for.

Servers only forget it when they restart. So the record says that merges may be stopped before the first
server is told so, and until after every server was told the opposite: whoever finds a record that says it,
such as that of a killed run, lets merges go on before anything else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from ...errors import PartMoveError
from .partition import TwinPartition, TwinShard, answered
from .record import KeptRecord
from .refusals import Refused
from .servers import TwinServers
from .statements import SetMerges
from .tables import Side, TwinTables


def stop_merges(partition: TwinPartition, kept: KeptRecord) -> None:
    """Stop merges of both tables on every replica; raises Refused where one cannot be told."""
    if not kept.record.merges_stopped:
        partition.replace(kept, kept.record._replace(merges_stopped=True))
    with answered():
        for tables in partition.shard.tables:
            for statement in merge_statements(tables, allowed=False):
                partition.shard.servers.set_merges(statement)


def merge_statements(tables: TwinTables, *, allowed: bool) -> list[SetMerges]:
    """Return the statements that stop or start the merges of both tables of a replica."""
    return [SetMerges(tables, side, allowed) for side in Side]


def remove_record(partition: TwinPartition, kept: KeptRecord) -> None:
    """Remove the record of a partition, once the merges that were stopped for it go on.

    Raises Refused, and the record stays, where a server cannot be told.
    """
    if kept.record.merges_stopped:
        _let_merge(partition.shard)
    partition.remove(kept)


def go_on_merging(partition: TwinPartition) -> None:
    """Let merges go on if they were stopped for the partition, which stays where it is for now.

    Raises Refused where a server cannot be told; the record says then that they are stopped.
    """
    kept = partition.kept
    if kept is not None and kept.record.merges_stopped:
        _let_merge(partition.shard)
        partition.replace(kept, kept.record._replace(merges_stopped=False))


def go_on_merging_at_the_end(partition: TwinPartition) -> None:
    """The same for a run that an error ends, which is the one to tell of; the record tells the rest."""
    with suppress(PartMoveError, Refused):
        go_on_merging(partition)


def go_on_where_left(shard: TwinShard, records: Mapping[str, KeptRecord]) -> bool:
    """Let merges go on that a run left stopped which was killed; whether there were any.

    Raises Refused where a server cannot be told; the records say then that they are stopped.
    """
    stopped = {each: kept for each, kept in records.items() if kept.record.merges_stopped}
    if stopped:
        _let_merge(shard)
    for each, kept in stopped.items():
        shard.records.replace(shard.lease, each, kept, kept.record._replace(merges_stopped=False))
    return bool(stopped)


def _let_merge(shard: TwinShard) -> None:
    with answered():
        _tell_all(shard.servers, shard.tables)


def _tell_all(servers: TwinServers, replicas: Sequence[TwinTables]) -> None:
    """Let every replica merge again, also where another one cannot be told; raises what the first raises."""
    problem: PartMoveError | None = None
    for tables in replicas:
        try:
            for statement in merge_statements(tables, allowed=True):
                servers.set_merges(statement)
        except PartMoveError as error:
            problem = problem or error
    if problem is not None:
        raise problem
