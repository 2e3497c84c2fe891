# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of the way to cold."""

from __future__ import annotations

from mutants.mutant import Mutant

_TO_COLD = "patched/move/to_cold.py"
_OPERATIONS = "patched/parts/operations.py"

MUTANTS = (
    Mutant(
        "an undone switch is not in the journal",
        _TO_COLD,
        "            undone = {each: report.deferred[each] for each in moved & report.deferred.keys()}\n",
        "            undone: dict[str, Refusal] = {}\n",
        ("patched/move/test_events.py::test_an_undone_switch_is_in_the_journal",),
    ),
    Mutant(
        "the entries of the ledger are not checked by the switch",
        _TO_COLD,
        "refuse_partitions(read.shard, partitions, now, options=self._options), ready.checks)",
        "refuse_partitions(read.shard, partitions, now, options=self._options))",
        ("patched/move/test_to_cold_ledger.py::test_a_replica_that_is_withdrawn_right_before_the_switch",),
    ),
    Mutant(
        "a replica that is not ready is let pass",
        _TO_COLD,
        "        if ready.refused:\n            return ready\n",
        "",
        ("patched/move/test_to_cold_ledger.py::test_a_replica_that_is_withdrawn_while_parts_are_copied",),
    ),
    Mutant(
        "no gate is asked under the lease",
        _TO_COLD,
        "refuse_partitions(read.shard, partitions, now, options=self._options), ready.checks)",
        "refuse_partitions(read.shard, [], now, options=self._options), ready.checks)",
        ("patched/move/test_switch.py::test_a_partition_that_a_gate_stops_by_now",),
    ),
    Mutant(
        "the options of the operator are not those of the gates",
        _TO_COLD,
        ", now, options=self._options)",
        ", now)",
        ("patched/move/test_to_cold.py::test_a_partition_that_no_multi_can_carry",),
    ),
    Mutant(
        "copies are compared over the connection of the run alone",
        "patched/parts/verified_copies.py",
        "        leased.cold.store.members(),\n",
        "        [leased.cold.store],\n",
        ("patched/move/test_to_cold.py::test_why_a_partition_was_not_moved[copies_equal]",),
    ),
    Mutant(
        "copies that are not equal are let pass",
        _TO_COLD,
        "if not comparison.failed_partitions:",
        "if not comparison.missing:",
        ("patched/move/test_to_cold_copies.py::test_a_member_with_other_bytes_keeps_a_partition_hot",),
    ),
    Mutant(
        "a partition with parts of other names is not changed",
        _TO_COLD,
        "return now.is_cold or now.hot != prepared.hot",
        "return now.is_cold or len(now.hot_parts) != len(prepared.hot_parts)",
        ("patched/move/test_to_cold_merged_once.py",),
    ),
    Mutant(
        "a partition with parts of the same names is not changed",
        _TO_COLD,
        "return now.is_cold or now.hot != prepared.hot",
        "return now.is_cold or now.names.hot != prepared.names.hot",
        ("patched/move/test_switch.py::test_a_partition_that_changed_is_handed_back",),
    ),
    Mutant(
        "a partition that is cold by now is not changed",
        _TO_COLD,
        "return now.is_cold or now.hot != prepared.hot",
        "return now.hot != prepared.hot",
        ("patched/move/test_switch.py::test_a_partition_that_somebody_marked_cold_is_handed_back",),
    ),
    Mutant(
        "copies of a partition that is cold by now are taken back",
        _TO_COLD,
        "if state is None or never_was_cold(state)]",
        "if state is not None or state is None]",
        (
            (
                "patched/move/test_to_cold_copies.py::test_copies_of_a_partition_that_another_run_made_cold_a"
                "re_not_taken_back"
            ),
        ),
    ),
    Mutant(
        "what was created is forgotten when the lease is lost",
        _TO_COLD,
        "make_verified_copies(leased, shard, partitions, self._created)",
        "make_verified_copies(leased, shard, partitions, {})",
        ("patched/move/test_to_cold_copies.py::test_copies_made_under_a_lease_that_was_lost_are_taken_back",),
    ),
    Mutant(
        "what leaves hot is deleted whatever its version",
        _OPERATIONS,
        "Delete(znode.path, znode.stat.version)",
        "Delete(znode.path, -1)",
        (
            "patched/parts/test_operations.py::test_a_part_is_created_before_its_children_and_deleted_after_them",
        ),
    ),
    Mutant(
        "parts leave hot without State",
        _OPERATIONS,
        "return [SetData(state.path, State.COLD.data, state.stat.version), *removals]",
        "return removals",
        (
            "patched/parts/test_operations.py::test_hot_gives_up_parts_and_marks_their_partition_at_one_instant",
        ),
    ),
    Mutant(
        "State is set before the parts leave hot, and says HOT",
        _OPERATIONS,
        "return [SetData(state.path, State.COLD.data, state.stat.version), *removals]",
        "return [SetData(state.path, State.HOT.data, state.stat.version), *removals]",
        (
            "patched/parts/test_operations.py::test_hot_gives_up_parts_and_marks_their_partition_at_one_instant",
        ),
    ),
)
