# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The figures of a report: what report.json has, and all that report.html shows.

Everything is a sum over partitions. Sizes are in bytes, and those of snapshots are estimates, see
docs/report.md. "Today" is what hot has registered, "after" what it has when the plan has been carried out.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

FORMAT = "olap.partmove/report"
VERSION = 2


@dataclass(frozen=True)
class Amount:
    """What some partitions add up to."""

    partitions: int = 0
    znodes: int = 0
    bytes: int = 0
    """Bytes of the data of the znodes."""
    snapshot_bytes: int = 0
    """Bytes that the znodes take up in a snapshot."""

    def __add__(self, other: Amount) -> Amount:
        return Amount(
            self.partitions + other.partitions,
            self.znodes + other.znodes,
            self.bytes + other.bytes,
            self.snapshot_bytes + other.snapshot_bytes,
        )

    def __sub__(self, other: Amount) -> Amount:
        return Amount(
            self.partitions - other.partitions,
            self.znodes - other.znodes,
            self.bytes - other.bytes,
            self.snapshot_bytes - other.snapshot_bytes,
        )


@dataclass(frozen=True)
class HotFigures:
    """What hot has, and what the plan does about it."""

    today: Amount
    moved: Amount
    """What leaves hot."""
    gated: Amount
    """That part of ``moved`` that needs a merge first."""
    reheated: Amount
    """What comes back to hot, of partitions that are in cold only."""
    busy: Amount
    """What would be cold by the policy, but stays in hot because servers have work to do with it."""
    left_alone: Amount
    """What stays in hot because the policy leaves its tables alone."""
    after: Amount


@dataclass(frozen=True)
class TableFigures:
    """A table over all of its shards."""

    table: str
    shard_paths: int
    today: Amount
    after: Amount
    gained_znodes: int
    """How many znodes fewer hot has after the plan; below 0 when more come back than go."""
    share: float
    """The share that the table has of all znodes of parts in hot today, from 0 to 1."""


@dataclass(frozen=True)
class OtherTables:
    """The tables that are not listed, together."""

    tables: int
    today: Amount
    after: Amount


@dataclass(frozen=True)
class GatedPartition:
    """A partition that a gate stops."""

    shard_path: str
    partition: str
    znodes: int
    statement: str | None
    """The SQL that opens the gate, where there is one."""


@dataclass(frozen=True)
class GateFigures:
    """What a gate stops."""

    gate: str
    protects: str
    remedy: str
    stopped: Amount
    largest: tuple[GatedPartition, ...]
    """The stopped partitions with the most znodes."""


@dataclass(frozen=True)
class DayFigures:
    """Partitions in hot that changed last on a day, or in a year."""

    when: str
    """The day in UTC, such as ``2026-10-31``, or the year, such as ``2026``."""
    partitions: int
    znodes: int
    moved: int
    """How many of the partitions leave hot."""


@dataclass(frozen=True)
class EnsembleFigures:
    """The whole hot ensemble, with all that is in it; the figures after are a projection."""

    znodes: int
    znodes_after: int
    share: float
    """The share that the znodes of parts have of all znodes, from 0 to 1."""
    snapshot_bytes: int | None
    snapshot_bytes_after: int | None


@dataclass(frozen=True)
class ReportFigures:
    """Everything that a report says."""

    as_of: str
    source: str
    policy_digest: str
    tables: int
    shard_paths: int
    hot: HotFigures
    cold: Amount
    """What the partitions that are in cold only add up to."""
    ensemble: EnsembleFigures | None
    """The whole hot ensemble; None where its size is not known."""
    most_to_gain: tuple[TableFigures, ...]
    largest_tables: tuple[TableFigures, ...]
    other_tables: OtherTables
    gates: tuple[GateFigures, ...]
    days: tuple[DayFigures, ...]
    """The days of the newest twelve months, without those on which nothing changed last."""
    years: tuple[DayFigures, ...]
    """The years of the time before."""


def json_text(figures: ReportFigures) -> str:
    """The figures as JSON; the same figures give the same text."""
    values = {"format": FORMAT, "version": VERSION} | asdict(figures)
    return json.dumps(values, ensure_ascii=False, indent=2, sort_keys=True) + "\n"
