# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compares copies with their originals, on every member of the cold ensemble."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ...formats.layout import ShardLayout
from ...shard.facts import RegisteredPart
from ...shard.part_listing import Names, PartListing
from ...shard.parts import part_steps, partition_in
from ...tree.ports import ZnodeReader
from ...tree.reading import Reading, read_together
from ...zip_strict import zip_strict

_MOST_SAMPLES = 10


class Comparison(NamedTuple):
    """The result of comparing copies with their originals, over all members."""

    matched: int
    mismatched: int
    missing: int
    extra: int
    """Parts of the same partitions without an original."""
    samples: tuple[str, ...]
    """At most ten problems, each a path and the member."""
    failed_partitions: frozenset[str]


class _Tally:
    def __init__(self) -> None:
        self.matched = 0
        self.counts = {"differs": 0, "is missing": 0, "has no original": 0}
        self.samples: list[str] = []
        self.failed: set[str] = set()

    def add(self, verdict: str, path: str, partition_id: str, member: str) -> None:
        self.counts[verdict] += 1
        self.failed.add(partition_id)
        if len(self.samples) < _MOST_SAMPLES:
            self.samples.append(f"{path} {verdict} on {member}")


class CopyComparison:
    """Compares copies with their originals, in batches, while the next batch is written."""

    def __init__(
        self,
        members: Sequence[ZnodeReader],
        originals: Sequence[RegisteredPart],
        layout: ShardLayout,
        format_version: int,
        lists: PartListing,
    ) -> None:
        """``originals``: all parts to compare. ``lists``: the part listing of the copies' ensemble."""
        self._members = members
        self._originals = originals
        self._layout = layout
        self._format_version = format_version
        self._lists = lists
        self._tally = _Tally()

    def add(self, originals: Sequence[RegisteredPart]) -> None:
        """Read the copies of these parts, with their children, from each member and compare them."""
        for member in self._members:
            self._add(member, originals, [])

    def finish(self, originals: Sequence[RegisteredPart]) -> Comparison:
        """Compare the last parts as `add` does, then the names of all parts.

        Call it when all copies are written.
        """
        folders = [
            self._layout.replica(name).parts for name in sorted({part.replica for part in self._originals})
        ]
        partition_ids = {part.name.partition_id for part in self._originals}
        for member in self._members:
            listed = Reading(self._lists.member_steps(member.name, folders, partition_ids))
            self._add(member, originals, [listed])
            for path, partition_id in _extras(
                member, [*zip_strict(folders, listed.result)], self._originals, self._format_version
            ):
                self._tally.add("has no original", path, partition_id, member.name)
        tally = self._tally
        mismatched, missing, extra = tally.counts.values()
        return Comparison(
            tally.matched, mismatched, missing, extra, tuple(tally.samples), frozenset(tally.failed)
        )

    def _add(
        self, member: ZnodeReader, originals: Sequence[RegisteredPart], others: Sequence[Reading[Any]]
    ) -> None:
        """Read the parts and the other readings in the same requests; all data is newer than the call."""
        member.sync(self._layout.path)
        parts = [(part.znode.path, part.name) for part in originals]
        read = Reading(part_steps(parts, {part.znode.path for part in originals if part.children}))
        read_together(member, [read, *others])
        copies = {part.znode.path: part for part in read.result}
        tally = self._tally
        for part in originals:
            path = part.znode.path
            copy = copies.get(path)
            if copy is not None and copy.registers_as(part):
                tally.matched += 1
            else:
                verdict = "is missing" if copy is None else "differs"
                tally.add(verdict, path, part.name.partition_id, member.name)


def _extras(
    member: ZnodeReader,
    listed: Sequence[tuple[str, Names]],
    originals: Sequence[RegisteredPart],
    format_version: int,
) -> Iterator[tuple[str, str]]:
    """Yield path and partition id of parts in the originals' partitions without an original."""
    partition_ids = {part.name.partition_id for part in originals}
    # Replicas have the same names, and a large table has many other partitions: parse each name once.
    known = {part.name.text for part in originals}
    for folder, names in listed:
        for name in names or ():
            if name in known:
                continue
            path = f"{folder}/{name}"
            partition_id = partition_in(member, path, name, format_version)
            if partition_id in partition_ids:
                yield path, partition_id
            else:
                known.add(name)
