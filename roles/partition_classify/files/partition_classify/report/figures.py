# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Figures of a report, as in report.json and on report.html.

All figures are sums over partitions. Sizes are in bytes; snapshot sizes are estimates, see docs/report.md.
"today": registered in hot now. "after": registered in hot after the plan is carried out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

FORMAT = "olap.partmove/report"
VERSION = 3


@dataclass(frozen=True)
class Amount:
    """Sums over a set of partitions."""

    partitions: int = 0
    znodes: int = 0
    bytes: int = 0
    """Bytes of the znodes' data."""
    snapshot_bytes: int = 0
    """Bytes of the znodes in a snapshot."""

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
    """Content of hot, and the effect of the plan."""

    today: Amount
    moved: Amount
    """Partitions that leave hot."""
    now: Amount
    """Subset of ``moved`` that can go now: no gate was found closed."""
    gated: Amount
    """Subset of ``moved`` that needs a merge first."""
    reheated: Amount
    """Partitions in cold only that come back to hot."""
    busy: Amount
    """Partitions that the policy wants cold, but stay in hot: servers have pending work on them."""
    left_alone: Amount
    """Partitions that stay in hot because the policy leaves their tables alone."""
    after: Amount
    """Content of hot after all moves, merges included, and with the partitions that come back."""
    one_part: Amount
    """Subset of ``moved`` without several parts on a replica: can go now on patched servers, whichever
    separation the plan is for. With cold twins, all of ``moved`` can go now."""


@dataclass(frozen=True)
class TableFigures:
    """A table, over all shards."""

    table: str
    shard_paths: int
    today: Amount
    after: Amount
    gained_znodes: int
    """Decrease of znodes in hot by the plan; negative if more come back than leave."""
    now_znodes: int
    """Znodes that can go now."""
    gated_znodes: int
    """Znodes that can go after a merge."""
    share: float
    """Fraction of all part znodes in hot today, from 0 to 1."""


@dataclass(frozen=True)
class OtherTables:
    """Sums over the unlisted tables."""

    tables: int
    today: Amount
    after: Amount
    now_znodes: int
    gated_znodes: int


@dataclass(frozen=True)
class GatedPartition:
    """A partition stopped by a gate."""

    shard_path: str
    partition: str
    znodes: int
    statement: str | None
    """SQL that opens the gate, if any."""


@dataclass(frozen=True)
class GateFigures:
    """Partitions stopped by a gate."""

    gate: str
    protects: str
    remedy: str
    stopped: Amount
    largest: tuple[GatedPartition, ...]
    """Stopped partitions with the most znodes."""


@dataclass(frozen=True)
class MonthFigures:
    """Znodes in hot of partitions last changed in a month."""

    when: str
    """Month in UTC, such as ``2026-10``."""
    partitions: int
    stay: int
    """Znodes that stay in hot."""
    merge: int
    """Znodes that go after a merge."""
    now: int
    """Znodes that can go now."""

    @property
    def znodes(self) -> int:
        """Sum of all znodes of the month."""
        return self.stay + self.merge + self.now


@dataclass(frozen=True)
class PartsFigures:
    """Partitions in hot with a number of parts per replica in a range."""

    at_least: int
    at_most: int | None
    """None for no upper bound."""
    partitions: int
    znodes: int
    moved: int
    """Number of these partitions that leave hot."""


@dataclass(frozen=True)
class MergeFigures:
    """A partition to merge."""

    shard_path: str
    partition: str
    statement: str
    znodes: int
    """Decrease of znodes in hot after merge and move."""
    parts: int
    """Number of parts on a replica."""
    bytes_on_disk: int | None
    """Bytes on disk of one replica, rewritten by the merge; None if no server was queried."""


@dataclass(frozen=True)
class MergesFigures:
    """Merges required before partitions can go."""

    partitions: int
    """Number of partitions to merge, equal to the number of statements."""
    znodes: int
    bytes_on_disk: int
    """Bytes rewritten by one replica of each partition, where known."""
    unknown: int
    """Number of partitions with unknown size."""
    waiting: int
    """Number of merged partitions whose old parts are still registered."""
    first: tuple[MergeFigures, ...]
    """Partitions with the highest gain per written byte, in the order of merges.sql."""


@dataclass(frozen=True)
class MonthCount:
    """Number of today's znodes that hot had at the end of a month."""

    when: str
    znodes: int


@dataclass(frozen=True)
class MonthForecast:
    """Predicted number of part znodes in hot at the end of a month."""

    when: str
    without: int
    """Without any move."""
    without_merges: int
    """With monthly moves of partitions that can go at once, without merges."""
    with_merges: int
    """With monthly moves of all cold partitions, merges included."""


@dataclass(frozen=True)
class ForecastFigures:
    """Part znodes in hot by month, past and predicted."""

    znodes_per_month: int
    """Expected new znodes in a month: the median of the counted months."""
    months_counted: int
    """Number of newest full months the median is taken over."""
    so_far: tuple[MonthCount, ...]
    to_come: tuple[MonthForecast, ...]


@dataclass(frozen=True)
class DurationFigures:
    """Predicted duration in seconds of moves with patched servers, for one distance to the ensembles."""

    round_trip_ms: float
    """From a request to its answer, by the network alone, to the farther ensemble."""
    first: float
    """A move of all partitions that can go now, with the default ``latency_target``."""
    first_full_speed: float
    """The same with ``latency_target`` 0."""
    daily: float
    """A move of one partition of each shard path, with the default ``latency_target``."""
    daily_full_speed: float


@dataclass(frozen=True)
class EnsembleFigures:
    """The whole hot ensemble, other znodes included; figures "after" are a projection."""

    znodes: int
    znodes_after: int
    share: float
    """Fraction of part znodes in all znodes, from 0 to 1."""
    snapshot_bytes: int | None
    snapshot_bytes_after: int | None


@dataclass(frozen=True)
class ReportFigures:
    """All contents of a report."""

    as_of: str
    source: str
    policy_digest: str
    tables: int
    shard_paths: int
    hot: HotFigures
    cold: Amount
    """Sums over partitions in cold only."""
    ensemble: EnsembleFigures | None
    """The whole hot ensemble; None if its size is unknown."""
    most_to_gain: tuple[TableFigures, ...]
    largest_tables: tuple[TableFigures, ...]
    other_tables: OtherTables
    gates: tuple[GateFigures, ...]
    months: tuple[MonthFigures, ...]
    """Each month from the first change to the month of the plan."""
    earlier: MonthFigures | None
    """Sum of all earlier months, as of the last of them; None without any."""
    parts: tuple[PartsFigures, ...]
    merges: MergesFigures
    forecast: ForecastFigures | None
    """None with too few full months."""
    durations: tuple[DurationFigures, ...]
    """By distance, nearest first; empty if nothing can go now with patched servers."""
    comparison: Mapping[str, Any] | None = None
    """Different decisions of another policy, as in the summary; None without one."""
    rules: Sequence[Mapping[str, Any]] = ()
    """Decisions by rule of the policy, as in the summary."""
    unread: Mapping[str, Any] | None = None
    """Unreadable tables, partitions and paths, as in the summary; not included in other figures."""


def json_text(figures: ReportFigures) -> str:
    """Return the figures as JSON; equal figures give equal text."""
    values = {"format": FORMAT, "version": VERSION} | asdict(figures)
    return json.dumps(values, ensure_ascii=False, indent=2, sort_keys=True) + "\n"
