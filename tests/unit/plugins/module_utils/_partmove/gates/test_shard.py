# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each gate that judges the whole shard path, tripped and just passed."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.gate import Refusal
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.judge import refuse_shard
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.shard import SHARD_GATES
from support.memory.arrange import (
    both,
    create,
    create_cold,
    define,
    delete,
    entry,
    mark,
    mark_former,
    mark_without_id,
    write,
)
from support.memory.bench import DAY, OTHER, PART, PATH, Bench
from support.memory.gate_cases import Case, gate_of, try_move

SHARED_ID = b"5f2b1d3c-0d5a-4b58-9a6b-0e0a1a3b2c1d"
LOG = f"{PATH}/log/log-0000000000"

TRIPPED = [
    Case("known_layout", create("new"), f"znodes of an unknown kind: {PATH}/new"),
    Case(
        "known_layout",
        create("replicas/r2/new"),
        f"znodes of an unknown kind: {PATH}/replicas/r2/new",
    ),
    Case("table_kept", create("dropped"), "the table is being dropped"),
    Case("replicas_healthy", lambda bench: bench.servers.stop(), "replica r2 is not active"),
    Case("replicas_healthy", delete("replicas/r2/host"), "replica r2 is not active"),
    Case("replicas_healthy", write("replicas/r2/is_lost", b"1"), "replica r2 is lost"),
    Case("replicas_healthy", write("replicas/r2/is_lost", b"0\n"), "replica r2 is lost"),
    Case(
        "replicas_healthy",
        both(delete("replicas/r1/is_lost"), write("replicas/r2/is_lost", b"1")),
        "replica r1 has no znode is_lost, replica r2 is lost",
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
        "the cold ensemble registers parts that another tool put there",
    ),
    Case(
        "same_table",
        both(mark, mark_former),
        "the cold ensemble registers parts of a former table at the same path",
    ),
    Case(
        "same_table",
        create_cold(f"replicas/r9/parts/{OTHER}_0_0_0"),
        "the cold ensemble registers parts that another tool put there",
    ),
    Case(
        "same_table",
        both(create_cold(f"replicas/r1/parts/{OTHER}_0_0_0"), mark_without_id),
        "nothing proves that the parts in the cold ensemble are of this cluster",
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
    Case("same_table", both(create_cold("replicas/r9/parts"), mark_former)),
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


def test_a_table_without_replicas() -> None:
    """No partition exists then, so a move reports that gate first."""
    bench = Bench()
    for replica in ("r1", "r2"):
        bench.servers.remove_replica(replica)

    refusal = refuse_shard(bench.reader().shard())

    assert refusal == Refusal(
        GateName.REPLICAS_PRESENT, "the table has no replica", "Leave the table out of the plan"
    )
    assert bench.move().deferred[DAY].gate == "partition_exists"


def test_every_gate_has_a_case() -> None:
    names = {gate.name.value for gate in SHARD_GATES}
    assert {case.gate for case in TRIPPED} | {"replicas_present"} == names
    assert {case.gate for case in PASSED} == names
