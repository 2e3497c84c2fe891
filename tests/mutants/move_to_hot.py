# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of the way back to hot."""

from __future__ import annotations

from mutants.mutant import Mutant

_OPERATIONS = "patched/parts/operations.py"
_TO_HOT = "patched/move/to_hot.py"

MUTANTS = (
    Mutant(
        "parts come back to hot without State",
        _OPERATIONS,
        "return [*creations, SetData(state.path, State.HOT.data, state.stat.version)]",
        "return creations",
        (
            (
                "patched/parts/test_operations.py::test_hot_gets_parts_back_and_marks_their_partition_at_one_"
                "instant"
            ),
        ),
    ),
    Mutant(
        "parts come back to hot, and State stays COLD",
        _OPERATIONS,
        "return [*creations, SetData(state.path, State.HOT.data, state.stat.version)]",
        "return [*creations, SetData(state.path, State.COLD.data, state.stat.version)]",
        (
            (
                "patched/parts/test_operations.py::test_hot_gets_parts_back_and_marks_their_partition_at_one_"
                "instant"
            ),
        ),
    ),
    Mutant(
        "parts are created without their children",
        _OPERATIONS,
        "for znode in (part.znode, *part.children)]\n\n\ndef removal",
        "for znode in (part.znode,)]\n\n\ndef removal",
        (
            (
                "patched/parts/test_operations.py::test_a_part_is_created_before_its_children_and_deleted_"
                "after_them"
            ),
        ),
    ),
    Mutant(
        "other copies than the servers were asked about are not changed",
        _TO_HOT,
        "return not now.is_cold or (now.hot, now.cold) != (prepared.hot, prepared.cold)",
        "return not now.is_cold or now.hot != prepared.hot",
        ("patched/move/test_to_hot.py::test_a_member_of_cold_that_lags_behind_a_drop",),
    ),
    Mutant(
        "other parts in hot than the servers were asked about are not changed",
        _TO_HOT,
        "return not now.is_cold or (now.hot, now.cold) != (prepared.hot, prepared.cold)",
        "return not now.is_cold or now.cold != prepared.cold",
        ("patched/move/test_to_hot_refusals.py::test_why_a_partition_was_not_brought_back[quiet_table1]",),
    ),
    Mutant(
        "parts that hot has replaced come back",
        _TO_HOT,
        "        return partition.only_in_cold\n",
        "        return [each for each in partition.cold_parts if each.name.text "
        "not in partition.names.hot[each.replica]]\n",
        ("patched/move/test_to_hot.py::test_a_part_that_hot_has_replaced_does_not_come_back",),
    ),
    Mutant(
        "servers are not asked for the parts that come back",
        _TO_HOT,
        "        return replace(partition, hot=hot)",
        "        return partition",
        ("patched/move/test_to_hot.py::test_a_member_of_cold_that_lags_behind_a_drop",),
    ),
    Mutant(
        "no gate judges a partition that is brought back",
        _TO_HOT,
        "refuse_partitions(read.shard, returned, now, gates=REHEAT_GATES)",
        "refuse_partitions(read.shard, [], now, gates=REHEAT_GATES)",
        ("patched/move/test_to_hot_refusals.py::test_why_a_partition_was_not_brought_back[queue_clear]",),
    ),
    Mutant(
        "copies of dropped parts go without a server being asked",
        _TO_HOT,
        "        if not self._context.servers.asks:\n            return refused\n",
        "",
        (
            (
                "patched/move/test_to_hot.py::test_copies_of_parts_that_were_dropped_go_only_when_the_servers"
                "_were_asked[False]"
            ),
        ),
    ),
    Mutant(
        "copies of dropped parts go although a server has them",
        _TO_HOT,
        "            refused.update(self._context.servers.refusals(shard, dropped))\n",
        "",
        ("patched/move/test_to_hot_dropped.py::test_they_stay_where_a_server_has_the_part",),
    ),
    Mutant(
        "parts detached while a partition is brought back are ignored",
        _TO_HOT,
        "failures = detached_since(self._context.servers, shard, parts, detached_before)",
        "failures = detached_since(self._context.servers, shard, [], detached_before)",
        ("patched/move/test_to_hot_refusals.py::test_why_a_partition_was_not_brought_back[active_on_disk4]",),
    ),
    Mutant(
        "an unregistered partition with State COLD is taken for dropped",
        _TO_HOT,
        "return sorted([*outside.registered, *in_doubt])",
        "return sorted(outside.registered)",
        (
            (
                "patched/move/test_unregistered.py::test_parts_lost_from_cold_are_reported_for_a_whole_shard_"
                "path[lose]"
            ),
        ),
    ),
    Mutant(
        "a replica that was added again is the one that was asked",
        _TO_HOT,
        "        self._asked = {each.name: each.created for each in shard.replicas}\n",
        "",
        (
            (
                "patched/move/test_to_hot_added_again.py::test_nothing_comes_back_to_a_replica_that_was_added_"
                "again"
            ),
        ),
    ),
)
