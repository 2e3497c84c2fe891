# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Scenes: what the original PartMove leaves behind."""

from __future__ import annotations

from kazoo.security import make_acl

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from support.servers.leftovers.ground import DAY, OTHER, PART, Ground, Scene, both
from support.servers.partmove_port import PartMovePort, Step
from support.servers.replicated import BY_YEAR_AND_MONTH, Definition, wait_for

FIRST_MONTH, TWELFTH_MONTH = "2019-1", "2019-12"
_BY_MONTH = Definition(clauses=f"{BY_YEAR_AND_MONTH.clauses} SETTINGS max_replicated_merges_in_queue = 0")


def ran_to_its_end(ground: Ground) -> None:
    """It copied everything, and deleted the copies of what stays hot again."""
    ground.separate(DAY)


def ran_and_was_adopted(ground: Ground) -> None:
    """What it left is taken for ours."""
    ground.separate(DAY)
    ground.adopt()


def stopped_before_the_copy(ground: Ground) -> None:
    """It had written State by then."""
    ground.separate(DAY, until=Step.COPY)


def stopped_during_the_copy(ground: Ground) -> None:
    """It had copied the parts of r1, and none of r2."""
    ground.registry.cold.ensure_path(ground.table.path)
    replicas_and_what_they_have, parts_of_r1 = 1 + 2 * 5, 2 * 3
    ground.separate(DAY, until=Step.COPY, after=replicas_and_what_they_have + parts_of_r1, batch=1)
    assert ground.registry.of(ground.table, DAY).cold.keys() == {"r1"}


def stopped_between_the_children_of_a_part(ground: Ground) -> None:
    """Cold has one of two children of the part of r1, and hot has it whole."""
    ground.registry.cold.ensure_path(ground.table.path)
    replicas_and_what_they_have, part_and_first_child = 1 + 2 * 5, 2
    after = replicas_and_what_they_have + part_and_first_child
    ground.separate(DAY, until=Step.COPY, after=after, batch=1)
    assert ground.registry.of(ground.table, DAY).cold == {"r1": [PART]}


def stopped_during_the_deletes(ground: Ground) -> None:
    """It had deleted the part of r1."""
    ground.separate(DAY, until=Step.DELETES, after=1)
    assert ground.registry.of(ground.table, DAY).hot.keys() == {"r2"}


def stopped_during_the_deletes_and_was_adopted(ground: Ground) -> None:
    """The same, taken for ours."""
    stopped_during_the_deletes(ground)
    ground.adopt()


def could_not_write_to_cold(ground: Ground) -> None:
    """A transaction that fails for one znode creates none of its others, and the deletes follow."""
    _deny_parts_of(ground, "r1")
    ground.separate(DAY)
    assert ground.registry.of(ground.table, DAY) == ({}, {})


def could_not_write_parts_of_one_replica(ground: Ground) -> None:
    """The last transaction failed, which has the parts of r2, and the deletes followed."""
    _deny_parts_of(ground, "r2")
    # Missing in cold: three levels of r1, r2 without its parts, and the parts of both with their children.
    of_r1, of_r2, parts_of_one = 5, 3, 2 * 3
    ground.separate(DAY, batch=of_r1 + of_r2 + parts_of_one)
    assert ground.registry.of(ground.table, DAY) == ({}, {"r1": [PART]})


def could_not_write_before_the_last_transaction(ground: Ground) -> None:
    """The run ended there: nothing was deleted."""
    _deny_parts_of(ground, "r1")
    ground.separate(DAY, batch=1)
    assert ground.registry.of(ground.table, DAY).cold == {}


def met_parts_with_children(ground: Ground) -> None:
    """Its first delete failed, and with it the run."""
    ground.separate(DAY, deletes_children=False)
    assert ground.registry.of(ground.table, DAY).hot.keys() == {"r1", "r2"}


def went_over_a_fourth_shard(ground: Ground) -> None:
    """It writes no State of that one, and deletes nothing."""
    hot, shards = ground.registry.hot, [f"{ground.table.path}-shard-{number}" for number in (1, 2, 3)]
    for shard in shards:
        hot.ensure_path(f"{shard}/replicas")
        hot.ensure_path(f"{shard}/block_numbers")
    PartMovePort(*ground.registry).run([*shards, ground.table.path], [DAY])


def took_one_partition_for_another(ground: Ground) -> None:
    """It looks for 2019-1, of a part, in the path of the cold partition 2019-12, and finds it."""
    ground.table.fill(["2019-01-01"])
    ground.table.settle()
    ground.separate(TWELFTH_MONTH)
    assert ground.registry.of(ground.table, FIRST_MONTH).hot == {}


def took_one_partition_for_another_and_was_adopted(ground: Ground) -> None:
    """The same, taken for ours."""
    took_one_partition_for_another(ground)
    ground.adopt()


def ran_again_after_a_late_insert(ground: Ground) -> None:
    """The partition was cold by age and is hot again, although the older part is registered in cold only."""
    ground.separate(DAY)
    ground.table.insert("('2019-12-01', 9)")
    ground.table.settle()
    ground.separate(is_first=False)


def ran_again_after_a_late_insert_and_was_adopted(ground: Ground) -> None:
    """The same, taken for ours."""
    ran_again_after_a_late_insert(ground)
    ground.adopt()


def ran_again_after_a_late_insert_up_to_its_date(ground: Ground) -> None:
    """The partition is cold for it whatever is inserted, and the part that came late is copied."""
    ground.separate(DAY)
    ground.table.insert("('2019-12-01', 9)")
    ground.table.settle()
    ground.separate(DAY, is_first=False)


def marked_a_dropped_partition(ground: Ground) -> None:
    """A partition without parts is cold for it."""
    ground.execute(f"ALTER TABLE {{}} DROP PARTITION {DAY}")
    ground.table.settle()
    ground.separate(is_first=False)


def went_on_beside_ours(ground: Ground) -> None:
    """What was brought back is cold for it again; its copies of the other partition lie below our marker."""
    ground.move(DAY)
    ground.reheat(DAY)
    ground.separate(DAY, is_first=False)


def only_copied_beside_ours(ground: Ground) -> None:
    """For it the table is a fourth shard: it sets no State, and copies what we brought back and all else."""
    ground.move(DAY)
    ground.reheat(DAY)
    went_over_a_fourth_shard(ground)


def ran_before_the_table_was_made_again(ground: Ground) -> None:
    """The new table has a part of the same name in one of the partitions."""
    ground.separate(DAY, OTHER)
    ground.make_again()


def met_a_replica_that_had_yet_to_merge(ground: Ground) -> None:
    """What is cold is not the same for both; taken for ours."""
    table = ground.table
    table.insert("('2019-12-01', 9)")
    table.settle()
    leader = table.leader()
    table.servers[1 - leader].execute(f"SYSTEM STOP REPLICATION QUEUES {table.name}")
    table.servers[leader].execute(
        f"OPTIMIZE TABLE {table.name} PARTITION {DAY} FINAL", replication_alter_partitions_sync=0
    )
    wait_for(lambda: _numbers_of_parts(ground) == {1, 2})
    ground.separate(DAY)
    ground.adopt()


def _numbers_of_parts(ground: Ground) -> set[int]:
    return {len(parts) for parts in ground.registry.of(ground.table, DAY).hot.values()}


def _deny_parts_of(ground: Ground, replica: str) -> None:
    """Let nobody create parts of the replica in cold."""
    path = f"{ground.table.path}/replicas/{replica}"
    ground.registry.cold.ensure_path(path)
    ground.registry.cold.create(f"{path}/parts", b"", [make_acl("world", "anyone", read=True)])


_FOREIGN = {DAY: both(FindingKind.FOREIGN), OTHER: both(FindingKind.FOREIGN)}
_FOREIGN_DAY = {DAY: both(FindingKind.FOREIGN), OTHER: both(FindingKind.HOT)}
_HALF_COLD = {DAY: both(FindingKind.HALF_COLD), OTHER: both(FindingKind.COPIES_LEFT)}

SCENES = (
    Scene(ran_to_its_end, _FOREIGN_DAY),
    Scene(ran_and_was_adopted, {DAY: both(FindingKind.COLD), OTHER: both(FindingKind.HOT)}),
    Scene(stopped_before_the_copy, {DAY: both(FindingKind.HOT_MARKED_COLD), OTHER: both(FindingKind.HOT)}),
    Scene(stopped_during_the_copy, _FOREIGN),
    Scene(
        stopped_between_the_children_of_a_part,
        {
            DAY: {"r1": FindingKind.UNREADABLE, "r2": FindingKind.FOREIGN},
            OTHER: both(FindingKind.HOT),
        },
    ),
    Scene(stopped_during_the_deletes, _FOREIGN),
    Scene(stopped_during_the_deletes_and_was_adopted, _HALF_COLD),
    Scene(could_not_write_to_cold, {DAY: both(FindingKind.UNREGISTERED), OTHER: both(FindingKind.HOT)}),
    Scene(
        could_not_write_parts_of_one_replica,
        {
            DAY: {"r1": FindingKind.FOREIGN, "r2": FindingKind.REGISTERED_FOR_ANOTHER},
            OTHER: both(FindingKind.HOT),
        },
    ),
    Scene(
        could_not_write_before_the_last_transaction,
        {DAY: both(FindingKind.HOT_MARKED_COLD), OTHER: both(FindingKind.HOT)},
    ),
    Scene(met_parts_with_children, _FOREIGN),
    Scene(went_over_a_fourth_shard, _FOREIGN),
    Scene(
        took_one_partition_for_another,
        {FIRST_MONTH: both(FindingKind.FOREIGN), TWELFTH_MONTH: both(FindingKind.FOREIGN)},
        _BY_MONTH,
        left=frozenset({FindingKind.SEVERAL_COLD_PARTS}),
    ),
    Scene(
        took_one_partition_for_another_and_was_adopted,
        {FIRST_MONTH: both(FindingKind.COLD_UNMARKED), TWELFTH_MONTH: both(FindingKind.SEVERAL_COLD_PARTS)},
        _BY_MONTH,
        left=frozenset({FindingKind.SEVERAL_COLD_PARTS}),
    ),
    Scene(ran_again_after_a_late_insert, _FOREIGN),
    Scene(ran_again_after_a_late_insert_up_to_its_date, _FOREIGN),
    # It wrote State of the other one twice, and nobody can tell that it never was cold.
    Scene(
        ran_again_after_a_late_insert_and_was_adopted,
        {DAY: both(FindingKind.HALF_COLD), OTHER: both(FindingKind.COPIES_NEEDED)},
    ),
    Scene(
        marked_a_dropped_partition,
        {DAY: both(FindingKind.EMPTY_MARKED_COLD), OTHER: both(FindingKind.FOREIGN)},
    ),
    Scene(
        went_on_beside_ours, {DAY: both(FindingKind.HOT_MARKED_COLD), OTHER: both(FindingKind.COPIES_LEFT)}
    ),
    Scene(
        only_copied_beside_ours,
        {DAY: both(FindingKind.COPIES_NEEDED), OTHER: both(FindingKind.COPIES_LEFT)},
    ),
    Scene(
        ran_before_the_table_was_made_again,
        {DAY: both(FindingKind.FORMER_TABLE), OTHER: both(FindingKind.DROPPED)},
    ),
    Scene(
        met_a_replica_that_had_yet_to_merge,
        {DAY: both(FindingKind.UNEVEN), OTHER: both(FindingKind.HOT)},
        left=frozenset({FindingKind.UNEVEN}),
    ),
)
