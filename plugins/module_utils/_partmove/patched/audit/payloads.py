# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compares the content of parts in two ensembles and on a server's disk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

from ...formats.layout import ShardLayout
from ...formats.names import PartName
from ...formats.payload import hash_matches, parse_payload, payload_problem
from ...shard.facts import RegisteredPart
from ...shard.parts import read_parts
from ...tree.ports import ZnodeReader
from .evidence import ReplicaEvidence

_PARTS_PER_BATCH = 2000


class ContentProblems(NamedTuple):
    """The problems in the content of registered parts of one replica."""

    differing: frozenset[str]
    """Names registered in both ensembles with different bytes."""
    unlike_disk: frozenset[str]
    """Names of parts active with another hash than the registered hash."""
    unreadable: tuple[str, ...]
    """Paths of znodes with unreadable data."""
    damaged_copies: frozenset[str] = frozenset()
    """The unreadable paths in cold of parts that hot registers with readable data."""
    znodes: Mapping[str, int] = MappingProxyType({})
    """Name of each part → number of its znodes, its children included; the larger one of the ensembles."""
    cold_mtimes: Mapping[str, int] = MappingProxyType({})
    """Name of each part in cold → time of the last write to its part znode, in milliseconds since 1970."""


def with_content(
    hot: ZnodeReader, cold: ZnodeReader, layout: ShardLayout, evidence: Sequence[ReplicaEvidence]
) -> Iterator[ReplicaEvidence]:
    """Add the content problems to the evidence of one replica (one item per partition)."""
    for batch in _batches(evidence):
        problems = content_problems(
            [
                (hot, [part for each in batch for part in each.hot]),
                (cold, [part for each in batch for part in each.cold]),
            ],
            layout,
            batch[0].name,
            {name: shown for each in batch for name, shown in each.hashes.items()},
        )
        for each in batch:
            own = {part.text for part in (*each.hot, *each.cold)}
            yield replace(
                each,
                differing=problems.differing & own,
                unlike_disk=problems.unlike_disk & own,
                unreadable=(
                    *each.unreadable,
                    *(path for path in problems.unreadable if path.rpartition("/")[2] in own),
                ),
                damaged_copies=frozenset(
                    path for path in problems.damaged_copies if path.rpartition("/")[2] in own
                ),
                znodes={name: problems.znodes[name] for name in own if name in problems.znodes},
                cold_mtime=max((problems.cold_mtimes.get(part.text, 0) for part in each.cold), default=0),
            )


def _batches(evidence: Sequence[ReplicaEvidence]) -> Iterator[list[ReplicaEvidence]]:
    """Yield the partitions in batches, large enough for a batch of requests and small enough for memory."""
    batch: list[ReplicaEvidence] = []
    parts = 0
    for each in evidence:
        batch.append(each)
        parts += len(each.hot) + len(each.cold)
        if parts >= _PARTS_PER_BATCH:
            yield batch
            batch, parts = [], 0
    if batch:
        yield batch


def content_problems(
    ensembles: Sequence[tuple[ZnodeReader, Sequence[PartName]]],
    layout: ShardLayout,
    replica: str,
    hashes: Mapping[str, str | None],
) -> ContentProblems:
    """Compare the parts of one replica between hot and cold, and with the hashes on disk.

    ``ensembles``: hot, then cold, each with its registered names. ``hashes``: active part → hash, or None if
    the server shows no hash. If both ensembles register a part, the disk is compared with hot.
    """
    folder = layout.replica(replica).parts
    differing, unlike, unreadable, damaged_copies = set[str](), set[str](), set[str](), set[str]()
    known: dict[str, RegisteredPart] = {}
    mtimes: dict[str, int] = {}
    znodes: dict[str, int] = {}
    for reader, names in ensembles:
        for part in read_parts(reader, [(f"{folder}/{name.text}", name) for name in names]):
            if reader is ensembles[-1][0]:
                mtimes[part.name.text] = part.znode.stat.mtime
            data, children = part.payload
            znodes[part.name.text] = max(znodes.get(part.name.text, 0), 1 + len(children))
            if payload_problem(data, dict(children)) is not None:
                unreadable.add(part.znode.path)
                # Hot comes first: what is known here already is what hot registers.
                if part.name.text in known:
                    damaged_copies.add(part.znode.path)
                continue
            first = known.setdefault(part.name.text, part)
            if first.payload != part.payload:
                differing.add(part.name.text)
            if first is part and not _is_on_disk(part, hashes.get(part.name.text)):
                unlike.add(part.name.text)
    return ContentProblems(
        frozenset(differing),
        frozenset(unlike),
        tuple(sorted(unreadable)),
        frozenset(damaged_copies),
        znodes,
        mtimes,
    )


def _is_on_disk(part: RegisteredPart, shown: str | None) -> bool:
    """Return whether the part can be the one on disk. ``shown``: the hash there, if the server shows it."""
    if shown is None:
        return True
    data, children = part.payload
    checksums = parse_payload(data, dict(children), part.znode.path).checksums
    return checksums is None or hash_matches(checksums.hash_of_all_files, shown)
