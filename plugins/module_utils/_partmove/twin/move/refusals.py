# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Refusals of partitions after a run has begun to work on them."""

from __future__ import annotations

from ...gates.gate import Refusal
from ...gates.names import GateName
from .record import TwinRecord


class Refused(Exception):
    """The partition stays as it is. ``failed``: whether manual action is needed."""

    def __init__(self, refusal: Refusal, *, failed: bool = False) -> None:
        super().__init__(refusal.reason)
        self.refusal = refusal
        self.failed = failed


def absent() -> Refusal:
    """Return the refusal of a partition that is in neither table."""
    return Refusal(
        GateName.PARTITION_EXISTS,
        "neither the table nor its twin has a part of it",
        "Check the partition id (system.parts.partition_id) and the shard path",
    )


def keeps_changing(problem: str) -> Refusal:
    """Return the refusal after several ATTACHes in vain; ``problem``: the last difference."""
    return Refusal(
        GateName.CLONES_EQUAL,
        f"the clones differ from the source, and were dropped: {problem or 'it keeps changing'}",
        "Run again while nothing is inserted into the partition or merged. If parts are not cloned because an"
        " earlier ATTACH cloned them, OPTIMIZE TABLE … PARTITION ID … FINAL",
    )


def keeps_refusing() -> Refusal:
    """Return the refusal of a partition of which servers refuse to drop parts again and again."""
    return Refusal(
        GateName.TWIN_AT_REST,
        "servers refuse to drop some of its parts, as they do while a merge or a mutation has a part",
        "Wait until system.merges, system.mutations and system.replication_queue have no entry for the"
        " partition, and run again: the run continues from there",
    )


def too_large(record: TwinRecord) -> Refusal:
    """Return the refusal of a partition whose record would be too large."""
    return Refusal(
        GateName.FITS_ONE_MULTI,
        f"it has {len(record.parts) + len(record.held)} parts, more than a record can hold",
        "OPTIMIZE TABLE … PARTITION ID … FINAL, and run again",
    )


def unknown_state(problem: str, path: str) -> Refusal:
    """Return the refusal of a partition in an unknown state; ``path`` is the path of its record."""
    return Refusal(
        GateName.TWIN_KNOWN,
        problem,
        "Nothing was dropped because of it. Run twin_repair with the kind unknown, in check mode first: it"
        f" compares the rows of both tables, and removes the record {path} of hot once no row is in both",
    )
