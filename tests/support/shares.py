# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Cases of tests that `make test` leaves to `make test WHOLE=1`, each with the reason.

These tests repeat one claim for many combinations of parameters, or another target of the Makefile runs them.
Of two parameters, `make test` runs each value of one with some values of the other.
"""

from __future__ import annotations

from collections.abc import Mapping

from support.share import EVERY, Share

_EXPLORED = "the same claim for each combination; `make explore` tries random ones besides"
_EACH_CASE = "the same claim for each combination"
_KILLS = "a run that is killed at each statement, for combinations of what happens meanwhile"
_RELEASES = "the other releases of ZooKeeper; tests of its files have an old and the newest form between them"
_STAND_IN = "`make keeper` runs it with the stand-in for ClickHouse Keeper"
_COMBINATIONS = "what its parameters combine is tried one by one by other tests of the file"
_VERSIONS = "the other versions of ClickHouse; other smoke tests move partitions with them"
_MAKE = "another target of the Makefile runs it:"
_ELSEWHERE = "minutes, through what other tests have:"

_STAYS = Share("all cases run", 1)
_WINDOWS = Share("light on a laptop and dark on a phone have each value of both", 2)

_PATCHED = "unit/plugins/module_utils/_partmove/patched"
_MEMORY: Mapping[str, Mapping[str, Share]] = {
    f"{_PATCHED}/move/test_to_hot_interleavings.py": {
        "test_a_process_that_dies": Share(_EXPLORED, 3),
        "test_a_run_that_is_paused_while_another_one_begins": Share(_EXPLORED, 3),
        "test_a_run_that_is_paused_while_another_one_runs": Share(_EXPLORED, 3),
        "test_a_run_that_is_paused_while_partitions_are_moved": Share(_EXPLORED, 3),
        "test_a_session_that_expires": Share(_EXPLORED, 3),
        "test_a_server_that_acts": Share(_EXPLORED, 14),
        "test_a_server_that_begins_and_ends": Share(_EXPLORED, 5),
        "test_a_server_that_acts_before_the_process_dies": Share(_COMBINATIONS, 4),
        "test_a_server_that_acts_before_the_session_expires": Share(_COMBINATIONS, 4),
        "test_a_server_that_acts_while_an_answer_is_lost": Share(_COMBINATIONS, 3),
    },
    f"{_PATCHED}/move/test_to_cold_interleavings.py": {
        "test_a_run_that_is_paused_while_another_one_begins": Share(_EXPLORED, 3),
        "test_a_run_that_is_paused_while_another_one_runs": Share(_EXPLORED, 3),
        "test_a_server_that_acts": Share(_EXPLORED, 10),
        "test_a_server_that_acts_before_the_process_dies": Share(_COMBINATIONS, 5),
        "test_a_server_that_acts_before_the_session_expires": Share(_COMBINATIONS, 5),
        "test_a_server_that_acts_while_an_answer_is_lost": Share(_COMBINATIONS, 3),
    },
    f"{_PATCHED}/move/test_run_reconnect_interleavings.py": {
        "test_a_connection_that_is_lost": Share(_EXPLORED, 2),
        "test_a_server_that_acts_before_a_connection_is_lost": Share(_COMBINATIONS, 6),
        "test_a_server_that_acts_before_a_run_that_brings_back_loses_a_connection": Share(_COMBINATIONS, 4),
        "test_two_connections_that_are_lost": Share(_COMBINATIONS, 2),
    },
    f"{_PATCHED}/repair/test_restore_interleavings.py": {
        "test_something_else_that_happens": Share(_EXPLORED, 4),
    },
    f"{_PATCHED}/repair/test_run_interleavings.py": {
        "test_a_process_that_dies": Share(_EXPLORED, 4),
        "test_a_server_that_acts": Share(_EXPLORED, 7),
    },
    "unit/plugins/module_utils/_clickhouse/config/test_edit.py": {
        "test_present_then_again_then_absent": Share(_EACH_CASE, 3),
    },
    "unit/plugins/module_utils/_partmove/twin/readers/test_recorded_readers_many_acts.py": {
        "test_readers_miss_no_row_and_see_none_twice": Share("random acts, from several seeds", 2),
    },
    "unit/plugins/module_utils/_partmove/twin/move/test_group_move_many_acts.py": {
        "test_no_row_is_lost_or_stays_twice_and_steps_lead_where_the_transitions_say": Share(
            "random acts, from several seeds", 2
        ),
    },
    "unit/roles/partition_classify/policy/test_transforms_model.py": {
        "test_plan_equals_the_model": Share("random policies besides one with all keys", 3),
    },
    "unit/roles/partition_classify/report/test_page.py": {"test_page_fits_into_its_window": _WINDOWS},
    "unit/roles/partmove_audit/test_audit_page.py": {"test_page_fits_into_its_window": _WINDOWS},
    "unit/roles/partmove_census/test_census_page.py": {"test_page_fits_into_its_window": _WINDOWS},
    "unit/roles/partmove_repair/test_repair_html.py": {"test_the_page_fits_into_its_window": _WINDOWS},
}
_SERVERS: Mapping[str, Mapping[str, Share]] = {
    "clickhouse/test_audit.py": {"test_what_servers_left_is_judged_and_repaired": Share(_EACH_CASE, 4)},
    "clickhouse/test_audit_ensembles.py": {
        EVERY: Share(f"{_ELSEWHERE} audit/test_audit_restored.py judges such states in memory"),
        "test_cold_was_emptied": _STAYS,
        "test_cold_was_put_back_from_before_the_first_move": _STAYS,
        "test_hot_was_put_back_from_before_the_move": _STAYS,
    },
    "clickhouse/test_config_shapes.py": {
        "test_the_module_does_what_the_server_does": Share("a start of a server for each combination", 12),
        "test_the_module_sees_the_hot_members_of_the_engine": Share(
            "test_config_extracted.py asks programs of other versions about each shape", 6
        ),
    },
    "clickhouse/test_config_extracted.py": {
        "test_the_module_sees_the_hot_members_that_the_program_answers": Share(_EACH_CASE, 3),
    },
    "clickhouse/test_leftovers.py": {
        "test_a_restart_sets_aside_what_an_audit_says_and_nothing_else": Share(
            f"{_ELSEWHERE} test_what_drifted_is_repaired_and_outlives_a_restart has a restart after an audit"
        ),
        "test_the_kind_of_every_partition_of_every_replica": Share(_EACH_CASE, 15),
    },
    "clickhouse/test_move_busy.py": {
        "test_merges_and_mutations_of_the_partition_that_is_moved": Share(
            "other moments of the same acts", 2
        ),
    },
    "clickhouse/test_operations_pages.py": {
        EVERY: Share(f"{_ELSEWHERE} test_operations.py has while_hot.yml"),
    },
    "clickhouse/test_patched_package.py": {
        "test_install_upgrade_and_downgrade_with_apt_and_dpkg": Share(
            "minutes of apt and dpkg; the scenario `rollout` installs such packages"
        ),
    },
    "clickhouse/test_repair_all.py": {
        "test_all_kinds_are_repaired_in_one_run": Share(
            f"{_ELSEWHERE} test_leftovers.py repairs each kind, other tests of the file several tables"
        ),
        "test_what_a_dropped_table_left_in_cold_goes_only_after_a_confirmation": Share(_EACH_CASE, 2),
    },
    "clickhouse/test_snapshot_plan.py": {
        EVERY: Share(f"{_ELSEWHERE} test_snapshot.py compares both sources of the plan"),
    },
    "clickhouse/test_usage.py": {
        "test_job_leaves_hot_what_is_read": Share(
            f"{_ELSEWHERE} a job of its own; test_rule_use.py has the decisions, this file what is read"
        ),
        "test_job_proposes_nothing_that_servers_work_on": Share(
            f"{_ELSEWHERE} a job of its own, whose gates have unit tests"
        ),
    },
    "integration/modules/test_cold_owner_copied.py": {
        "test_a_hot_ensemble_that_was_set_back_goes_on_if_no_copy_runs": Share(_STAND_IN, 2),
        "test_of_a_hot_ensemble_and_its_copy_one_goes_on": Share(_STAND_IN, 2),
    },
    "integration/modules/test_ensemble_info.py": {
        "test_members_that_are_missing_or_down": Share(_STAND_IN, 2),
    },
    "integration/modules/test_part_move_ends.py": {
        "test_ensemble_that_goes_away_leaves_a_partial_result": Share(_STAND_IN, 2),
    },
    "integration/modules/test_part_move_load.py": {
        "test_a_run_pauses_while_an_ensemble_is_slow": Share(_STAND_IN, 2),
        "test_a_run_that_paused_for_long_enough_ends_and_another_goes_on": Share(_STAND_IN, 2),
    },
    "integration/modules/test_part_move_progress.py": {
        "test_progress_is_shown_of_a_module_of_another_user": Share(_STAND_IN, 2),
        "test_progress_is_shown_of_a_module_on_another_host": Share(_STAND_IN, 2),
    },
    "integration/modules/test_secrets.py": {"test_passwords_do_not_show": Share(_STAND_IN, 2)},
    "integration/modules/test_part_move_refusals.py": {
        "test_member_of_cold_that_is_down": Share(_STAND_IN, 2),
        "test_unreachable_ensemble": Share("each case waits for its time limit", 3),
    },
    "integration/playbooks/test_auxiliary_ensemble.py": {
        "test_servers_get_to_know_the_ensemble_and_its_other_members": Share(
            f"{_ELSEWHERE} test_real_servers_need_no_restart, with the same play"
        ),
    },
    "integration/playbooks/test_census.py": {
        "test_a_snapshot_of_keeper_gives_the_same_as_the_tree_of_zookeeper": Share(
            f"{_ELSEWHERE} keeper_files/ has the files, other tests of the file the census"
        ),
    },
    "integration/playbooks/test_guard_twin.py": {
        EVERY: Share(f"{_ELSEWHERE} test_guard.py has the guard, test_twin_repair.py the repairs"),
        "test_what_the_guard_says_and_leaves_unchanged": _STAYS,
    },
    "integration/roles/partition_classify/test_job.py": {
        "test_another_policy_is_told_of_and_writes_no_plan": Share(
            f"{_ELSEWHERE} test_comparison.py has the comparison"
        ),
        "test_disk_that_is_full_while_the_plan_is_written": Share(
            f"{_ELSEWHERE} test_plan_is_written_last has another failure at that place"
        ),
    },
    "integration/roles/partition_classify/test_job_keeper.py": {
        EVERY: Share(f"{_ELSEWHERE} test_job.py has the job, keeper_files/ the files"),
        "test_damaged_snapshot_leaves_no_plan_and_no_copy": _STAYS,
    },
    "integration/roles/partition_classify/test_role.py": {
        "test_a_driver_python_of_notebooks_does_no_harm_and_the_result_is_shown": Share(
            f"{_ELSEWHERE} test_role_plan.py has the result, a driver of notebooks is a variable alone"
        ),
        "test_snapshot_of_keeper_is_read_on_this_host_and_on_a_cluster": Share(
            f"{_ELSEWHERE} test_job_keeper.py has the files, test_role_plan.py a cluster"
        ),
    },
    "integration/roles/partition_classify/zookeeper_files/test_member.py": {
        "test_tree_in_files_is_the_tree_of_the_server": Share(
            _RELEASES, stay=("3.8, snappy, as before 3.6",)
        ),
    },
    "integration/roles/partition_classify/zookeeper_files/test_releases.py": {
        "test_files_of_a_killed_server_are_what_it_recovers": Share(_RELEASES, 8),
        "test_files_of_all_members_are_the_tree_that_they_tell": Share(_RELEASES, 8),
    },
    "integration/roles/partition_classify/zookeeper_files/test_situations.py": {
        "test_what_is_read_is_what_zookeeper_restores": Share(_RELEASES, stay=("3.9.5",)),
    },
    "integration/roles/zookeeper/test_check_data.py": {
        "test_members_join_only_if_no_data_can_be_lost": Share(
            "a host of a play for each member of each case",
            stay=(
                "new",
                "just-made",
                "emptied",
                "one-to-two",
                "two-to-three",
                "one-to-three",
                "down",
                "left-out",
                "foreign",
                "votes",
                "left",
            ),
        ),
    },
    "integration/roles/partmove_guard/test_role_twin.py": {
        "test_what_is_installed_finishes_moves": Share(f"{_ELSEWHERE} test_role.py runs what is installed"),
    },
    "integration/test_keeper.py": {
        "test_an_ensemble_without_a_leader_is_no_empty_one": Share(
            "the same claim for each manner of the stand-in for Keeper", stay=("control", "new_keeper")
        ),
    },
    "integration/test_modern_classification.py": {
        "test_files_and_sessions_tell_the_same_of_tables_of_modern_servers": Share(
            f"{_ELSEWHERE} test_snapshot.py compares both, test_separate_twin.py has a plan of such tables"
        ),
    },
    "integration/test_quickstart.py": {
        "test_every_command_does_what_the_page_says": Share(
            f"{_ELSEWHERE} `make demo` and the tests of roles and playbooks"
        ),
    },
    "integration/test_reheat_faults.py": {
        "test_a_run_that_is_killed": Share(_KILLS, stay=("switch",)),
        "test_copies_stay_while_a_member_of_hot_does_not_answer": Share(_EACH_CASE, stay=("killed",)),
    },
    "integration/test_reload.py": {
        "test_a_server_takes_over_an_ensemble_and_its_other_members_without_a_restart": Share(
            _VERSIONS, stay=("25.8",)
        ),
    },
    "integration/test_table_inserts.py": {
        "test_a_move_is_finished_only_after_older_inserts": Share("other ways to write one statement", 3),
    },
    "integration/test_table_move.py": {
        "test_a_table_goes_there_and_back_under_its_name": Share(_VERSIONS, stay=("25.8",)),
        "test_rows_survive_inserts_and_merges_all_the_time": Share(
            f"{_ELSEWHERE} test_table_root.py has a writer during killed runs, test_twin.py one during merges"
        ),
    },
    "integration/test_table_root.py": {
        "test_a_process_that_is_killed_is_taken_up": Share(
            f"{_ELSEWHERE} test_a_killed_run_is_taken_up_while_a_writer_inserts"
        ),
        "test_a_table_with_an_older_insert_is_left_and_named": Share(
            f"{_ELSEWHERE} test_table_inserts.py has older inserts, other tests of the file what is left"
        ),
        "test_the_old_tables_are_dropped_by_the_statements_of_the_result": Share(
            f"{_ELSEWHERE} test_servers_can_do_without_the_old_ensemble drops them too"
        ),
        "test_tables_go_from_one_keeper_to_another_and_back": Share(
            f"{_ELSEWHERE} test_all_tables_go_there_and_back_in_the_order_of_the_plan, with ZooKeeper"
        ),
    },
    "integration/test_twin.py": {
        "test_equal_part_that_comes_right_before_the_attach_is_not_lost": Share(_VERSIONS, stay=("25.8",)),
        "test_inserts_that_the_table_forgets_by_a_move_are_reported": Share(_VERSIONS, stay=("25.8",)),
        "test_killed_run_is_taken_up": Share(_KILLS, 18),
        "test_partition_of_several_parts_goes_there_and_back_and_there": Share(
            _VERSIONS, stay=("25.8", "22.12")
        ),
    },
    "integration/test_twin_alter.py": {
        "test_a_change_of_columns_of_a_killed_run_is_finished": Share(_KILLS, stay=("25.8-2-True",)),
        "test_a_mutation_of_a_killed_run_is_executed_once": Share(
            _KILLS, stay=("25.8-False-1-False", "25.8-True-0-True")
        ),
        "test_a_refused_statement_leaves_nothing": Share(
            "the other cases are refused before a statement is executed",
            stay=(
                "25.8-ADD COLUMN v UInt8-already exists",
                "25.8-UPDATE v = 1 WHERE nothing = 1-Neither table was changed",
            ),
        ),
        "test_both_tables_are_renamed_and_readers_find_them": Share(_KILLS, stay=("25.8-2-True",)),
        "test_a_replace_of_a_killed_run_in_an_empty_partition_is_a_question": Share(_KILLS, 3),
        "test_changes_of_the_structure": Share(_EACH_CASE, stay=("25.8-columns",)),
        "test_rows_inserted_after_a_truncate_stay": Share(_KILLS, 2),
    },
    "integration/test_twin_alter_readers.py": {
        "test_a_killed_run_is_finished": Share(_KILLS, stay=("25.8-0-True", "25.8-2-True")),
        "test_a_killed_run_of_a_statement_that_the_table_refuses_leaves_nothing": Share(
            _KILLS, stay=("25.8-1-True",)
        ),
    },
    "integration/test_twin_alter_ttl.py": {
        "test_each_type_of_a_ttl_is_understood": Share(_EACH_CASE, stay=("25.8-DateTime64(3)",)),
        "test_what_a_new_ttl_of_a_killed_run_drops_is_no_loss": Share(_KILLS, stay=("25.8-1-True",)),
    },
    "integration/test_twin_audit.py": {"test_state_is_told_with_its_way_out": Share(_EACH_CASE, 3)},
    "integration/test_twin_changes.py": {
        "test_mutation_during_a_move_is_applied_once_to_each_row": Share(_COMBINATIONS, 3),
    },
    "integration/test_twin_readers.py": {
        "test_whatever_a_killed_run_leaves_each_row_is_seen_once": Share(
            f"{_KILLS}; test_twin_seen_once.py kills runs too"
        ),
    },
    "integration/test_twin_repair.py": {
        "test_killed_repair_is_continued": Share(_KILLS, 4),
        "test_rows_of_odd_tables_come_into_the_twin_through_a_scratch_table": Share(_EACH_CASE, 6),
        "test_partition_of_unknown_state_ends_with_every_row_once": Share(_EACH_CASE, 3),
        "test_record_of_a_killed_run_is_finished": Share(_KILLS, 2),
        "test_eight_partitions_after_killed_runs_inserts_and_merges_end_with_every_row_once": Share(
            f"{_MAKE} `make faults WHAT=twin`, with more of it"
        ),
    },
    "integration/test_twin_replica.py": {
        EVERY: Share(_VERSIONS, stay=("25.8",)),
        "test_a_server_that_lost_its_data_is_replaced": Share(
            f"{_MAKE} `make staging SCENARIO=day_twin` replaces one while clients work"
        ),
    },
    "integration/test_twin_table.py": {
        "test_odd_tables_get_twins_and_partitions_are_moved": Share(_EACH_CASE, 6),
        "test_the_schema_of_a_twin_can_be_copied_to_a_new_replica": Share(_VERSIONS, stay=("25.8",)),
        "test_twins_are_created_once_and_take_partitions": Share(_EACH_CASE, 3),
    },
    "integration/test_twin_texts.py": {
        "test_a_detached_table_is_not_told_as_another_chroot": Share(_VERSIONS, stay=("25.8",)),
        "test_a_dropped_replica_is_dropped_from_the_twin_as_well": Share(_VERSIONS, stay=("25.8",)),
        "test_lost_znodes_of_a_twin_come_with_their_cure": Share(_VERSIONS, stay=("25.8",)),
    },
    "integration/test_twin_upgrade.py": {
        "test_a_killed_run_is_taken_up_after_an_upgrade": Share(
            f"{_KILLS}; the next run with another version has no step of its own"
        ),
    },
    "integration/test_twin_view.py": {
        "test_what_a_reading_table_does_not_do": Share(_VERSIONS, stay=("25.8", "22.12")),
    },
    "integration/test_user_rights.py": {
        "test_twin_repair_of_what_was_set_aside_and_of_lost_znodes": Share(
            f"{_ELSEWHERE} test_twin_repair_lost.py has the repairs, other tests of the file rights to repair"
        ),
    },
    "integration/test_users.py": {
        "test_a_partition_is_moved_by_a_user_with_any_profile": Share(_EACH_CASE, 3),
        "test_what_a_profile_shortens_or_changes_is_overridden": Share(_EACH_CASE, 2),
    },
}
_TARGETS: Mapping[str, Mapping[str, Share]] = {
    "clickhouse/test_faults.py": {EVERY: Share(f"{_MAKE} `make faults`")},
    "compat/test_cores.py": {EVERY: Share(f"{_MAKE} `make compat`")},
    "compat/test_pythons.py": {EVERY: Share(f"{_MAKE} `make compat WHAT=pythons`")},
    "integration/test_benchmark.py": {
        EVERY: Share(f"{_MAKE} `make bench`"),
        "test_a_move_is_measured_by_phase": _STAYS,
        "test_classifications_that_differ_in_time_only_are_one_figure": _STAYS,
        "test_different_plans_of_one_tree_are_refused": _STAYS,
    },
    "integration/test_benchmark_scale.py": {
        "test_one_partition_may_have_all_parts": Share(f"{_MAKE} `make bench WHAT=scale`"),
        "test_plan_is_the_same_from_one_thread_and_two_workers": Share(f"{_MAKE} `make bench WHAT=scale`"),
    },
    "integration/test_demo_recorded.py": {
        "test_the_recorded_demo_holds_what_it_claims": Share(f"{_MAKE} `make demo WHAT=record`"),
    },
    "integration/test_scenario_day.py": {
        "test_the_scenario_passes": Share(f"{_MAKE} `make staging`; each step has tests without hosts")
    },
    "integration/test_scenario_day_twin.py": {
        "test_the_scenario_passes": Share(f"{_MAKE} `make staging`; each step has tests without hosts")
    },
    "integration/test_scenario_rollout.py": {
        "test_the_scenario_passes": Share(f"{_MAKE} `make staging`; playbooks/test_rollout.py has its steps")
    },
    "integration/test_scenario_zookeeper.py": {
        "test_the_scenario_passes": Share(f"{_MAKE} `make staging`; roles/zookeeper has tests without hosts")
    },
    "integration/test_staging.py": {
        EVERY: Share("hosts boot in `make staging` and in whole runs"),
        "test_every_scenario_has_a_test": _STAYS,
    },
    "integration/test_twin_shards.py": {EVERY: Share(f"{_MAKE} `make faults WHAT=twin`")},
}

SHARES: Mapping[str, Mapping[str, Share]] = {**_MEMORY, **_SERVERS, **_TARGETS}
"""File below tests → its tests."""
