# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compares copies with what they were made from, on every member of the ensemble they are in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from .facts import RegisteredPart
from .ports import ZnodeReader
from .shard_reader import read_parts

_MOST_SAMPLES = 10


class Comparison(NamedTuple):
    """How copies compare with their originals, over all members that were asked."""

    matched: int
    mismatched: int
    missing: int
    samples: tuple[str, ...]
    """At most ten sentences, one a part and member."""
    failed_partitions: frozenset[str]


def compare_copies(
    members: Iterable[ZnodeReader], originals: Sequence[RegisteredPart], sync_path: str
) -> Comparison:
    """Read each part with its children from each member and compare names, bytes and children."""
    matched = mismatched = missing = 0
    samples: list[str] = []
    failed: set[str] = set()
    paths = [(part.znode.path, part.name) for part in originals]
    for member in members:
        member.sync(sync_path)
        copies = {part.znode.path: part for part in read_parts(member, paths)}
        for part in originals:
            copy = copies.get(part.znode.path)
            if copy is not None and copy.payload == part.payload:
                matched += 1
                continue
            if copy is None:
                missing += 1
            else:
                mismatched += 1
            failed.add(part.name.partition_id)
            if len(samples) < _MOST_SAMPLES:
                verb = "is missing" if copy is None else "differs"
                samples.append(f"{part.znode.path} {verb} on {member.name}")
    return Comparison(matched, mismatched, missing, tuple(samples), frozenset(failed))
