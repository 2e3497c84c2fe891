# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The partitions of two shards go to their cold twins and back, while all that can happen happens.

PARTITIONS says of how many, in both shards together; `make faults WHAT=twin` takes 1,000.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.ansible.twin_shards import LATE_DAYS, SHARDS, TwinShards
from support.servers.replicated import wait_for
from support.servers.statement_gateway import Moment
from support.servers.zookeeper import Ensemble

DAYS = int(os.environ.get("PARTITIONS") or "32") // len(SHARDS)
"""Partitions of each shard."""
QUIET = range(DAYS - LATE_DAYS)
"""Days that nobody inserts into."""
SETTLE_SECONDS = 900.0


@pytest.fixture
def shards(
    modern_engine: None, tmp_path: Path, hot: Ensemble, cold: Ensemble, base: str
) -> Iterator[TwinShards]:
    with TwinShards(tmp_path, hot, cold, base, DAYS) as shards:
        yield shards


def settle(shards: TwinShards, state: str) -> None:
    """Run again until nothing is in the way, and look at every replica."""
    answers: list[dict[str, Any]] = []

    def is_moved() -> bool:
        shards.settle()
        answers.append(shards.move(state))
        # A merge that was assigned before may end during the run, and leaves its part in the source.
        return not answers[-1]["deferred"] and not answers[-1]["left_behind"]

    wait_for(is_moved, SETTLE_SECONDS, lambda: answers[-1])
    told = {
        (each["shard_path"], each["partition"]): each["reason"] for each in answers[-1]["failed_partitions"]
    }
    shards.check(state, told)


STEPS: tuple[tuple[Moment, Callable[[TwinShards], object]], ...] = (
    (Moment(1, 0, given=False), TwinShards.add_column),
    (Moment(1, 0, given=True), lambda shards: shards.update(1, DAYS - 6)),
    (Moment(1, 1, given=False), TwinShards.merge_between),
    (Moment(1, 1, given=True), TwinShards.insert_between),
)
"""Each statement of a group of partitions, before and after it, and what happens after the kill."""


@pytest.mark.long(minutes=3)
def test_partitions_of_two_shards_go_there_and_back_whatever_is_killed(shards: TwinShards) -> None:
    """On the way there runs are killed at each step, on the way back servers; each row is there once.

    Every run is asked for partitions of its own, and first finishes what the runs before it left.
    """
    with shards.disturbed():
        for number, (moment, act) in enumerate(STEPS):
            shards.move_killed("cold", moment, shards.with_late(QUIET[number :: len(STEPS)]))
            act(shards)
    settle(shards, "cold")

    with shards.disturbed():
        # Before a statement, so that it waits in vain, and after each of them.
        moments = [moment for moment, _act in STEPS if moment.given or not moment.drops]
        # Days in a row: what a step on the way there has left to people is not all that a run is asked for.
        size = len(QUIET) // (len(moments) + 1)
        for number, moment in enumerate(moments):
            days = QUIET[number * size : (number + 1) * size]
            answer = shards.move_with_kills("hot", moment, shards.with_late(days))
            assert "twin_ready" in {each["gate"] for each in answer["deferred"]}, answer
            shards.revive()
        shards.move_killed("hot", STEPS[1][0], shards.with_late(QUIET[len(moments) * size :]))
    settle(shards, "hot")
