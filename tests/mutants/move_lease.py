# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of looks and writes under the lease."""

from __future__ import annotations

from mutants.mutant import Mutant

_LEASED_SHARD = "patched/parts/leased_shard.py"

MUTANTS = (
    Mutant(
        "parents of copies are created without the lease",
        _LEASED_SHARD,
        "self.write(missing[0].path, missing)",
        "self.store.commit([missing])",
        ("patched/parts/test_leased_shard.py::test_a_run_that_was_paused_creates_no_parents",),
    ),
    Mutant(
        "writes do not carry the lease",
        _LEASED_SHARD,
        "_Sending(pack((*self._checks, *checks), groups,",
        "_Sending(pack(tuple(checks), groups,",
        ("patched/parts/test_leased_shard.py::test_a_run_that_was_paused_writes_nothing",),
    ),
    Mutant(
        "writes do not carry the checks",
        _LEASED_SHARD,
        "_Sending(pack((*self._checks, *checks), groups,",
        "_Sending(pack(self._lease_checks, groups,",
        ("patched/parts/test_leased_shard.py::test_a_check_that_fails_rejects_all_groups_of_the_multi",),
    ),
    Mutant(
        "groups that cannot be made are left out without a word",
        _LEASED_SHARD,
        "            self.problem = error\n",
        "            del error\n",
        (
            "patched/parts/test_leased_shard.py::test_groups_that_cannot_be_made_end_it_and_what_was_sent_is_known",
            "patched/move/test_run.py::test_a_partition_missing_in_the_journal_is_not_switched",
        ),
    ),
    Mutant(
        "a lost answer is taken for applied",
        _LEASED_SHARD,
        "                written.unknown.extend(keys)",
        "                written.committed.extend(keys)",
        ("patched/parts/test_leased_shard.py::test_an_answer_that_is_lost_is_unknown",),
    ),
    Mutant(
        "a lost answer is taken for not applied",
        _LEASED_SHARD,
        "                written.unknown.extend(keys)",
        "                written.rejected.extend(keys)",
        ("patched/parts/test_leased_shard.py::test_an_answer_that_is_lost_is_unknown",),
    ),
    Mutant(
        "a write is whole although its answer was lost",
        _LEASED_SHARD,
        "return not self.rejected and not self.unknown",
        "return not self.rejected",
        ("patched/parts/test_leased_shard.py::test_an_answer_that_is_lost_is_unknown",),
    ),
    Mutant(
        "a write is whole although it was rejected",
        _LEASED_SHARD,
        "return not self.rejected and not self.unknown",
        "return not self.unknown",
        ("patched/parts/test_leased_shard.py::test_a_collision_is_no_problem_and_nothing_whole",),
    ),
    Mutant(
        "a read is trusted without the lease",
        _LEASED_SHARD,
        "self._held(self._reader.read(partition_ids))",
        "self._reader.read(partition_ids)",
        ("patched/parts/test_leased_shard.py::test_no_read_succeeds_after_another_run_took_over",),
    ),
    Mutant(
        "the check after a switch is trusted without the lease",
        _LEASED_SHARD,
        "self._held(self._reader.read_names(partition_ids))",
        "self._reader.read_names(partition_ids)",
        ("patched/move/test_post_switch_check.py::test_another_run_that_takes_over_during_the_aftermath",),
    ),
)
