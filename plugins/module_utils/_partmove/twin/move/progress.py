# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a run remembers of a partition while its group moves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from ...gates.gate import Refusal
from .classify import Classification
from .record import StoredRecord, TwinRecord
from .tables import PartsOf, Side


@dataclass
class Progress:
    """A partition of a group, with its record as read or written last."""

    id: str
    destination: Side
    """The direction of the run; for a partition that is only to be finished, that of its record."""
    stored: StoredRecord | None
    finishing: bool = False
    """Whether the run was not asked for the partition, and only finishes its record."""
    steps: int = 0
    retries: int = 0
    """How often this run has recorded the partition."""
    waits: int = 0
    """How often this run has found its replicas uneven."""
    problem: str = ""
    """Why the last ATTACH was undone."""
    alone: bool = False
    """Whether statements name only this partition, because a server refused a statement for several."""
    attached: bool = False
    """Whether this run has executed the ATTACH of the record, and the server has confirmed it."""
    refused_attach: bool = False
    """Whether the server refused an ATTACH for this partition alone."""
    refused_drop: bool = False
    """Whether the server refused the last DROP PART for this partition."""
    leaves_as: Refusal | None = None
    """The outcome once the clones are dropped; None if the partition is recorded again."""
    source_checksums: tuple[str, ...] = ()
    attached_at: float | None = None
    """When this run was about to execute the last successful ATTACH; None if an earlier run did."""
    dropped_at: float = 0.0
    insert_blocks: int = 0
    """Block ids of INSERTs that hot had before this run dropped the first part of the partition from hot."""
    is_done: bool = False

    @property
    def record(self) -> TwinRecord:
        """The record; only while there is one."""
        if self.stored is None:
            raise AssertionError(f"partition {self.id} has a record")
        return self.stored.record

    def forget_record(self) -> None:
        """Begin anew without a record."""
        self.stored = None
        self.attached = self.refused_attach = False
        self.attached_at = None
        self.source_checksums = ()


class Current(NamedTuple):
    """The current state of a partition, with the parts that every replica has."""

    progress: Progress
    classification: Classification
    parts: PartsOf
    """The parts of the first replica; all replicas have the same."""
    all_parts: tuple[PartsOf, ...]
    """The parts of every replica."""

    @property
    def record(self) -> TwinRecord:
        """The record of the partition; only for states that have a record."""
        return self.progress.record


MOST_PARTS = 100
"""The most parts of a DROP PART statement, so that it ends within the timeout of a query."""

Drops = Sequence[tuple[Progress, Sequence[str]]]
"""Partitions, and names of their parts to drop."""


def chunks_of(drops: Drops, sides: Mapping[str, Side]) -> Iterator[tuple[Side, Drops]]:
    """Yield the parts of each statement: of one table, and of one partition if it is to be alone.

    sides: partition id → the table that has the parts.
    """

    def side_of(drop: tuple[Progress, Sequence[str]]) -> Side:
        return sides[drop[0].id]

    for side, of_side in groupby(sorted(drops, key=side_of), side_of):
        chunk: list[tuple[Progress, Sequence[str]]] = []
        room = MOST_PARTS
        for progress, names in of_side:
            for first in range(0, len(names), MOST_PARTS):
                some = names[first : first + MOST_PARTS]
                if chunk and (len(some) > room or progress.alone or chunk[-1][0].alone):
                    yield side, chunk
                    chunk, room = [], MOST_PARTS
                chunk.append((progress, some))
                room -= len(some)
        if chunk:
            yield side, chunk
