# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A thread that looks at both ensembles all the time for a moment at which a part is lost."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from types import TracebackType
from typing import NamedTuple, Self

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from support.servers.kazoo_client import connected

Names = Mapping[str, frozenset[str]]
"""Replica → names of parts."""

_REST_SECONDS = 0.01
"""A core looks a few hundred times a second, and nothing happens for seconds where something restarts."""
_NAME_OF_A_PART = re.compile(r"([0-9A-Za-z-]+|\d{8}_\d{8})_\d+_\d+_\d+(_\d+)?")


class _Look(NamedTuple):
    """What one round saw; `states` are data and mzxid, before and after hot was read."""

    states: Mapping[str, tuple[bytes, int] | None]
    hot: Names
    states_again: Mapping[str, tuple[bytes, int] | None]
    cold: Names


class Watch:
    """Reads hot and then one member of cold, as a server that starts does, again and again.

    It notes in `problems` each part that it found in neither, each partition whose State and
    registration in hot contradict each other, and each name that is not that of a part. A context
    manager; `rounds` tells how often it looked.
    """

    def __init__(
        self,
        hot: str,
        cold_members: Sequence[str],
        path: str,
        parts: Mapping[str, Mapping[str, Sequence[str]]],
    ) -> None:
        """`parts`: replica → partition id → names of parts that must never be lost."""
        self._hosts = (hot, *cold_members)
        self._path = path
        self._parts = parts
        self._partitions = sorted({each for partitions in parts.values() for each in partitions})
        self._before: _Look | None = None
        self._stop = threading.Event()
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="watch")
        self.problems: list[str] = []
        self.rounds = 0

    def __enter__(self) -> Self:
        """Start to look."""
        with ExitStack() as stack:
            self._hot, *self._cold = [stack.enter_context(connected(each)) for each in self._hosts]
            self._sessions = stack.pop_all()
        self._running = self._pool.submit(self._run)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Look a last time at every member and end; raises what kept it from looking."""
        self._stop.set()
        try:
            self._running.result()
        finally:
            self._pool.shutdown()
            self._sessions.close()

    def _run(self) -> None:
        last = len(self._cold)
        while last:
            if self._stop.is_set():
                last -= 1
            look = self._look(self._cold[self.rounds % len(self._cold)])
            self._judge(look)
            self.rounds += 1
            self._rest(look)

    def _rest(self, look: _Look) -> None:
        """Wait for a moment where a look has seen what the one before it saw."""
        if look == self._before:
            self._stop.wait(_REST_SECONDS)
        self._before = look

    def _look(self, cold: KazooClient) -> _Look:
        return _Look(
            self._states(),
            self._registered(self._hot),
            self._states(),
            self._registered(cold),
        )

    def _judge(self, look: _Look) -> None:
        for replica, partitions in self._parts.items():
            strange = [n for n in look.hot[replica] | look.cold[replica] if not _NAME_OF_A_PART.fullmatch(n)]
            if strange:
                self.problems.append(f"{replica} has {strange} among its parts")
            for partition, names in partitions.items():
                missing = set(names) - look.hot[replica]
                lost = missing - look.cold[replica]
                if lost:
                    self.problems.append(f"{sorted(lost)} of {replica} is in neither ensemble")
                state = look.states[partition]
                if state != look.states_again[partition]:
                    continue
                is_cold = state is not None and state[0] == b"COLD"
                if is_cold and missing != set(names):
                    self.problems.append(f"{partition} of {replica} is COLD and has parts in hot")
                if not is_cold and missing:
                    self.problems.append(
                        f"{sorted(missing)} of {replica} is not in hot while State is {state}"
                    )

    def _states(self) -> dict[str, tuple[bytes, int] | None]:
        paths = [f"{self._path}/block_numbers/{each}/State" for each in self._partitions]
        answers = [self._hot.get_async(path) for path in paths]
        found: dict[str, tuple[bytes, int] | None] = {}
        for partition, answer in zip(self._partitions, answers, strict=True):
            try:
                data, stat = answer.get()
                found[partition] = (data, stat.mzxid)
            except NoNodeError:
                found[partition] = None
        return found

    def _registered(self, client: KazooClient) -> Names:
        answers = {
            replica: client.get_children_async(f"{self._path}/replicas/{replica}/parts")
            for replica in self._parts
        }
        found: dict[str, frozenset[str]] = {}
        for replica, answer in answers.items():
            try:
                found[replica] = frozenset(answer.get())
            except NoNodeError:
                found[replica] = frozenset()
        return found
