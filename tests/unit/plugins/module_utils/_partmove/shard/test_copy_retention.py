# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How long the copies in cold have to stay after a partition was brought back to hot."""

from __future__ import annotations

from math import inf

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.copy_retention import (
    retention_left,
)
from support.memory.arrange import create
from support.memory.bench import DAY, PART, PATH, Bench
from support.memory.copying import Copying

STATE = f"block_numbers/{DAY}/State"
COPIES = [f"{PATH}/replicas/{replica}/parts/{PART}" for replica in ("r1", "r2")]


@pytest.fixture
def copying() -> Copying:
    copying = Copying()
    copying.make(DAY)
    return copying


def bring_back(bench: Bench) -> None:
    create(STATE, b"COLD")(bench)
    bench.hot.set(f"{PATH}/{STATE}", b"HOT")


@pytest.mark.parametrize(
    ("state", "stopped", "seconds"),
    [(None, False, 0.0), (b"HOT", False, 0.0), (None, True, 0.0), (b"HOT", True, 0.0)],
)
def test_copies_of_a_never_cold_partition_are_not_needed(
    state: bytes | None, stopped: bool, seconds: float
) -> None:
    copying = Copying()
    if state is not None:
        create(STATE, state)(copying.bench)
    if stopped:
        copying.bench.servers.stop()
    shard, found = copying.read([DAY])
    assert retention_left(shard, found[DAY].state, copying.bench.clock.now()) == seconds


def test_copies_are_needed_as_long_as_a_replica_is_inactive(copying: Copying) -> None:
    bring_back(copying.bench)
    copying.bench.servers.stop("r2")
    shard, found = copying.read([DAY])
    assert retention_left(shard, found[DAY].state, copying.bench.clock.now() + 1e9) == inf
