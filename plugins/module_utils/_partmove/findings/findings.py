# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What reports of audits have in common: order, counts, lines for people, and figures for monitoring."""

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
    """What something is."""

    @property
    def kind(self) -> Vocabulary:
        """The kind that it is of."""

    @property
    def parts(self) -> Sequence[str]:
        """Names of the parts that it is so for, sorted; or paths, of what cannot be read."""

    @property
    def reason(self) -> str:
        """What was seen in this case, or why it could not be judged; empty where the kind says it all."""


class AnyRow(Protocol):
    """Something that was judged, with its place."""

    @property
    def shard_path(self) -> str:
        """The shard path that it is of."""

    @property
    def partition(self) -> str:
        """Id of the partition; empty where it is not about one."""

    @property
    def replica(self) -> str:
        """Name of the replica; empty where it is about all of them."""

    @property
    def verdict(self) -> AnyVerdict:
        """What it is."""


Row_co = TypeVar("Row_co", bound=AnyRow, covariant=True)


class AnyAudit(Protocol[Row_co]):
    """The audit of a shard path."""

    @property
    def shard_path(self) -> str:
        """The shard path."""

    @property
    def rows(self) -> Sequence[Row_co]:
        """All that was judged."""

    @property
    def unjudged(self) -> str:
        """Why nothing of it could be judged; empty where it could."""


Found = TypeVar("Found", bound=AnyRow)
Kind_ = TypeVar("Kind_", bound=Vocabulary)


class Findings(Generic[Found, Kind_]):
    """The audits of several shard paths, of each path one.

    ``unread`` stands for the tables below znodes that could not be read, with the paths of these.
    """

    prefix: str
    """What the names of the figures begin with."""
    counted: str
    """What is counted, for people."""

    def __init__(
        self, kinds: type[Kind_], audits: Sequence[AnyAudit[Found]], unread: Sequence[AnyAudit[Found]] = ()
    ) -> None:
        self._kinds = kinds
        self._audits = sorted(audits, key=_path_of)
        self._unread = tuple(unread)
        self.rows: list[Found] = sorted((row for audit in audits for row in audit.rows), key=_place_of)
        """All that was judged, the worst first."""
        self.findings = [row for row in self.rows if not row.verdict.kind.is_sound]
        """What of it is not sound."""

    def kinds(self) -> dict[Kind_, int]:
        """How many rows are of each kind, the worst first; also 0."""
        counted = Counter(row.verdict.kind for row in self.rows)
        return {kind: counted[kind] for kind in self._kinds}

    def unjudged(self) -> list[AnyAudit[Found]]:
        """The shard paths of which nothing could be judged, and the znodes that were not read; sorted."""
        return sorted([*(audit for audit in self._audits if audit.unjudged), *self._unread], key=_path_of)

    @property
    def shard_paths(self) -> int:
        """How many shard paths were looked at."""
        return len(self._audits)

    @property
    def is_drifted(self) -> bool:
        """Whether something is not as it should be."""
        return any(row.verdict.kind.is_drift for row in self.findings)

    @property
    def is_complete(self) -> bool:
        """Whether everything could be judged."""
        return not self.unjudged() and not self._not_judged()

    def summary(self) -> list[str]:
        """Lines for people: what there is of each kind, after what cannot wait."""
        return [*self.urgent(), self._head(), *self._kind_lines(), *self._unjudged_lines()]

    def urgent(self) -> Iterator[str]:
        """Lines about what cannot wait."""
        yield from ()

    def metrics(self, now: float) -> str:
        """The text for a collector of Prometheus; ``now`` is the time of the audit in seconds since 1970."""
        return exposition(self._families(now))

    def urgent_families(self) -> Iterator[Family]:
        """The figures about what cannot wait."""
        yield from ()

    def _not_judged(self) -> int:
        return sum(row.verdict.kind.value == NOT_JUDGED for row in self.findings)

    def _head(self) -> str:
        drifted = sum(row.verdict.kind.is_drift for row in self.findings)
        return (
            f"Shard paths: {self.shard_paths}; {self.counted}: {len(self.rows) - len(self.findings)} sound,"
            f" {drifted} drifted, {self._not_judged()} not judged"
        )

    def _kind_lines(self) -> Iterator[str]:
        for kind, found in groupby(self.findings, key=lambda row: row.verdict.kind):
            rows = list(found)
            reasons = sorted({row.verdict.reason for row in rows} - {""})
            told = f" {first_few(reasons, _FEWEST_SHOWN)}" if reasons else ""
            places = dict.fromkeys(f"{row.shard_path} {row.partition}".rstrip() for row in rows)
            yield f"{kind.value} {len(rows)}: {kind.means}. {kind.remedy}.{told} ({first_few(places, MOST_SHOWN)})"

    def _unjudged_lines(self) -> Iterator[str]:
        for audit in self.unjudged():
            yield f"not audited: {audit.shard_path}: {audit.unjudged}"

    def _families(self, now: float) -> Iterator[Family]:
        at = (Sample(round(now, 3)),)
        yield Family(
            f"{self.prefix}_drift",
            f"{self._counted_first} that are not as they should be, by shard path and kind.",
            tuple(self._drift()),
        )
        yield from self.urgent_families()
        yield Family(
            f"{self.prefix}_partitions",
            f"{self._counted_first} by kind, sound ones included.",
            tuple(Sample(count, (("kind", kind.value),)) for kind, count in self.kinds().items()),
        )
        yield Family(
            f"{self.prefix}_unjudged",
            "1 for a shard path of which nothing could be judged.",
            tuple(Sample(1, (("shard_path", each.shard_path),)) for each in self.unjudged()),
        )
        yield Family(
            f"{self.prefix}_complete", "Whether everything could be judged.", (Sample(int(self.is_complete)),)
        )
        yield Family(f"{self.prefix}_timestamp_seconds", "When the audit was made.", at)
        if self.is_complete:
            yield Family(
                f"{self.prefix}_last_complete_timestamp_seconds",
                "When the last audit was made that could judge everything.",
                at,
            )

    @property
    def _counted_first(self) -> str:
        """What is counted, at the beginning of a sentence."""
        return f"{self.counted[0].upper()}{self.counted[1:]}"

    def _drift(self) -> Iterator[Sample]:
        for audit in self._audits:
            counted = Counter(row.verdict.kind for row in audit.rows)
            for kind in self._kinds:
                if kind.is_drift and not audit.unjudged:
                    yield Sample(counted[kind], (("shard_path", audit.shard_path), ("kind", kind.value)))


def _path_of(audit: AnyAudit[AnyRow]) -> str:
    return audit.shard_path


def _place_of(row: AnyRow) -> tuple[int, str, str, str]:
    return row.verdict.kind.rank, row.shard_path, row.partition, row.replica
