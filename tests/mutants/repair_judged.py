# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of the frame of repairs: judged again and acted under one lease, and reported as it is."""

from __future__ import annotations

from mutants.mutant import Mutant

_HELD = "lease/held_lease.py"
_JUDGED = "patched/repair/judged.py"
_CASE = "patched/repair/case.py"
_RUN = "patched/repair/run.py"
_STATE = "patched/repair/by_state.py"
_REGISTRATION = "patched/repair/by_registration.py"
_TESTS = "patched/repair/test_judged.py"
_MOVED = f"{_TESTS}::test_a_move_that_ends_before_the_lease_keeps_its_partition"
_OTHER = f"{_TESTS}::test_what_another_cluster_owns_by_now_is_left_whatever_its_kind"

MUTANTS = (
    Mutant(
        "partitions are not judged again",
        _JUDGED,
        "        if partition is None or why is not None:\n",
        "        if partition is None:\n",
        (f"{_MOVED}[copies_left]",),
    ),
    Mutant(
        "another kind by now is repaired as the kind before",
        _JUDGED,
        "    if kind in kinds:\n",
        "    if kinds:\n",
        (f"{_MOVED}[half_cold]",),
    ),
    Mutant(
        "replicas of another kind count as repaired, too",
        _JUDGED,
        "if one.kind is leased.case.kind}",
        "if True}",
        (f"{_TESTS}::test_only_the_replicas_of_the_kind_count_as_repaired",),
    ),
    Mutant(
        "what is of another cluster is left for one kind only",
        _JUDGED,
        "    if not_ours is not None:\n",
        "    if not_ours is not None and leased.case.kind is FindingKind.FOREIGN:\n",
        (f"{_OTHER}[emptied while cold]",),
    ),
    Mutant(
        "a partition still of the kind counts as repaired",
        _RUN,
        "        if partition in still:\n",
        "        if False:\n",
        ("patched/repair/test_run.py::test_a_repair_that_changed_nothing_is_not_reported_as_one",),
    ),
    Mutant(
        "a partition that cannot be judged afterwards counts as repaired",
        _RUN,
        "        elif partition in unjudged:\n",
        "        elif False:\n",
        ("patched/repair/test_run.py::test_what_cannot_be_judged_afterwards_is_not_reported_as_repaired",),
    ),
    Mutant(
        "a partition that a remedy left counts as repaired",
        _RUN,
        "        if partition in report.left:\n            continue\n",
        "",
        ("patched/repair/test_run.py::test_what_a_remedy_left_is_not_reported_as_repaired",),
    ),
    Mutant(
        "what the repair may not touch stops nothing",
        _RUN,
        "    report.left.update(work.left)\n",
        "",
        (f"{_MOVED}[ghost]",),
    ),
    Mutant(
        "a shard path is adopted in batches",
        _RUN,
        "    if case.kind in _WHOLE:\n        pace.wait",
        "    if False:\n        pace.wait",
        ("patched/repair/test_by_copies.py::test_a_shard_path_is_adopted_under_one_lease",),
    ),
    Mutant(
        "the fence is read after the evidence",
        _CASE,
        "        shard.confirm()\n        return cls(case, shard, lease, known, evidence)\n",
        "        known = shard.shard() if known is not None else None\n"
        "        shard.confirm()\n        return cls(case, shard, lease, known, evidence)\n",
        ("patched/repair/test_case.py::test_the_fence_is_older_than_the_evidence",),
    ),
    Mutant(
        "evidence is trusted without the lease",
        _CASE,
        "        shard.confirm()\n        return cls(",
        "        return cls(",
        (
            "patched/repair/test_case.py::test_a_lease_that_is_lost_while_the_evidence_is_read_ends_the_repair",
        ),
    ),
    Mutant(
        "a run with the means of moves takes a lease of its own",
        _CASE,
        "return HeldLease(self.case.context.leases.root, self.lease)",
        "return self.case.context.leases",
        ("patched/repair/test_case.py::test_moves_and_states_work_under_the_lease_of_the_judgement",),
    ),
    Mutant(
        "a lease is lent again after it was lost",
        _HELD,
        "        self._is_lent = True\n",
        "",
        ("lease/test_held_lease.py::test_a_lease_is_lent_once",),
    ),
    Mutant(
        "another shard path is written under the lease",
        _HELD,
        " or self._lease.lock_path != path_of_lock(self.root, shard_path)",
        "",
        ("lease/test_held_lease.py::test_no_other_shard_path_is_written_under_it",),
    ),
    Mutant(
        "State is set to COLD without the fence",
        _STATE,
        "commit([(path, [op])], leased.facts.fence)",
        "commit([(path, [op])])",
        ("patched/repair/test_case.py::test_state_stays_as_it_is_if_a_server_acts_after_the_judgement",),
    ),
    Mutant(
        "parts are registered without the fence",
        _REGISTRATION,
        "(partition.partition_id, in_hot)], leased.facts.fence)",
        "(partition.partition_id, in_hot)])",
        ("patched/repair/test_case.py::test_no_part_is_registered_if_a_server_acts_after_the_judgement",),
    ),
)
