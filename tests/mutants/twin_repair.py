# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of the repair of twins: what counts as double, and what is proven before a part is detached."""

from __future__ import annotations

from mutants.mutant import Mutant

_BY_ROWS = "twin/repair/by_rows.py"
_BY_ATTACH = "twin/repair/by_attach.py"
_BY_RESTORE = "twin/repair/by_restore.py"
_DOUBTFUL = "twin/repair/doubtful.py"
_WAY = "twin/repair/way.py"
_KEPT = "twin/repair/kept.py"
_REMOVAL = "twin/repair/kept_removal.py"
_RUN = "twin/repair/run.py"
_TEST = "twin/repair/test_by_rows.py"
_OLDER = "twin/repair/test_doubtful.py::test_new_parts_of_the_twin_are_no_clones_once_older_parts_are_inside"

MUTANTS = (
    Mutant(
        "a repair detaches parts of the table of which the twin lacks rows",
        _WAY,
        "    if not counts.hot_only and not problem:\n",
        "    if not problem:\n",
        ("twin/repair/test_way.py::test_way",),
    ),
    Mutant(
        "a repair detaches parts of the twin of which the table lacks rows",
        _WAY,
        "    cold_is_covered = not counts.cold_only\n",
        "    cold_is_covered = True\n",
        ("twin/repair/test_way.py::test_way",),
    ),
    Mutant(
        "a repair keeps a twin with rows that nothing explains",
        _WAY,
        "    if problem:\n        raise _unexplained(problem)\n    _refuse_mutated(doubtful)\n",
        "    _refuse_mutated(doubtful)\n",
        ("twin/repair/test_way.py::test_rows_that_nothing_explains_are_left",),
    ),
    Mutant(
        "rows of late inserts count as double",
        _WAY,
        "counts.both > doubtful.most:",
        "counts.both > doubtful.most + counts.both:",
        ("twin/repair/test_way.py::test_rows_that_nothing_explains_are_left",),
    ),
    Mutant(
        "a replica that lacks rows proves that nothing is lost",
        _WAY,
        "    return not counts.hot_only\n",
        "    return True\n",
        ("twin/repair/test_way.py::test_proof",),
    ),
    Mutant(
        "a part inserted since the record is doubtful",
        _DOUBTFUL,
        "if not is_known or any(each.covers(other) for other in recorded)",
        "if True",
        (
            "twin/repair/test_doubtful.py::test_a_part_inserted_since_is_not_doubtful_nor_one_that_the_twin_had",
        ),
    ),
    Mutant(
        "a part of the same name with other rows is the recorded one",
        _DOUBTFUL,
        "        return content == record.parts[part.text]\n",
        "        return True\n",
        ("twin/repair/test_doubtful.py::test_all_parts_are_doubtful_if_a_part_of_the_name_has_other_rows",),
    ),
    Mutant(
        "clones count as clones alone after older parts were merged with them",
        _DOUBTFUL,
        "are_clones = is_intact and is_known",
        "are_clones = is_known",
        (_OLDER,),
    ),
    Mutant(
        "an insert on the way to hot is doubtful",
        _DOUBTFUL,
        "    return name.level == 0 and name.mutation is None",
        "    return False and name.mutation is None",
        ("twin/repair/test_doubtful.py::test_on_the_way_to_hot_an_insert_is_not_doubtful",),
    ),
    Mutant(
        "replicas that count different rows are repaired",
        _BY_ROWS,
        "        if len(set(counts)) > 1:\n",
        "        if False:\n",
        (f"{_TEST}::test_replica_that_counts_other_rows_keeps_everything",),
    ),
    Mutant(
        "replicas that read different rows are repaired",
        _BY_ROWS,
        "for tables in self._tables}) > 1:\n",
        "for tables in self._tables[:1]}) > 1:\n",
        (f"{_TEST}::test_replica_that_reads_other_rows_keeps_everything",),
    ),
    Mutant(
        "a scratch table with other rows is attached",
        _BY_ROWS,
        "if (rows, united.hot_only, united.cold_only) != (counts.hot_only, 0, counts.cold_only):\n",
        "if False:\n",
        (f"{_TEST}::test_scratch_table_with_other_rows_is_not_attached",),
    ),
    Mutant(
        "parts are detached although the twin did not take the rows",
        _BY_ROWS,
        "            if not is_proven(way, doubtful, counts):\n",
        "            if False:\n",
        (f"{_TEST}::test_nothing_is_detached_if_the_twin_did_not_take_the_rows",),
    ),
    Mutant(
        "rows are added to the twin during a mutation",
        _BY_ROWS,
        "            self._refuse_changed(doubtful)\n            self._shard.refuse_activity(self._id)\n",
        "            self._refuse_changed(doubtful)\n",
        (f"{_TEST}::test_activity_that_begins_with_the_work_keeps_the_parts",),
    ),
    Mutant(
        "a record is removed while detached parts may have the rows",
        _BY_ROWS,
        "                    if names:\n",
        "                    if False:\n",
        (f"{_TEST}::test_partition_that_neither_table_has_loses_its_record",),
    ),
    Mutant(
        "a killed repair forgets how many rows it has added",
        _BY_ROWS,
        "doubtful.hot, added=counts.hot_only)",
        "doubtful.hot, added=0)",
        (f"{_TEST}::test_killed_run_is_continued",),
    ),
    Mutant(
        "a killed repair leaves its scratch table",
        _BY_ROWS,
        "        if not self._shard.check_mode:\n            for tables in self._tables:\n",
        "        if self._shard.check_mode:\n            for tables in self._tables:\n",
        (f"{_TEST}::test_killed_run_is_continued",),
    ),
    Mutant(
        "the names of kept parts are replaced by later ones",
        _KEPT,
        "        parts[side].update(names)\n",
        "        parts[side] = set(names)\n",
        ("twin/repair/test_kept.py::test_names_and_rows_are_added_up",),
    ),
    Mutant(
        "kept parts are deleted without consent",
        _REMOVAL,
        "        if not are_unneeded:\n",
        "        if False:\n",
        ("twin/repair/test_kept_removal.py::test_kept_parts_stay_without_consent",),
    ),
    Mutant(
        "folders of other people are deleted",
        _REMOVAL,
        "        for name in stored.parts[side]\n",
        "        for name in folders[side]\n",
        ("twin/repair/test_kept_removal.py::test_kept_parts_are_deleted_with_consent_and_others_stay",),
    ),
    Mutant(
        "a partition of another kind by now is repaired",
        _RUN,
        "    if verdict.kind is not kind:\n",
        "    if False:\n",
        ("twin/repair/test_run.py::test_partition_of_another_kind_by_now_is_left",),
    ),
    Mutant(
        "rows that a mutation has rewritten in one table count as other rows",
        _WAY,
        "    if doubtful.is_mutated:\n",
        "    if False:\n",
        ("twin/repair/test_way.py::test_rows_that_nothing_explains_are_left",),
    ),
    Mutant(
        "a repair writes without its lease",
        "twin/move/record.py",
        "            self._commit(lease, (*checks, *ops.values(), *more))\n",
        "            self._commit(lease, (*checks[:0], *ops.values(), *more))\n",
        ("twin/repair/test_kept.py::test_nothing_is_written_without_the_lease",),
    ),
    Mutant(
        "a part in detached/ is attached whose blocks the ledger does not list",
        _BY_ATTACH,
        "    return is_listed and not any(\n",
        "    return not any(\n",
        ("twin/repair/test_by_attach.py::test_folders_with_missing_blocks_alone_count",),
    ),
    Mutant(
        "a part in detached/ is attached whose blocks the twin has",
        _BY_ATTACH,
        "    return is_listed and not any(\n",
        "    return is_listed or not any(\n",
        ("twin/repair/test_by_attach.py::test_folders_with_missing_blocks_alone_count",),
    ),
    Mutant(
        "rows that the table has stay attached",
        _BY_ATTACH,
        "            if both:\n",
        "            if False:\n",
        ("twin/repair/test_by_attach.py::test_rows_that_the_table_has_are_detached_again",),
    ),
    Mutant(
        "more rows than the ledger lists stay attached",
        _BY_ATTACH,
        "        if rows > entry.rows:\n",
        "        if False:\n",
        ("twin/repair/test_by_attach.py::test_more_rows_than_the_ledger_lists_are_detached_again",),
    ),
    Mutant(
        "rows that the twin has stay attached",
        _BY_ATTACH,
        "servers.rows_in_common(tables, new, others) if others and new else 0\n",
        "0 * len(others)\n",
        ("twin/repair/test_by_attach.py::test_rows_that_the_twin_has_are_detached_again",),
    ),
    Mutant(
        "a partition that still lacks rows is entered",
        _BY_ATTACH,
        "        if rows != entry.rows:\n",
        "        if False:\n",
        ("twin/repair/test_by_attach.py::test_rows_that_are_still_missing_leave_the_partition",),
    ),
    Mutant(
        "replicas with different parts are restored",
        _BY_RESTORE,
        '        if differing:\n            raise LeftAsIs(\n                f"{shard',
        '        if False:\n            raise LeftAsIs(\n                f"{shard',
        ("twin/repair/test_by_restore.py::test_replicas_with_different_parts_are_left",),
    ),
    Mutant(
        "a twin is restored that lacks rows",
        _BY_RESTORE,
        "        if each == lost:\n",
        "        if False:\n",
        ("twin/repair/test_by_restore.py::test_twin_without_rows_that_the_ledger_lists_is_left",),
    ),
    Mutant(
        "parts that records name are renamed",
        _BY_RESTORE,
        "        if shard.records.partition_ids():\n",
        "        if False:\n",
        ("twin/repair/test_by_restore.py::test_recorded_moves_are_left",),
    ),
    Mutant(
        "what a restore lost is entered",
        _BY_RESTORE,
        "if after[one] != before[one])",
        "if False)",
        ("twin/repair/test_by_restore.py::test_lost_parts_are_reported_and_not_entered",),
    ),
    Mutant(
        "a part is detached while a policy may hide the rows that stay",
        _BY_ROWS,
        "        leave_if_refused(shard.readers.before_repair(self._tables))\n",
        "",
        ("twin/repair/test_run.py::test_nothing_goes_while_readers_may_see_less",),
    ),
    Mutant(
        "a row policy outlives the record that a repair removes",
        _BY_ROWS,
        "            leave_if_refused(shard.readers.before_removal(self._tables, {self._id}))\n",
        "",
        (
            "twin/repair/test_run.py::test_readers_see_everything_before_a_part_goes_and_before_the_record_goes",
        ),
    ),
    Mutant(
        "a run after a killed repair hides the rows that stayed",
        "twin/readers/hidden.py",
        "if not record.repairing}",
        "if True}",
        ("twin/readers/test_hidden.py::test_nothing_is_hidden_once_a_repair_changes_the_tables",),
    ),
    Mutant(
        "a repair does not wait for readers that began with a policy",
        "twin/readers/views.py",
        "        self.follow(records, wait=False)\n        if self._hides:\n",
        "        self.follow(records, wait=False)\n        if False:\n",
        ("twin/readers/test_recorded_readers.py::test_a_repair_waits_for_readers_that_began_with_a_policy",),
    ),
)
