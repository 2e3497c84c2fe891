# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether an ensemble is in trouble: decided from what was measured of it, and nothing else."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple

MOST_OUTSTANDING = 500
"""Requests that may wait at a member; by default ZooKeeper holds clients back from 1000 on."""

PULSE_SECONDS = 0.5
"""Between two small requests whose answers are timed."""

_SLOWDOWN_FACTOR = 5
"""How many times as long as at the start an answer may take, where that is more than may be anyway."""
_LATENCIES = 5
_SAMPLES = 3


class MemberState(NamedTuple):
    """What a member says of itself."""

    outstanding: int
    """Requests that it has received and not answered."""
    zxid: int
    """The last transaction that it has applied."""


class Strain:
    """What one ensemble had to say lately.

    The latency is the median of the last answers, so that a single late one is no trouble. It is trouble from
    a mark on, and until it is half of that: pausing makes it sink, and a run that went on at once would
    go on and off.
    """

    def __init__(self, name: str, first: Sequence[float], allowed: float) -> None:
        """Take the name for messages, seconds that the first answers took, and seconds that any may take."""
        self._name = name
        self._usual = median(first)
        self._mark = max(allowed, _SLOWDOWN_FACTOR * self._usual)
        self._recent: deque[float] = deque(first, _LATENCIES)
        self._is_slow = False
        self._looks: deque[Mapping[str, MemberState]] = deque(maxlen=_SAMPLES)

    def answered(self, seconds: float) -> None:
        """Take in how long an answer took. A late one stands for those that were not asked for meanwhile."""
        self._recent.extend([seconds] * (1 + _skipped_pulses(seconds)))

    def told(self, members: Mapping[str, MemberState]) -> None:
        """Take in what the members say now, by address; of one that is silent what it said last."""
        self._looks.append(members)

    def problem(self, late: float = 0.0) -> str:
        """What the trouble is, as a clause, ``""`` for none.

        late: seconds for which an answer is waited for already.
        """
        return self._slowness(late) or self._crowd() or self._laggard()

    def _slowness(self, late: float) -> str:
        seconds = median([*self._recent, *[late] * _skipped_pulses(late)][-_LATENCIES:])
        self._is_slow = seconds > (self._mark / 2 if self._is_slow else self._mark)
        if not self._is_slow:
            return ""
        return (
            f"ensemble {self._name} takes {_seconds_text(seconds)} to answer, and took {_seconds_text(self._usual)} at the"
            " start"
        )

    def _crowd(self) -> str:
        """A member where too many requests wait, in each of the last looks."""
        if len(self._looks) < _SAMPLES:
            return ""
        for address in sorted(self._looks[-1]):
            least = min(look[address].outstanding for look in self._looks if address in look)
            if least > MOST_OUTSTANDING:
                return f"{least} requests wait at member {address} of ensemble {self._name}"
        return ""

    def _laggard(self) -> str:
        """A member that has not applied yet what another one had two looks before."""
        if len(self._looks) < _SAMPLES:
            return ""
        then = max((state.zxid for state in self._looks[0].values()), default=0)
        for address, state in sorted(self._looks[-1].items()):
            if state.zxid < then:
                return f"member {address} of ensemble {self._name} has fallen behind the others"
        return ""


def _skipped_pulses(seconds: float) -> int:
    """How many requests were not sent because one was waited for so long, as far as they count."""
    return min(_LATENCIES - 1, int(seconds / PULSE_SECONDS))


def _seconds_text(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{seconds * 1000:.0f} ms"
