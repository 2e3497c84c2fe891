# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Stops merges of both tables while partitions are in both of them, if the option asks for it.

A server remembers stopped merges until it restarts. Therefore the record says that merges may be stopped:
from before the first server stops them until after every server started them again. A run that finds such a
record, for example from a killed run, first starts the merges again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from ...errors import PartMoveError
from .group import Group
from .known_pair import problem_of_record
from .partition import TwinShard, refused_on_error
from .progress import Progress
from .record import Change, StoredRecord
from .refusals import Refused
from .servers import TwinServers
from .statements import SetMerges
from .tables import Side, TwinTables


def stop_merges(group: Group, members: Sequence[Progress]) -> None:
    """Stop merges of both tables on every replica. Raises Refused if a server fails."""
    shard = group.shard
    group.commit(
        [
            (each, each.record._replace(merges_stopped=True))
            for each in members
            if not each.record.merges_stopped
        ]
    )
    with refused_on_error():
        for tables in shard.tables:
            for statement in merge_statements(tables, allowed=False):
                shard.servers.set_merges(statement)


def merge_statements(tables: TwinTables, *, allowed: bool) -> list[SetMerges]:
    """Return the statements that stop or start the merges of both tables of a replica."""
    return [SetMerges(tables, side, allowed) for side in Side]


def start_merges_before_removal(group: Group, members: Sequence[Progress]) -> None:
    """Start the merges before the last record is removed that says that they may be stopped.

    Raises Refused if a server fails; then the records must stay.
    """
    if not any(each.record.merges_stopped for each in members):
        return
    others = [each for each in _with_stopped_merges(group) if each not in members]
    if not others:
        _start_merges(group.shard)


def restart_merges(group: Group) -> None:
    """Start the merges stopped for the group. The run does not move these partitions any further for now.

    Raises Refused if a server fails; then the records still say that merges may be stopped.
    """
    stopped = _with_stopped_merges(group)
    if stopped:
        _start_merges(group.shard)
        group.commit([(each, each.record._replace(merges_stopped=False)) for each in stopped])


def restart_merges_after_error(group: Group) -> None:
    """Start the merges after an error ended the run. A failure is ignored: the records keep the fact."""
    with suppress(PartMoveError, Refused):
        restart_merges(group)


def _with_stopped_merges(group: Group) -> list[Progress]:
    stopped = [each for each in group.members if each.stored is not None and each.record.merges_stopped]
    # A run starts merges of its own twin alone: a record of another one goes on to say that they are stopped.
    return [each for each in stopped if not problem_of_record(each.record, group.shard.tables[0])]


def restart_merges_left_stopped(shard: TwinShard, records: Mapping[str, StoredRecord]) -> bool:
    """Start the merges that a killed run left stopped; return whether any were.

    Records about another twin still say that its merges may be stopped: they were not started.

    Raises Refused if a server fails; then the records still say that merges may be stopped.
    """
    stopped = {each: stored for each, stored in records.items() if stored.record.merges_stopped}
    if stopped:
        _start_merges(shard)
        shard.records.commit(
            shard.lease,
            {
                each: Change(stored, stored.record._replace(merges_stopped=False))
                for each, stored in stopped.items()
                if not problem_of_record(stored.record, shard.tables[0])
            },
        )
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
