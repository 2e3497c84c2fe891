# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pending work of servers on the parts of a table."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.facts import (
    PartitionFacts,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.reader import (
    ShardReader,
)
from support.memory.arrange import Arrange, both, create, entry, mutation, quorum, write
from support.memory.bench import DAY, OTHER, PATH, Bench

LAYOUT = ShardLayout(PATH)
NO_TABLE = f"There is no replicated table at {PATH} in the hot ensemble"


@pytest.fixture
def bench() -> Bench:
    return Bench()


def reader_of(bench: Bench) -> ShardReader:
    return bench.reader()


def partition_of(bench: Bench) -> PartitionFacts:
    return reader_of(bench).read([DAY]).partitions[DAY]


@pytest.mark.parametrize(
    ("arrange", "message"),
    [
        (
            write("replicas/r2/log_pointer", b"x"),
            f"{PATH}/replicas/r2/log_pointer holds b'x' where a number of a log entry is expected",
        ),
        (write("replicas/r2/log_pointer", b"9" * 5000), f"{PATH}/replicas/r2/log_pointer holds"),
        (create("log/log-\u00b2"), f"{PATH}/log/log-\u00b2 is not a log entry"),
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
def test_an_unknown_znode_is_refused_with_its_path(bench: Bench, arrange: Arrange, message: str) -> None:
    arrange(bench)
    with pytest.raises(FormatError) as refusal:
        reader_of(bench).shard()
    assert refusal.value.message.startswith(message)


def test_pending_entries_are_grouped_by_partition(bench: Bench) -> None:
    """All entries of the queues count; entries of the log count until every replica has them in its queue."""
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


def test_an_entry_is_pending_until_it_is_deleted(bench: Bench) -> None:
    reader = reader_of(bench)
    bench.servers.insert(DAY)
    assert reader.shard().pending.keys() == {DAY}
    assert reader.shard().pending.keys() == {DAY}
    bench.servers.catch_up()
    assert reader.shard().pending == {}


def test_entries_of_a_replica_added_again_are_read_again(bench: Bench) -> None:
    """The replica restarts its numbers, so its entries have the paths of former entries."""
    reader = reader_of(bench)
    first = f"{PATH}/replicas/r2/queue/queue-0000000000"
    create("replicas/r2/queue/queue-0000000000", entry(f"get\n{OTHER}_9_9_0\n".encode()))(bench)
    assert reader.shard().pending.keys() == {OTHER}

    bench.servers.remove_replica("r2")
    bench.servers.add_replica("r2")
    bench.hot.delete(first)
    create("replicas/r2/queue/queue-0000000000", entry(f"get\n{DAY}_9_9_0\n".encode()))(bench)

    assert [each.where for each in reader.shard().pending[DAY]] == [first]


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
