# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of a run: what comes after what, and what is told of it."""

from __future__ import annotations

from mutants.mutant import Mutant

_RUN = "patched/move/run.py"

MUTANTS = (
    Mutant(
        "servers are not asked whether they have the parts",
        _RUN,
        "            refused.update(self._context.servers.refusals(read.shard, expected))\n",
        "",
        ("patched/move/test_to_cold.py::test_why_a_partition_was_not_moved[active_on_disk0]",),
    ),
    Mutant(
        "a partition whose copies are not equal is switched",
        _RUN,
        "prepared = {each: passed[each] for each in passed if each not in failed}",
        "prepared = passed",
        ("patched/move/test_to_cold.py::test_why_a_partition_was_not_moved[copies_equal]",),
    ),
    Mutant(
        "the check comes after the last batch only",
        _RUN,
        "                self._record(prepared, result)\n"
        "                # Check at once: a part that was inserted meanwhile may soon be merged with the "
        "cold parts.\n"
        "                if result.shard is not None:\n"
        "                    self._check_switched(leased, result.shard)\n",
        "                self._record(prepared, result)\n"
        "            if result.shard is not None:\n"
        "                self._check_switched(leased, result.shard)\n",
        (
            (
                "patched/move/test_post_switch_check.py::test_each_batch_is_checked_before_the_next_one_is_"
                "switched"
            ),
        ),
    ),
    Mutant(
        "what was switched is forgotten where the run ends with an error",
        _RUN,
        "            self._report.lose(result.unclear, self._direction.refusals.answer_lost)\n"
        "            self._record(prepared, result)\n",
        "            self._report.lose(result.unclear, self._direction.refusals.answer_lost)\n",
        ("patched/move/test_switch_lost.py::test_partitions_switched_before_the_lease_was_lost_are_checked",),
    ),
    Mutant(
        "a switch whose answer was lost for good is not reported",
        _RUN,
        "            self._report.lose(result.unclear, self._direction.refusals.answer_lost)\n",
        "",
        ("patched/move/test_run.py::test_a_switch_with_an_unknown_outcome",),
    ),
    Mutant(
        "an unchecked switch is reported as done",
        _RUN,
        "self._report.fail(each, self._direction.refusals.unchecked)",
        "pass",
        ("patched/move/test_run.py::test_an_unchecked_switch_has_failed",),
    ),
    Mutant(
        "what was in detached is not noted",
        _RUN,
        "                self._note_detached(read.shard)\n",
        "                pass\n",
        ("patched/move/test_to_cold.py::test_why_a_partition_was_not_moved[active_on_disk5]",),
    ),
    Mutant(
        "what was switched under a lost lease is not checked",
        _RUN,
        "            self._check_switched(leased, leased.shard())\n",
        "            self._unchecked.clear()\n",
        ("patched/move/test_post_switch_check.py::test_a_lease_that_is_lost_while_switches_are_undone",),
    ),
    Mutant(
        "a run may pause between a copy that was verified and its switch",
        _RUN,
        "        changed = self._switch(leased, prepared) if prepared else []\n",
        "        self._context.pace.wait(0, self._context.clock)\n"
        "        changed = self._switch(leased, prepared) if prepared else []\n",
        ("patched/move/test_run_pace.py::test_no_copy_waits_for_its_switch",),
    ),
    Mutant(
        "a run may pause between a switch and its check",
        _RUN,
        "                if result.shard is not None:\n",
        "                self._context.pace.wait(0, self._context.clock)\n"
        "                if result.shard is not None:\n",
        ("patched/move/test_run_pace.py::test_no_switch_waits_for_its_check",),
    ),
    Mutant(
        "copies stay where the table cannot be read any more",
        _RUN,
        "            self._direction.abandon(leased, self._report.moved)\n",
        "",
        (
            (
                "patched/move/test_run.py::test_copies_do_not_outlive_what_cannot_be_read_any_more[drop_the_"
                "table-partition_exists]"
            ),
        ),
    ),
    Mutant(
        "a switch that failed afterwards is no change",
        "patched/move/report.py",
        "        self.failed[partition_id] = refusal\n        self.touched.add(partition_id)\n",
        "        self.failed[partition_id] = refusal\n",
        ("patched/move/test_report.py::test_a_partition_that_fails_was_not_moved",),
    ),
    Mutant(
        "copies of an earlier run that are removed are no change",
        "patched/move/to_cold.py",
        "for each, paths in removed.items() if paths - self._created.keys())",
        "for each, paths in removed.items() if not paths)",
        (
            (
                "patched/move/test_run.py::test_copies_that_an_earlier_run_left_are_a_change_when_removed[a "
                "killed run]"
            ),
        ),
    ),
)
