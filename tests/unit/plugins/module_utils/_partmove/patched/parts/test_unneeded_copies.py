# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which copies may be removed, decided from what was read alone."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.parts.unneeded_copies import (
    unneeded_copies,
)
from support.memory.arrange import create, create_cold
from support.memory.bench import DAY, OTHER, PART, PATH, Bench
from support.memory.copying import Copying

STATE = f"block_numbers/{DAY}/State"
COPIES = [f"{PATH}/replicas/{replica}/parts/{PART}" for replica in ("r1", "r2")]


@pytest.fixture
def copying() -> Copying:
    copying = Copying()
    copying.make(DAY)
    return copying


def unneeded(copying: Copying, *, own: set[str] | None = None, later: float = 0.0) -> list[str]:
    shard, found = copying.read([DAY])
    now = copying.bench.clock.now() + later
    return [part.znode.path for part in unneeded_copies(shard, found[DAY], now, own=own or set())]


def bring_back(bench: Bench) -> None:
    create(STATE, b"COLD")(bench)
    bench.hot.set(f"{PATH}/{STATE}", b"HOT")


def test_copies_of_what_hot_has_are_needed_by_nobody(copying: Copying) -> None:
    assert unneeded(copying) == COPIES


def test_copies_of_a_cold_partition_are_all_that_there_is(copying: Copying) -> None:
    create(STATE, b"COLD")(copying.bench)
    assert unneeded(copying, own=set(COPIES), later=1e9) == []


def test_copies_of_what_hot_has_not_go_only_if_they_are_our_own(copying: Copying) -> None:
    copying.bench.servers.drop(DAY)
    assert unneeded(copying) == []
    assert unneeded(copying, own={COPIES[0]}) == COPIES[:1]


def test_copies_of_a_partition_that_was_cold_wait(copying: Copying) -> None:
    bring_back(copying.bench)
    assert unneeded(copying, own=set(COPIES), later=599) == []
    assert unneeded(copying, later=600) == COPIES


def test_own_copies_of_what_was_dropped_after_it_was_brought_back_wait_too(copying: Copying) -> None:
    bring_back(copying.bench)
    copying.bench.servers.drop(DAY)
    assert unneeded(copying, own=set(COPIES), later=599) == []
    assert unneeded(copying, own=set(COPIES), later=600) == COPIES


def test_other_partitions_do_not_matter(copying: Copying) -> None:
    create_cold(f"replicas/r1/parts/{OTHER}_7_7_0")(copying.bench)
    assert unneeded(copying) == COPIES


def test_copies_wait_from_when_the_partition_was_brought_back(copying: Copying) -> None:
    create(STATE, b"COLD")(copying.bench)
    copying.bench.clock.sleep(10_000.0)
    copying.bench.hot.set(f"{PATH}/{STATE}", b"HOT")
    assert unneeded(copying, own=set(COPIES), later=599) == []
    assert unneeded(copying, later=600) == COPIES


def test_what_another_replica_has_in_hot_does_not_matter(copying: Copying) -> None:
    copying.bench.hot.delete(COPIES[1])
    assert unneeded(copying) == COPIES[:1]
