# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Measures an ensemble during a run, through a separate session, and adapts the run to it.

An ensemble answers the requests of a session in order, so requests of the run itself wait for each other. The
timed request is therefore a sync, which only waits for the ensemble's pending work: the latency that other
clients experience.
"""

from __future__ import annotations

import threading
import time

from .._partmove.errors import PartMoveError
from .._partmove.run.latency_loop import LatencyLoop
from .four_letters import ask_member
from .options import EnsembleOptions
from .session import Session
from .strain import PULSE_SECONDS, MemberState, Strain
from .window import RequestWindow, ops_of_each, ops_on_the_way
from .wire import Exists, Request, Sync, wire_path

_FIRST_LATENCIES = 5
_FIRST_READS = 3
_LOOP_SECONDS = 0.05
"""Interval of the timed requests while the window of the run follows them."""
_SECONDS_BETWEEN_POLLS = 3.0
_MEMBER_SECONDS = 1.0
"""Time limit for a member's answer."""
_CLOSE_SECONDS = 3.0


class EnsembleWatch:
    """Feeds measurements to `Strain` and to the window in a background thread, until closed."""

    def __init__(
        self,
        options: EnsembleOptions,
        allowed: float,
        *,
        members: bool,
        window: RequestWindow | None = None,
        target: float = 0.0,
        processes: int = 1,
    ) -> None:
        """Connect, and measure the ensemble before the run adds load.

        allowed: latency that is always acceptable, in seconds.
        members: also query each member; members without an initial answer are not queried again.
        window: the requests of the run, so many that they add ``target`` seconds to the latency; without
            limit for 0.
        processes: number of processes of the run, each of which watches the ensemble and has a window.

        Errors as in `Session`.
        """
        self._options = options
        self._session = Session(options, f"the watch on {options.label}")
        self._sync = Sync(wire_path("", "/"))
        self._asked = 0.0
        """Time of the unanswered request; 0.0 without one."""
        self._ended = threading.Event()
        self._guard = threading.Lock()
        try:
            first = [self._pulse(self._sync) for _each in range(_FIRST_LATENCIES)]
            self._strain = Strain(options.name, first, allowed)
        except BaseException:
            self._session.close()
            raise
        self._window = window if target else None
        if self._window is not None:
            self._window.follow(
                LatencyLoop(first, target, ops_of_each(processes)),
                ops_on_the_way(self._distance(), processes),
            )
        self._members: dict[str, MemberState] = {}
        if members:
            self._query_members(options.hosts)
        self._thread = threading.Thread(target=self._run, name=f"watch-{options.name}", daemon=True)
        self._thread.start()

    def problem(self) -> str:
        """Return the reason to pause now, as a clause; ``""`` for none."""
        asked = self._asked
        with self._guard:
            return self._strain.problem(time.monotonic() - asked if asked else 0.0)

    def close(self) -> None:
        """End the thread and the session."""
        self._ended.set()
        self._session.close()
        self._thread.join(_CLOSE_SECONDS)

    def _run(self) -> None:
        polled = judged = time.monotonic()
        while not self._ended.wait(PULSE_SECONDS if self._window is None else _LOOP_SECONDS):
            seconds = self._pulse(self._sync)
            if self._window is not None:
                self._window.measured(seconds)
            now = time.monotonic()
            if now - judged >= PULSE_SECONDS:
                with self._guard:
                    self._strain.add_latency(seconds)
                judged = now
            if self._members and now - polled >= _SECONDS_BETWEEN_POLLS:
                self._query_members(tuple(self._members))
                polled = now

    def _distance(self) -> float:
        """Return the seconds to a member and back: a member answers a read alone, and without its disk."""
        read = Exists(wire_path("", "/"))
        return min(self._pulse(read) for _each in range(_FIRST_READS))

    def _pulse(self, request: Request) -> float:
        """Return the latency of a request; without an answer, the time until the failure."""
        self._asked = begin = time.monotonic()
        try:
            self._session.ask(request)
        except PartMoveError:
            # The run itself meets and reports the same failure.
            pass
        finally:
            self._asked = 0.0
        return time.monotonic() - begin

    def _query_members(self, hosts: tuple[str, ...]) -> None:
        """Query the members; a member without an answer keeps its last zxid, with no waiting requests."""
        for host in hosts:
            state = ask_member(self._options, host, _MEMBER_SECONDS)
            if state is not None:
                self._members[host] = state
            elif host in self._members:
                self._members[host] = self._members[host]._replace(outstanding=0)
        with self._guard:
            self._strain.add_members(dict(self._members))
