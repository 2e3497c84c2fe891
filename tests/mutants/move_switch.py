# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of the switch."""

from __future__ import annotations

from mutants.mutant import Mutant

_SWITCH = "patched/move/switch.py"

MUTANTS = (
    Mutant(
        "partitions are sent before they are announced",
        _SWITCH,
        "            self._announce([each.partition for each in batch])\n"
        "            result.unclear.update([each.partition.partition_id for each in batch])\n"
        "            for each in batch:\n"
        "                yield each.partition.partition_id, each.ops\n",
        "            result.unclear.update([each.partition.partition_id for each in batch])\n"
        "            for each in batch:\n"
        "                yield each.partition.partition_id, each.ops\n"
        "            self._announce([each.partition for each in batch])\n",
        ("patched/move/test_switch.py::test_no_multi_is_sent_before_its_partitions_were_announced",),
    ),
    Mutant(
        "partitions are sent without being announced",
        _SWITCH,
        "            self._announce([each.partition for each in batch])\n",
        "",
        (
            "patched/move/test_switch.py::test_no_multi_is_sent_before_its_partitions_were_announced",
            "patched/move/test_run.py::test_the_journal_names_a_partition_before_its_switch",
            "patched/move/test_run.py::test_a_partition_missing_in_the_journal_is_not_switched",
            "patched/move/test_to_hot.py::test_the_journal_names_a_partition_before_it_is_brought_back",
        ),
    ),
    Mutant(
        "the switch does not check what was read first",
        _SWITCH,
        "checks = (*read.shard.fence, *judgement.checks)",
        "checks = judgement.checks",
        ("patched/move/test_switch.py::test_the_multi_that_switches_a_partition",),
    ),
    Mutant(
        "the switch does not check what the gates ask for",
        _SWITCH,
        "checks = (*read.shard.fence, *judgement.checks)",
        "checks = read.shard.fence",
        ("patched/move/test_to_cold_ledger.py::test_a_replica_that_is_withdrawn_right_before_the_switch",),
    ),
    Mutant(
        "the gates are judged once only",
        _SWITCH,
        "judgement = direction.judge(read, ids, self._leased.taken_at)",
        "judgement = direction.judge(read, [], self._leased.taken_at)",
        ("patched/move/test_switch.py::test_a_partition_that_a_gate_stops_by_now",),
    ),
    Mutant(
        "the gates judge at the switch, and nobody listens",
        _SWITCH,
        "            if each in judgement.refused:\n                continue\n",
        "",
        ("patched/move/test_switch.py::test_a_partition_that_a_gate_stops_by_now",),
    ),
    Mutant(
        "something else than what was prepared is switched",
        _SWITCH,
        "if direction.is_changed(prepared[each], partition):",
        "if not partition.hot:",
        ("patched/move/test_switch.py::test_a_partition_that_changed_is_handed_back",),
    ),
    Mutant(
        "State is read before what happened to the switch is known",
        _SWITCH,
        "        store.sync(self._layout.path)\n",
        "",
        (
            (
                "patched/move/test_switch_lost.py::test_a_switch_that_was_applied_is_found_out_where_hot_is_"
                "behind"
            ),
        ),
    ),
    Mutant(
        "a switch whose answer was lost was applied",
        _SWITCH,
        "            if state is not None and state.data == state_after\n",
        "            if state is not None\n",
        ("patched/move/test_switch_lost.py::test_a_switch_that_was_not_applied_is_made_again",),
    ),
    Mutant(
        "a switch whose answer was lost was not applied",
        _SWITCH,
        "            if state is not None and state.data == state_after\n",
        "            if state is not None and not state_after\n",
        ("patched/move/test_switch_lost.py::test_a_late_insert_is_found_although_the_answer_was_lost",),
    ),
    Mutant(
        "a switch whose answer was lost for good is forgotten",
        _SWITCH,
        "            result.unclear.update([each.partition.partition_id for each in batch])\n",
        "",
        ("patched/move/test_run.py::test_a_switch_with_an_unknown_outcome",),
    ),
    Mutant(
        "a switch that does not fit one multi back is made",
        _SWITCH,
        "sum([part.data_bytes for part in partition.hot_parts])",
        "0",
        ("patched/move/test_to_cold.py::test_a_switch_that_could_not_be_undone_is_refused",),
    ),
    Mutant(
        "what was switched is forgotten when the lease is lost",
        _SWITCH,
        "        result.switched.update(written.committed)\n",
        "        written.raise_problem()\n        result.switched.update(written.committed)\n",
        (
            (
                "patched/move/test_switch.py::test_a_refusal_is_raised_after_all_outcomes_are_known[no "
                "permission]"
            ),
        ),
    ),
    Mutant(
        "a batch is checked together with the last one only",
        _SWITCH,
        "            yield\n            size",
        "            if not waiting:\n                yield\n            size",
        (
            (
                "patched/move/test_post_switch_check.py::test_each_batch_is_checked_before_the_next_one_is_"
                "switched"
            ),
        ),
    ),
)
