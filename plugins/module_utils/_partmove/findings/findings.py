# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The common report of audits: sorted rows, counts per kind, a summary in text, and Prometheus metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Generic, Protocol, TypeVar

from ..text import first_few
from .metrics import Family, Sample, exposition
from .vocabulary import NOT_JUDGED, Vocabulary

MOST_SHOWN = 5
_FEWEST_SHOWN = 2


class AnyVerdict(Protocol):
    """The verdict of an audit on one row."""

    @property
    def kind(self) -> Vocabulary:
        """The kind of the finding."""

    @property
    def parts(self) -> Sequence[str]:
        """Names of the affected parts, sorted; for an unreadable znode, paths."""

    @property
    def reason(self) -> str:
        """Details of this case, or why the row could not be judged; empty if the kind says everything."""

    @property
    def can_wait(self) -> bool:
        """Whether an inconsistent kind is harmless so far, because later runs are expected to end it."""


class AnyRow(Protocol):
    """A row of an audit: a place and its verdict."""

    @property
    def shard_path(self) -> str:
        """The shard path of the row."""

    @property
    def partition(self) -> str:
        """The partition id; empty if the row is not about a partition."""

    @property
    def replica(self) -> str:
        """The name of the replica; empty if the row is about all replicas."""

    @property
    def verdict(self) -> AnyVerdict:
        """The verdict."""


Row_co = TypeVar("Row_co", bound=AnyRow, covariant=True)


class AnyAudit(Protocol[Row_co]):
    """The audit of a shard path."""

    @property
    def shard_path(self) -> str:
        """The shard path."""

    @property
    def rows(self) -> Sequence[Row_co]:
        """All rows."""

    @property
    def unjudged(self) -> str:
        """Why no row could be judged; empty if the audit was possible."""


RowT = TypeVar("RowT", bound=AnyRow)
KindT = TypeVar("KindT", bound=Vocabulary)


class Findings(Generic[RowT, KindT]):
    """The audits of several shard paths, one audit per path.

    ``unread``: one entry per znode that could not be read; tables below it were not audited.
    """

    prefix: str
    """The prefix of the metric names."""
    counted: str
    """The plural noun for a row, in the summary and the metric texts."""

    def __init__(
        self, kinds: type[KindT], audits: Sequence[AnyAudit[RowT]], unread: Sequence[AnyAudit[RowT]] = ()
    ) -> None:
        self._kinds = kinds
        self._audits = sorted(audits, key=_path_of)
        self._unread = tuple(unread)
        self.rows: list[RowT] = sorted((row for audit in audits for row in audit.rows), key=_place_of)
        """All rows, worst kind first."""
        self.findings = [row for row in self.rows if not row.verdict.kind.is_consistent]
        """The rows that need an action, or that could not be judged."""

    def kinds(self) -> dict[KindT, int]:
        """Return the number of rows of every kind, worst kind first; 0 for a kind without rows."""
        numbers = Counter(row.verdict.kind for row in self.rows) + self.only_counted()
        return {kind: numbers[kind] for kind in self._kinds}

    def only_counted(self) -> Counter[KindT]:
        """Return the number of consistent rows that are not in ``rows``, by kind."""
        return Counter()

    def unjudged(self) -> list[AnyAudit[RowT]]:
        """Return the shard paths that could not be judged, and the unreadable znodes, sorted by path."""
        return sorted([*(audit for audit in self._audits if audit.unjudged), *self._unread], key=_path_of)

    @property
    def shard_paths(self) -> int:
        """The number of audited shard paths."""
        return len(self._audits)

    @property
    def is_drifted(self) -> bool:
        """Whether a row is inconsistent and cannot wait."""
        return any(map(_is_drift, self.findings))

    @property
    def is_complete(self) -> bool:
        """Whether every row and every shard path could be judged. A report without a shard path is not."""
        # A wrong root or chroot finds no table: an audit that checked nothing must not reassure.
        return bool(self._audits) and not self.unjudged() and not self._not_judged()

    def summary(self) -> list[str]:
        """Return the lines for the operator: urgent lines first, then the counts, then one line per kind."""
        return [*self.urgent(), self._head(), *self._kind_lines(), *self._unjudged_lines()]

    def urgent(self) -> Iterator[str]:
        """Yield the lines about findings that cannot wait."""
        yield from ()

    def metrics(self, now: float) -> str:
        """Return the metrics in Prometheus text format. ``now``: time of the audit in seconds since 1970."""
        return exposition(self._families(now))

    def urgent_families(self) -> Iterator[Family]:
        """Yield the metrics about findings that cannot wait."""
        yield from ()

    def _not_judged(self) -> int:
        return sum(row.verdict.kind.value == NOT_JUDGED for row in self.findings)

    def _head(self) -> str:
        inconsistent, not_judged = sum(map(_is_drift, self.findings)), self._not_judged()
        can_wait = len(self.findings) - inconsistent - not_judged
        consistent = len(self.rows) - len(self.findings) + sum(self.only_counted().values())
        return (
            f"Shard paths: {self.shard_paths}; {self.counted}: {consistent}"
            f" consistent, {inconsistent} inconsistent, {not_judged} not judged"
            f"{f', {can_wait} can wait' if can_wait else ''}"
        )

    def _kind_lines(self) -> Iterator[str]:
        for kind, of_kind in groupby(self.findings, key=lambda row: row.verdict.kind):
            rows = list(of_kind)
            reasons = sorted({row.verdict.reason for row in rows} - {""})
            details = f" {first_few(reasons, _FEWEST_SHOWN)}" if reasons else ""
            places = dict.fromkeys(f"{row.shard_path} {row.partition}".rstrip() for row in rows)
            shown = first_few(places, MOST_SHOWN)
            yield f"{kind.value} {len(rows)}: {kind.means}. {kind.remedy}.{details} ({shown})"

    def _unjudged_lines(self) -> Iterator[str]:
        for audit in self.unjudged():
            yield f"not audited: {audit.shard_path}: {audit.unjudged}"

    def _families(self, now: float) -> Iterator[Family]:
        at = (Sample(round(now, 3)),)
        yield Family(
            f"{self.prefix}_drift",
            f"Inconsistent {self.counted}, by shard path and kind; without those that are 0.",
            tuple(self._drift()),
        )
        yield Family(
            f"{self.prefix}_inconsistent",
            f"Inconsistent {self.counted} of all shard paths, by kind.",
            tuple(self._inconsistent()),
        )
        yield from self.urgent_families()
        yield Family(
            f"{self.prefix}_partitions",
            f"{self._counted_first} by kind, consistent kinds included.",
            tuple(Sample(count, (("kind", kind.value),)) for kind, count in self.kinds().items()),
        )
        yield Family(
            f"{self.prefix}_unjudged",
            "1 for a shard path that could not be judged.",
            tuple(Sample(1, (("shard_path", each.shard_path),)) for each in self.unjudged()),
        )
        yield Family(
            f"{self.prefix}_complete", "Whether everything could be judged.", (Sample(int(self.is_complete)),)
        )
        yield Family(f"{self.prefix}_timestamp_seconds", "When the audit ran.", at)
        if self.is_complete:
            yield Family(
                f"{self.prefix}_last_complete_timestamp_seconds",
                "When the last complete audit ran.",
                at,
            )

    @property
    def _counted_first(self) -> str:
        """`counted` with a capital letter, for the start of a sentence."""
        return f"{self.counted[0].upper()}{self.counted[1:]}"

    def _drift(self) -> Iterator[Sample]:
        # A cluster has thousands of shard paths, and each kind would be a series of each of them.
        for audit in self._audits:
            counted = Counter(row.verdict.kind for row in audit.rows if _is_drift(row))
            for kind in self._kinds:
                if counted[kind] and not audit.unjudged:
                    yield Sample(counted[kind], (("shard_path", audit.shard_path), ("kind", kind.value)))

    def _inconsistent(self) -> Iterator[Sample]:
        counted = Counter(row.verdict.kind for row in self.findings if _is_drift(row))
        for kind in self._kinds:
            if kind.is_inconsistent:
                yield Sample(counted[kind], (("kind", kind.value),))


def _is_drift(row: AnyRow) -> bool:
    return row.verdict.kind.is_inconsistent and not row.verdict.can_wait


def _path_of(audit: AnyAudit[AnyRow]) -> str:
    return audit.shard_path


def _place_of(row: AnyRow) -> tuple[int, str, str, str]:
    return row.verdict.kind.rank, row.shard_path, row.partition, row.replica
