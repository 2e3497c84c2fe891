# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each gate of one partition, once closed and once just open."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.names import parse_part_name
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.partition import (
    PARTITION_GATES,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.facts import RegisteredPart
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Stat, Znode
from support.memory.arrange import (
    age,
    allow,
    both,
    create,
    create_cold,
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
from support.memory.gate_cases import Case, gate_of, try_move
from support.memory.synthetic import LEGACY, MINIMALISTIC
from support.memory.tables import TableOptions

LOG = f"{PATH}/log/log-0000000000"
BLOCK = f"{PATH}/block_numbers/{DAY}/block-0000000007"
TOTALS = b"\x03\x02" + b"\x22" * 48

TRIPPED = [
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
    Case("old_enough", age(100.0, 99.0), "the newest part was registered 99 s ago, less than 100 s"),
    Case(
        "no_stray_copies",
        both(mark, create_cold(f"replicas/r2/parts/{DAY}_5_5_0")),
        f"the cold ensemble registers parts that hot does not have: {PATH}/replicas/r2/parts/{DAY}_5_5_0",
    ),
]

PASSED = [
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


@pytest.mark.parametrize("case", TRIPPED, ids=gate_of)
def test_a_gate_that_trips(case: Case) -> None:
    tried = try_move(case)
    assert tried.report.deferred == {DAY: case.refusal}
    assert tried.untouched


@pytest.mark.parametrize("case", PASSED, ids=gate_of)
def test_a_gate_that_just_does_not_trip(case: Case) -> None:
    tried = try_move(case)
    assert tried.report.deferred == {}
    assert tried.report.moved.keys() == {DAY}


def test_every_gate_has_a_case() -> None:
    names = {gate.name.value for gate in PARTITION_GATES}
    assert {case.gate for case in TRIPPED} == names
    assert {case.gate for case in PASSED} == names


def registered(name: str) -> RegisteredPart:
    path = f"{PATH}/replicas/r1/parts/{name}"
    return RegisteredPart(parse_part_name(name, 1, path), Znode(path, b"", Stat(*[0] * 11)), ())


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
