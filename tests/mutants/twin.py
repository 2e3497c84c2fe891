# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of the move of a partition between a table and its cold twin."""

from __future__ import annotations

from mutants import twin_group
from mutants.mutant import Mutant

_CLASSIFY = "twin/move/classify.py"
_CLONES = "twin/move/clones.py"
_UNDO = "twin/move/undo_plan.py"
_MOVE = "twin/move/group_move.py"
_DROPPING = "twin/move/dropping.py"
_MERGES = "twin/move/merges.py"
_RECORD = "twin/move/record.py"
_GATES = "twin/move/gates.py"
_SIMULATED = "twin/move/simulated_servers.py"
_INTERLEAVINGS = "twin/move/test_group_move_interleavings.py"

MUTANTS = (
    Mutant(
        "new parts beside the clones are ignored",
        _CLONES,
        "    if missing or extra:\n",
        "    if missing:\n",
        ("twin/move/test_clones.py::test_anything_else_is_no_clone",),
    ),
    Mutant(
        "a missing clone is ignored",
        _CLONES,
        "    if missing or extra:\n",
        "    if extra:\n",
        ("twin/move/test_clones.py::test_anything_else_is_no_clone",),
    ),
    Mutant(
        "other new parts are allowed in the twin",
        _CLONES,
        "    may_be_inserts = record.destination is Side.HOT and len(source)",
        "    may_be_inserts = len(source)",
        ("twin/move/test_clones.py::test_another_new_part_is_an_obstacle",),
    ),
    Mutant(
        "a cloned part without a record counts as inserted",
        _CLONES,
        "    may_be_inserts = record.destination is Side.HOT and len(source) == len(record.parts)\n",
        "    may_be_inserts = record.destination is Side.HOT\n",
        ("twin/move/test_clones.py::test_another_new_part_is_an_obstacle",),
    ),
    Mutant(
        "a merged part that may contain a clone counts as inserted",
        _CLONES,
        "        _is_insert(each) or is_made_of(each, [*held, *inserted])\n",
        "        bool(each)\n",
        ("twin/move/test_clones.py::test_another_new_part_is_an_obstacle",),
    ),
    Mutant(
        "a source that differs from the record is cloned again",
        _CLASSIFY,
        "        if is_source_changed(record, parts):\n            return Classification(TwinState.STALE)\n",
        "",
        ("twin/move/test_group_move.py::test_a_source_that_changed_before_the_attach_is_recorded_anew",),
    ),
    Mutant(
        "equal row counts are enough for a clone",
        _CLONES,
        "    clones: dict[PartContent, list[str]] = {}\n",
        "    clones: dict[PartContent, list[str]] = {}\n"
        "    rows = sorted(each.content.rows for each in new_parts(record, parts))\n"
        "    if rows == sorted(each.rows for each in record.parts.values()):\n"
        "        return dict.fromkeys(record.parts, 'a part')\n",
        ("twin/move/test_clones.py::test_a_clone_has_equal_rows_and_equal_hashes",),
    ),
    Mutant(
        "a part that may not have been dropped counts as dropped",
        _CLASSIFY,
        "    if name in record.dropped:\n",
        "    if name in record.dropped or name in record.dropping:\n",
        ("twin/move/test_classify.py::test_with_verified_clones",),
    ),
    Mutant(
        "a part that was about to be dropped counts as merged",
        _CLASSIFY,
        "        if name not in record.dropping or _is_certainly_merged(name, record, source):\n",
        "        if record.parts:\n",
        ("twin/move/test_classify.py::test_with_verified_clones",),
    ),
    Mutant(
        "parts without a clone are dropped",
        _CLASSIFY,
        "    problem = release if isinstance(release, str) else _missing_clone(record, waits, destination)\n",
        "    problem = release if isinstance(release, str) else ''\n",
        ("twin/move/test_classify.py::test_with_verified_clones",),
    ),
    Mutant(
        "an undo drops every part that equals a clone",
        _UNDO,
        "            allowed -= clones\n",
        "",
        ("twin/move/test_undo_plan.py::test_an_undo_drops_only_parts_that_the_source_has",),
    ),
    Mutant(
        "an undo in hot mistakes an insert for the clone of a merged part",
        _UNDO,
        "    if record.destination is Side.COLD:\n        past =",
        "    if record.parts:\n        past =",
        ("twin/move/test_undo_plan.py::test_an_undo_drops_only_parts_that_the_source_has",),
    ),
    Mutant(
        "an insert before the statement of a killed run counts as its clone",
        _CLONES,
        "        return None\n    return parts.clones.names\n",
        "        return None\n    return None\n",
        (
            "twin/move/test_clones.py::test_only_known_clones_count_on_the_way_to_hot",
            f"{_INTERLEAVINGS}::test_an_insert_of_the_same_rows_before_an_attach_is_no_clone",
        ),
    ),
    Mutant(
        "the record does not name the part that is about to be dropped",
        _DROPPING,
        "        record = each.record._replace(dropping=tuple(names), "
        "dropped=(*each.record.dropped, *dropped))\n",
        "        record = each.record\n",
        (f"{_INTERLEAVINGS}::test_a_partition_arrives_after_a_kill_at_any_step",),
    ),
    Mutant(
        "a late insert is dropped with the rest",
        _DROPPING,
        "    drops = [(each.progress, each.classification.parts) for each in unchanged]\n",
        "    drops = [\n"
        "        (each.progress, [part.name for part in "
        "group.read([each.progress])[each.progress.id][0].on(each.record.destination.other)])\n"
        "        for each in unchanged\n"
        "    ]\n",
        (f"{_INTERLEAVINGS}::test_an_act_at_any_step_loses_nothing",),
    ),
    Mutant(
        "an unverified record is enough to drop",
        _CLONES,
        "    clones: dict[PartContent, list[str]] = {}\n",
        "    if record.parts:\n        return {name: name for name in record.parts}\n"
        "    clones: dict[PartContent, list[str]] = {}\n",
        ("twin/move/test_group_move_interleavings.py::test_an_act_at_any_step_loses_nothing",),
    ),
    Mutant(
        "clones are recognised in a merge that lacks some of their rows",
        "twin/move/lineage.py",
        " or sum(content.rows for _name, content in by_block.values()) != rows",
        "",
        ("twin/move/test_lineage.py::test_an_uncertain_part_is_no_clone",),
    ),
    Mutant(
        "clones are recognised in a merge that also has other blocks",
        "twin/move/lineage.py",
        "    if len(by_block) != blocks or",
        "    if not by_block or",
        ("twin/move/test_lineage.py::test_an_uncertain_part_is_no_clone",),
    ),
    Mutant(
        "an undo drops a merged part that contains other parts",
        "twin/move/lineage.py",
        "    return blocks == part.max_block - part.min_block + 1\n",
        "    return blocks > 0\n",
        ("twin/move/test_classify.py::test_a_begun_undo_is_finished_or_needs_manual_action",),
    ),
    Mutant(
        "an undo in hot drops an insert in place of its clone",
        _UNDO,
        "        elif part.content in equal and _level(equal[part.content], partition_id) == 0:\n",
        "        elif not part.name:\n",
        ("twin/move/test_undo_plan.py::test_an_undo_drops_only_parts_that_the_source_has",),
    ),
    Mutant(
        "a part that contains an earlier part of the destination is a clone",
        "twin/move/lineage.py",
        "        if _shares_rows(name, held):\n",
        "        if not name.text:\n",
        ("twin/move/test_lineage.py::test_a_part_with_earlier_rows_of_the_destination_is_no_clone",),
    ),
    Mutant(
        "a merge of clones is undone although the source has lost some of their parts",
        _CLASSIFY,
        "    if not parts.isdisjoint(gone):\n",
        "    if not parts:\n",
        (
            "twin/move/test_classify.py::test_a_merge_of_clones_is_undone_only_if_the_source_has_all_their_parts",
        ),
    ),
    Mutant(
        "merges are stopped before the record says so",
        _MERGES,
        "            if not each.record.merges_stopped\n",
        "            if not each.id\n",
        ("twin/move/test_merges.py::test_a_run_that_continues_a_move_records_that_merges_are_stopped",),
    ),
    Mutant(
        "the record is removed before the merges are started",
        _MERGES,
        "    if not others:\n        _start_merges(group.shard)\n",
        "    if others:\n        _start_merges(group.shard)\n",
        (
            "twin/move/test_merges.py::test_the_next_run_starts_the_merges_of_a_killed_run",
            "twin/move/test_merges.py::test_merges_are_stopped_between_the_first_record_and_its_removal",
        ),
    ),
    Mutant(
        "one failing replica keeps merges stopped on every replica",
        _MERGES,
        "            problem = problem or error\n",
        "            raise\n",
        ("twin/move/test_merges_failing.py",),
    ),
    Mutant(
        "a record is written without the lease",
        _RECORD,
        "            for batch in pack(checks, ((each, [op]) for each, op in ops.items())):\n",
        "            for batch in pack((), ((each, [op]) for each, op in ops.items())):\n",
        ("twin/move/test_record.py::test_nothing_is_written_without_the_lease",),
    ),
    Mutant(
        "only the first replica is compared",
        _GATES,
        "        for each, replica_parts in zip(tables, parts):\n            current",
        "        for each, replica_parts in zip(tables[:1], parts):\n            current",
        ("twin/move/test_gates.py::test_a_lagging_replica_defers",),
    ),
    Mutant(
        "equal parts in both tables pass without a record",
        _GATES,
        "        if part.content in known:\n",
        "        if part.name in known:\n",
        ("twin/move/test_gates.py::test_equal_parts_in_both_tables_without_a_record_defer",),
    ),
    Mutant(
        "the step of a state is the step of another state",
        _MOVE,
        "    TwinState.ATTACHED: drop_recorded,\n",
        "    TwinState.ATTACHED: end_moves,\n",
        (f"{_INTERLEAVINGS}::test_a_partition_arrives_after_a_kill_at_any_step",),
    ),
    Mutant(
        "check mode executes a statement",
        _SIMULATED,
        "        self._dropped[statement.side].update(statement.parts)\n        return True\n",
        "        self._dropped[statement.side].update(statement.parts)\n"
        "        return self._servers.drop(statement)\n",
        ("twin/move/test_simulated_servers.py::test_check_mode_lists_what_a_run_executes",),
    ),
    Mutant(
        "check mode still lists a part after its DROP PART",
        _SIMULATED,
        "        self._dropped[statement.side].update(statement.parts)\n",
        "",
        ("twin/move/test_simulated_servers.py::test_check_mode_lists_what_a_run_executes",),
    ),
    *twin_group.MUTANTS,
)
