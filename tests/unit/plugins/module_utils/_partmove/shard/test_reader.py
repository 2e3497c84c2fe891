# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is read of a shard path, in which order, and what holds only as long as nothing happens there."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError, NoSuchTable
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.facts import PartitionFacts
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.reader import (
    ShardReader,
    marked_cold,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Committed
from support.memory.arrange import Arrange, both, create, create_cold, delete, entry, mutation, quorum, write
from support.memory.bench import DAY, OTHER, PART, PATH, Bench, HookedStore
from support.memory.memory import MemoryEnsemble
from support.memory.simulated import SimulatedServers
from support.memory.synthetic import MINIMALISTIC

LAYOUT = ShardLayout(PATH)
NO_TABLE = f"There is no replicated table at {PATH} in the hot ensemble"


@pytest.fixture
def bench() -> Bench:
    return Bench()


def reader_of(bench: Bench) -> ShardReader:
    return ShardReader(bench.hot_store, bench.cold_store, LAYOUT)


def partition_of(bench: Bench, partition: str = DAY, *, with_cold: bool = True) -> PartitionFacts:
    reader = reader_of(bench)
    return reader.partitions(reader.shard(), [partition], with_cold=with_cold)[partition]


@pytest.mark.parametrize(
    ("act", "holds"),
    [
        (lambda servers: servers.insert(DAY), True),
        (lambda servers: servers.stop("r2"), True),
        (lambda servers: servers.assign_merge(DAY), False),
        (lambda servers: servers.assign_drop(DAY), False),
        (lambda servers: servers.mutate(DAY), False),
        (lambda servers: servers.restart("r2"), False),
        (lambda servers: servers.lose("r2"), False),
        (lambda servers: servers.add_replica("r3"), False),
        (lambda servers: servers.remove_replica("r2"), False),
        (lambda servers: servers.drop_table(), False),
        (lambda servers: servers.recreate(), False),
    ],
    ids=[
        "an insert",
        "a server stops",
        "a merge",
        "a drop",
        "a mutation",
        "a server starts",
        "a replica is lost",
        "one more replica",
        "one replica less",
        "the table is dropped",
        "the table is made again",
    ],
)
def test_the_fence_holds_until_something_happens_that_concerns_parts(
    bench: Bench, act: Callable[[SimulatedServers], object], holds: bool
) -> None:
    # The version of /log says something about the server only once it is above 0.
    bench.servers.assign_merge(OTHER)
    bench.servers.catch_up()
    fence = reader_of(bench).shard().fence
    assert isinstance(bench.hot_store.commit([fence])[0], Committed)

    act(bench.servers)

    assert isinstance(bench.hot_store.commit([fence])[0], Committed) is holds


@pytest.mark.parametrize("name", ["columns", "metadata"])
def test_the_fence_does_not_outlive_a_change_of_the_definition(bench: Bench, name: str) -> None:
    fence = reader_of(bench).shard().fence
    bench.hot.set(f"{PATH}/{name}", b"other")
    assert not isinstance(bench.hot_store.commit([fence])[0], Committed)


def test_the_log_pointers_stand_in_where_servers_do_not_raise_the_version_of_the_log(bench: Bench) -> None:
    fence = reader_of(bench).shard().fence
    bench.servers.insert(DAY)
    assert isinstance(bench.hot_store.commit([fence])[0], Committed)

    bench.servers.pull()

    assert not isinstance(bench.hot_store.commit([fence])[0], Committed)


@pytest.mark.parametrize("name", ["log", "mutations", "replicas", "columns", "metadata"])
def test_a_path_that_lacks_what_every_table_has_is_no_table(bench: Bench, name: str) -> None:
    delete(name)(bench)
    with pytest.raises(NoSuchTable, match=NO_TABLE):
        reader_of(bench).shard()


@pytest.mark.parametrize(
    ("arrange", "message"),
    [
        (
            write("replicas/r2/log_pointer", b"x"),
            f"{PATH}/replicas/r2/log_pointer holds b'x' where a number of a log entry is expected",
        ),
        (create("log/query-0000000000"), f"{PATH}/log/query-0000000000 is not a log entry"),
        (create("log/log-x"), f"{PATH}/log/log-x is not a log entry"),
        (create("log/log-0000000000", b"garbage"), f"{PATH}/log/log-0000000000"),
        (create("replicas/r1/queue/queue-0000000000", b""), f"{PATH}/replicas/r1/queue/queue-0000000000"),
        (create("mutations/0000000000", b"garbage"), f"{PATH}/mutations/0000000000"),
        (create("quorum/status", b"garbage"), f"{PATH}/quorum/status"),
        (create("quorum/failed_parts/garbage"), f"{PATH}/quorum/failed_parts"),
        (write("metadata", b"garbage"), f"{PATH}/metadata"),
    ],
)
def test_what_is_not_understood_is_refused_with_its_path(
    bench: Bench, arrange: Arrange, message: str
) -> None:
    arrange(bench)
    with pytest.raises(FormatError) as refusal:
        reader_of(bench).shard()
    assert refusal.value.message.startswith(message)


def test_a_name_that_is_no_part_is_refused_with_its_path(bench: Bench) -> None:
    create("replicas/r2/parts/tmp_insert")(bench)
    with pytest.raises(FormatError, match=f"{PATH}/replicas/r2/parts/tmp_insert"):
        partition_of(bench)


def test_what_waits_is_told_by_partition(bench: Bench) -> None:
    """Of the log only what some replica has not taken over; of the queues everything."""
    log, queue = f"{PATH}/log/log", f"{PATH}/replicas/r2/queue/queue"
    arrange = both(
        write("replicas/r1/log_pointer", b"2"),
        write("replicas/r2/log_pointer", b"1"),
        *(create(f"log/log-{number:010}", entry(f"get\n{DAY}_5_5_0\n".encode())) for number in range(3)),
        create("replicas/r2/queue/queue-0000000000", entry(f"get\n{OTHER}_5_5_0\n".encode())),
        create("mutations/0000000001", mutation(DAY, 9)),
        create("quorum/status", quorum(f"{DAY}_6_6_0")),
        create(f"quorum/failed_parts/{DAY}_7_7_0"),
    )
    arrange(bench)

    shard = reader_of(bench).shard()

    assert {each: [one.where for one in found] for each, found in shard.pending.items()} == {
        DAY: [f"{log}-0000000001", f"{log}-0000000002"],
        OTHER: [f"{queue}-0000000000"],
    }
    assert shard.pending_table_wide == ()
    assert [(each.id, each.block_numbers) for each in shard.mutations] == [("0000000001", {DAY: 9})]
    assert shard.quorum == {DAY: (f"{PATH}/quorum/status", f"{PATH}/quorum/failed_parts/{DAY}_7_7_0")}


def test_an_entry_is_looked_at_again_until_it_is_gone(bench: Bench) -> None:
    reader = reader_of(bench)
    bench.servers.insert(DAY)
    assert reader.shard().pending.keys() == {DAY}
    assert reader.shard().pending.keys() == {DAY}
    bench.servers.catch_up()
    assert reader.shard().pending == {}


@pytest.mark.parametrize(
    ("arrange", "marker"),
    [
        (both(), None),
        (create_cold("replicas/r1/parts"), None),
        (create_cold(f"replicas/r1/parts/{PART}"), b""),
        # A replica that hot does not have may be one of a former table.
        (create_cold(f"replicas/r9/parts/{PART}"), b""),
    ],
)
def test_cold_has_a_marker_once_it_has_a_part(bench: Bench, arrange: Arrange, marker: bytes | None) -> None:
    arrange(bench)
    assert reader_of(bench).shard().cold_marker == marker


def test_a_partition_is_told_by_replica_and_ensemble(bench: Bench) -> None:
    create(f"replicas/r2/parts/{DAY}_1_1_0", MINIMALISTIC)(bench)
    create_cold(f"replicas/r1/parts/{PART}", MINIMALISTIC)(bench)
    bench.hot.create(f"{PATH}/block_numbers/{DAY}/State", b"HOT")

    found = partition_of(bench)

    assert found.exists
    assert found.state_text == "HOT"
    assert found.whereabouts.hot == {"r1": [PART], "r2": [PART, f"{DAY}_1_1_0"]}
    assert found.whereabouts.cold == {"r1": [PART], "r2": []}
    assert partition_of(bench, with_cold=False).cold == {}
    assert not partition_of(bench, "none").exists


@pytest.mark.parametrize(
    ("data", "temp", "in_flight"),
    [(b"", (), False), (b"temp/abandonable_lock-1", (), False), (b"temp/abandonable_lock-1", ("1",), True)],
)
def test_an_insert_is_in_flight_as_long_as_its_holder_lives(
    bench: Bench, data: bytes, temp: tuple[str, ...], in_flight: bool
) -> None:
    path = f"{PATH}/block_numbers/{DAY}/block-0000000007"
    bench.hot.create(path, f"{PATH}/".encode() + data if data else b"")
    for number in temp:
        bench.hot.create(f"{PATH}/temp/abandonable_lock-{number}")
    assert partition_of(bench).inserts_in_flight == ((path,) if in_flight else ())


class Listing(HookedStore):
    """Calls a function after each listing of children."""

    def __init__(self, ensemble: MemoryEnsemble) -> None:
        super().__init__(ensemble)
        self.listed: Callable[[Sequence[str]], object] = lambda _paths: None

    def children(self, paths: Sequence[str]) -> list[tuple[str, ...] | None]:
        found = super().children(paths)
        self.listed(paths)
        return found


def test_parts_that_are_merged_while_they_are_read_are_read_again(bench: Bench) -> None:
    """Else the partition would seem to have lost parts."""
    bench.servers.insert(DAY)
    bench.servers.catch_up()
    hot = Listing(bench.hot_ensemble)
    reader = ShardReader(hot, bench.cold_store, LAYOUT)
    shard = reader.shard()
    acts: list[Callable[[], object]] = [bench.servers.catch_up]
    bench.servers.assign_merge(DAY)
    hot.listed = lambda paths: acts.pop()() if acts and LAYOUT.replica("r1").parts in paths else None

    found = reader.partitions(shard, [DAY])[DAY]

    assert acts == []
    assert found.whereabouts.hot == {"r1": [f"{DAY}_0_2_1"], "r2": [f"{DAY}_0_2_1"]}


def test_a_partition_that_is_switched_while_it_is_looked_for_is_nowhere(bench: Bench) -> None:
    """Without the lease nobody can say where it is."""
    hot = Listing(bench.hot_ensemble)
    reader = ShardReader(hot, bench.cold_store, LAYOUT)
    shard = reader.shard()
    assert reader.whereabouts(shard, [DAY, OTHER]).keys() == {DAY, OTHER}
    hot.listed = lambda _paths: bench.move()

    assert reader.whereabouts(shard, [DAY, OTHER]).keys() == {OTHER}


def test_where_the_names_of_parts_are(bench: Bench) -> None:
    bench.move()
    reader = reader_of(bench)
    shard = reader.shard()
    other = f"{OTHER}_0_0_0"
    assert reader.names_in_hot(shard) == {"r1": {OTHER: [other]}, "r2": {OTHER: [other]}}
    assert reader.names_in_cold(shard) == {"r1": {DAY: [PART]}, "r2": {DAY: [PART]}}
    found = reader.whereabouts(shard, [DAY, OTHER])
    assert {each: (where.is_cold, where.hot["r1"], where.cold["r1"]) for each, where in found.items()} == {
        DAY: (True, (), [PART]),
        OTHER: (False, [other], ()),
    }


def set_state(partition: str, data: bytes) -> Arrange:
    return create(f"block_numbers/{partition}/State", data)


@pytest.mark.parametrize(
    ("arrange", "found"),
    [
        (both(), []),
        (lambda bench: bench.move(DAY), [DAY]),
        (create_cold(f"replicas/r2/parts/{OTHER}_0_0_0"), [OTHER]),
        (set_state(OTHER, b"COLD"), [OTHER]),
        (set_state(OTHER, b"HOT"), []),
        (both(lambda bench: bench.move(DAY), set_state(OTHER, b"COLD")), [DAY, OTHER]),
        (both(lambda bench: bench.move(DAY), lambda bench: bench.servers.drop(DAY)), []),
    ],
    ids=["all hot", "cold", "a copy", "only marked", "marked as hot", "both", "dropped while cold"],
)
def test_what_is_not_only_in_hot(bench: Bench, arrange: Arrange, found: list[str]) -> None:
    arrange(bench)
    reader = reader_of(bench)
    assert reader.partitions_not_only_in_hot(reader.shard()) == found


def test_a_partition_that_was_dropped_while_cold_stays_marked(bench: Bench) -> None:
    assert marked_cold(bench.hot_store, LAYOUT) == ()
    bench.move(OTHER, DAY)
    bench.servers.drop(OTHER)
    assert marked_cold(bench.hot_store, LAYOUT) == (DAY, OTHER)
    bench.hot.set(f"{PATH}/block_numbers/{DAY}/State", b"COLD\n")
    assert marked_cold(bench.hot_store, LAYOUT) == (OTHER,)
