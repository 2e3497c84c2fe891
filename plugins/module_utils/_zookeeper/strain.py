# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Judges from measurements whether an ensemble is overloaded."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple

MOST_OUTSTANDING = 500
"""Limit of waiting requests at a member; ZooKeeper throttles clients at 1000 by default."""

PULSE_SECONDS = 0.5
"""Interval of the small timed requests."""

_SLOWDOWN_FACTOR = 5
"""Allowed latency, as a multiple of the initial latency, if that exceeds the configured limit."""
_LATENCIES = 5
_SAMPLES = 3


class MemberState(NamedTuple):
    """State reported by a member."""

    outstanding: int
    """Received requests without an answer."""
    zxid: int
    """Last applied transaction."""


class Strain:
    """Recent measurements of one ensemble.

    The latency is the median of the last answers, so a single late answer has no effect. The ensemble counts
    as slow above a limit, until the latency falls below half of the limit: pausing reduces the latency, and a
    run resumed at once would alternate between running and pausing.
    """

    def __init__(self, name: str, first: Sequence[float], allowed: float) -> None:
        """Start with the first latencies.

        name: the ensemble in messages. first: initial latencies, allowed: latency limit; both in seconds.
        """
        self._name = name
        self._usual = median(first)
        self._mark = max(allowed, _SLOWDOWN_FACTOR * self._usual)
        self._recent: deque[float] = deque(first, _LATENCIES)
        self._is_slow = False
        self._samples: deque[Mapping[str, MemberState]] = deque(maxlen=_SAMPLES)

    def add_latency(self, seconds: float) -> None:
        """Add the latency of an answer. A late answer counts for the requests skipped meanwhile, too."""
        self._recent.extend([seconds] * (1 + _skipped_pulses(seconds)))

    def add_members(self, members: Mapping[str, MemberState]) -> None:
        """Add a sample of the members' states, by address; silent members with their last state."""
        self._samples.append(members)

    def problem(self, late: float = 0.0) -> str:
        """Return the problem as a clause, ``""`` for none.

        late: seconds since a still unanswered request.
        """
        return self._slowness(late) or self._crowded_member() or self._lagging_member()

    def _slowness(self, late: float) -> str:
        seconds = median([*self._recent, *[late] * _skipped_pulses(late)][-_LATENCIES:])
        self._is_slow = seconds > (self._mark / 2 if self._is_slow else self._mark)
        if not self._is_slow:
            return ""
        return (
            f"ensemble {self._name} takes {_seconds_text(seconds)} to answer, and took"
            f" {_seconds_text(self._usual)} at the start"
        )

    def _crowded_member(self) -> str:
        """Return the problem of a member with too many waiting requests in all recent samples."""
        if len(self._samples) < _SAMPLES:
            return ""
        for address in sorted(self._samples[-1]):
            least = min(sample[address].outstanding for sample in self._samples if address in sample)
            if least > MOST_OUTSTANDING:
                return f"{least} requests wait at member {address} of ensemble {self._name}"
        return ""

    def _lagging_member(self) -> str:
        """Return the problem of a member behind the newest zxid of two samples before."""
        if len(self._samples) < _SAMPLES:
            return ""
        then = max((state.zxid for state in self._samples[0].values()), default=0)
        for address, state in sorted(self._samples[-1].items()):
            if state.zxid < then:
                return f"member {address} of ensemble {self._name} has fallen behind the others"
        return ""


def _skipped_pulses(seconds: float) -> int:
    """Return the number of requests not sent during a wait of ``seconds``, up to the relevant maximum."""
    return min(_LATENCIES - 1, int(seconds / PULSE_SECONDS))


def _seconds_text(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"
