# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Compares the content of parts in two ensembles and on a server's disk."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from ...formats.layout import ShardLayout
from ...formats.names import PartName
from ...formats.payload import hash_matches, parse_payload, payload_problem
from ...shard.facts import RegisteredPart
from ...shard.parts import read_parts
from ...tree.ports import ZnodeReader


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
    """Name → number of znodes, of the parts with children; the larger one of the ensembles."""
    cold_mtimes: Mapping[str, int] = MappingProxyType({})
    """Partition id → time of the newest write to its part znodes in cold, in milliseconds since 1970."""


class PayloadChecks:
    """Checks payloads, each one once: replicas register a part with the same bytes.

    Keeps every payload, so that one object serves a portion of the parts only.
    """

    def __init__(self) -> None:
        self._readable: dict[Hashable, bool] = {}
        self._hashes: dict[Hashable, str | None] = {}

    def is_readable(self, part: RegisteredPart) -> bool:
        """Return whether the data of the part znode and its children is of a known form."""
        payload = part.payload
        known = self._readable.get(payload)
        if known is None:
            data, children = payload
            known = self._readable[payload] = payload_problem(data, dict(children)) is None
        return known

    def is_on_disk(self, part: RegisteredPart, shown: str | None) -> bool:
        """Return whether the readable part can be the one on disk.

        ``shown``: the hash there; None if the server does not show it.
        """
        if shown is None:
            return True
        payload = part.payload
        if payload not in self._hashes:
            data, children = payload
            checksums = parse_payload(data, dict(children), part.znode.path).checksums
            self._hashes[payload] = None if checksums is None else checksums.hash_of_all_files
        registered = self._hashes[payload]
        return registered is None or hash_matches(registered, shown)


def content_problems(
    ensembles: Sequence[tuple[ZnodeReader, Sequence[PartName]]],
    layout: ShardLayout,
    replica: str,
    hashes: Mapping[str, str | None],
    checks: PayloadChecks | None = None,
) -> ContentProblems:
    """Compare the parts of one replica between hot and cold, and with the hashes on disk.

    ``ensembles``: hot, then cold, each with its registered names. ``hashes``: active part → hash, or None if
    the server shows no hash. If both ensembles register a part, the disk is compared with hot. ``checks``:
    the checks of other replicas, to share their results.
    """
    folder, checks = layout.replica(replica).parts, checks or PayloadChecks()
    differing, unlike, unreadable, damaged_copies = set[str](), set[str](), set[str](), set[str]()
    known: dict[str, RegisteredPart] = {}
    mtimes: dict[str, int] = {}
    znodes: dict[str, int] = {}
    for reader, names in ensembles:
        is_cold = reader is ensembles[-1][0]
        for part in read_parts(reader, [(f"{folder}/{name.text}", name) for name in names]):
            text, partition_id = part.name.text, part.name.partition_id
            if is_cold:
                mtimes[partition_id] = max(mtimes.get(partition_id, 0), part.znode.stat.mtime)
            if part.children:
                znodes[text] = max(znodes.get(text, 0), part.znodes)
            if not checks.is_readable(part):
                unreadable.add(part.znode.path)
                # Hot comes first: what is known here already is what hot registers.
                if text in known:
                    damaged_copies.add(part.znode.path)
                continue
            first = known.setdefault(text, part)
            if first is not part:
                if not first.registers_as(part):
                    differing.add(text)
            elif not checks.is_on_disk(part, hashes.get(text)):
                unlike.add(text)
    return ContentProblems(
        frozenset(differing),
        frozenset(unlike),
        tuple(sorted(unreadable)),
        frozenset(damaged_copies),
        znodes,
        mtimes,
    )
