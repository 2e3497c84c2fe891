# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Names of parts and partition ids, in both data format versions of MergeTree tables.

A part is named ``<partition id>_<min block>_<max block>_<level>``. A mutation that rewrites the part appends
``_<mutation>``. Tables of data format version 0 have no ``PARTITION BY`` and a partition for each month;
their part names have two dates in place of the partition id: ``20191201_20191220_0_5_2``. A name of five
fields is ambiguous, so all functions need the format version.

A partition id is opaque. Compare ids for equality only: ``2019-1`` is a prefix of ``2019-12``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from datetime import date
from functools import lru_cache
from typing import NamedTuple

from ..errors import FormatError
from ..text import shown
from .znode_text import INT64_MAX, READ_ZNODE

FORMAT_VERSIONS = (0, 1)
"""All data format versions of MergeTree tables."""

PATCH_PREFIX = "patch-"
"""The prefix of the ids of patch partitions; the id of the original partition comes last. Lightweight updates
write patches, and merges apply them."""

_BLOCKS = r"_(0|[1-9][0-9]{0,18})_(0|[1-9][0-9]{0,18})_(0|[1-9][0-9]{0,9})(?:_([1-9][0-9]{0,18}))?"
_V0_NAME = re.compile(r"([1-9][0-9]{7}_[1-9][0-9]{7})" + _BLOCKS)
_V1_NAME = re.compile(r"([0-9A-Za-z-]+)" + _BLOCKS)
_PARTITION_ID = re.compile(r"[0-9A-Za-z-]+")

_UINT32_MAX = 2**32 - 1
# Numbers with fewer digits are in the range of block numbers and of levels.
_DIGITS, _LEVEL_DIGITS = len(str(INT64_MAX)), len(str(_UINT32_MAX))
# Underscores in a name without a mutation, in data format version 1.
_BETWEEN_FIELDS = 3
_DROP_RANGE_LEVELS = (999_999_999, _UINT32_MAX)
_FORMS = {
    0: "<first day>_<last day>_<min block>_<max block>_<level>[_<mutation>]",
    1: "<partition id>_<min block>_<max block>_<level>[_<mutation>]",
}


class PartName(NamedTuple):
    """A parsed part name. ``mutation``: None unless a mutation rewrote the part."""

    partition_id: str
    min_block: int
    max_block: int
    level: int
    mutation: int | None
    text: str

    @property
    def data_version(self) -> int:
        """The part has all mutations up to this block number."""
        return self.min_block if self.mutation is None else self.mutation

    def covers(self, other: PartName) -> bool:
        """Whether this part is the other part, or a result of merges and mutations of the other part.

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
    """Parse the name of a part, or of a range of parts as written by DROP PARTITION.

    format_version: the data format version of the table, 0 or 1.
    where: the path of the znode with the name, for messages.

    Raises FormatError.

    >>> parse_part_name("201912_0_5_2_9", 1, "/parts/201912_0_5_2_9")
    PartName(partition_id='201912', min_block=0, max_block=5, level=2, mutation=9, text='201912_0_5_2_9')
    """
    return PartName(*_fields_of(text, format_version, where), text)


def partition_id_of(text: str, format_version: int, where: str) -> str:
    """Return the partition id of a part name. Raises as `parse_part_name` does.

    >>> partition_id_of("20191201_20191220_0_5_2", 0, "/a")  # months, in a table with a date column
    '201912'
    >>> partition_id_of("20191201_0_5_2_9", 1, "/a")  # days, by PARTITION BY; a mutation comes last
    '20191201'
    """
    if format_version == 1 and text.isascii() and text.count("_") == _BETWEEN_FIELDS:
        # A classification parses all names of an ensemble: this takes half of the time of the pattern.
        partition_id, first, last, level = text.split("_")
        if (
            (partition_id.isalnum() or partition_id.replace("-", "").isalnum())
            and first.isdigit()
            and level.isdigit()
            # Numbers without leading zeros, the second not below the first.
            and (first[0] != "0" or first == "0")
            and (level[0] != "0" or level == "0")
            and (first == last or (last.isdigit() and last[0] != "0"))
            and (first <= last if len(first) == len(last) else len(first) < len(last))
            and len(last) < _DIGITS
            and len(level) < _LEVEL_DIGITS
        ):
            return partition_id
    return _fields_of(text, format_version, where)[0]


def known_partition_id_of(text: str, format_version: int) -> str:
    """Return the partition id of a name that `partition_id_of` has accepted before.

    The checks are left out, because a table may have a million names.

    >>> known_partition_id_of("20191201_0_5_2_9", 1), known_partition_id_of("20191201_20191220_0_5_2", 0)
    ('20191201', '201912')
    """
    return text.partition("_")[0] if format_version else text[:6]


def _fields_of(text: str, format_version: int, where: str) -> tuple[str, int, int, int, int | None]:
    """Return partition id, min block, max block, level and mutation."""
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
    """Return ``text``. Raises FormatError, with ``where`` in the message, for an invalid partition id."""
    if _PARTITION_ID.fullmatch(text) is None:
        raise FormatError(
            f"{where}: {shown(text)} is not a partition id",
            remedy="An id has letters, digits and hyphens only; system.parts shows it in partition_id",
        )
    return text


@lru_cache(maxsize=4096)
def _month(dates: str) -> str | None:
    """Return YYYYMM of ``YYYYMMDD_YYYYMMDD``; None unless both are dates of the same month, in order."""
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
    """Whether a part of ``by`` is the part, or a result of merges and mutations of the part."""
    return any(each.covers(part) for each in by)


def not_covered(parts: Iterable[PartName], by: Collection[PartName]) -> list[PartName]:
    """Return the parts that no part of ``by`` covers, in order."""
    same = {part.text for part in by}
    return [part for part in parts if part.text not in same and not is_covered(part, by)]


def uncovered_names(then: Iterable[str], now: Iterable[str], partition_id: str, where: str) -> list[str]:
    """Return the names of ``then`` that no name of ``now`` covers, sorted.

    All names are parts of one partition. ``where``: the table, for the message of a FormatError.

    >>> uncovered_names(["all_0_0_0", "all_1_1_0", "all_2_2_0"], ["all_0_1_1"], "all", "default.hits")
    ['all_2_2_0']
    """
    names = set(now)
    missing = set(then) - names
    if not missing:
        return []
    active = parse_names(names, partition_id, where)
    return sorted(
        part.text for part in parse_names(missing, partition_id, where) if not is_covered(part, active)
    )


def parse_names(names: Iterable[str], partition_id: str, where: str) -> list[PartName]:
    """Parse names of parts of one partition, and find out the format version. Raises FormatError."""
    # Only in data format version 1 is the partition id followed by an underscore.
    return [
        parse_part_name(name, 1 if name.startswith(f"{partition_id}_") else 0, f"{where}, system.parts")
        for name in names
    ]


_DETACHED = re.compile(r"[a-z-]+_(.+?)(?:_try[0-9]+)?")


def detached_part(folder: str) -> str:
    """Return the part name in a detached folder name ``<reason>_<part>`` or ``<reason>_<part>_try<N>``.

    A folder name of another form is returned unchanged.
    """
    match = _DETACHED.fullmatch(folder)
    return folder if match is None else match[1]
