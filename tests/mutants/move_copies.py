# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of copies: how they are compared, and when they may be removed."""

from __future__ import annotations

from mutants.mutant import Mutant

_COPIES = "patched/parts/copies.py"
_RETENTION = "shard/copy_retention.py"
_UNNEEDED = "patched/parts/unneeded_copies.py"
_HOT_MEMBERS = "patched/parts/hot_members.py"
_COMPARE = "patched/parts/compare.py"
_FACTS = "shard/facts.py"

MUTANTS = (
    Mutant(
        "copies that others made count as those of the run",
        _COPIES,
        "for path in originals.keys() - existing.keys()})",
        "for path in originals})",
        ("patched/parts/test_copies.py::test_what_a_run_created_is_removed",),
    ),
    Mutant(
        "copies whose answer was lost do not count as those of the run",
        _COPIES,
        "        self._own.update({path: names[path] for path in originals.keys() - "
        "existing.keys()})\n"
        "        for _attempt in range(_ATTEMPTS):\n"
        "            if self._cold.commit(_differences(originals, existing)).is_whole():\n",
        "        for _attempt in range(_ATTEMPTS):\n"
        "            if self._cold.commit(_differences(originals, existing)).is_whole():\n"
        "                self._own.update({path: names[path] for path in originals.keys() - "
        "existing.keys()})\n",
        ("patched/move/test_to_cold_copies.py::test_copies_whose_answer_was_lost_are_taken_back",),
    ),
    Mutant(
        "folders of copies that went are not made again",
        _COPIES,
        "            self._cold.ensure(folders)\n            existing",
        "            existing",
        ("patched/parts/test_copies.py::test_a_folder_that_goes_once_it_was_listed_is_made_again",),
    ),
    Mutant(
        "copies are removed while a member of hot is behind",
        _COPIES,
        "returned = [each for each in ids if unneeded[each] and was_brought_back(partitions[each].state)]",
        "returned: list[str] = []",
        (
            "patched/parts/test_copies.py::test_copies_of_what_was_brought_back_stay_while_a_member_of_hot_lags",
        ),
    ),
    Mutant(
        "copies go by what was read before the members of hot were asked",
        _COPIES,
        "                asked.update(returned)\n                continue\n",
        "                asked.update(returned)\n",
        ("patched/move/test_to_hot_refusals.py::test_why_copies_stay[copies_needed3]",),
    ),
    Mutant(
        "copies of partitions that are not named are taken back",
        _COPIES,
        "for path, name in self._own.items() if name.partition_id in partition_ids}",
        "for path, name in self._own.items()}",
        ("patched/parts/test_copies.py::test_what_a_run_created_is_removed",),
    ),
    Mutant(
        "copies are not needed once State is HOT",
        _RETENTION,
        "if state is None or never_was_cold(state):",
        'if state is None or state.data != b"COLD":',
        ("patched/parts/test_unneeded_copies.py::test_copies_of_a_partition_that_was_cold_wait",),
    ),
    Mutant(
        "copies are not needed by a replica that is not active",
        _RETENTION,
        "are_active = all(replica.is_active is not None for replica in shard.replicas)",
        "are_active = any(replica.is_active is not None for replica in shard.replicas)",
        ("shard/test_copy_retention.py::test_copies_are_needed_as_long_as_a_replica_is_inactive",),
    ),
    Mutant(
        "copies are needed for a minute only",
        _RETENTION,
        "STARTING_SECONDS = 600",
        "STARTING_SECONDS = 60",
        ("patched/parts/test_unneeded_copies.py::test_copies_of_a_partition_that_was_cold_wait",),
    ),
    Mutant(
        "copies are needed since State was created",
        _RETENTION,
        "state.stat.mtime / 1000",
        "state.stat.ctime / 1000",
        ("patched/parts/test_unneeded_copies.py::test_copies_wait_from_when_the_partition_was_brought_back",),
    ),
    Mutant(
        "copies of a cold partition are not needed",
        _UNNEEDED,
        "    if partition.is_cold:\n        return []\n",
        "",
        ("patched/parts/test_unneeded_copies.py::test_copies_of_a_cold_partition_are_all_that_there_is",),
    ),
    Mutant(
        "copies of parts that hot has go at once",
        _UNNEEDED,
        "    if retention_left(shard, partition.state, now):\n        return []\n",
        "",
        ("patched/parts/test_unneeded_copies.py::test_copies_of_a_partition_that_was_cold_wait",),
    ),
    Mutant(
        "copies of parts that hot has not are not needed",
        _UNNEEDED,
        "if part.znode.path in own or is_covered("
        "part.name, [each.name for each in partition.hot[replica]])\n",
        "",
        (
            "patched/parts/test_unneeded_copies.py::test_copies_of_what_hot_has_not_go_only_if_they_are_our_own",
        ),
    ),
    Mutant(
        "a part of another replica stands for that of a replica",
        _UNNEEDED,
        "[each.name for each in partition.hot[replica]]",
        "[each.name for each in partition.hot_parts]",
        ("patched/parts/test_unneeded_copies.py::test_what_another_replica_has_in_hot_does_not_matter",),
    ),
    Mutant(
        "a member of hot that does not answer is not behind",
        _HOT_MEMBERS,
        "return dict.fromkeys(partition_ids, _behind(error.message))",
        "return behind",
        ("patched/parts/test_hot_members.py::test_a_member_that_does_not_answer_keeps_all",),
    ),
    Mutant(
        "one member of hot stands for all",
        _HOT_MEMBERS,
        "for member in hot.members():",
        "for member in list(hot.members())[:1]:",
        ("patched/parts/test_hot_members.py::test_a_member_that_does_not_know_yet_keeps_them",),
    ),
    Mutant(
        "a member of hot that takes a partition for cold is not behind",
        _HOT_MEMBERS,
        "if state is None or is_cold(state.data):",
        "if state is None:",
        ("patched/parts/test_hot_members.py::test_a_member_that_does_not_know_yet_keeps_them",),
    ),
    Mutant(
        "the last copies that are made are compared, and no others",
        "patched/parts/verified_copies.py",
        "                compared.append(pool.submit(comparison.add, made))\n",
        "                pass\n",
        ("patched/parts/test_verified_copies.py::test_a_copy_that_differs_is_found_in_each_portion",),
    ),
    Mutant(
        "copies are compared by name only",
        _COMPARE,
        "if copy is not None and copy.registers_as(part):",
        "if copy is not None:",
        ("patched/move/test_to_cold_copies.py::test_a_member_with_other_bytes_keeps_a_partition_hot",),
    ),
    Mutant(
        "copies are compared without their children",
        _FACTS,
        "return not self.children or self._has_children_of(other)",
        "return True",
        ("patched/parts/test_compare.py::TestComparison::test_a_copy_that_differs[2-/columns]",),
    ),
    Mutant(
        "children are compared by their data alone",
        _FACTS,
        " or child.path[start:] != other_child.path[other_start:]",
        "",
        ("shard/test_facts.py::test_parts_with_equal_payloads_are_registered_alike",),
    ),
    Mutant(
        "copies are compared on one member only",
        _COMPARE,
        "self._members = members",
        "self._members = members[:1]",
        ("patched/move/test_to_cold_copies.py::test_a_member_with_other_bytes_keeps_a_partition_hot",),
    ),
    Mutant(
        "a copy that is missing does no harm",
        _COMPARE,
        "if copy is not None and copy.registers_as(part):",
        "if copy is None or copy.registers_as(part):",
        ("patched/parts/test_compare.py::TestComparison::test_a_copy_that_is_missing",),
    ),
    Mutant(
        "a copy without an original does no harm",
        _COMPARE,
        "        self.failed.add(partition_id)\n",
        '        if verdict != "has no original":\n            self.failed.add(partition_id)\n',
        ("patched/parts/test_compare.py::TestComparison::test_a_part_without_an_original",),
    ),
    Mutant(
        "the last comparisons are not waited for",
        "patched/parts/verified_copies.py",
        "            each.result()\n",
        "            pass\n",
        ("patched/parts/test_verified_copies_members.py",),
    ),
    Mutant(
        "a batch is compared on the first member alone",
        _COMPARE,
        "        for member in self._members:\n            self._add(member, originals, [])",
        "        for member in self._members[:1]:\n            self._add(member, originals, [])",
        ("patched/parts/test_verified_copies_members.py",),
    ),
    Mutant(
        "the last batch is compared on the first member alone",
        _COMPARE,
        "        for member in self._members:\n            listed",
        "        for member in self._members[:1]:\n            listed",
        ("patched/parts/test_verified_copies_members.py",),
    ),
    Mutant(
        "the members of hot are not asked beyond the first",
        "patched/parts/hot_members.py",
        "for member in hot.members():",
        "for member in list(hot.members())[:1]:",
        ("patched/parts/test_hot_members.py",),
    ),
)
