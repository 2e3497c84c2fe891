# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Counts of znodes and of their bytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

_Key = TypeVar("_Key")


class Counts:
    """How many znodes there are, and the bytes of their paths and data together.

    The bytes are those that a server tells as ``zk_approximate_data_size``, of paths below the chroot.
    """

    __slots__ = ("bytes", "znodes")

    def __init__(self, znodes: int = 0, size: int = 0) -> None:
        self.znodes = znodes
        self.bytes = size

    def add(self, other: Counts) -> None:
        """Add those of the other to these."""
        self.znodes += other.znodes
        self.bytes += other.bytes


def total_of(counts: Iterable[Counts]) -> Counts:
    """All of them together."""
    total = Counts()
    for each in counts:
        total.add(each)
    return total


def merged(several: Iterable[Mapping[_Key, Counts]]) -> dict[_Key, Counts]:
    """The counts of each key together."""
    found: dict[_Key, Counts] = {}
    for mapping in several:
        for key, counts in mapping.items():
            found.setdefault(key, Counts()).add(counts)
    return found


class BoundedCounts:
    """Counts by name, of so many names at most; what has another name is counted together."""

    REST = "(more)"

    def __init__(self, most: int) -> None:
        self._most = most
        self.by_name: dict[str, Counts] = {}

    def add(self, name: str, size: int) -> None:
        """Count a znode of that many bytes."""
        counts = self.by_name.get(name)
        if counts is None:
            if len(self.by_name) >= self._most:
                name = self.REST
            counts = self.by_name.setdefault(name, Counts())
        counts.znodes += 1
        counts.bytes += size
