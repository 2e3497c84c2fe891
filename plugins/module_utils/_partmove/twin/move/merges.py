# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Stops merges of both tables while a partition is in both of them, if the option asks for it.

A server remembers stopped merges until it restarts. Therefore the record says that merges may be stopped:
from before the first server stops them until after every server started them again. A run that finds such a
record, for example from a killed run, first starts the merges again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from ...errors import PartMoveError
from .partition import TwinPartition, TwinShard, refused_on_error
from .record import StoredRecord
from .refusals import Refused
from .servers import TwinServers
from .statements import SetMerges
from .tables import Side, TwinTables


def stop_merges(partition: TwinPartition, stored: StoredRecord) -> None:
    """Stop merges of both tables on every replica. Raises Refused if a server fails."""
    if not stored.record.merges_stopped:
        partition.replace(stored, stored.record._replace(merges_stopped=True))
    with refused_on_error():
        for tables in partition.shard.tables:
            for statement in merge_statements(tables, allowed=False):
                partition.shard.servers.set_merges(statement)


def merge_statements(tables: TwinTables, *, allowed: bool) -> list[SetMerges]:
    """Return the statements that stop or start the merges of both tables of a replica."""
    return [SetMerges(tables, side, allowed) for side in Side]


def remove_record(partition: TwinPartition, stored: StoredRecord) -> None:
    """Start the merges stopped for the partition, and then remove its record.

    Raises Refused if a server fails; then the record stays.
    """
    if stored.record.merges_stopped:
        _start_merges(partition.shard)
    partition.remove(stored)


def restart_merges(partition: TwinPartition) -> None:
    """Start the merges stopped for the partition. The run does not move the partition any further for now.

    Raises Refused if a server fails; then the record still says that merges may be stopped.
    """
    stored = partition.stored
    if stored is not None and stored.record.merges_stopped:
        _start_merges(partition.shard)
        partition.replace(stored, stored.record._replace(merges_stopped=False))


def restart_merges_after_error(partition: TwinPartition) -> None:
    """Start the merges after an error ended the run. A failure is ignored: the record keeps the fact."""
    with suppress(PartMoveError, Refused):
        restart_merges(partition)


def restart_merges_left_stopped(shard: TwinShard, records: Mapping[str, StoredRecord]) -> bool:
    """Start the merges that a killed run left stopped; return whether any were.

    Raises Refused if a server fails; then the records still say that merges may be stopped.
    """
    stopped = {each: stored for each, stored in records.items() if stored.record.merges_stopped}
    if stopped:
        _start_merges(shard)
    for each, stored in stopped.items():
        shard.records.replace(shard.lease, each, stored, stored.record._replace(merges_stopped=False))
    return bool(stopped)


def _start_merges(shard: TwinShard) -> None:
    with refused_on_error():
        _start_merges_on_all(shard.servers, shard.tables)


def _start_merges_on_all(servers: TwinServers, replicas: Sequence[TwinTables]) -> None:
    """Start merges on every replica, also after the failure of a replica; raises the first error."""
    problem: PartMoveError | None = None
    for tables in replicas:
        try:
            for statement in merge_statements(tables, allowed=True):
                servers.set_merges(statement)
        except PartMoveError as error:
            problem = problem or error
    if problem is not None:
        raise problem
