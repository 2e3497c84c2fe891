# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each gate that judges a table, tripped and just passed, by reading and judging a whole table."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.gate import Refusal
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.judge import refuse_shard
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.partition import PARTITION_GATES
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.shard import SHARD_GATES
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.reader import ShardReader
from support.memory.arrange import (
    Arrange,
    age,
    allow,
    both,
    create,
    create_cold,
    define,
    delete,
    entry,
    legacy_part,
    mark,
    mutation,
    on_both,
    quorum,
    write,
)
from support.memory.bench import DAY, OTHER, PART, PATH, Bench
from support.memory.synthetic import LEGACY, MINIMALISTIC
from support.memory.tables import TableOptions

TOTALS = b"\x03\x02" + b"\x22" * 48
REMEDIES = {gate.name.value: gate.remedy for gate in SHARD_GATES} | {
    gate.name.value: gate.remedy for gate in PARTITION_GATES
}


class Case(NamedTuple):
    """What is done to a table whose partitions all gates let pass, and what the gate says of DAY then."""

    gate: str
    arrange: Arrange
    reason: str = ""


SHARED_ID = b"5f2b1d3c-0d5a-4b58-9a6b-0e0a1a3b2c1d"
LOG = f"{PATH}/log/log-0000000000"
BLOCK = f"{PATH}/block_numbers/{DAY}/block-0000000007"

TRIPPED = [
    Case("known_layout", create("new"), f"znodes of a kind that is not known here: {PATH}/new"),
    Case(
        "known_layout",
        create("replicas/r2/new"),
        f"znodes of a kind that is not known here: {PATH}/replicas/r2/new",
    ),
    Case("table_kept", create("dropped"), "the table is being dropped"),
    Case("replicas_healthy", lambda bench: bench.servers.stop(), "replica r2 is not active"),
    Case("replicas_healthy", delete("replicas/r2/host"), "replica r2 is not active"),
    Case("replicas_healthy", write("replicas/r2/is_lost", b"1"), "replica r2 is lost"),
    Case("replicas_healthy", write("replicas/r2/is_lost", b"0\n"), "replica r2 is lost"),
    Case(
        "replicas_healthy",
        both(delete("replicas/r1/is_lost"), write("replicas/r2/is_lost", b"1")),
        "replica r1 does not say whether it is lost, replica r2 is lost",
    ),
    Case("no_ttl", define("metadata", lambda data: data + b"ttl: d + 1\n"), "the table has a TTL"),
    Case(
        "no_ttl",
        define("columns", lambda data: data.replace(b"`d` Date\n", b"`d` Date\tTTL d + 1\n")),
        "a column of the table has a TTL",
    ),
    Case(
        "no_alter_pending",
        create(
            "log/log-0000000000",
            entry(
                b"alter\nalter_version\n1\nhave_mutation\n0\ncolumns_str_size:\n1\nc\nmetadata_str_size:\n1\nm\n"
            ),
        ),
        f"entries that concern the whole table wait: {LOG}",
    ),
    Case(
        "no_alter_pending",
        write("replicas/r2/columns", b"columns format version: 1\n1 columns:\n`e` Date\n"),
        "replicas with another table definition: r2",
    ),
    Case(
        "no_alter_pending", write("replicas/r1/metadata", b""), "replicas with another table definition: r1"
    ),
    Case(
        "same_table",
        create_cold(f"replicas/r1/parts/{OTHER}_0_0_0"),
        "the cold ensemble holds parts that were not put there by this collection",
    ),
    Case(
        "same_table",
        both(mark, lambda bench: bench.cold.set(PATH, b"another table")),
        "the cold ensemble holds parts of a former table at the same path",
    ),
    Case(
        "same_table",
        create_cold(f"replicas/r9/parts/{OTHER}_0_0_0"),
        "the cold ensemble holds parts that were not put there by this collection",
    ),
    Case(
        "no_shared_storage",
        create(f"zero_copy_s3/shared/{PART}"),
        f"parts are shared, pinned or on their way to another shard: {PATH}/zero_copy_s3/shared/{PART}",
    ),
    Case(
        "no_shared_storage",
        both(
            create("table_shared_id", SHARED_ID),
            create(f"zero_copy_s3/{SHARED_ID.decode()}/{PART}", at="/clickhouse/zero_copy"),
        ),
        "parts are shared, pinned or on their way to another shard: "
        f"/clickhouse/zero_copy/zero_copy_s3/{SHARED_ID.decode()}/{PART}",
    ),
    Case(
        "no_shared_storage",
        create("pinned_part_uuids", b'{"part_uuids":"[\\"5f2b\\"]"}'),
        f"parts are shared, pinned or on their way to another shard: {PATH}/pinned_part_uuids",
    ),
    Case(
        "no_shared_storage",
        create("part_moves_shard/task-1"),
        f"parts are shared, pinned or on their way to another shard: {PATH}/part_moves_shard/task-1",
    ),
    Case(
        "queue_clear",
        create("log/log-0000000000", entry(f"get\n{DAY}_1_1_0\n".encode())),
        f"entries for the partition wait: get in {LOG}",
    ),
    Case(
        "queue_clear",
        create("replicas/r2/queue/queue-0000000003", entry(f"drop\n{DAY}_0_9_999999999\n".encode())),
        f"entries for the partition wait: drop in {PATH}/replicas/r2/queue/queue-0000000003",
    ),
    Case(
        "queue_clear",
        both(
            write("replicas/r1/log_pointer", b"1"),
            create("log/log-0000000000", entry(f"mutate\n{PART}\nto\n{PART}_4\n".encode())),
        ),
        f"entries for the partition wait: mutate in {LOG}",
    ),
    Case(
        "block_numbers_present",
        delete(f"block_numbers/{DAY}"),
        "the partition is not among the block numbers of the table",
    ),
    Case(
        "no_insert_in_flight",
        lambda bench: bench.hot.create(BLOCK, b"", ephemeral=True),
        f"an insert holds a block number: {BLOCK}",
    ),
    Case(
        "no_insert_in_flight",
        both(
            create("temp/abandonable_lock-1"),
            create(f"block_numbers/{DAY}/block-0000000007", f"{PATH}/temp/abandonable_lock-1".encode()),
        ),
        f"an insert holds a block number: {BLOCK}",
    ),
    Case(
        "no_quorum_open",
        create("quorum/status", quorum(PART)),
        f"quorum inserts are open or have failed: {PATH}/quorum/status",
    ),
    Case(
        "no_quorum_open",
        both(create(f"quorum/parallel/{PART}", quorum(PART)), create(f"quorum/failed_parts/{DAY}_5_5_0")),
        f"quorum inserts are open or have failed: {PATH}/quorum/parallel/{PART}, "
        f"{PATH}/quorum/failed_parts/{DAY}_5_5_0",
    ),
    Case(
        "equal_parts",
        create(f"replicas/r1/parts/{DAY}_1_1_0", MINIMALISTIC),
        f"the replicas have different parts: {DAY}_1_1_0 is not on r2",
    ),
    Case("one_part", on_both(f"{DAY}_1_1_0"), f"replica r1 has 2 parts registered: {PART}, {DAY}_1_1_0"),
    Case(
        "payload_readable",
        write(f"replicas/r2/parts/{PART}", b"garbage"),
        f"{PATH}/replicas/r2/parts/{PART} has data that is not a part header of format version 1",
    ),
    Case(
        "payload_readable",
        write(f"replicas/r1/parts/{PART}", b""),
        f"{PATH}/replicas/r1/parts/{PART} has no data,"
        " and no child in place of the children checksums and columns",
    ),
    Case(
        "payload_readable",
        create(f"replicas/r1/parts/{PART}/columns", LEGACY["columns"]),
        f"{PATH}/replicas/r1/parts/{PART} has data and children at once",
    ),
    Case(
        "equal_payloads",
        write(f"replicas/r2/parts/{PART}", MINIMALISTIC[:-1] + b"\x00"),
        f"{PATH}/replicas/r1/parts/{PART} and {PATH}/replicas/r2/parts/{PART} do not register the same data",
    ),
    Case(
        "equal_payloads",
        both(
            write(f"replicas/r1/parts/{PART}", MINIMALISTIC),
            legacy_part("r2", b"checksums format version: 4\nall files"),
        ),
        f"{PATH}/replicas/r1/parts/{PART} and {PATH}/replicas/r2/parts/{PART} do not register the same data",
    ),
    Case(
        "mutations_applied",
        create("mutations/0000000001", mutation(DAY, 1)),
        f"mutation 0000000001 has not been applied to {PART}",
    ),
    Case("old_enough", age(100.0, 99.0), "its newest part was registered 99 s ago, less than 100 s"),
    Case(
        "no_stray_copies",
        both(mark, create_cold(f"replicas/r2/parts/{DAY}_5_5_0")),
        f"the cold ensemble has parts that hot does not have: {PATH}/replicas/r2/parts/{DAY}_5_5_0",
    ),
]

PASSED = [
    Case("known_layout", both(create("alter_partition_version"), create("replicas/r1/metadata_version"))),
    Case("table_kept", create("lost_part_count", b"0")),
    Case("replicas_present", lambda bench: bench.servers.remove_replica("r2")),
    Case("replicas_healthy", lambda bench: bench.servers.restart()),
    Case(
        "no_ttl", define("columns", lambda data: data.replace(b"`d` Date\n", b"`d` Date\tDEFAULT\t'TTL '\n"))
    ),
    Case("no_alter_pending", delete("replicas/r2/metadata")),
    Case("same_table", mark),
    Case(
        "same_table", both(create_cold("replicas/r9/parts"), lambda bench: bench.cold.set(PATH, b"another"))
    ),
    Case(
        "no_shared_storage",
        both(
            create("zero_copy_s3/shared"),
            create("table_shared_id", SHARED_ID),
            create(f"zero_copy_s3/5f2b/{PART}", at="/clickhouse/zero_copy"),
            create("pinned_part_uuids", b'{"part_uuids":"[]"}'),
            create("part_moves_shard"),
        ),
    ),
    Case("queue_clear", create("log/log-0000000000", entry(f"get\n{OTHER}_1_1_0\n".encode()))),
    Case(
        "queue_clear",
        both(
            write("replicas/r1/log_pointer", b"1"),
            write("replicas/r2/log_pointer", b"1"),
            create("log/log-0000000000", entry(f"get\n{DAY}_1_1_0\n".encode())),
        ),
    ),
    Case("block_numbers_present", delete(f"block_numbers/{OTHER}")),
    Case("no_insert_in_flight", create(f"block_numbers/{DAY}/block-0000000007")),
    Case(
        "no_insert_in_flight",
        create(f"block_numbers/{DAY}/block-0000000007", f"{PATH}/temp/abandonable_lock-1".encode()),
    ),
    Case(
        "no_quorum_open", both(create("quorum/status", quorum(f"{OTHER}_0_0_0")), create("quorum/parallel"))
    ),
    Case("equal_parts", create(f"replicas/r1/parts/{OTHER}_1_1_0", MINIMALISTIC)),
    Case("one_part", both(on_both(f"{DAY}_1_1_0"), allow(2))),
    Case(
        "payload_readable",
        both(legacy_part("r1", LEGACY["checksums"]), legacy_part("r2", LEGACY["checksums"])),
    ),
    Case(
        "equal_payloads",
        both(
            write(f"replicas/r1/parts/{PART}", MINIMALISTIC),
            legacy_part("r2", b"checksums format version: 5\n" + TOTALS),
        ),
    ),
    Case(
        "mutations_applied",
        create("mutations/0000000001", mutation(OTHER, 1)),
    ),
    Case(
        "mutations_applied",
        create("mutations/0000000001", mutation(DAY, 0)),
    ),
    Case("old_enough", age(100.0, 100.0)),
    Case(
        "no_stray_copies",
        both(
            mark,
            create_cold(f"replicas/r1/parts/{PART}"),
            delete(f"replicas/r1/parts/{PART}"),
            delete(f"replicas/r2/parts/{PART}"),
            on_both(f"{DAY}_0_4_1"),
        ),
    ),
]


def ids(case: Case) -> str:
    return case.gate


@pytest.mark.parametrize("case", TRIPPED, ids=ids)
def test_a_gate_that_trips(case: Case) -> None:
    bench = Bench()
    case.arrange(bench)
    hot, cold = bench.hot_ensemble.data(PATH), bench.cold_ensemble.data(PATH)

    report = bench.move()

    assert report.deferred == {DAY: Refusal(GateName(case.gate), case.reason, REMEDIES[case.gate])}
    assert bench.hot_ensemble.data(PATH) == hot
    assert bench.cold_ensemble.data(PATH) == cold


@pytest.mark.parametrize("case", PASSED, ids=ids)
def test_a_gate_that_just_does_not_trip(case: Case) -> None:
    bench = Bench()
    case.arrange(bench)

    report = bench.move()

    assert report.deferred == {}
    assert report.moved.keys() == {DAY}


def test_a_table_without_replicas() -> None:
    """None of its partitions exists, so that a move says that first."""
    bench = Bench()
    for replica in ("r1", "r2"):
        bench.servers.remove_replica(replica)

    refusal = refuse_shard(ShardReader(bench.hot_store, bench.cold_store, ShardLayout(PATH)).shard())

    assert refusal == Refusal(
        GateName.REPLICAS_PRESENT, "the table has no replica", "Leave the table out of the plan"
    )
    assert bench.move().deferred[DAY].gate == "partition_exists"


def test_every_gate_has_a_case() -> None:
    assert {case.gate for case in TRIPPED} | {"replicas_present"} == REMEDIES.keys()
    assert {case.gate for case in PASSED} == REMEDIES.keys()


def test_the_first_of_several_gates_is_told() -> None:
    bench = Bench()
    order = list(REMEDIES)
    together = ("queue_clear", "no_ttl", "one_part", "replicas_healthy")
    for name in together:
        next(case for case in TRIPPED if case.gate == name).arrange(bench)

    assert bench.move().deferred[DAY].gate == min(together, key=order.index)


def test_partition_ids_are_compared_as_a_whole() -> None:
    """One is the beginning of the other, and entries of either concern it alone."""
    short, long = "2019-1", "2019-12"
    options = TableOptions(partitions=(short, long))

    for busy, free in ((short, long), (long, short)):
        bench = Bench(options)
        create("log/log-0000000000", entry(f"get\n{busy}_5_5_0\n".encode()))(bench)
        create("quorum/status", quorum(f"{busy}_5_5_0"))(bench)
        create("mutations/0000000001", mutation(busy, 9))(bench)

        report = bench.move(short, long)

        assert report.deferred[busy].gate == "queue_clear"
        assert report.moved.keys() == {free}
        assert bench.hot.get_children(f"{PATH}/replicas/r1/parts") == [f"{busy}_0_0_0"]
