# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What hot and cold say of the replicas of one server, of a table in memory."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import NoSuchTable
from ansible_collections.olap.partmove.plugins.module_utils._partmove.health.cold_presence import ColdPresence
from ansible_collections.olap.partmove.plugins.module_utils._partmove.health.facts import (
    ColdFacts,
    Disk,
    DiskPartition,
    DiskTable,
    ReplicaStatus,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.ledger import (
    Ledger,
    ReplicaKey,
)
from support.memory.bench import DAY, PART, PATH, Bench
from support.memory.health import ROW, T
from support.memory.ledger import enter

R1 = ROW._replace(shard_path=PATH)
LATE = f"{DAY}_7_7_0"
NEVER = R1._replace(shard_path="/clickhouse/tables/01/never")


@pytest.fixture
def bench() -> Bench:
    """A table with a cold partition, whose replica r1 is entered."""
    bench = Bench()
    bench.move()
    enter(bench.hot_store, bench.cold_store, ReplicaKey(PATH, "r1"))
    return bench


def presence(bench: Bench, *, with_cold: bool = True) -> ColdPresence:
    cold = bench.cold_store if with_cold else None
    return ColdPresence(bench.hot_store, cold, Ledger(bench.hot_store))


def disk(*names: str) -> Disk:
    """A disk with active parts of the partition."""
    table = DiskTable(R1.engine, False, {DAY: DiskPartition(1, names)} if names else {})
    return Disk({T: table}, {T: frozenset()})


def facts(bench: Bench, *names: str, replica: ReplicaStatus = R1) -> list[ColdFacts]:
    """The facts of a replica whose disk has the parts."""
    looked = presence(bench)
    return looked.facts([replica], looked.registered([replica]), disk(*names))


def test_parts_of_cold_that_are_on_disk_are_not_missing(bench: Bench) -> None:
    assert presence(bench).registered([R1]) == {R1.path: frozenset({PART})}
    assert facts(bench, PART) == [ColdFacts(T, PATH, (DAY,), None, (), ())]


@pytest.mark.parametrize(
    ("active", "missing"),
    [
        ((), (PART,)),
        ((f"{DAY}_1_1_0",), (PART,)),
        ((f"{DAY}_0_1_1",), ()),
        ((f"{DAY}_0_0_0_7",), ()),
    ],
    ids=["nothing", "another part", "merged", "mutated"],
)
def test_a_part_may_be_on_disk_as_a_part_of_another(
    bench: Bench, active: tuple[str, ...], missing: tuple[str, ...]
) -> None:
    assert [each.missing for each in facts(bench, *active)] == [missing]


def test_a_name_that_no_part_can_have_is_missing(bench: Bench) -> None:
    bench.cold.create(f"{PATH}/replicas/r1/parts/junk", b"")
    assert [each.missing for each in facts(bench, PART)] == [("junk",)]


def test_a_table_that_the_server_does_not_have_has_no_part_on_disk(bench: Bench) -> None:
    looked = presence(bench)
    found = looked.facts([R1], looked.registered([R1]), Disk({}, {}))
    assert [each.missing for each in found] == [(PART,)]


def test_parts_that_were_dropped_meanwhile_are_not_missing(bench: Bench) -> None:
    found = facts(bench)
    assert presence(bench).still_missing(found, [R1]) == found
    bench.cold.delete(bench.part())
    assert presence(bench).still_missing(found, [R1]) == [found[0]._replace(missing=())]


def test_cold_is_not_asked_again_where_nothing_is_missing(bench: Bench) -> None:
    found = facts(bench, PART)
    asked: list[object] = []
    bench.cold_store.listing = asked.append
    assert presence(bench).still_missing(found, [R1]) == found
    assert asked == []


def test_without_cold_only_hot_is_asked(bench: Bench) -> None:
    looked = presence(bench, with_cold=False)
    assert looked.registered([R1]) == {}
    assert looked.facts([R1], {}, disk(PART)) == [ColdFacts(T, PATH, (DAY,), None, None)]
    Ledger(bench.hot_store).withdraw(ReplicaKey(PATH, "r1"))
    found = looked.facts([R1], {}, disk(PART))
    assert [each.not_ready for each in found] == ["replica r1 is not in the ledger"]


def unregistered(bench: Bench, *names: str) -> list[tuple[str, ...] | None]:
    return [each.unregistered for each in facts(bench, *names)]


@pytest.mark.parametrize(
    ("active", "found"),
    [
        ((PART,), ()),
        ((f"{DAY}_1_1_0",), (f"{DAY}_1_1_0",)),
        ((f"{DAY}_0_1_1", f"{DAY}_5_5_0"), (f"{DAY}_0_1_1", f"{DAY}_5_5_0")),
        ((), ()),
    ],
    ids=["cold", "another part", "merged and another", "nothing"],
)
def test_what_is_on_disk_and_not_registered(
    bench: Bench, active: tuple[str, ...], found: tuple[str, ...]
) -> None:
    assert unregistered(bench, *active) == [found]


def test_what_hot_alone_has_registered_is_registered(bench: Bench) -> None:
    """The sources of a registered part count as well: the server deletes them from the disk later."""
    bench.hot.create(f"{PATH}/replicas/r1/parts/{DAY}_1_3_1", b"")
    assert unregistered(bench, PART, f"{DAY}_1_3_1", f"{DAY}_2_2_0", f"{DAY}_4_4_0") == [(f"{DAY}_4_4_0",)]


def test_of_a_replica_that_hot_does_not_have_nothing_is_said(bench: Bench) -> None:
    """Other symptoms report such a replica."""
    bench.hot.delete(f"{PATH}/replicas/r1", recursive=True)
    assert unregistered(bench, f"{DAY}_4_4_0") == [None]


@pytest.mark.parametrize(
    ("late", "active", "left"),
    [
        (None, (LATE, PART), (LATE,)),
        (None, (PART,), ()),
        ("hot", (LATE, PART), ()),
        ("cold", (LATE, PART), ()),
    ],
    ids=["it stays", "dropped", "registered in hot", "registered in cold"],
)
def test_both_are_read_again(
    bench: Bench, late: str | None, active: tuple[str, ...], left: tuple[str, ...]
) -> None:
    found = facts(bench, LATE, PART)
    assert [each.unregistered for each in found] == [(LATE,)]
    if late is not None:
        getattr(bench, late).create(f"{PATH}/replicas/r1/parts/{LATE}", b"")

    again = presence(bench).still_unregistered(found, [R1], lambda: disk(*active))

    assert again == [found[0]._replace(unregistered=left)]


def test_a_table_that_is_gone_in_the_second_read(bench: Bench) -> None:
    found = facts(bench, LATE)
    bench.servers.drop_table()
    again = presence(bench).still_unregistered(found, [R1], lambda: disk(LATE))
    assert [each.unregistered for each in again] == [()]


def test_nothing_is_read_again_if_every_part_is_registered(bench: Bench) -> None:
    found = facts(bench, PART)
    asked: list[object] = []
    bench.hot_store.listing = asked.append
    assert presence(bench).still_unregistered(found, [R1], lambda: disk(LATE)) == found
    assert asked == []


@pytest.mark.parametrize("name", ["hot", "cold"])
def test_a_member_that_is_behind_catches_up_first(bench: Bench, name: str) -> None:
    """Else a part that was registered just now would seem not to be."""
    store = bench.hot_store if name == "hot" else bench.cold_store
    store.connect_to(store.ensemble.members[-1])
    getattr(bench, name).create(f"{PATH}/replicas/r1/parts/{LATE}", b"")
    assert presence(bench).facts([R1], {}, disk(LATE))[0].unregistered == ()


def test_a_partition_of_which_nothing_is_registered(bench: Bench) -> None:
    name = "20300101_0_0_0"
    table = DiskTable(R1.engine, False, {"20300101": DiskPartition(1, (name,))})
    (found,) = presence(bench).facts([R1], {}, Disk({T: table}, {T: frozenset()}))
    assert found.unregistered == (name,)


def test_with_cold_the_entry_has_to_hold(bench: Bench) -> None:
    bench.servers.restart("r1")
    assert [each.not_ready for each in facts(bench, PART)] == [
        "replica r1 restarted, or had a new session, since it was verified"
    ]
    assert [each.not_ready for each in facts(bench, PART, replica=R1._replace(replica="r2"))] == [
        "replica r2 is not in the ledger"
    ]


def test_a_table_that_hot_does_not_have(bench: Bench) -> None:
    assert facts(bench, replica=NEVER._replace(read_only=True)) == []
    with pytest.raises(
        NoSuchTable, match=f"^d.t is a replica of {NEVER.shard_path}, which is not in the hot"
    ):
        facts(bench, replica=NEVER)
