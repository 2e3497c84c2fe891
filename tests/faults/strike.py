# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Carries out one fault: what a run meets at one of its requests."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import NamedTuple

from faults.field import Field, Side
from faults.journey import Journey
from faults.kinds import Fault, Kind
from faults.rows import TRAVELLING, Background
from faults.runs import (
    HASTY,
    OVERTAKEN,
    PATIENT,
    SHORT_LIVED,
    Ending,
    InProcess,
    InThread,
    Running,
    Timeouts,
    carry_out,
)
from faults.wire import Stop
from support.servers.kazoo_client import connected
from support.servers.proxy import Action
from support.servers.replicated import wait_for

_DELAY_SECONDS = 1.0
_EXPIRY_SECONDS = 1.5 * SHORT_LIVED.hot_session + 0.5
_PAUSE_SECONDS = 2.0
_IDLE_SECONDS = 30.0


class Struck(NamedTuple):
    """What came of it.

    hit: whether the run got as far as the request.
    """

    hit: bool
    ending: Ending


class Strike:
    """One fault, and all that is chosen by chance for it."""

    def __init__(self, field: Field, journey: Journey, fault: Fault, chance: random.Random) -> None:
        """`chance`: gives the same for the same fault."""
        self._field = field
        self._journey = journey
        self._known = journey.known
        self._fault = fault
        self._until_end = chance.random() < 0.4
        """Whether what does not answer stays so until the run has ended."""
        self._victim = chance.randrange(2)

    def carry_out(
        self, pool: ThreadPoolExecutor, background: Background, at_stop: Sequence[Callable[[], object]]
    ) -> Struck:
        """Run until the end. `at_stop`: what else is done where the run is stopped, if that can be."""
        kind = self._fault.kind
        self._field.wire.arm(self._fault.request, kind.action)
        task = self._journey.task(self._fault.phase, direct=False, timeouts=self._timeouts())
        running: Running = InProcess(task) if kind.kills_run else InThread(pool, task)
        try:
            stop = self._field.wire.wait(running.is_over)
            if stop is not None:
                self._act(stop, running, background, at_stop)
        finally:
            self._field.wire.disarm()
        return Struck(stop is not None, running.ending())

    def _timeouts(self) -> Timeouts:
        if self._fault.kind is Kind.SESSION_EXPIRED:
            return SHORT_LIVED
        if self._fault.kind is Kind.REQUEST_DELAYED and self._until_end:
            return OVERTAKEN
        return HASTY if self._fault.kind.stops_members and self._until_end else PATIENT

    def _act(
        self,
        stop: Stop,
        running: Running,
        background: Background,
        at_stop: Sequence[Callable[[], object]],
    ) -> None:
        """Do what the fault is, and let the request go on."""
        kind = self._fault.kind
        if kind.breaks_servers:
            background.stop()
        elif at_stop and kind.action in {Action.HOLD, Action.HOLD_REPLY} and not self._is_switched():
            for act in at_stop:
                background.do(act)
        if kind.kills_run:
            running.kill()
            if kind is Kind.KILLED:
                stop.proxy.disconnect()
        elif kind in {Kind.REQUEST_DELAYED, Kind.ANSWER_DELAYED}:
            self._delay()
        elif kind is Kind.SESSION_EXPIRED:
            self._expire(self._field.side_of(stop.proxy))
        elif kind is Kind.CLICKHOUSE_KILLED:
            self._kill_server(stop)
        elif kind.stops_members:
            self._stop_member(stop)

    def _is_switched(self) -> bool:
        with connected(self._field.hot.ensemble.connect_string) as client:
            states = self._known.states(client, TRAVELLING)
        return b"COLD" in states.values()

    @staticmethod
    def _expire(side: Side) -> None:
        for proxy in side.proxies:
            proxy.pause()
        time.sleep(_EXPIRY_SECONDS)
        for proxy in side.proxies:
            proxy.restore()

    def _delay(self) -> None:
        """Wait for a moment, or until the lock is gone and another run has done all that there is to do."""
        if self._timeouts() is not OVERTAKEN:
            time.sleep(_DELAY_SECONDS)
            return
        for proxy in self._field.hot.proxies:
            proxy.pause()
        time.sleep(_EXPIRY_SECONDS)
        carry_out(self._journey.task(self._fault.phase))
        for proxy in self._field.hot.proxies:
            proxy.restore()

    def _kill_server(self, stop: Stop) -> None:
        # What a server that is killed has on disk only and was about to register, it sets aside by itself.
        with suppress(TimeoutError):
            wait_for(self._known.is_idle, _IDLE_SECONDS)
        server = self._field.servers[self._victim]
        self._field.kill(server)
        stop.trap.release()
        if not self._until_end:
            self._field.start(server)

    def _stop_member(self, stop: Stop) -> None:
        kind = self._fault.kind
        hot = kind in {Kind.HOT_KILLED, Kind.HOT_LEADER, Kind.HOT_PAUSED}
        ensemble = (self._field.hot if hot else self._field.cold).ensemble
        if kind in {Kind.HOT_LEADER, Kind.COLD_LEADER}:
            member = ensemble.leader()
        else:
            member = ensemble.followers()[self._victim]
        if hot:
            self._field.shaken.update(self._field.servers)
        pauses = kind in {Kind.HOT_PAUSED, Kind.COLD_PAUSED}
        (member.pause if pauses else member.kill)()
        stop.trap.release()
        if self._until_end:
            return
        if pauses:
            time.sleep(_PAUSE_SECONDS)
            member.resume()
        else:
            member.start()
