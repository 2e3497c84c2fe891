# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of moves in groups: changes during a move, clones of killed runs, and records of earlier runs."""

from __future__ import annotations

from mutants.mutant import Mutant

_CLASSIFY = "twin/move/classify.py"
_UNDO = "twin/move/undo_plan.py"
_MOVE = "twin/move/group_move.py"
_GROUP = "twin/move/group.py"
_DISKS = "twin/move/disks.py"
_DROPPABLE = "twin/move/droppable.py"
_CLONING = "twin/move/cloning.py"
_DROPPING = "twin/move/dropping.py"
_UNDOING = "twin/move/undoing.py"
_CHANGES = "twin/move/changes.py"
_ATTACH_LOG = "twin/move/attach_log.py"
_RUN = "twin/move/run.py"
_INTERLEAVINGS = "twin/move/test_group_move_interleavings.py"

MUTANTS = (
    Mutant(
        "a part that the server would not drop is attached",
        _DROPPABLE,
        "largest.bytes_on_disk <= most:\n",
        "largest.bytes_on_disk >= 0:\n",
        ("twin/move/test_droppable.py::test_a_part_that_the_server_would_not_drop_defers",),
    ),
    Mutant(
        "a part that is too large to drop keeps all partitions of its statement",
        _GROUP,
        "            each.alone = True\n        if len(members) > 1:\n",
        "            each.alone = True\n        if not members:\n",
        ("twin/move/test_group.py::test_a_part_that_is_too_large_to_drop_keeps_only_its_partition",),
    ),
    Mutant(
        "a part that is too large to drop counts as dropped after a merge",
        _DROPPING,
        "        _note_what_is_left(group, members, side)\n        group.refuse_too_large(",
        "        group.refuse_too_large(",
        ("twin/move/test_group.py::test_a_part_that_is_too_large_to_drop_keeps_only_its_partition",),
    ),
    Mutant(
        "an ATTACH that ended in an error counts as one without clones, whatever the log shows",
        _GROUP,
        "if clones.complete and not clones.names",
        "if not clones.names",
        ("twin/move/test_cloning.py::test_an_attach_that_ended_keeps_its_record_if_no_log_shows_its_effect",),
    ),
    Mutant(
        "clones that a server has registered, and no replica shows, lose their record",
        _GROUP,
        "if clones.complete and not clones.names",
        "if clones.complete",
        ("twin/move/test_cloning.py::test_an_attach_that_ended_and_may_have_an_effect_keeps_its_record",),
    ),
    Mutant(
        "the first entry of a log is older than the record",
        _ATTACH_LOG,
        "number > newest > 0 or newest == 0",
        "number > newest >= 0",
        ("twin/move/test_attach_log.py::test_the_first_entry_of_a_log_counts_where_it_may_have_been_empty",),
    ),
    Mutant(
        "parts with a zero-copy lock are attached",
        _DISKS,
        "disk in activity.shared",
        "not disk",
        ("twin/move/test_disks.py::test_disks_of_the_parts_alone_count",),
    ),
    Mutant(
        "ATTACH is executed again although clones are there",
        _CLASSIFY,
        "        is_cloned = may_have_clones(record, parts, partition_id)\n",
        "        is_cloned = not parts.on(record.destination.other)\n",
        ("twin/move/test_cloning.py::test_clones_of_a_killed_run_are_adopted",),
    ),
    Mutant(
        "a mutation before the first DROP PART is not looked for",
        _DROPPING,
        "        if change:\n",
        "        if change and not each.record.parts:\n",
        ("twin/move/test_changes.py::test_what_changes_before_the_first_drop_undoes_the_move",),
    ),
    Mutant(
        "an older mutation is the newest one",
        _CHANGES,
        "        if now.mutation > before.mutation:\n",
        "        if now.mutation < before.mutation:\n",
        ("twin/move/test_changes.py::test_what_is_newer_than_the_record_is_told",),
    ),
    Mutant(
        "patch parts that came during the move are ignored",
        _CHANGES,
        "        if patches:\n",
        "        if not before:\n",
        ("twin/move/test_changes.py::test_what_changes_before_the_first_drop_undoes_the_move",),
    ),
    Mutant(
        "a structure that changed during the move is ignored",
        _CHANGES,
        "        if now.structure != before.structure:\n",
        "        if not before:\n",
        ("twin/move/test_changes.py::test_what_changes_before_the_first_drop_undoes_the_move",),
    ),
    Mutant(
        "only the marks of the first replica are compared",
        _CHANGES,
        "        for each, marks in zip(tables, found)\n        for change in _changes_on",
        "        for each, marks in zip(tables[:1], found)\n        for change in _changes_on",
        ("twin/move/test_changes.py::test_what_is_newer_than_the_record_is_told",),
    ),
    Mutant(
        "the marks are read after the activity",
        _MOVE,
        "            group.marks = group.read_marks(fresh)\n            group.read_activity(fresh)\n",
        "            group.read_activity(fresh)\n            group.marks = group.read_marks(fresh)\n",
        (
            "twin/move/test_changes.py::test_a_mutation_that_is_carried_out_after_the_move_keeps_the_partition",
        ),
    ),
    Mutant(
        "mutated clones are no longer undone as a whole",
        _UNDO,
        "    drop = [name for name in destination.names if any(name.covers(each) for each in clones)]\n",
        "    drop = [name for name in clones if name.text in destination.contents]\n",
        (
            "twin/move/test_undo_plan.py::test_clones_of_a_record_are_undone_with_all_that_is_in_them_or_not_at_all",
        ),
    ),
    Mutant(
        "clones are dropped although the source has lost a part",
        _UNDO,
        "        if name not in source.contents and not source.covers(name):\n",
        "        if not name:\n",
        ("twin/move/test_undo_plan.py::test_what_the_ensemble_knows_as_clones_is_undone",),
    ),
    Mutant(
        "a part that may be an insert is dropped with the clones",
        _UNDO,
        "        if part.content in possible:\n",
        "        if not possible:\n",
        ("twin/move/test_undo_plan.py::test_what_the_ensemble_knows_as_clones_is_undone",),
    ),
    Mutant(
        "a log with a gap counts as complete",
        _ATTACH_LOG,
        "        is_complete = newest >= 0 and bool(numbered) and min(numbered) <= newest + 1\n",
        "        is_complete = newest >= 0 and bool(numbered)\n",
        ("twin/move/test_attach_log.py::test_clones_are_those_of_entries_since_the_record",),
    ),
    Mutant(
        "clones of another table count as clones of the source",
        _ATTACH_LOG,
        "            if _is_since(number, newest) and entry.source_table == (source.database, source.name)\n",
        "            if _is_since(number, newest)\n",
        ("twin/move/test_attach_log.py::test_clones_are_those_of_entries_since_the_record",),
    ),
    Mutant(
        "parts from before the record count as clones",
        _ATTACH_LOG,
        "    new = (name.text for name in names if not any(each.covers(name) for each in held))\n",
        "    new = (name.text for name in names)\n",
        ("twin/move/test_attach_log.py::test_only_new_parts_with_the_rows_of_the_source_count",),
    ),
    Mutant(
        "a block znode of another table counts",
        _ATTACH_LOG,
        "    by_block = {name for name, digest in found.blocks.items() if digest in hashes}\n",
        "    by_block = {*found.blocks}\n",
        ("twin/move/test_attach_log.py::test_only_new_parts_with_the_rows_of_the_source_count",),
    ),
    Mutant(
        "a run leaves the records of other partitions",
        _RUN,
        "        for finishing, ids in ((True, others), (False, partition_ids)):\n",
        "        for finishing, ids in ((False, partition_ids),):\n",
        ("twin/move/test_group.py::test_a_kill_at_any_step_is_finished_by_a_run_for_another_partition",),
    ),
    Mutant(
        "a run without work leaves records",
        _RUN,
        "        return super()._has_work(requested) or bool(self._recorded)\n",
        "        return super()._has_work(requested)\n",
        ("twin/move/test_group.py::test_a_kill_at_any_step_is_finished_by_a_run_for_another_partition",),
    ),
    Mutant(
        "a statement for several partitions is repeated for all of them",
        _GROUP,
        "        for each in members:\n            each.alone = each.refused_drop = True\n",
        "        for each in members:\n            each.refused_drop = True\n",
        ("twin/move/test_group.py::test_a_part_that_a_server_refuses_to_drop_stops_no_other_partition",),
    ),
    Mutant(
        "a refused partition keeps all others",
        _CLONING,
        "        else:\n            each.alone = True\n",
        "        else:\n            each.refused_attach = True\n",
        ("twin/move/test_group.py::test_a_partition_that_a_server_refuses_to_attach_stops_no_other",),
    ),
    Mutant(
        "readers see rows twice during an undo",
        _UNDOING,
        "    refusal = group.hide_clones()\n"
        "    if refusal is not None:\n"
        "        group.leave((each for each, _names in drops), refusal)\n"
        "        return\n",
        "",
        ("twin/move/test_readers.py::test_clones_are_hidden_again_before_an_undo_drops_them",),
    ),
    Mutant(
        "rows are dropped before readers see their clones",
        _DROPPING,
        "    if refusal is not None:\n"
        "        group.leave((each.progress for each in currents), refusal)\n"
        "        return\n",
        "",
        ("twin/move/test_readers.py::test_nothing_is_dropped_while_readers_cannot_be_served",),
    ),
    Mutant(
        "an undone record of an earlier release is dropped without marks",
        _CHANGES,
        '        return "an earlier release recorded it, without what a change could be told by"\n',
        '        return ""\n',
        ("twin/move/test_changes.py::test_without_marks_nothing_is_known",),
    ),
    Mutant(
        "what a refused DROP PART left counts as dropped",
        _DROPPING,
        "        gone = [name for name in record.dropping if name not in there and name not in taken]\n",
        "        gone = [*record.dropping]\n",
        (
            f"{_INTERLEAVINGS}::test_a_merge_in_both_tables_before_the_drop_needs_no_manual_action",
            "twin/move/test_group.py::test_a_part_that_a_server_refuses_to_drop_stops_no_other_partition",
            "twin/move/test_group_move_many_acts.py",
        ),
    ),
    Mutant(
        "a partition that a mutation has changed is recorded again at once",
        _UNDOING,
        "        if change and each.record.marks is not None and progress.leaves_as is None:\n",
        "        if change and each.record.marks is None:\n",
        (
            (
                "twin/move/test_changes.py::"
                "test_a_partition_that_was_mutated_right_after_the_attach_is_not_recorded_again_at_once"
            ),
        ),
    ),
)
