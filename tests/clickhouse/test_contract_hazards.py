# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What servers do to cold parts that they come across, and the gates that see it coming.

Each test first shows the danger on patched servers, where a partition is cold already. Then the same
thing is under way in a partition that is to become cold, and a gate keeps it hot.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.gate import GateOptions
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.entry import (
    ColdEnsemble,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.ledger import (
    Ledger,
    LedgerReadiness,
    ReplicaKey,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.to_cold import move_shard
from support.memory.ledger import enter
from support.memory.moves import ANY
from support.servers.clickhouse import QueryError
from support.servers.moving import Mover
from support.servers.registered import Registry
from support.servers.replicated import BY_DAY, WITHOUT_MERGES, ReplicatedTable, TableMaker, wait_for

DAY, OTHER = "20191201", "20191202"
PART = f"{DAY}_0_0_0"
UNEXPECTED = [f"unexpected_{PART}"]
ROWS = [("2019-12-01", number) for number in range(3)]

pytestmark = [pytest.mark.clickhouse, pytest.mark.patched]


@pytest.fixture
def table(make_table: TableMaker) -> ReplicatedTable:
    """A table with one old part in one partition."""
    made = make_table()
    made.fill(["2019-12-01"])
    made.settle()
    made.age(PART)
    made.settle()
    return made


@pytest.fixture
def cold_table(table: ReplicatedTable, mover: Mover) -> ReplicatedTable:
    """The same, moved."""
    assert mover.move(table).moved.keys() == {DAY}
    return table


class Hazard(NamedTuple):
    """Something that makes a server rewrite a part.

    statements: what is done.
    gate: what keeps a partition hot while a server is at it.
    """

    statements: Sequence[str]
    gate: str


HAZARDS = {
    "OPTIMIZE of one part": Hazard((f"OPTIMIZE TABLE {{}} PARTITION {DAY} FINAL",), "queue_clear"),
    "late insert and OPTIMIZE": Hazard(
        ("INSERT INTO {} VALUES ('2019-12-01', 9)", f"OPTIMIZE TABLE {{}} PARTITION {DAY} FINAL"), "one_part"
    ),
    "mutation": Hazard(("ALTER TABLE {} DELETE WHERE id = 99",), "mutations_applied"),
}


@pytest.mark.parametrize("hazard", HAZARDS.values(), ids=HAZARDS)
def test_what_rewrites_a_part_sets_the_cold_one_aside(
    cold_table: ReplicatedTable, make_table: TableMaker, mover: Mover, registry: Registry, hazard: Hazard
) -> None:
    leader = cold_table.leader()
    carry_out(hazard, cold_table, leader)
    wait_for(lambda: cold_table.detached(leader) == UNEXPECTED)
    lost = [row for row in ROWS if row not in cold_table.rows(leader)]
    assert lost == ROWS
    assert set(ROWS) <= set(cold_table.rows(1 - leader))
    assert registry.of(cold_table, DAY).cold == {"r1": [PART], "r2": [PART]}

    hot = make_table()
    hot.fill(["2019-12-01"])
    hot.settle()
    for server in hot.servers:
        server.execute(f"SYSTEM STOP REPLICATION QUEUES {hot.name}")
    carry_out(hazard, hot, hot.leader())
    wait_for(lambda: hazard.gate in mover.gates(hot, DAY))
    assert mover.move(hot, [DAY]).deferred.keys() == {DAY}
    assert registry.of(hot, DAY).cold == {}


def carry_out(hazard: Hazard, table: ReplicatedTable, server: int) -> None:
    """Run the statements on a server, without waiting for what they start."""
    for statement in hazard.statements:
        table.servers[server].execute(statement.format(table.name), replication_alter_partitions_sync=0)


def test_a_merge_of_cold_parts_sets_them_aside(
    make_table: TableMaker, mover: Mover, registry: Registry
) -> None:
    table = make_table(WITHOUT_MERGES)
    table.insert("('2019-12-01', 0)")
    table.insert("('2019-12-01', 1)")
    table.settle()
    parts = table.active_parts()[DAY]
    table.age(*parts)
    table.settle()
    assert mover.move(table, [DAY]).deferred[DAY].gate == "one_part"
    assert registry.of(table, DAY).cold == {}

    # That gate can be opened.
    mover.options = GateOptions(min_age=0.0, max_parts=2)
    assert mover.move(table, [DAY]).moved.keys() == {DAY}
    leader = table.leader()
    table.servers[leader].execute(f"OPTIMIZE TABLE {table.name}", replication_alter_partitions_sync=0)
    wait_for(lambda: table.detached(leader) == [f"unexpected_{part}" for part in parts])
    assert (table.rows(leader), len(table.rows(1 - leader))) == ([], 2)


def test_a_part_that_a_replica_has_not_fetched_is_lost_there(
    make_table: TableMaker, mover: Mover, registry: Registry
) -> None:
    table = make_table()
    second = table.servers[1]
    second.execute(f"SYSTEM STOP REPLICATION QUEUES {table.name}")
    table.fill(["2019-12-01"])
    wait_for(lambda: mover.gates(table, DAY) == {"queue_clear", "equal_parts"})
    assert mover.move(table, [DAY]).deferred.keys() == {DAY}

    registry.force_cold(table, DAY)
    second.execute(f"SYSTEM START REPLICATION QUEUES {table.name}")
    log = second.folder / "clickhouse-server.log"
    wait_for(lambda: f"No active replica has part {PART}" in log.read_text())
    assert (table.rows(0), table.rows(1)) == (ROWS, [])
    assert registry.of(table, DAY) == ({}, {"r1": [PART]})


@pytest.mark.parametrize("is_cold", [False, True], ids=["hot", "cold"])
def test_a_part_that_cannot_be_read_is_replaced_only_while_it_is_hot(
    table: ReplicatedTable, mover: Mover, is_cold: bool
) -> None:
    if is_cold:
        assert mover.move(table).moved.keys() == {DAY}
    column = table.folder(1) / PART / "id.bin"
    data = bytearray(column.read_bytes())
    data[-1] ^= 0xFF
    column.write_bytes(data)

    with pytest.raises(QueryError, match="Checksum doesn't match"):
        table.rows(1)

    wait_for(lambda: bool(table.detached(1)))
    if is_cold:
        assert table.detached(1) == UNEXPECTED
        assert (table.rows(0), table.rows(1)) == (ROWS, [])
    else:
        wait_for(lambda: table.rows(1) == ROWS)


def test_a_new_replica_silently_lacks_the_cold_partitions(
    table: ReplicatedTable, mover: Mover, registry: Registry
) -> None:
    table.fill(["2019-12-02"])
    table.settle()
    enter(mover.hot, mover.cold, *(ReplicaKey(table.path, name) for name in ("r1", "r2")))
    context = mover.context(table)
    context = context._replace(readiness=LedgerReadiness(Ledger(mover.hot), ColdEnsemble.of(mover.cold)))
    assert move_shard(context, table.path, [DAY], ANY).moved.keys() == {DAY}

    server = table.servers[0]
    server.execute(
        f"CREATE TABLE {table.name}_again ({BY_DAY.columns}) ENGINE ="
        f" ReplicatedMergeTree('{table.path}', 'r3') {BY_DAY.clauses}"
    )
    server.execute(f"SYSTEM SYNC REPLICA {table.name}_again")

    hot_rows = [("2019-12-02", number) for number in range(3)]
    assert sorted(server.query(f"SELECT * FROM {table.name}_again")) == hot_rows
    assert registry.of(table, DAY).cold.keys() == {"r1", "r2"}
    refusal = move_shard(context, table.path, [OTHER], ANY).deferred[OTHER]
    assert (refusal.gate, refusal.reason) == ("patched_replicas", "replica r3 is not in the ledger")
