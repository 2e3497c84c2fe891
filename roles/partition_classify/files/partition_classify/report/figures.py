# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The figures of a report: what report.json has, and all that report.html shows.

Everything is a sum over partitions. Sizes are in bytes, and those of snapshots are estimates, see
docs/report.md. "Today" is what hot has registered, "after" what it has when the plan has been carried out.
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
    now: Amount
    """That part of ``moved`` that can go now: no gate was seen to be closed."""
    gated: Amount
    """That part of ``moved`` that needs a merge first."""
    reheated: Amount
    """What comes back to hot, of partitions that are in cold only."""
    busy: Amount
    """What would be cold by the policy, but stays in hot because servers have work to do with it."""
    left_alone: Amount
    """What stays in hot because the policy leaves its tables alone."""
    after: Amount
    """What is left once the merges are done too, with what comes back."""
    one_part: Amount
    """That part of ``moved`` of which no replica has several parts, which is what could go now by the patch,
    whichever way the plan is for; by cold twins all of ``moved`` could."""


@dataclass(frozen=True)
class TableFigures:
    """A table over all of its shards."""

    table: str
    shard_paths: int
    today: Amount
    after: Amount
    gained_znodes: int
    """How many znodes fewer hot has after the plan; below 0 when more come back than go."""
    now_znodes: int
    """How many can go now."""
    gated_znodes: int
    """How many can go once they are merged."""
    share: float
    """The share that the table has of all znodes of parts in hot today, from 0 to 1."""


@dataclass(frozen=True)
class OtherTables:
    """The tables that are not listed, together."""

    tables: int
    today: Amount
    after: Amount
    now_znodes: int
    gated_znodes: int


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
class MonthFigures:
    """What hot has of partitions that changed last in a month, in znodes."""

    when: str
    """The month in UTC, such as ``2026-10``."""
    partitions: int
    stay: int
    """Znodes that stay in hot."""
    merge: int
    """Znodes that go once their partitions are merged."""
    now: int
    """Znodes that can go now."""

    @property
    def znodes(self) -> int:
        """All of them."""
        return self.stay + self.merge + self.now


@dataclass(frozen=True)
class PartsFigures:
    """Partitions in hot of which the replicas have so many parts."""

    at_least: int
    at_most: int | None
    """None for any number."""
    partitions: int
    znodes: int
    moved: int
    """How many of the partitions leave hot."""


@dataclass(frozen=True)
class MergeFigures:
    """A partition to be merged."""

    shard_path: str
    partition: str
    statement: str
    znodes: int
    """How many znodes hot loses once it is merged and moved."""
    parts: int
    """How many parts a replica has of it."""
    bytes_on_disk: int | None
    """What a replica has of it on disk, and writes again; None where no server was asked."""


@dataclass(frozen=True)
class MergesFigures:
    """The merges that partitions need before they can go."""

    partitions: int
    """How many are to be merged, which is how many statements there are."""
    znodes: int
    bytes_on_disk: int
    """What a replica of each writes again, of those of which it is known."""
    unknown: int
    """Of how many partitions it is not known."""
    waiting: int
    """Partitions that the servers have merged, and whose old parts are still registered."""
    first: tuple[MergeFigures, ...]
    """Those that gain most for what they write, in the order of merges.sql."""


@dataclass(frozen=True)
class MonthCount:
    """How many znodes hot had by the end of a month, of those that it has today."""

    when: str
    znodes: int


@dataclass(frozen=True)
class MonthForecast:
    """How many znodes of parts hot will have by the end of a month."""

    when: str
    without: int
    """When nothing is moved."""
    without_merges: int
    """When what can go at once is moved month by month, and nothing is merged for it."""
    with_merges: int
    """When all that the policy calls cold is moved month by month, with the merges that it needs."""


@dataclass(frozen=True)
class ForecastFigures:
    """Znodes of parts in hot by month, so far and to come."""

    znodes_per_month: int
    """How many are expected to come in a month."""
    months_counted: int
    """Over how many full months, the newest there are, that is the median."""
    so_far: tuple[MonthCount, ...]
    to_come: tuple[MonthForecast, ...]


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
    months: tuple[MonthFigures, ...]
    """Each month from the first to that of the plan."""
    earlier: MonthFigures | None
    """The time before them together, as that of its last month; None where there is nothing."""
    parts: tuple[PartsFigures, ...]
    merges: MergesFigures
    forecast: ForecastFigures | None
    """None where too few months are known."""
    comparison: Mapping[str, Any] | None = None
    """What another policy would decide otherwise, as the summary has it; None without one."""
    rules: Sequence[Mapping[str, Any]] = ()
    """What each rule of the policy decided, as the summary has it."""
    unread: Mapping[str, Any] | None = None
    """What may not be read, so that nothing else is said of it, as the summary has it."""


def json_text(figures: ReportFigures) -> str:
    """The figures as JSON; the same figures give the same text."""
    values = {"format": FORMAT, "version": VERSION} | asdict(figures)
    return json.dumps(values, ensure_ascii=False, indent=2, sort_keys=True) + "\n"
