# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tests of the ladder that `make test` runs with the newest real server alone, each with the reason.

Every other test of the ladder runs with each usual version. `make ladder` runs all tests with all versions,
RUNGS with those that it names, and `make test WHOLE=1` with the usual ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from support import whole_only
from support.servers.ladder.rungs import RUNGS

USUAL = tuple(each.name for each in RUNGS if each.in_every_test and each.real)
"""The versions of real servers in `make test`, from the oldest to the newest."""
NEWEST = USUAL[-1]

_KILLED = "after a kill the next run follows our record; all its statements run in the cases that stay"
_STATE = "our code decides by rows of system tables that other tests read on each usual version"
_ANSWER = "about the result, report or playbook of a run whose statements run in other tests"
_REFUSED = "refused before a statement is executed"
_TIME = "for time alone: `make test WHOLE=1` and `make ladder` run it with the other versions"


class Once(NamedTuple):
    """Why a test needs the newest version alone, and the cases that run with each usual version all the same.

    stay: ids of the parameters without the version.
    """

    reason: str
    stay: Sequence[str] = ()


NEWEST_ONLY: Mapping[str, Mapping[str, Once]] = {
    "playbooks/test_guard_twin.py": {
        "test_what_the_guard_finishes_repairs_and_moves": Once(_ANSWER),
        "test_what_the_guard_says_and_leaves_unchanged": Once(_ANSWER),
        "test_another_guard_has_the_lease_or_a_step_fails": Once(_ANSWER),
    },
    "playbooks/test_separate_twin.py": {
        "test_from_the_classification_to_the_twins_and_back": Once(_ANSWER),
    },
    "roles/partmove_guard/test_role_twin.py": {
        "test_what_is_installed_finishes_moves": Once(_ANSWER),
        "test_steps_of_the_other_way_are_refused": Once(_REFUSED),
    },
    "test_table_inserts.py": {
        # How a statement is written is our parser's matter; what 24.8 refuses or sends on is the server's.
        "test_a_move_is_finished_only_after_older_inserts": Once(_STATE, ("with", "remote")),
        "test_a_run_waits_and_finishes_by_itself": Once(_STATE),
        "test_an_insert_into_another_table_counts": Once(_STATE),
    },
    "test_table_move.py": {
        "test_runs_that_are_killed_at_any_statement_are_taken_up": Once(_KILLED),
        "test_a_run_that_was_killed_goes_back_from_there": Once(_KILLED),
        "test_the_playbooks_move_a_table_and_let_readers_have_both": Once(_ANSWER),
        "test_two_shards_are_exchanged_one_after_the_other": Once(_ANSWER),
    },
    "test_table_root.py": {
        "test_a_killed_run_is_taken_up_while_a_writer_inserts": Once(_KILLED),
        "test_a_process_that_is_killed_is_taken_up": Once(_KILLED),
        "test_a_killed_run_is_rolled_back_from_there": Once(_KILLED),
        "test_a_refused_table_keeps_no_other_table": Once(_REFUSED),
        "test_a_run_that_is_to_stop_ends_with_the_first_refused_table": Once(_REFUSED),
        "test_a_path_that_no_server_has_as_a_table_is_named": Once(_REFUSED),
        "test_a_table_with_an_older_insert_is_left_and_named": Once(_STATE),
        "test_the_playbook_moves_all_tables": Once(_ANSWER),
    },
    "test_twin.py": {
        "test_server_that_is_killed_at_any_step_defers_and_comes_back_with_all_rows": Once(_TIME),
        "test_server_that_dies_while_a_statement_is_carried_out_defers": Once(_TIME),
        "test_auxiliary_ensemble_that_is_down_defers_at_any_step": Once(_TIME),
        "test_rows_survive_inserts_and_merges_while_partitions_go_there_and_back": Once(_TIME),
        "test_killed_run_is_taken_up": Once(
            _KILLED, [f"1-True-1-{act}-{to}" for act in ("nothing", "insert") for to in ("cold", "hot")]
        ),
        "test_late_insert_is_moved_by_a_later_run": Once(_STATE),
        "test_many_partitions_go_there_and_back": Once(_ANSWER),
        "test_two_shard_paths_go_side_by_side": Once(_ANSWER),
        "test_young_partition_stays": Once(_REFUSED),
    },
    "test_twin_alter.py": {
        "test_a_partition_is_dropped_detached_and_attached_in_both": Once(_TIME),
        "test_a_mutation_changes_each_row_once": Once(_TIME),
        "test_no_audit_misses_a_partition_that_was_dropped_from_both": Once(_TIME),
        "test_no_audit_misses_a_partition_that_a_delete_emptied": Once(_TIME),
        "test_changes_of_the_structure": Once(_TIME, ("columns",)),
        "test_a_mutation_of_a_killed_run_is_executed_once": Once(_KILLED, ("False-1-True",)),
        "test_a_change_of_columns_of_a_killed_run_is_finished": Once(_KILLED, ("2-True",)),
        "test_a_replace_of_a_killed_run_in_an_empty_partition_is_a_question": Once(
            _KILLED, ("drop from both",)
        ),
        "test_both_tables_are_renamed_and_readers_find_them": Once(_KILLED, ("2-True",)),
        "test_rows_inserted_after_a_truncate_stay": Once(_KILLED, ("1-False",)),
        "test_a_refused_statement_leaves_nothing": Once(
            _REFUSED,
            (
                "ADD COLUMN v UInt8-already exists",
                "UPDATE v = 1 WHERE nothing = 1-Neither table was changed",
                "ADD COLUMN-Syntax error",
            ),
        ),
        "test_readers_never_read_empty_values_of_a_column_that_leaves": Once(_ANSWER),
        "test_a_statement_waits_for_a_partition_between_the_tables": Once(_REFUSED),
        "test_a_hold_keeps_statements_away_and_waits_for_them": Once(_REFUSED),
        "test_the_statement_that_is_missing_may_be_executed_by_hand": Once(_KILLED),
    },
    "test_twin_audit.py": {
        "test_playbook_tells_people_and_monitoring": Once(_ANSWER),
        "test_module_answers_what_its_task_does": Once(_ANSWER),
    },
    "test_twin_cluster.py": {
        "test_a_distributed_table_over_reading_tables_has_each_row_once": Once(_TIME),
        "test_a_table_in_a_database_of_the_engine_replicated_is_refused_its_twin": Once(_REFUSED),
        "test_twins_of_tables_that_are_created_and_altered_on_cluster": Once(_TIME),
        "test_a_statement_on_cluster_in_progress_is_seen_on_every_server": Once(_TIME),
    },
    "test_twin_repair_lost.py": {
        "test_twin_whose_znodes_are_lost_is_restored": Once(_TIME),
    },
    "test_twin_hold.py": {
        "test_a_move_respects_a_hold": Once(_REFUSED),
        "test_a_hold_waits_for_a_partition_between_the_tables": Once(_KILLED),
    },
    "test_twin_ledger.py": {
        "test_exchange_of_the_whole_table_closes_the_ledger": Once(_TIME),
        "test_merges_mutations_and_late_rows_are_no_loss": Once(_TIME),
        "test_parts_set_aside_after_the_ensemble_was_set_back_are_named": Once(_TIME),
        "test_partitions_that_come_back_leave_the_ledger": Once(_STATE),
        "test_twin_that_was_filled_before_there_was_a_ledger_is_entered": Once(_STATE),
        "test_partition_of_which_the_twin_lacks_rows_is_not_moved": Once(_REFUSED),
        "test_part_dropped_from_the_twin_by_hand_is_lost": Once(_STATE),
        "test_twin_that_was_dropped_is_gone": Once(_STATE),
        "test_table_replaced_by_another_one_is_told": Once(_STATE),
        "test_table_that_is_gone_leaves_its_ledger": Once(_STATE),
    },
    "test_twin_readers.py": {
        "test_a_repair_of_rows_shows_them_before_it_takes_parts": Once(_TIME),
        "test_whatever_a_killed_run_leaves_each_row_is_seen_once": Once(_TIME),
        "test_without_the_option_no_policy_is_used": Once(_ANSWER),
    },
    "test_twin_repair.py": {
        "test_partition_of_unknown_state_ends_with_every_row_once": Once(
            _STATE,
            ("clones_and_source_were_merged", "clones_were_merged_with_older_parts", "table_was_replaced"),
        ),
        "test_killed_repair_is_continued": Once(_KILLED, ("1-after",)),
        "test_eight_partitions_after_killed_runs_inserts_and_merges_end_with_every_row_once": Once(_KILLED),
        "test_record_of_a_killed_run_is_finished": Once(_KILLED, ("dropped_partly",)),
        "test_as_many_rows_that_came_late_are_left": Once(_REFUSED),
        "test_table_that_is_no_scratch_table_is_not_dropped": Once(_REFUSED),
        "test_module_and_playbook_answer_what_the_task_does": Once(_ANSWER),
    },
}
"""File below tests/integration → its tests."""


def is_whole(version: str) -> bool:
    """Whether tests run with all their cases with the version."""
    return version == NEWEST or whole_only.is_whole()


def is_left_out(file: str, test: str, case: str, version: str) -> bool:
    """Whether this run leaves a test, or a case of it, to the newest version.

    file: below tests/integration.
    case: the id of all parameters, the version among them.
    """
    once = NEWEST_ONLY.get(file, {}).get(test)
    if once is None or version not in USUAL or is_whole(version):
        return False
    return case.removeprefix(version).removeprefix("-") not in once.stay
