# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Parts of one replica and partition as one row: what a plan is made of is added up where it is read.

Names of parts are only needed to tell which parts of a partition are in hot and not in cold. That is asked of
partitions whose State is COLD, so these keep a row for each part. Not where no part of the partition is in
hot: most partitions that are cold are in cold only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from pyspark.sql.types import BooleanType, LongType, StringType, StructField, StructType

from olap_partmove._partmove.formats.state import State
from olap_partmove._partmove.shard.inventory import HOT, InventoryRow

# Some 20 MB of them. What is left of a group then comes as another row.
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
"""The columns of PartGroup, in its order."""


class PartGroup(NamedTuple):
    """Some parts of one replica and one partition, as one ensemble has them registered."""

    shard_path: str
    partition_id: str
    replica: str
    ensemble: str
    """The ensemble that registers them, `hot` or `cold`."""
    is_marked_cold: bool | None
    """Whether the State of the partition is COLD; None where it or the parts may not be read."""
    part: str | None
    """The name of the part where it is one by itself; None for those that are added up."""
    parts: int
    mtime: int
    """When the newest of the part znodes was written last, in milliseconds since 1970."""
    bytes: int
    znodes: int
    name_bytes: int
    """What the names of the parts take up in the paths of these znodes."""


@dataclass(slots=True)
class _Sums:
    """What is added up of the parts in a group."""

    is_marked_cold: bool
    parts: int
    mtime: int
    bytes: int
    znodes: int
    name_bytes: int


def part_groups(rows: Iterable[InventoryRow], *, has_all: bool = True) -> Iterator[PartGroup]:
    """The rows, with those added up that can be; in memory are the groups of one replica.

    Of a shard path the rows of hot come first. ``has_all`` says that what hot and what cold have of one part
    are both among the rows, if they are anywhere.
    """
    path, replica, ensemble = "", "", ""
    groups: dict[str, _Sums] = {}
    # Shard paths and partitions that are marked as cold and have parts in hot.
    back: set[tuple[str, str]] = set()
    for row in rows:
        # A step for each part of an ensemble, written out where a call would take as long as the rest.
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
            # Nothing is decided of its partition, so that names do not matter.
            yield PartGroup(
                path, partition_id, replica, ensemble, None, None, 1, mtime, size, znodes, znodes * len(part)
            )
            continue
        is_marked_cold = state == _MARK
        if is_marked_cold and ensemble == HOT:
            back.add((path, partition_id))
        if is_marked_cold and (not has_all or (path, partition_id) in back):
            yield from _as_rows(path, replica, ensemble, {partition_id: _of_one(row)}, part)
            continue
        sums = groups.get(partition_id)
        if sums is None:
            groups[partition_id] = _of_one(row)
        else:
            # Another share of the shard path may have been read later, when the State was another one.
            sums.is_marked_cold |= is_marked_cold
            sums.parts += 1
            sums.mtime = max(sums.mtime, mtime)
            sums.bytes += size
            sums.znodes += znodes
            # Names of parts are ASCII, so these are bytes.
            sums.name_bytes += znodes * len(part)
    yield from _as_rows(path, replica, ensemble, groups)


def _of_one(row: InventoryRow) -> _Sums:
    names = row.znodes * len(row.part)
    return _Sums(row.state == _MARK, 1, row.mtime, row.bytes, row.znodes, names)


def _as_rows(
    path: str, replica: str, ensemble: str, groups: Mapping[str, _Sums], part: str | None = None
) -> Iterator[PartGroup]:
    for partition_id, sums in groups.items():
        yield PartGroup(
            path, partition_id, replica, ensemble, sums.is_marked_cold, part,
            sums.parts, sums.mtime, sums.bytes, sums.znodes, sums.name_bytes,
        )  # fmt: skip
