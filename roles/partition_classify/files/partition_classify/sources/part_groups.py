# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Sums up the parts of one replica and partition into one row, where the parts are read.

Part names are needed only to find parts that are in hot and not in cold, and only for partitions whose State
is COLD: those keep one row for each part. Exception: COLD partitions without a part in hot, which is the
usual case, are summed up, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from pyspark.sql.types import BooleanType, LongType, StringType, StructField, StructType

from olap_partmove._partmove.formats.state import State
from olap_partmove._partmove.shard.inventory import HOT, InventoryRow

# About 20 MB. Beyond this limit, the rest of a group becomes a second row.
_MOST_GROUPS = 50_000
_MARK = State.COLD.value

GROUP_SCHEMA = StructType(
    [
        StructField("shard_path", StringType()),
        StructField("partition_id", StringType()),
        StructField("replica", StringType()),
        StructField("ensemble", StringType()),
        StructField("is_marked_cold", BooleanType()),
        StructField("part", StringType()),
        StructField("parts", LongType()),
        StructField("mtime", LongType()),
        StructField("bytes", LongType()),
        StructField("znodes", LongType()),
        StructField("name_bytes", LongType()),
    ]
)
"""Columns of PartGroup, in the order of its fields."""


class PartGroup(NamedTuple):
    """Sums of parts of one replica and partition, as registered in one ensemble."""

    shard_path: str
    partition_id: str
    replica: str
    ensemble: str
    """Ensemble that registers the parts, `hot` or `cold`."""
    is_marked_cold: bool | None
    """Whether the State of the partition is COLD; None if State or parts are unreadable."""
    part: str | None
    """Part name of a group of one named part; None for a sum."""
    parts: int
    mtime: int
    """Time of the last write to a part znode of the group, in milliseconds since 1970."""
    bytes: int
    znodes: int
    name_bytes: int
    """Bytes of the part names within the paths of all znodes of the group."""


@dataclass(slots=True)
class _GroupSums:
    """Sums over the parts of a group."""

    is_marked_cold: bool
    parts: int
    mtime: int
    bytes: int
    znodes: int
    name_bytes: int


def part_groups(rows: Iterable[InventoryRow], *, has_all: bool = True) -> Iterator[PartGroup]:
    """Sum up the rows where possible; holds the groups of one replica in memory.

    rows: of each shard path, rows of hot come first.
    has_all: whether the rows contain both the hot and the cold znodes of every part.
    """
    path, replica, ensemble = "", "", ""
    groups: dict[str, _GroupSums] = {}
    # Shard paths and partitions with State COLD and parts in hot.
    cold_with_hot_parts: set[tuple[str, str]] = set()
    for row in rows:
        # Runs once for each part of an ensemble; inlined, as function calls would double its time.
        shard_path, its_replica, part, partition_id, mtime, size, znodes, its_ensemble, state = row
        if (
            its_replica != replica
            or shard_path != path
            or its_ensemble != ensemble
            or len(groups) > _MOST_GROUPS
        ):
            yield from _as_rows(path, replica, ensemble, groups)
            path, replica, ensemble, groups = shard_path, its_replica, its_ensemble, {}
        if state is None:
            # An unreadable partition gets no decision, so part names are not needed.
            yield PartGroup(
                path, partition_id, replica, ensemble, None, None, 1, mtime, size, znodes, znodes * len(part)
            )
            continue
        is_marked_cold = state == _MARK
        if is_marked_cold and ensemble == HOT:
            cold_with_hot_parts.add((path, partition_id))
        if is_marked_cold and (not has_all or (path, partition_id) in cold_with_hot_parts):
            yield from _as_rows(path, replica, ensemble, {partition_id: _sums_of_part(row)}, part)
            continue
        sums = groups.get(partition_id)
        if sums is None:
            groups[partition_id] = _sums_of_part(row)
        else:
            # The State may change between the reads of one shard path by different tasks.
            sums.is_marked_cold |= is_marked_cold
            sums.parts += 1
            sums.mtime = max(sums.mtime, mtime)
            sums.bytes += size
            sums.znodes += znodes
            # Part names are ASCII: characters are bytes.
            sums.name_bytes += znodes * len(part)
    yield from _as_rows(path, replica, ensemble, groups)


def _sums_of_part(row: InventoryRow) -> _GroupSums:
    names = row.znodes * len(row.part)
    return _GroupSums(row.state == _MARK, 1, row.mtime, row.bytes, row.znodes, names)


def _as_rows(
    path: str, replica: str, ensemble: str, groups: Mapping[str, _GroupSums], part: str | None = None
) -> Iterator[PartGroup]:
    for partition_id, sums in groups.items():
        yield PartGroup(
            path, partition_id, replica, ensemble, sums.is_marked_cold, part,
            sums.parts, sums.mtime, sums.bytes, sums.znodes, sums.name_bytes,
        )  # fmt: skip
