# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compares copies with what they were made from, on every member of the ensemble they are in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ..aligned import aligned
from ..formats.layout import ShardLayout
from ..shard.facts import RegisteredPart
from ..shard.listed import Names, PartLists
from ..shard.parts import part_steps, partition_in
from ..tree.ports import ZnodeReader
from ..tree.reading import Reading, read_together

_MOST_SAMPLES = 10


class Comparison(NamedTuple):
    """How copies compare with their originals, over all members that were asked."""

    matched: int
    mismatched: int
    missing: int
    extra: int
    """Parts of the same partitions that have no original."""
    samples: tuple[str, ...]
    """At most ten, one a part and member."""
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


def compare_copies(
    members: Iterable[ZnodeReader],
    originals: Sequence[RegisteredPart],
    layout: ShardLayout,
    format_version: int,
    lists: PartLists,
) -> Comparison:
    """Read each part with its children from each member and compare names, bytes and children.

    ``lists`` are those of the ensemble, which was looked at before.
    """
    tally = _Tally()
    paths = {part.znode.path: part.name for part in originals}
    partition_ids = {part.name.partition_id for part in originals}
    folders = [layout.replica(name).parts for name in sorted({part.replica for part in originals})]
    for member in members:
        member.sync(layout.path)
        read = Reading(part_steps([*paths.items()]))
        listed = Reading(lists.member_steps(member.name, folders, partition_ids))
        read_together(member, [read, listed])
        copies = {part.znode.path: part for part in read.result}
        for part in originals:
            path = part.znode.path
            copy = copies.get(path)
            if copy is not None and copy.registers_as(part):
                tally.matched += 1
            else:
                verdict = "is missing" if copy is None else "differs"
                tally.add(verdict, path, part.name.partition_id, member.name)
        for path, partition_id in _extras(
            member, [*aligned(folders, listed.result)], originals, format_version
        ):
            tally.add("has no original", path, partition_id, member.name)
    mismatched, missing, extra = tally.counts.values()
    return Comparison(
        tally.matched, mismatched, missing, extra, tuple(tally.samples), frozenset(tally.failed)
    )


def _extras(
    member: ZnodeReader,
    listed: Sequence[tuple[str, Names]],
    originals: Sequence[RegisteredPart],
    format_version: int,
) -> Iterator[tuple[str, str]]:
    """Path and partition id of parts in the originals' partitions that are no copy of an original."""
    partition_ids = {part.name.partition_id for part in originals}
    # Replicas have the same names, and a large table has many of other partitions: each is looked at once.
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
