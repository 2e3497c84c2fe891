# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which parts cold has for a replica that does not have them."""

from __future__ import annotations

from collections.abc import Callable, Collection

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.ledger import (
    ReplicaKey,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.without_data import (
    parts_without_data,
)
from support.memory.arrange import create, create_cold, define
from support.memory.bench import DAY, OTHER, PART, PATH, Bench

R1, R2 = ReplicaKey(PATH, "r1"), ReplicaKey(PATH, "r2")
NEVER = ReplicaKey("/clickhouse/tables/01/never", "r1")


@pytest.fixture
def bench() -> Bench:
    """A table with a cold partition."""
    bench = Bench()
    bench.move()
    return bench


class Disks:
    """Tells the same of every replica, and notes whom it was asked about."""

    def __init__(self, *names: str) -> None:
        self.names = names
        self.asked: list[ReplicaKey] = []
        self.act: Callable[[], object] = lambda: None

    def __call__(self, key: ReplicaKey) -> Collection[str]:
        self.asked.append(key)
        self.act()
        return self.names


def found(bench: Bench, disks: Disks) -> dict[ReplicaKey, list[str]]:
    return parts_without_data(bench.hot_store, bench.cold_store, [R2, R1], disks)


@pytest.mark.parametrize(
    ("active", "missing"),
    [
        ((PART,), False),
        ((f"{DAY}_0_1_1",), False),
        ((f"{DAY}_0_0_0_7",), False),
        ((), True),
        ((f"{DAY}_1_1_0", f"{OTHER}_0_0_0"), True),
    ],
    ids=["the part", "merged", "mutated", "nothing", "others"],
)
def test_what_is_not_on_disk(bench: Bench, active: tuple[str, ...], missing: bool) -> None:
    assert found(bench, Disks(*active)) == ({R1: [PART], R2: [PART]} if missing else {})


def test_what_hot_has_too_is_no_matter_of_cold(bench: Bench) -> None:
    """Nor are parts that hot has merged; no server is asked for them."""
    create(f"replicas/r1/parts/{PART}")(bench)
    create(f"replicas/r2/parts/{DAY}_0_1_1")(bench)
    disks = Disks()
    assert found(bench, disks) == {}
    assert disks.asked == []


def test_a_part_that_is_dropped_meanwhile_is_not_missing(bench: Bench) -> None:
    disks = Disks()
    disks.act = lambda: bench.servers.drop(DAY) if disks.asked == [R1, R2] else None
    assert found(bench, disks) == {}


def test_a_member_of_cold_that_is_behind_catches_up(bench: Bench) -> None:
    bench.cold_store.connect_to(bench.cold_ensemble.members[-1])
    create_cold(f"replicas/r2/parts/{DAY}_9_9_0")(bench)
    assert found(bench, Disks(PART)) == {R2: [f"{DAY}_9_9_0"]}


def test_a_table_that_cold_has_nothing_of_need_not_be_understood(bench: Bench) -> None:
    define("metadata", lambda _data: b"of a later version")(bench)
    for replica in ("r1", "r2"):
        bench.cold.delete(f"{PATH}/replicas/{replica}/parts", recursive=True)
    assert found(bench, Disks()) == {}
    assert parts_without_data(bench.hot_store, bench.cold_store, [NEVER], Disks()) == {}


def test_a_table_that_is_dropped_meanwhile_has_no_replica(bench: Bench) -> None:
    bench.servers.drop_table()
    assert found(bench, Disks()) == {}


def test_a_name_that_no_part_has_is_refused(bench: Bench) -> None:
    """A server with such a part in cold does not load the table."""
    create_cold("replicas/r1/parts/junk")(bench)
    with pytest.raises(FormatError, match=f"^{PATH}/replicas/r1/parts/junk in the cold ensemble"):
        found(bench, Disks(PART))


def test_a_replica_that_hot_does_not_have_lacks_what_is_not_on_its_disk(bench: Bench) -> None:
    bench.hot.delete(f"{PATH}/replicas/r1", recursive=True)
    assert found(bench, Disks(PART)) == {}
    assert found(bench, Disks()) == {R1: [PART], R2: [PART]}


def test_a_replica_whose_other_parts_are_on_its_disk_lacks_nothing_that_is_dropped(bench: Bench) -> None:
    dropped = f"{DAY}_9_9_0"
    for replica in ("r1", "r2"):
        create_cold(f"replicas/{replica}/parts/{dropped}")(bench)
    disks = Disks(PART)

    def drop() -> None:
        for replica in ("r1", "r2"):
            path = f"{PATH}/replicas/{replica}/parts/{dropped}"
            if bench.cold.exists(path) is not None:
                bench.cold.delete(path)

    disks.act = drop
    assert found(bench, disks) == {}
