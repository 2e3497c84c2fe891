# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Moves of many sizes, near and far away, and the constants that predict how long they take."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from statistics import mean

from ansible_collections.olap.partmove.plugins.module_utils._partmove.run.duration import Speed, Work
from benchmark.pair import REPLICAS, Pair
from benchmark.spread import Spread
from support.memory.tables import Table

TOLERANCE = 0.25
"""How far a prediction may be from what was measured, as a share of it."""
# Large steps again after small ones: one constant at a time, the search gets stuck in between.
_STEPS = (1.5, 1.1, 1.02, 1.005) * 3
_MOST_ROUNDS = 2_000
_LEAST = 1e-9
_numbers = count()


@dataclass(frozen=True)
class Setting:
    """How a move runs: the option ``latency_target``, and the latency of each packet, both in seconds."""

    latency_target: float
    latency: float

    @property
    def round_trip(self) -> float:
        """Seconds from a request to its answer, by the network alone."""
        return 2 * self.latency


@dataclass(frozen=True)
class Row:
    """One size in one setting; memory in MiB."""

    kind: str
    setting: Setting
    work: Work
    seconds: Spread
    peak_rss_mb: float
    is_fitted: bool = True
    """Whether the constants may depend on the row. The others check them independently."""

    def ratio(self, speed: Speed) -> float:
        """Return the predicted time as a share of the measured time."""
        return speed.seconds(self.work, self.setting.round_trip) / self.seconds.median

    def is_predicted(self, speed: Speed) -> bool:
        """Whether the prediction is within the tolerance."""
        return abs(self.ratio(speed) - 1) <= TOLERANCE


def first_and_daily(pair: Pair, shard_paths: int, settings: Sequence[Setting], runs: int) -> Iterator[Row]:
    """Move a partition of each of new shard paths, and then, in each setting, another one, as daily runs do.

    The first move is that of the first setting.
    """
    found: list[list[tuple[float, float]]] = [[] for _run in range(1 + len(settings))]
    for _run in range(runs):
        tables = [_table(pair, 1 + len(found)) for _number in range(shard_paths)]
        for partition, setting, times in zip(
            tables[0].options.partitions, [settings[0], *settings], found, strict=False
        ):
            times.append(_move(pair, [(table.path, partition) for table in tables], setting))
    parts = len(REPLICAS)
    first, daily = (Work(shard_paths, shard_paths * parts, parts, 1, each) for each in (True, False))
    yield _row("first move", settings[0], first, found[0])
    for setting, times in zip(settings, found[1:], strict=True):
        yield _row("daily run", setting, daily, times)


def tables_moved(
    pair: Pair, shard_paths: int, partitions: int, setting: Setting, runs: int, *, is_fitted: bool = True
) -> Row:
    """Move all partitions of so many new tables with so many partitions each."""
    times = []
    for _run in range(runs):
        tables = [_table(pair, partitions) for _number in range(shard_paths)]
        planned = [(table.path, each) for table in tables for each in table.options.partitions]
        times.append(_move(pair, planned, setting))
    parts = len(REPLICAS) * partitions
    work = Work(shard_paths, shard_paths * parts, parts, partitions, is_first=True)
    return _row("first move", setting, work, times, is_fitted=is_fitted)


def fitted(rows: Sequence[Row], begin: Speed) -> Speed:
    """Return the constants with the least mean square of the logarithm of the ratio; ``begin`` is a guess.

    One constant after the other is made larger or smaller as long as this helps, in steps of less and less.
    """
    known = [row for row in rows if row.is_fitted]

    def error(speed: Speed) -> float:
        return mean(math.log(row.ratio(speed)) ** 2 for row in known)

    best, least = begin, error(begin)
    for step in _STEPS:
        for _round in range(_MOST_ROUNDS):
            before = least
            for name, value in best._asdict().items():
                for changed in (value * step, max(value / step, _LEAST)):
                    tried = best._replace(**{name: changed})
                    its_error = error(tried)
                    if its_error < least:
                        best, least = tried, its_error
            if least > before * 0.9999:
                break
    return best


def _table(pair: Pair, partitions: int) -> Table:
    return pair.build(f"growth_{next(_numbers):06}", partitions)


def _move(pair: Pair, planned: Sequence[tuple[str, str]], setting: Setting) -> tuple[float, float]:
    """Return the seconds of the move, and its memory."""
    with pair.at_distance(setting.latency) as hosts:
        run = pair.planned(planned, latency_target=setting.latency_target, hosts=hosts)()
    return run.seconds, run.peak_rss_mb


def _row(
    kind: str,
    setting: Setting,
    work: Work,
    times: Sequence[tuple[float, float]],
    *,
    is_fitted: bool = True,
) -> Row:
    seconds, peaks = zip(*times, strict=True)
    return Row(kind, setting, work, Spread.of(seconds), max(peaks), is_fitted)
