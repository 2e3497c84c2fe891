# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Moves partitions, there or back, in a process that kills itself before an operation on an ensemble.

As a program it reads a `Job` as JSON from standard input.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import count

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.options import ClickHouseOptions
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.replica_probe import HttpReplicaProbe
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.servers import AskServers
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.report import PatchedReport
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.to_cold import move_shard
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.to_hot import (
    reheat_shard,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Multi
from support.memory.moves import ANY
from support.servers.moving import Before, ObservedStore, make_later_world, open_stores, switches

SESSION_SECONDS = 5.0
"""How long the lock of a killed move stays."""
_TIMEOUT_SECONDS = 600.0


@dataclass(frozen=True)
class Job:
    """What to move, and when to die.

    hot, cold: host:port separated by commas.
    endpoints: host:port of the HTTP interface by replica; without any no server is asked.
    operations: how many operations on the ensembles may be carried out.
    before_switch: whether none is from the switch on, however few there were.
    to_hot: whether it is the way back.
    seconds_ahead: see FastClock.
    """

    hot: str
    cold: str
    path: str
    partitions: Sequence[str]
    endpoints: Mapping[str, str]
    operations: int = sys.maxsize
    before_switch: bool = False
    to_hot: bool = False
    seconds_ahead: float = 0.0


def run_killed(job: Job) -> None:
    """Run the job in another process, which must not live to its end.

    Raises:
        RuntimeError: it was not killed; the text is what it wrote.
    """
    done = subprocess.run(
        [sys.executable, "-m", "support.servers.killed_move"],
        input=json.dumps(asdict(job)),
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=_TIMEOUT_SECONDS,
        check=False,
    )
    if done.returncode != -signal.SIGKILL:
        raise RuntimeError(f"the move was not killed, but ended with {done.returncode}: {done.stderr}")


def carry_out(job: Job, before: Before) -> PatchedReport:
    """Run the job in this process, with something to do before each operation on an ensemble."""
    with open_stores(job.hot, job.cold, SESSION_SECONDS) as (hot, cold):
        stores = ObservedStore(hot, before), ObservedStore(cold, before)
        context = make_later_world(*stores, job.seconds_ahead)
        if job.endpoints:
            probe = HttpReplicaProbe(ClickHouseOptions(endpoints=job.endpoints))
            context = context._replace(servers=AskServers(probe))
        if job.to_hot:
            return reheat_shard(context, job.path, job.partitions)
        return move_shard(context, job.path, job.partitions, ANY)


def main() -> None:
    """Run the job of standard input."""
    job = Job(**json.load(sys.stdin))
    numbers = count()

    def die(_operation: str, multis: Sequence[Multi]) -> None:
        if next(numbers) == job.operations or (job.before_switch and switches(multis)):
            os.kill(os.getpid(), signal.SIGKILL)

    carry_out(job, die)


if __name__ == "__main__":
    main()
