# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Statements that delete are given only with all evidence; each missing piece is named."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.removal import (
    DETACHED_DATABASES,
    Removal,
    drop_replica,
    drop_table,
    forget_partitions,
    needed_partitions,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.servers import (
    ANY_PARTITION,
    PartitionUse,
    ServerAnswer,
    Servers,
)
from support.memory.censuses import SESSION, SHARD, ZnodeTree, plain_tree

CH1 = ServerAnswer("ch1", [(SHARD, "r1")], detached=(), version=(26, 9), uses=())
CH2 = ServerAnswer("ch2", [(SHARD, "r2")], detached=(), version=(26, 9), uses=())
DROP = f"SYSTEM DROP REPLICA 'r9' FROM ZKPATH '{SHARD}'"
FORGET = "ALTER TABLE … FORGET PARTITION ID '20190101'"
AWAY = f"{SHARD}/replicas/r9"
NONE = "No statement is given. "


def tree(host: str = "r1") -> ZnodeTree:
    """A replica r9 without a session, whose server had the host."""
    return plain_tree().add_replica("r9", active=False, host=host)


def dropped(znodes: ZnodeTree, answers: Sequence[ServerAnswer] | None, replica: str = "r9") -> Removal:
    census = znodes.census()
    servers = None if answers is None else Servers(answers, census.tables)
    table = census.tables[SHARD]
    return drop_replica(table, table.replicas[replica], servers)


def forgotten(znodes: ZnodeTree, answers: Sequence[ServerAnswer] | None) -> Removal:
    census = znodes.census()
    servers = None if answers is None else Servers(answers, census.tables)
    return forget_partitions(census.tables[SHARD], ["20190101"], servers)


def test_a_replica_on_no_server_is_dropped() -> None:
    assert dropped(tree(), [CH1, CH2]) == Removal((DROP,), condition=DETACHED_DATABASES)


@pytest.mark.parametrize("answers", [[CH1, CH2], [CH1, CH2._replace(detached=None)]])
def test_no_statement_comes_without_the_condition_that_no_database_is_detached(
    answers: Sequence[ServerAnswer],
) -> None:
    """No system table has a detached database, whose tables ATTACH DATABASE brings back."""
    census = former().census()
    servers = Servers(answers, census.tables)
    for found in (dropped(tree(), answers), drop_table(census.tables["/former"], servers)):
        assert bool(found.statements) == (found.condition == DETACHED_DATABASES) == (not found.missing)
    assert "system.databases" in DETACHED_DATABASES


def test_names_are_quoted() -> None:
    (statement,) = dropped(
        plain_tree().add_replica("it's", active=False, host="r1"), [CH1, CH2], "it's"
    ).statements
    assert statement == f"SYSTEM DROP REPLICA 'it\\'s' FROM ZKPATH '{SHARD}'"


@pytest.mark.parametrize(
    ("znodes", "answers", "missing"),
    [
        (tree, None, "No server was queried."),
        (tree, [CH1], "It is not known that every server answered"),
        (tree, [CH1, CH2._replace(problem="ch2 is silent")], "It is not known that every server"),
        (tree, [CH1, CH2._replace(hidden="ch2 hides tables")], "It is not known that every server"),
        (tree, [CH1, CH2._replace(replicas=[*CH2.replicas, (SHARD, "r9")])], "A server has it."),
        (lambda: tree("ch9"), [CH1, CH2], "The znode host of r9 names ch9:9009, which belongs to no queried"),
        (lambda: tree(""), [CH1, CH2], "The znode host of r9 is missing or empty, which belongs to no"),
        (tree, [CH1, CH2._replace(detached=None)], "ch2 cannot list detached tables."),
        (tree, [CH1, CH2._replace(detached=["db.x"])], "A detached table may have the znodes: db.x on ch2."),
        (
            tree,
            [CH1._replace(version=(20, 4)), CH2._replace(version=(18, 16))],
            "No queried server has SYSTEM DROP REPLICA",
        ),
        (
            lambda: tree().add(f"{AWAY}/parts/x_1_1_0/new", owner=SESSION),
            [CH1, CH2],
            f"{AWAY} has a znode of a session.",
        ),
        (lambda: tree().add(f"{AWAY}/new_thing"), [CH1, CH2], f"{AWAY}/new_thing is no znode of a replica"),
        (lambda: tree().add(f"{AWAY}/replicas/r1"), [CH1, CH2], f"{AWAY}/replicas is no znode of a replica"),
        (
            lambda: tree().add(f"{SHARD}/block_numbers/20190101/State", b"COLD"),
            [CH1, CH2],
            "Partitions of the table have a State marker",
        ),
    ],
)
def test_missing_evidence_is_named(
    znodes: Callable[[], ZnodeTree], answers: Sequence[ServerAnswer] | None, missing: str
) -> None:
    found = dropped(znodes(), answers)
    assert found.statements == ()
    assert found.missing.startswith(f"{NONE}{missing}")


def test_one_later_server_is_enough_for_the_statement() -> None:
    assert dropped(tree(), [CH1._replace(version=(20, 5)), CH2._replace(version=(18, 16))]).statements


def former() -> ZnodeTree:
    """A table without a session beside a table of both servers."""
    return (
        plain_tree()
        .add_table("/former")
        .add_replica("r8", "/former", active=False, host="r2")
        .add_replica("r9", "/former", active=False, host="r1")
    )


def test_all_replicas_of_a_table_are_dropped() -> None:
    census = former().census()
    servers = Servers([CH1, CH2], census.tables)
    assert drop_table(census.tables["/former"], servers).statements == tuple(
        f"SYSTEM DROP REPLICA '{name}' FROM ZKPATH '/former'" for name in ("r8", "r9")
    )
    # Nothing has a path to be named.
    assert drop_table(ZnodeTree().add_table().census().tables[SHARD], servers) == Removal()


@pytest.mark.parametrize(
    "more",
    [
        lambda: former().add("/former/inner/replicas"),
        lambda: former().add("/former/replicas/inner/log"),
        lambda: former().add("/former/leader_election/x", owner=SESSION),
        lambda: former().add("/former/replicas/r8/is_active", owner=SESSION),
        lambda: former().add_replica("r7", "/former", active=False, host="ch9"),
    ],
    ids=["a znode below the table", "a znode below replicas", "a session", "an active replica", "a server"],
)
def test_one_doubt_keeps_a_whole_table(more: Callable[[], ZnodeTree]) -> None:
    census = more().census()
    found = drop_table(census.tables["/former"], Servers([CH1, CH2], census.tables))
    assert found.statements == ()
    assert found.missing.startswith(NONE)


def test_a_table_that_a_server_has_is_not_dropped() -> None:
    census = former().census()
    servers = Servers([CH1, CH2._replace(replicas=[*CH2.replicas, ("/former", "r1")])], census.tables)
    assert drop_table(census.tables["/former"], servers).missing.startswith(f"{NONE}A server has it.")


def test_the_last_replica_takes_the_znodes_of_the_table_with_it() -> None:
    # The other replica has no session, either.
    census = former().add("/former/inner/replicas").census()
    table = census.tables["/former"]
    found = drop_replica(table, table.replicas["r9"], Servers([CH1, CH2], census.tables))
    assert found.missing.startswith(f"{NONE}/former/inner is no znode of a table")
    # A replica with a session stays, and the table with it.
    assert dropped(tree().add(f"{SHARD}/inner/replicas"), [CH1, CH2]).statements == (DROP,)


def test_many_reasons_are_counted() -> None:
    old = [CH1._replace(detached=None, version=(18, 16)), CH2._replace(detached=["db.x"], version=(18, 16))]
    znodes = tree("ch9").add(f"{AWAY}/x").add(f"{SHARD}/block_numbers/1/State")
    assert dropped(znodes, old).missing.endswith(" Further reasons: 1.")


def test_an_unused_partition_is_forgotten() -> None:
    assert forgotten(plain_tree(), [CH1, CH2]) == Removal((FORGET,), condition=DETACHED_DATABASES)


@pytest.mark.parametrize(
    ("znodes", "answers", "missing"),
    [
        (plain_tree, None, "No server was queried."),
        (plain_tree, [CH1], "Whether a server needs the partitions was not judged: 1 replica with"),
        (tree, [CH1, CH2], "Replicas without a session may have parts of the partitions: r9."),
        (
            lambda: plain_tree().add(f"{SHARD}/replicas/r2/is_lost", b"1"),
            [CH1, CH2],
            "Replicas without a session may have parts of the partitions: r2.",
        ),
        (
            lambda: plain_tree().add(f"{SHARD}/replicas/r2/queue/queue-0000000001"),
            [CH1, CH2],
            "Entries in the queue of r2 may be about the partitions.",
        ),
        (
            plain_tree,
            [CH1, CH2._replace(version=(24, 1))],
            "FORGET PARTITION exists from 24.2 on, and not on ch2.",
        ),
        (plain_tree, [CH1, CH2._replace(uses=None)], "ch2 did not list detached parts and tables"),
    ],
)
def test_partitions_are_not_forgotten_without_evidence(
    znodes: Callable[[], ZnodeTree], answers: Sequence[ServerAnswer] | None, missing: str
) -> None:
    found = forgotten(znodes(), answers)
    assert found.statements == ()
    assert found.missing.startswith(f"{NONE}{missing}")


def test_partitions_of_patches_are_not_forgotten() -> None:
    census = plain_tree().census()
    found = forget_partitions(census.tables[SHARD], ["patch-1-20190101"], Servers([CH1, CH2], census.tables))
    assert "lightweight updates" in found.missing


def test_partitions_of_twins_and_of_detached_parts_are_needed() -> None:
    census = plain_tree().census()
    uses = [
        PartitionUse(SHARD, "20190101", "the twin has it"),
        PartitionUse(SHARD, "20190109", "no znode has it"),
        PartitionUse("/other", "20190102", "another table"),
    ]
    table, partitions = census.tables[SHARD], ["20190101", "20190102"]
    servers = Servers([CH1, CH2._replace(uses=uses)], census.tables)
    assert needed_partitions(table, partitions, servers) == {"20190101": "the twin has it"}
    unknown = [PartitionUse(SHARD, ANY_PARTITION, "broken")]
    servers = Servers([CH1._replace(uses=unknown), CH2], census.tables)
    assert needed_partitions(table, partitions, servers) == dict.fromkeys(partitions, "broken")
    assert needed_partitions(table, partitions, None) == {}
