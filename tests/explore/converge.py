# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is left in the end, when nothing goes wrong any more and people do what the refusals tell them."""

from __future__ import annotations

from contextlib import suppress

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    NoSuchTable,
    PartMoveError,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.state import State
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.to_hot import (
    reheat_shard,
)
from explore.runs import Process, Runs, told
from explore.schedule import Settings
from support.memory.interleaving import Script
from support.memory.scene import PATH, WANTED, Scene

_ROUNDS = 5
_FENCE_SECONDS = 600.0


def converge(scene: Scene, runs: Runs, scripts: list[Script], log: list[str]) -> None:
    """Let the servers come to rest, go on with the move, bring all back, and look at what is left.

    Raises Violation, and AssertionError where something is not as it has to be in the end.
    """
    _come_to_rest(scene)
    with suppress(NoSuchTable):
        log.append(f"then move: {told(runs.move(_process(runs, scripts)))}")
        _come_to_rest(scene)
        for _round in range(_ROUNDS):
            report = reheat_shard(_process(runs, scripts).context, PATH, WANTED)
            log.append(f"then reheat: {told(report)}")
            _come_to_rest(scene)
            scene.wait(_FENCE_SECONDS)
            for each in sorted({*report.deferred, *report.failed}):
                _follow_advice(scene, _process(runs, scripts), runs, each)
        if not scene.servers.times_made:
            _judge(scene)


def _process(runs: Runs, scripts: list[Script]) -> Process:
    scripts.append(Script())
    return runs.start(Settings(), scripts[-1])


def _come_to_rest(scene: Scene) -> None:
    servers = scene.servers
    servers.cold_expired = False
    for replica in sorted(servers.disk):
        if servers.is_lost(replica):
            servers.remove_replica(replica)
        elif not servers.is_active(replica):
            servers.restart(replica)
    servers.catch_up()
    servers.catch_up()
    scene.watch.check()


def _follow_advice(scene: Scene, process: Process, runs: Runs, partition: str) -> None:
    """Copy what a disk lacks from another server; where none has it, set State to what is true."""
    where = scene.where(partition)
    if where.state == b"COLD" and any(where.disk.values()):
        everywhere = {name for names in where.disk.values() for name in names}
        for replica, names in where.cold.items():
            scene.servers.disk[replica] |= names & everywhere
    with suppress(PartMoveError):
        runs.set_state(process, partition, State.HOT)


def _judge(scene: Scene) -> None:
    """Hot has all that is on the disks, and cold has nothing any more."""
    for each in WANTED:
        where = scene.where(each)
        assert where.covered_by(where.hot), f"{each} is not in hot in the end: {where}"
        assert where.state != b"COLD" or not any(where.disk.values()), f"{each} is COLD in the end: {where}"
        assert not any(where.cold.values()), f"{each} has copies in the end: {where}"
