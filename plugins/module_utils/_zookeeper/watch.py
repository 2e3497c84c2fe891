# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Watches an ensemble while a run works with it, through a session of its own.

Requests of the run itself wait for each other, as an ensemble answers a session in the order of its requests.
So what is timed is a request that does nothing but wait for all that the ensemble has under way: a sync. That
is what any other client feels.
"""

from __future__ import annotations

import threading
import time

from .._partmove.errors import PartMoveError
from .four_letters import ask_member
from .options import EnsembleOptions
from .session import Session
from .strain import PULSE_SECONDS, MemberState, Strain
from .wire import Sync, wire_path

_FIRST_LATENCIES = 5
_SECONDS_BETWEEN_POLLS = 3.0
_MEMBER_SECONDS = 1.0
"""How long a member may take to say how it is."""
_CLOSE_SECONDS = 3.0


class EnsembleWatch:
    """Measures what `Strain` judges, in a thread, until it is closed."""

    def __init__(self, options: EnsembleOptions, allowed: float, *, members: bool) -> None:
        """Connect, and measure how the ensemble is before the run puts a load on it.

        allowed: seconds that an answer may take in any case. With ``members`` also ask each member how it is;
        one that does not tell at first is not asked again. Raises as `Session` does.
        """
        self._options = options
        self._session = Session(options, f"the watch on {options.label}")
        self._sync = Sync(wire_path("", "/"))
        self._asked = 0.0
        """When the request was sent whose answer is waited for; 0.0 while there is none."""
        self._ended = threading.Event()
        self._guard = threading.Lock()
        try:
            self._strain = Strain(options.name, [self._pulse() for _each in range(_FIRST_LATENCIES)], allowed)
        except BaseException:
            self._session.close()
            raise
        self._members: dict[str, MemberState] = {}
        if members:
            self._look(options.hosts)
        self._thread = threading.Thread(target=self._run, name=f"watch-{options.name}", daemon=True)
        self._thread.start()

    def problem(self) -> str:
        """Why the ensemble should be left alone now, as a clause; ``""`` where it need not be."""
        asked = self._asked
        with self._guard:
            return self._strain.problem(time.monotonic() - asked if asked else 0.0)

    def close(self) -> None:
        """End the session."""
        self._ended.set()
        self._session.close()
        self._thread.join(_CLOSE_SECONDS)

    def _run(self) -> None:
        looked = time.monotonic()
        while not self._ended.wait(PULSE_SECONDS):
            seconds = self._pulse()
            with self._guard:
                self._strain.answered(seconds)
            if self._members and time.monotonic() - looked >= _SECONDS_BETWEEN_POLLS:
                self._look(tuple(self._members))
                looked = time.monotonic()

    def _pulse(self) -> float:
        """How long an answer takes; while the ensemble is not there, how long it was waited for."""
        self._asked = begin = time.monotonic()
        try:
            self._session.ask(self._sync)
        except PartMoveError:
            # The run meets the same, and tells of it.
            pass
        finally:
            self._asked = 0.0
        return time.monotonic() - begin

    def _look(self, hosts: tuple[str, ...]) -> None:
        """Ask the members; one that does not answer now is where it was, as far as anybody knows."""
        for host in hosts:
            state = ask_member(self._options, host, _MEMBER_SECONDS)
            if state is not None:
                self._members[host] = state
            elif host in self._members:
                self._members[host] = self._members[host]._replace(outstanding=0)
        with self._guard:
            self._strain.told(dict(self._members))
