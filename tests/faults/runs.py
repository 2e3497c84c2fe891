# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs of a move, in this process or in one that can be killed, and how they end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import NamedTuple, Protocol

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.options import ClickHouseOptions
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.replica_probe import HttpReplicaProbe
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.gate import Refusal
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.servers import AskServers
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.report import PatchedReport
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.to_cold import move_shard
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.to_hot import (
    reheat_shard,
)
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.options import EnsembleOptions
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.store import connect
from faults.kinds import Phase
from support.memory.moves import ANY
from support.servers.killed_move import Job
from support.servers.moving import make_later_world

LATER = 700.0
"""Seconds after which no server can need copies any more."""
_NEVER = -1
_RUN_SECONDS = 600.0


class Timeouts(NamedTuple):
    """How long a run waits for an answer, and how long each ensemble waits for a run, in seconds."""

    answer: float = 60.0
    hot_session: float = 10.0
    cold_session: float = 10.0


PATIENT = Timeouts()
HASTY = Timeouts(answer=5.0)
"""Of a run during which a member does not answer until it has ended."""
SHORT_LIVED = Timeouts(hot_session=3.0, cold_session=3.0)
"""Of a run whose session is to expire, with whichever ensemble."""
OVERTAKEN = Timeouts(hot_session=3.0, cold_session=60.0)
"""Of a run that is to lose its lock, and still have a session to write to cold with."""


class Task(NamedTuple):
    """What a run has to do.

    hot, cold: host:port separated by commas.
    endpoints: host:port of the HTTP interface by replica.
    """

    hot: str
    cold: str
    path: str
    partitions: tuple[str, ...]
    endpoints: Mapping[str, str]
    phase: Phase
    timeouts: Timeouts = PATIENT

    @property
    def seconds_ahead(self) -> float:
        """How much later it is for the run."""
        return LATER if self.phase is Phase.CLEAN else 0.0


@dataclass(frozen=True)
class Ending:
    """How a run ended: what became of each partition, or what it raised; or neither.

    killed: whether that is because it was killed, and not because it was a process that told nothing.
    """

    report: PatchedReport | None = None
    error: PartMoveError | None = None
    killed: bool = False

    @property
    def words(self) -> list[str]:
        """The kinds of ends that its partitions had."""
        if self.error is not None:
            return ["raised"]
        if self.report is None:
            return ["killed" if self.killed else "ended"]
        ends: Mapping[str, object] = {
            "moved": self.report.moved,
            "copies removed": self.report.copies_removed,
            "unchanged": self.report.unchanged,
            "deferred": self.report.deferred,
            "failed": self.report.failed,
        }
        return [word for word, partitions in ends.items() if partitions]

    @property
    def refusals(self) -> Mapping[str, Refusal]:
        """Why partitions were deferred or failed."""
        return {} if self.report is None else {**self.report.deferred, **self.report.failed}

    def __str__(self) -> str:
        """In a few words, with the error or the gates."""
        if self.error is not None:
            return f"raised {type(self.error).__name__}"
        gates = sorted({refusal.gate.value for refusal in self.refusals.values()})
        return ", ".join(self.words) + (f" ({', '.join(gates)})" if gates else "")


def carry_out(task: Task) -> Ending:
    """Run in this thread, until the end."""
    try:
        with ExitStack() as stack:
            stores = []
            for name, hosts, session in (
                ("hot", task.hot, task.timeouts.hot_session),
                ("cold", task.cold, task.timeouts.cold_session),
            ):
                options = EnsembleOptions(
                    name,
                    tuple(hosts.split(",")),
                    session_timeout=session,
                    connect_timeout=task.timeouts.answer,
                    operation_timeout=task.timeouts.answer,
                )
                stores.append(connect(options))
                stack.callback(stores[-1].close)
            context = make_later_world(stores[0], stores[1], task.seconds_ahead)
            probe = HttpReplicaProbe(ClickHouseOptions(endpoints=task.endpoints))
            context = context._replace(servers=AskServers(probe))
            if task.phase is Phase.MOVE:
                return Ending(move_shard(context, task.path, task.partitions, ANY))
            return Ending(reheat_shard(context, task.path, task.partitions))
    except PartMoveError as error:
        return Ending(error=error)


class Running(Protocol):
    """A run that goes on beside its observer."""

    def is_over(self) -> bool:
        """Whether it has ended."""

    def kill(self) -> None:
        """End it at once."""

    def ending(self) -> Ending:
        """Wait for its end; raises RuntimeError where it ended as no run may."""


class InThread:
    """A run in a thread, which nothing can kill."""

    def __init__(self, pool: ThreadPoolExecutor, task: Task) -> None:
        """Begin."""
        self._future: Future[Ending] = pool.submit(carry_out, task)

    def is_over(self) -> bool:
        """Whether it has ended."""
        return self._future.done()

    def kill(self) -> None:
        """Raises RuntimeError."""
        raise RuntimeError("a thread cannot be killed")

    def ending(self) -> Ending:
        """Wait for its end; raises RuntimeError where it ended as no run may."""
        error = self._future.exception(_RUN_SECONDS)
        if error is not None:
            raise RuntimeError(f"a run ended with {error!r}") from error
        return self._future.result()


class InProcess:
    """A run in a process of its own."""

    def __init__(self, task: Task) -> None:
        """Begin."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "support.servers.killed_move"],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdin is not None
        job = Job(
            task.hot,
            task.cold,
            task.path,
            task.partitions,
            task.endpoints,
            _NEVER,
            to_hot=task.phase is not Phase.MOVE,
            seconds_ahead=task.seconds_ahead,
        )
        self._process.stdin.write(json.dumps(asdict(job)))
        self._process.stdin.close()
        self._process.stdin = None
        self._killed = False

    def is_over(self) -> bool:
        """Whether it has ended."""
        return self._process.poll() is not None

    def kill(self) -> None:
        """End it at once."""
        self._killed = True
        self._process.kill()
        self._process.wait(_RUN_SECONDS)

    def ending(self) -> Ending:
        """Wait for its end; raises RuntimeError where it ended as no run may."""
        _output, errors = self._process.communicate(timeout=_RUN_SECONDS)
        if self._process.returncode and not self._killed:
            raise RuntimeError(
                f"a run that nothing disturbed ended with {self._process.returncode}: {errors}"
            )
        return Ending(killed=self._killed)
