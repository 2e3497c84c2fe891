# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Counts of znodes and of their bytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

_Key = TypeVar("_Key")


class Counts:
    """A number of znodes, and the bytes of their paths and data.

    The bytes agree with ``zk_approximate_data_size`` of a server, with paths below the chroot.
    """

    __slots__ = ("bytes", "znodes")

    def __init__(self, znodes: int = 0, size: int = 0) -> None:
        self.znodes = znodes
        self.bytes = size

    def add(self, other: Counts) -> None:
        """Add the other counts to these counts."""
        self.znodes += other.znodes
        self.bytes += other.bytes


def total_of(counts: Iterable[Counts]) -> Counts:
    """Return the sum of the counts."""
    total = Counts()
    for each in counts:
        total.add(each)
    return total


def merged(several: Iterable[Mapping[_Key, Counts]]) -> dict[_Key, Counts]:
    """Sum up several mappings by key."""
    sums: dict[_Key, Counts] = {}
    for mapping in several:
        for key, counts in mapping.items():
            sums.setdefault(key, Counts()).add(counts)
    return sums


class BoundedCounts:
    """Counts by name for the first ``most`` names; all further names share the entry ``REST``."""

    REST = "(more)"

    def __init__(self, most: int) -> None:
        self._most = most
        self.by_name: dict[str, Counts] = {}

    def add(self, name: str, size: int) -> None:
        """Count a znode of ``size`` bytes."""
        counts = self.by_name.get(name)
        if counts is None:
            if len(self.by_name) >= self._most:
                name = self.REST
            counts = self.by_name.setdefault(name, Counts())
        counts.znodes += 1
        counts.bytes += size

    def remove(self, name: str, size: int) -> None:
        """Take back one `add` of the same name and size."""
        key = name if name in self.by_name else self.REST
        counts = self.by_name[key]
        counts.znodes -= 1
        counts.bytes -= size
        if not counts.znodes:
            del self.by_name[key]
