# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each kind of advice, with cases just above and just below its limit."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.advice import (
    Advice,
    AdviceKind,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.judge import judge
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.outside import DDL_PATH
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.settings import CensusLimits
from support.memory.censuses import NOW, SESSION, SHARD, ZnodeTree, plain_tree

LIMITS = CensusLimits(
    queue_length=3,
    log_entries=4,
    passed_log_entries=20,
    deduplication_window=2,
    finished_mutations_to_keep=2,
    ddl_tasks=3,
)
R3 = f"{SHARD}/replicas/r3"


def advice_of(tree: ZnodeTree, limits: CensusLimits = LIMITS) -> list[Advice]:
    return judge(tree.census(), limits, NOW)


def gone(days: float) -> ZnodeTree:
    return plain_tree().add_replica("r3", active=False, days=days, pointer=7)


def abandoned(days: float) -> ZnodeTree:
    tree = ZnodeTree().add_table()
    return tree.add_replica("r1", active=False, days=days).add_replica("r2", active=False, days=days)


def queue(length: int, days: float, *, active: bool = True) -> ZnodeTree:
    tree = plain_tree().add_replica("r3", days=0, active=active)
    for number in range(length):
        tree.add(f"{R3}/queue/queue-{number:010}", days=days)
    return tree


def log(entries: int, *, days: float = 1.1, lost: bool = False) -> ZnodeTree:
    """Only a replica without a session needs this number of log entries."""
    tree = ZnodeTree().add_table()
    for replica in ("r1", "r2"):
        tree.add_replica(replica, pointer=10 + entries)
    tree.add_replica("r3", active=False, days=days, pointer=10)
    if lost:
        tree.add(f"{R3}/is_lost", b"1")
    for number in range(5, 20 + entries):
        tree.add(f"{SHARD}/log/log-{number:010}")
    return tree


def passed(entries: int, *, lost: bool = False) -> ZnodeTree:
    """Log entries that both replicas have passed, and one that a further lost replica would need."""
    tree = ZnodeTree().add_table()
    for replica in ("r1", "r2"):
        tree.add_replica(replica, pointer=entries)
    if lost:
        tree.add_replica("r3", active=False, days=2).add(f"{R3}/is_lost", b"1")
    for number in range(entries + 1):
        tree.add(f"{SHARD}/log/log-{number:010}")
    return tree


def below(path: str, *, active: bool = True) -> ZnodeTree:
    """Another table at the path below the table, whose other replicas have sessions."""
    return plain_tree().add_table(path).add_replica("r1", path, active=active)


def blocks(count: int) -> ZnodeTree:
    tree = plain_tree()
    for number in range(count):
        tree.add(f"{SHARD}/blocks/20191201_{number}_1")
        tree.add(f"{SHARD}/async_blocks/20191201_{number}_1")
    return tree


def mutations(count: int, pointers: dict[str, int], days: float = 2) -> ZnodeTree:
    """Mutations from 0 on, and the pointer of each replica; replicas with names from x on have no session."""
    tree = ZnodeTree().add_table()
    for name, pointer in pointers.items():
        tree.add_replica(name, active=not name.startswith("x"), days=1)
        tree.add(f"{SHARD}/replicas/{name}/mutation_pointer", f"{pointer:010}".encode(), days=1)
    for number in range(count):
        tree.add(f"{SHARD}/mutations/{number:010}", days=days)
    return tree


def partitions(count: int, days: float, child: str = "") -> ZnodeTree:
    tree = plain_tree()
    for number in range(count):
        tree.add(f"{SHARD}/block_numbers/{number}", days=days)
        if child:
            tree.add(f"{SHARD}/block_numbers/{number}/{child}")
    return tree


def ddl(count: int, days: float) -> ZnodeTree:
    tree = plain_tree()
    for number in range(count):
        tree.add(f"{DDL_PATH}/query-{number:010}", days=days)
        tree.add(f"{DDL_PATH}/query-{number:010}/finished")
    return tree


TRIPS: list[tuple[AdviceKind, Callable[[], ZnodeTree], int]] = [
    (AdviceKind.LEGACY_HEADERS, lambda: plain_tree().add_part("20191202_0_0_0", legacy=True), 2),
    (AdviceKind.REPLICA_WITHOUT_SESSION, lambda: gone(7.1), 10),
    (AdviceKind.TABLE_WITHOUT_SESSION, lambda: abandoned(7.1), 31),
    (AdviceKind.TABLE_WITHOUT_SESSION, lambda: ZnodeTree().add_table(days=7.1), 11),
    (AdviceKind.LONG_QUEUE, lambda: queue(4, 0), 4),
    (AdviceKind.LONG_QUEUE, lambda: queue(1, 1.1), 1),
    (AdviceKind.LOG_HELD, lambda: log(5), 5),
    (AdviceKind.LOG_PASSED, lambda: passed(21), 21),
    (AdviceKind.LOG_PASSED, lambda: passed(21, lost=True), 21),
    (AdviceKind.TABLE_BELOW_TABLE, lambda: below(f"{SHARD}/replicas/inner"), 1),
    (AdviceKind.TABLE_BELOW_TABLE, lambda: below(f"{SHARD}/replicas/folder/inner"), 1),
    (AdviceKind.TABLE_BELOW_TABLE, lambda: below(f"{SHARD}/inner"), 1),
    (AdviceKind.MANY_BLOCKS, lambda: blocks(5), 3),
    (AdviceKind.MUTATION_UNFINISHED, lambda: mutations(3, {"r1": 2, "r2": 1}), 1),
    (AdviceKind.MUTATIONS_KEPT, lambda: mutations(5, {"r1": 4, "r2": 9}), 3),
    (AdviceKind.PARTITIONS_GONE, lambda: partitions(6, 30.1), 6),
    (AdviceKind.DDL_QUEUE, lambda: ddl(5, 1), 4),
    (AdviceKind.DDL_QUEUE, lambda: ddl(2, 14.1), 4),
]

PASSES: dict[str, Callable[[], ZnodeTree]] = {
    "nothing": plain_tree,
    "parts with one znode": lambda: plain_tree().add_part("20191202_0_0_0"),
    "a replica that has gone lately": lambda: gone(6.9),
    "a table that has gone lately": lambda: abandoned(6.9),
    "a table that is being made": lambda: ZnodeTree().add_table(days=1),
    "a queue": lambda: queue(3, 0.9),
    "a queue that grows while the server is away": lambda: queue(4, 1.1, active=False),
    "a log": lambda: log(4),
    "a log that a server needs that is started again": lambda: log(5, days=0.9),
    "a log that a lost replica does not hold": lambda: log(5, lost=True),
    "a log that all replicas have passed": lambda: passed(20),
    "a log that a new replica has not begun": lambda: passed(21).add_replica("r3"),
    "blocks": lambda: blocks(4),
    "a mutation that runs": lambda: mutations(3, {"r1": 2, "r2": 1}, days=0.9),
    "a mutation that waits for a server": lambda: mutations(3, {"r1": 2, "x2": 1}),
    "finished mutations": lambda: mutations(4, {"r1": 3, "r2": 9}),
    "mutations that one replica has not finished": lambda: mutations(5, {"r1": 4, "x2": 3}),
    "an empty partition": lambda: partitions(1, 29.9),
    "a partition with a State": lambda: partitions(1, 31, "State"),
    "a partition with an insert": lambda: partitions(1, 31, "block-0000000001"),
    "tasks of distributed DDL": lambda: ddl(3, 13.9),
}


@pytest.mark.parametrize(("kind", "tree", "znodes"), TRIPS, ids=[each[0].value for each in TRIPS])
def test_advice_is_given(kind: AdviceKind, tree: Callable[[], ZnodeTree], znodes: int) -> None:
    (found,) = advice_of(tree())
    assert (found.kind, found.znodes) == (kind, znodes)
    assert found.path == (DDL_PATH if kind is AdviceKind.DDL_QUEUE else SHARD)
    assert found.evidence.endswith(".")


@pytest.mark.parametrize("tree", PASSES.values(), ids=PASSES)
def test_advice_is_not_given(tree: Callable[[], ZnodeTree]) -> None:
    assert advice_of(tree()) == []


@pytest.mark.parametrize(
    ("kind", "tree"), [each[:2] for each in TRIPS], ids=[each[0].value for each in TRIPS]
)
def test_an_incomplete_table_gets_only_certain_advice(
    kind: AdviceKind, tree: Callable[[], ZnodeTree]
) -> None:
    census = tree().census()
    census.deny(f"{DDL_PATH}/query-0000000099" if kind is AdviceKind.DDL_QUEUE else f"{SHARD}/replicas/r9")
    told = {each.kind for each in judge(census, LIMITS, NOW)}
    assert told == {kind} & {AdviceKind.LEGACY_HEADERS, AdviceKind.TABLE_BELOW_TABLE}


def test_unreadable_znodes_outside_of_a_table_do_not_suppress_its_advice() -> None:
    census = gone(8).census()
    census.deny("/kafka")
    census.deny(f"{SHARD}-other/replicas")
    assert [each.kind for each in judge(census, LIMITS, NOW)] == [AdviceKind.REPLICA_WITHOUT_SESSION]


def test_every_kind_has_a_case() -> None:
    # What servers say is in test_servers.py.
    assert {kind for kind, _tree, _znodes in TRIPS} == {*AdviceKind} - {AdviceKind.TABLE_ON_NO_SERVER}


def test_the_evidence_of_a_replica_has_its_log_pointer() -> None:
    (found,) = advice_of(plain_tree().add_replica("it's", active=False, days=8, pointer=12))
    assert found.replica == "it's"
    assert "log_pointer is 12." in found.evidence


@pytest.mark.parametrize("kind", [AdviceKind.TABLE_WITHOUT_SESSION, AdviceKind.REPLICA_WITHOUT_SESSION])
def test_no_statement_that_deletes_is_given_without_servers(kind: AdviceKind) -> None:
    (found,) = advice_of(abandoned(8) if kind is AdviceKind.TABLE_WITHOUT_SESSION else gone(8))
    assert (found.kind, found.statements) == (kind, ())
    assert found.evidence.endswith(
        " No statement is given. No server was queried. Name all servers to the census."
    )


def test_nothing_is_given_to_forget_a_partition_without_servers() -> None:
    (found,) = advice_of(partitions(1, 31))
    assert found.statements == ()
    assert "No server was queried." in found.evidence


def test_any_ephemeral_znode_is_a_session() -> None:
    tree = abandoned(8).add(f"{SHARD}/replicas/r1/new_thing", owner=SESSION)
    assert [each.replica for each in advice_of(tree)] == ["r2"]
    tree = abandoned(8).add(f"{SHARD}/leader_election/leader_election-0", owner=SESSION)
    assert [each.replica for each in advice_of(tree)] == ["r1", "r2"]
    tree = ZnodeTree().add_table(days=8).add(f"{SHARD}/temp/block-1", owner=SESSION)
    assert advice_of(tree) == []


@pytest.mark.parametrize("active", [True, False])
def test_a_table_below_replicas_is_no_replica(active: bool) -> None:
    tree = below(f"{SHARD}/replicas/inner", active=active).add(f"{SHARD}/mutations/0000000000", days=0.5)
    census = tree.census()
    assert {each.kind for each in judge(census, CensusLimits(stuck_after=60), NOW)} == {
        AdviceKind.TABLE_BELOW_TABLE,
        AdviceKind.MUTATION_UNFINISHED,
    }
    (unfinished,) = [
        each
        for each in judge(census, CensusLimits(stuck_after=60), NOW)
        if each.kind is AdviceKind.MUTATION_UNFINISHED
    ]
    assert "not finished by r1, r2." in unfinished.evidence


def test_a_table_without_session_gets_no_other_advice() -> None:
    tree = abandoned(8).add(f"{SHARD}/block_numbers/1", days=99)
    (found,) = advice_of(tree)
    assert "2 replicas without is_active (r1, r2)" in found.evidence


def test_replicas_with_an_unfinished_mutation_are_named() -> None:
    (found,) = advice_of(mutations(2, {"r1": 0, "r2": 1, "r3": 0}))
    assert "0000000001" in found.evidence
    assert "r1, r3" in found.evidence
    assert found.statements[0].endswith("mutation_id = '0000000001'")


def test_a_replica_without_a_mutation_pointer_has_finished_no_mutation() -> None:
    tree = plain_tree().add(f"{SHARD}/mutations/0000000000", days=2)
    (found,) = advice_of(tree)
    assert found.kind is AdviceKind.MUTATION_UNFINISHED


def test_the_most_znodes_come_first() -> None:
    tree = queue(5, 2).add_replica("r4", active=False, days=30).add(f"{SHARD}/block_numbers/1", days=99)
    found = advice_of(tree)
    assert [each.kind for each in found] == [
        AdviceKind.REPLICA_WITHOUT_SESSION,
        AdviceKind.LONG_QUEUE,
        AdviceKind.PARTITIONS_GONE,
    ]
