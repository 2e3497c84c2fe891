# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Scenes: what is left of moves of ours that were killed, and of work on tables with cold partitions."""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.gate import GateOptions
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import path_of_lock
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.replicas import (
    NO_PARTITION,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from support.servers.clickhouse import QueryError
from support.servers.killed_move import Job, run_killed
from support.servers.leftovers.ground import DAY, OTHER, PART, Ground, Scene, both
from support.servers.replicated import BY_DAY, WITHOUT_MERGES, Definition, wait_for

SOMETHING_ELSE = "replicas/r1/parts/backup"
_WITH_ID_NO_KEY = Definition(clauses=WITHOUT_MERGES.clauses.replace("ORDER BY id", "ORDER BY day"))
LATER = 700.0
"""Seconds after which no server can need the copies any more."""


def nothing_was_moved(ground: Ground) -> None:
    """All is registered in hot, and there is no State."""


def moved(ground: Ground) -> None:
    """One of the partitions was."""
    ground.move(DAY)


def brought_back(ground: Ground) -> None:
    """A server that is starting may still need the copies."""
    ground.move(DAY)
    ground.reheat(DAY)


def brought_back_long_ago(ground: Ground) -> None:
    """Nobody removed the copies."""
    brought_back(ground)
    ground.mover.seconds_ahead = LATER


def killed_before_the_switch(ground: Ground) -> None:
    """Everything was copied by then."""
    endpoints = ground.mover.endpoints_of(ground.table)
    run_killed(Job(*ground.hosts, ground.table.path, [DAY], endpoints, before_switch=True))
    lock = path_of_lock(DEFAULT_ROOT, ground.table.path)
    wait_for(lambda: ground.registry.hot.exists(lock) is None)
    assert ground.registry.of(ground.table, DAY) == (_PARTS, _PARTS)


def altered_after_a_killed_move(ground: Ground) -> None:
    """The server wrote the part anew, under its old name."""
    killed_before_the_switch(ground)
    ground.execute("ALTER TABLE {} MODIFY COLUMN id UInt64")
    ground.table.settle()


def inserted_late(ground: Ground) -> None:
    """The row is registered in hot, the part that was moved in cold."""
    ground.move(DAY)
    ground.table.insert("('2019-12-01', 9)")
    ground.table.settle()


def state_set_to_hot(ground: Ground) -> None:
    """By hand."""
    ground.move(DAY)
    ground.set_state(DAY, b"HOT")


def state_removed(ground: Ground) -> None:
    """By hand."""
    ground.move(DAY)
    ground.set_state(DAY, None)


def dropped_while_state_was_hot(ground: Ground) -> None:
    """The servers looked for the parts in hot."""
    state_set_to_hot(ground)
    ground.execute(f"ALTER TABLE {{}} DROP PARTITION {DAY}")


def dropped_while_cold(ground: Ground) -> None:
    """State stays."""
    ground.move(DAY)
    ground.execute(f"ALTER TABLE {{}} DROP PARTITION {DAY}")


def dropped_while_hot(ground: Ground) -> None:
    """There are only its block numbers any more."""
    ground.execute(f"ALTER TABLE {{}} DROP PARTITION {DAY}")


def detached_while_cold(ground: Ground) -> None:
    """The parts are in the folders detached, and registered nowhere."""
    ground.move(DAY)
    ground.execute(f"ALTER TABLE {{}} DETACH PARTITION {DAY}")
    assert [ground.table.detached(number) for number in (0, 1)] == [[PART], [PART]]


def attached_again_after_it_was_cold(ground: Ground) -> None:
    """As new parts, which are hot, while State says COLD."""
    detached_while_cold(ground)
    ground.execute(f"ALTER TABLE {{}} ATTACH PARTITION {DAY}")
    ground.table.settle()


def copied_while_cold(ground: Ground) -> None:
    """Into another table of the server, which reads its own disk for that."""
    ground.move(DAY)
    _with_another_table(ground, f"ALTER TABLE {{}}_new REPLACE PARTITION {DAY} FROM {{}}")


def replaced_while_cold(ground: Ground) -> None:
    """What cold has of the part that is gone stays."""
    ground.move(DAY)
    _with_another_table(ground, f"ALTER TABLE {{}} REPLACE PARTITION {DAY} FROM {{}}_new")


def copied_to_while_cold(ground: Ground) -> None:
    """The part that came is registered in hot."""
    ground.move(DAY)
    _with_another_table(ground, f"ALTER TABLE {{}} ATTACH PARTITION {DAY} FROM {{}}_new")


def made_again_at_the_same_path(ground: Ground) -> None:
    """The new table has a part of the same name in one of the partitions."""
    ground.move(DAY, OTHER)
    ground.make_again()


def replica_added_while_cold(ground: Ground) -> None:
    """It fetched what is hot."""
    ground.move(DAY)
    _add_r3(ground)


def replica_dropped_while_cold(ground: Ground) -> None:
    """Servers remove nothing from cold when they drop a table."""
    _add_r3(ground)
    ground.move(DAY)
    ground.execute("DROP TABLE {}_r3")


def several_parts_moved(ground: Ground) -> None:
    """As max_parts allows it."""
    ground.table.insert("('2019-12-01', 9)")
    ground.table.settle()
    ground.mover.options = GateOptions(min_age=0.0, max_parts=2)
    ground.move(DAY)


def unreadable_while_cold(ground: Ground) -> None:
    """A server that fails to read a part looks for it in hot only, and sets it aside."""
    ground.table.age(PART)
    ground.table.settle()
    ground.move(DAY)
    column = ground.table.folder(1) / PART / "id.bin"
    data = bytearray(column.read_bytes())
    data[-1] ^= 0xFF
    column.write_bytes(data)
    try:
        ground.table.rows(1)
    except QueryError:
        wait_for(lambda: ground.table.detached(1) == [f"unexpected_{PART}"])


def not_registered_for_one_replica(ground: Ground) -> None:
    """By hand."""
    ground.registry.hot.delete(f"{ground.table.path}/replicas/r1/parts/{PART}", recursive=True)


def not_registered_in_cold_for_one_replica(ground: Ground) -> None:
    """By hand."""
    ground.move(DAY)
    ground.registry.cold.delete(f"{ground.table.path}/replicas/r1/parts/{PART}", recursive=True)


def something_else_among_the_parts(ground: Ground) -> None:
    """By hand."""
    ground.move(DAY)
    ground.registry.cold.create(f"{ground.table.path}/{SOMETHING_ELSE}", b"")


def _with_another_table(ground: Ground, statement: str) -> None:
    """Run a statement on the table and one beside it that has a row in the same partition."""
    table, server = ground.table, ground.table.servers[0]
    server.execute(f"CREATE TABLE {table.name}_new ({BY_DAY.columns}) ENGINE = MergeTree {BY_DAY.clauses}")
    server.execute(f"INSERT INTO {table.name}_new VALUES ('2019-12-01', 7)")
    server.execute(statement.format(table.name, table.name), replication_alter_partitions_sync=2)
    server.execute(f"DROP TABLE {table.name}_new")
    table.settle()


def _add_r3(ground: Ground) -> None:
    """Add a replica on the server of r1, and wait until it has what is hot."""
    table, server = ground.table, ground.table.servers[0]
    server.execute(
        f"CREATE TABLE {table.name}_r3 ({BY_DAY.columns}) ENGINE ="
        f" ReplicatedMergeTree('{table.path}', 'r3') {BY_DAY.clauses}"
    )
    server.execute(f"SYSTEM SYNC REPLICA {table.name}_r3")
    table.settle()
    ground.mover.endpoints["r3"] = f"127.0.0.1:{server.http_port}"


_PARTS = {"r1": [PART], "r2": [PART]}
_HOT = both(FindingKind.HOT)


def _of_day(kind: FindingKind) -> dict[str, dict[str, FindingKind]]:
    return {DAY: both(kind), OTHER: _HOT}


SCENES = (
    Scene(nothing_was_moved, _of_day(FindingKind.HOT)),
    Scene(moved, _of_day(FindingKind.COLD)),
    Scene(brought_back, _of_day(FindingKind.COPIES_NEEDED)),
    Scene(brought_back_long_ago, _of_day(FindingKind.COPIES_LEFT)),
    Scene(killed_before_the_switch, _of_day(FindingKind.COPIES_LEFT)),
    Scene(altered_after_a_killed_move, _of_day(FindingKind.COPIES_DIFFER), _WITH_ID_NO_KEY),
    Scene(inserted_late, _of_day(FindingKind.HALF_COLD)),
    Scene(state_set_to_hot, _of_day(FindingKind.COLD_UNMARKED)),
    Scene(state_removed, _of_day(FindingKind.COLD_UNMARKED)),
    Scene(dropped_while_state_was_hot, _of_day(FindingKind.DROPPED)),
    Scene(dropped_while_cold, _of_day(FindingKind.EMPTY_MARKED_COLD)),
    Scene(dropped_while_hot, _of_day(FindingKind.EMPTY)),
    Scene(detached_while_cold, _of_day(FindingKind.EMPTY_MARKED_COLD)),
    Scene(attached_again_after_it_was_cold, _of_day(FindingKind.HOT_MARKED_COLD)),
    Scene(copied_while_cold, _of_day(FindingKind.COLD)),
    Scene(replaced_while_cold, _of_day(FindingKind.GHOST)),
    Scene(copied_to_while_cold, _of_day(FindingKind.HALF_COLD)),
    Scene(
        made_again_at_the_same_path,
        {DAY: both(FindingKind.FORMER_TABLE), OTHER: both(FindingKind.FORMER_TABLE)},
    ),
    Scene(
        replica_added_while_cold,
        {
            DAY: {**both(FindingKind.COLD), "r3": FindingKind.LACKS_DATA},
            OTHER: {**_HOT, "r3": FindingKind.HOT},
        },
        left=frozenset({FindingKind.LACKS_DATA}),
    ),
    Scene(
        replica_dropped_while_cold,
        {DAY: {**both(FindingKind.COLD), "r3": FindingKind.ANOTHER_REPLICA}, OTHER: _HOT},
    ),
    Scene(
        several_parts_moved,
        _of_day(FindingKind.SEVERAL_COLD_PARTS),
        left=frozenset({FindingKind.SEVERAL_COLD_PARTS}),
    ),
    # Servers from 19.17 on tell that they have it in detached: then r2 is set_aside. Nothing is left that it
    # could be repaired from.
    Scene(
        unreadable_while_cold,
        {DAY: {"r1": FindingKind.COLD, "r2": FindingKind.LACKS_DATA}, OTHER: _HOT},
        is_repaired=False,
    ),
    Scene(
        not_registered_for_one_replica,
        {DAY: {"r1": FindingKind.REGISTERED_FOR_ANOTHER, "r2": FindingKind.HOT}, OTHER: _HOT},
    ),
    Scene(
        not_registered_in_cold_for_one_replica,
        {DAY: {"r1": FindingKind.REGISTERED_FOR_ANOTHER, "r2": FindingKind.COLD}, OTHER: _HOT},
    ),
    Scene(
        something_else_among_the_parts,
        {NO_PARTITION: {"r1": FindingKind.UNREADABLE}, DAY: both(FindingKind.COLD), OTHER: _HOT},
    ),
)
