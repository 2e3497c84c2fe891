# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Names of parts and partition ids, in both data format versions of MergeTree tables.

A part is named ``<partition id>_<min block>_<max block>_<level>``, and ``_<mutation>`` follows once a
mutation rewrote it. In tables of data format version 0 (``PARTITION BY`` not given, a month a partition)
two dates stand in place of the partition id: ``20191201_20191220_0_5_2``. A name of five fields can mean
either, so the format version always has to be given.

A partition id is opaque: compare it for equality with another, and never look into it or search for it in
a longer text (``2019-1`` is the beginning of ``2019-12``).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from ..errors import FormatError
from ..text import shown
from .znode_text import INT64_MAX, READ_ZNODE

FORMAT_VERSIONS = (0, 1)
"""The data format versions of MergeTree tables that there are."""

PATCH_PREFIX = "patch-"
"""What ids begin with of partitions that are only patches of another one, whose id comes last. Servers that
update rows in place, by a lightweight update, write such patches, and apply them when they merge."""

_BLOCKS = r"_(0|[1-9][0-9]{0,18})_(0|[1-9][0-9]{0,18})_(0|[1-9][0-9]{0,9})(?:_([1-9][0-9]{0,18}))?"
_V0_NAME = re.compile(r"([1-9][0-9]{7}_[1-9][0-9]{7})" + _BLOCKS)
_V1_NAME = re.compile(r"([0-9A-Za-z-]+)" + _BLOCKS)
_PARTITION_ID = re.compile(r"[0-9A-Za-z-]+")

_UINT32_MAX = 2**32 - 1
_DROP_RANGE_LEVELS = (999_999_999, _UINT32_MAX)
_FORMS = {
    0: "<first day>_<last day>_<min block>_<max block>_<level>[_<mutation>]",
    1: "<partition id>_<min block>_<max block>_<level>[_<mutation>]",
}


@dataclass(frozen=True)
class PartName:
    """A part's name taken apart. ``mutation`` is None in a part that no mutation rewrote."""

    partition_id: str
    min_block: int
    max_block: int
    level: int
    mutation: int | None
    text: str

    @property
    def data_version(self) -> int:
        """The block number that tells which mutations the part has: those up to it."""
        return self.min_block if self.mutation is None else self.mutation

    def covers(self, other: PartName) -> bool:
        """Whether this part has all of the other: it is that part, or came of it by merges and mutations.

        >>> source, merged, mutated = parse_names(["all_1_1_0", "all_0_2_1", "all_0_2_1_7"], "all", "a table")
        >>> merged.covers(source), mutated.covers(merged), merged.covers(mutated)
        (True, True, False)
        """
        if self.partition_id != other.partition_id:
            return False
        same_blocks = self.min_block == other.min_block and self.max_block == other.max_block
        higher = same_blocks or self.level > other.level or self.level in _DROP_RANGE_LEVELS
        return (
            higher
            and self.min_block <= other.min_block
            and self.max_block >= other.max_block
            and self.level >= other.level
            and (self.mutation or 0) >= (other.mutation or 0)
        )


def parse_part_name(text: str, format_version: int, where: str) -> PartName:
    """Take a part's name apart, or the name of a range of parts as DROP PARTITION writes it.

    ``format_version`` is the table's data format version, 0 or 1; ``where`` is the path of the znode that
    has the name. Raises FormatError.

    >>> parse_part_name("201912_0_5_2_9", 1, "/parts/201912_0_5_2_9")
    PartName(partition_id='201912', min_block=0, max_block=5, level=2, mutation=9, text='201912_0_5_2_9')
    """
    return PartName(*_taken_apart(text, format_version, where), text)


def partition_id_of(text: str, format_version: int, where: str) -> str:
    """The partition id in a part's name; what `parse_part_name` says, for those that need nothing else.

    >>> partition_id_of("20191201_20191220_0_5_2", 0, "/a")  # months, in a table with a date column
    '201912'
    >>> partition_id_of("20191201_0_5_2_9", 1, "/a")  # days, by PARTITION BY; a mutation comes last
    '20191201'
    """
    return _taken_apart(text, format_version, where)[0]


def known_partition_id_of(text: str, format_version: int) -> str:
    """As `partition_id_of`, of a name that it took before: a table may have a million of them.

    >>> known_partition_id_of("20191201_0_5_2_9", 1), known_partition_id_of("20191201_20191220_0_5_2", 0)
    ('20191201', '201912')
    """
    return text.partition("_")[0] if format_version else text[:6]


def _taken_apart(text: str, format_version: int, where: str) -> tuple[str, int, int, int, int | None]:
    """Partition id, blocks, level and mutation."""
    match = (_V1_NAME if format_version else _V0_NAME).fullmatch(text)
    if match is None or format_version not in FORMAT_VERSIONS:
        raise _not_a_part_name(text, format_version, where)
    head, first, last, merges, mutated = match.groups()
    min_block, max_block, level = int(first), int(last), int(merges)
    mutation = int(mutated) if mutated else None
    partition_id = head if format_version else _month(head)
    if (
        partition_id is None
        or not min_block <= max_block <= INT64_MAX
        or level > _UINT32_MAX
        or (mutation is not None and mutation > INT64_MAX)
    ):
        raise _not_a_part_name(text, format_version, where)
    return partition_id, min_block, max_block, level, mutation


def check_partition_id(text: str, where: str) -> str:
    """Return ``text`` if it can be a partition id; raises FormatError, which names ``where``, if not."""
    if _PARTITION_ID.fullmatch(text) is None:
        raise FormatError(
            f"{where}: {shown(text)} is not a partition id",
            remedy="An id has letters, digits and hyphens only; system.parts shows it in partition_id",
        )
    return text


@lru_cache(maxsize=4096)
def _month(dates: str) -> str | None:
    """YYYYMM of two dates of one month, ``YYYYMMDD_YYYYMMDD``; None if they are not."""
    first, _separator, last = dates.partition("_")
    try:
        days = [date(int(day[:4]), int(day[4:6]), int(day[6:])) for day in (first, last)]
    except ValueError:
        return None
    return first[:6] if days[0] <= days[1] and first[:6] == last[:6] else None


def _not_a_part_name(text: str, format_version: int, where: str) -> FormatError:
    if format_version not in FORMAT_VERSIONS:
        return FormatError(f"{where}: data format version {format_version} is not known", remedy=READ_ZNODE)
    return FormatError(
        f"{where}: {shown(text)} is not the name of a part in a table of data format version"
        f" {format_version}, which is {_FORMS[format_version]}",
        remedy=READ_ZNODE,
    )


def is_covered(part: PartName, by: Iterable[PartName]) -> bool:
    """Whether one of the others is the part itself, or came of it by merges and mutations."""
    return any(each.covers(part) for each in by)


def not_covered(parts: Iterable[PartName], by: Collection[PartName]) -> list[PartName]:
    """Those of the parts that are neither among the others nor became one of them, in their order."""
    same = {part.text for part in by}
    return [part for part in parts if part.text not in same and not is_covered(part, by)]


def uncovered(then: Iterable[str], now: Iterable[str], partition_id: str, where: str) -> list[str]:
    """Names of then that are not there now, neither by themselves nor as a part of another one; sorted.

    Both are parts of one partition; ``where`` is the table, for the message of a FormatError.

    >>> uncovered(["all_0_0_0", "all_1_1_0", "all_2_2_0"], ["all_0_1_1"], "all", "default.hits")
    ['all_2_2_0']
    """
    names = set(now)
    gone = set(then) - names
    if not gone:
        return []
    active = parse_names(names, partition_id, where)
    return sorted(
        part.text for part in parse_names(gone, partition_id, where) if not is_covered(part, active)
    )


def parse_names(names: Iterable[str], partition_id: str, where: str) -> list[PartName]:
    """Take the names of parts of one partition apart; raises FormatError."""
    # Only in data format version 1 does the name of a part begin with the id of its partition.
    return [
        parse_part_name(name, 1 if name.startswith(f"{partition_id}_") else 0, f"{where}, system.parts")
        for name in names
    ]


_DETACHED = re.compile(r"[a-z-]+_(.+?)(?:_try[0-9]+)?")


def part_of(folder: str) -> str:
    """Name of the part in a detached folder named ``<reason>_<part>`` or ``<reason>_<part>_try<N>``."""
    match = _DETACHED.fullmatch(folder)
    return folder if match is None else match[1]
