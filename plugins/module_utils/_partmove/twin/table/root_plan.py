# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Plans the moves of all tables of a root: finished tables, the order of the others, and the time.

Tables with exchanged names on some replicas come first, because their inserts go to two tables. Then small
tables come before large tables: a small table shows within seconds whether the servers, the user and the
auxiliary ensemble are fit for the move, and how fast partitions move.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...gates.gate import Refusal
from ...text import count_of
from ...tree.ports import ZnodeStore
from ..move.record import Records
from ..move.tables import Side
from .departure import WithoutTwin, refuse_departed
from .exchange_record import ExchangeRecords
from .root_survey import RootTable, ShardTables

PARTITIONS_PER_SECOND = 25.0
"""Measured by ``make bench WHAT=twin``: the statements limit a run, whatever the size of the partitions."""
SECONDS_PER_SHARD = 1.0
"""What a shard of two replicas takes besides, measured by ``make bench WHAT=root``."""
_MOVING_SECONDS_PER_SHARD = 0.4
"""The share of SECONDS_PER_SHARD in the steps that move partitions."""
_ENOUGH_PARTITIONS = 50
"""With fewer partitions the time of the shards hides the time of the partitions."""


class Volume(NamedTuple):
    """The size of a table of a replica; of several shards, the sum."""

    partitions: int
    parts: int
    rows: int
    bytes: int


class SeenMoves(NamedTuple):
    """The finished moves of a run."""

    partitions: int
    shards: int
    seconds: float
    moving_seconds: float
    """The seconds of the steps that move partitions."""


class Speed(NamedTuple):
    """How fast tables move."""

    partitions_per_second: float
    seconds_per_shard: float = SECONDS_PER_SHARD

    def seconds(self, partitions: int, shards: int) -> float:
        """Return the estimated duration of moves."""
        return partitions / self.partitions_per_second + shards * self.seconds_per_shard

    def after(self, seen: SeenMoves) -> Speed:
        """Return the speed of the finished moves. Keeps the rate as long as too few partitions have moved."""
        if not seen.shards:
            return self
        other = max(0.0, seen.seconds - seen.moving_seconds) / seen.shards
        moving = seen.moving_seconds - seen.shards * _MOVING_SECONDS_PER_SHARD
        is_enough = seen.partitions >= _ENOUGH_PARTITIONS and moving > 0
        rate = seen.partitions / moving if is_enough else self.partitions_per_second
        return Speed(rate, other + _MOVING_SECONDS_PER_SHARD)


def volume_to_move(table: RootTable, desired: Side) -> Volume:
    """Return the size of the tables to empty: for each shard, of the replica with most partitions."""
    found = [
        [source for each in shard.replicas for source in [each.on(desired.other)] if source is not None]
        for shard in table.shards
    ]
    largest = [max(sources, key=lambda each: each.partitions) for sources in found if sources]
    return Volume(
        sum(each.partitions for each in largest),
        sum(each.contents.parts for each in largest),
        sum(each.contents.rows for each in largest),
        sum(each.bytes_on_disk for each in largest),
    )


def in_order(tables: Sequence[RootTable], desired: Side) -> list[RootTable]:
    """Return the tables in the order of the run: split tables first, then by size, then by name."""

    def key(table: RootTable) -> tuple[bool, int, int, str]:
        volume = volume_to_move(table, desired)
        return not _is_split(table), volume.partitions, volume.parts, table.name

    return sorted(tables, key=key)


def steps_of(table: RootTable, desired: Side) -> list[str]:
    """Return the remaining steps of the table, for people."""
    replicas = [each for shard in table.shards for each in shard.replicas]
    lacking = sum(each.away is None for each in replicas)
    elsewhere = sum(each.at is not desired for each in replicas)
    partitions = volume_to_move(table, desired).partitions
    creates = lacking and desired is Side.COLD
    creating = [f"create the twin on {count_of(lacking, 'replica')}"] if creates else []
    moving = [f"move {count_of(partitions, 'partition')}"] if partitions else []
    exchanging = [f"exchange the names on {count_of(elsewhere, 'replica')}"] if elsewhere else []
    # A table whose names are exchanged on a replica moves no partition before the other replicas follow.
    is_exchanged = elsewhere < len(replicas)
    middle = [*exchanging, *moving] if is_exchanged else [*moving, *exchanging]
    return [*creating, *middle, "wait for older inserts", "compare the replicas"]


def shards_to_move(table: RootTable, desired: Side) -> list[str]:
    """Return the shard paths for a run. A shard without any twin never left, so it needs no way back."""
    return [
        shard.shard_path
        for shard in table.shards
        if desired is Side.COLD or any(each.away is not None for each in shard.replicas)
    ]


def refuse_lost_sight(hot: ZnodeStore, root: str, table: RootTable, twin: str) -> Refusal | None:
    """Return why the way home may need another twin than the one at the given place; None if it does not.

    root: the coordination root. twin: the name of twins. For a table on its way home.
    """
    for shard in table.shards:
        if any(each.away is not None for each in shard.replicas):
            continue
        replicas = [
            WithoutTwin(each.server, each.home.database, each.home.name, each.elsewhere)
            for each in shard.replicas
        ]
        refusal = refuse_departed(hot, root, shard.shard_path, replicas, twin)
        if refusal is not None:
            return refusal
    return None


def is_finished(hot: ZnodeStore, root: str, table: RootTable, desired: Side) -> bool:
    """Whether every replica has the name in place, and no row is in the other table or can arrive there.

    root: the coordination root. The answers of the servers decide, and the record of the exchange: without
    the proof that all older inserts have ended a table is not finished. Neither is a table with a row policy
    that may hide its rows: a run finds out and refuses the table. On the way home `refuse_lost_sight` must
    have refused nothing.
    """
    open_paths = {*shards_to_move(table, desired)}
    return all(
        _is_shard_finished(hot, root, shard, desired)
        for shard in table.shards
        if shard.shard_path in open_paths
    )


def _is_shard_finished(hot: ZnodeStore, root: str, shard: ShardTables, desired: Side) -> bool:
    # Replicas may have different parts of the table with the name: `TableSwitchReport.unfinished` says why.
    for each in shard.replicas:
        source = each.on(desired.other)
        if each.at is not desired or source is None or source.contents.parts or each.on(desired) is None:
            return False
        if each.has_policy:
            return False
    settled = ExchangeRecords(hot, root, shard.shard_path, desired).read().replicas
    return (
        all(each.replica in settled and settled[each.replica].is_settled for each in shard.replicas)
        and not Records(hot, root, shard.shard_path).partition_ids()
    )


def _is_split(table: RootTable) -> bool:
    """Whether the name means different places on different replicas."""
    return len({each.at for shard in table.shards for each in shard.replicas}) > 1
