# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of the survey and the plan of all tables of a root."""

from __future__ import annotations

from mutants.mutant import Mutant

_SURVEY = "twin/table/root_survey.py"
_PLAN = "twin/table/root_plan.py"
_SURVEY_TESTS = "twin/table/test_root_survey.py"
_PLAN_TESTS = "twin/table/test_root_plan.py"

MUTANTS = (
    Mutant(
        "a shard whose servers are silent is no table",
        _SURVEY,
        "    if not replicas and silent is not None:\n",
        "    if False:\n",
        (f"{_SURVEY_TESTS}::test_a_shard_whose_servers_are_silent_refuses_everything",),
    ),
    Mutant(
        "a silent replica does not matter",
        _SURVEY,
        "            silent = silent or error\n            refusal = refusal or refusal_of(error)\n",
        "            silent = silent or error\n",
        (f"{_SURVEY_TESTS}::test_a_silent_replica_refuses_its_table_alone",),
    ),
    Mutant(
        "a replica without the table does not matter",
        _SURVEY,
        "                refusal = refusal or refusal_of(missing)\n",
        "",
        (f"{_SURVEY_TESTS}::test_a_replica_that_lacks_the_table_refuses_it",),
    ),
    Mutant(
        "a path of no table is not reported",
        _SURVEY,
        "            unknown.append(_unknown(path, answers))\n",
        "",
        (f"{_SURVEY_TESTS}::test_a_path_of_no_table_is_named",),
    ),
    Mutant(
        "older inserts do not matter for a table that was moved",
        _PLAN,
        "all(each.replica in settled and settled[each.replica].is_settled for each in shard.replicas)",
        "True",
        (f"{_PLAN_TESTS}::test_without_the_proof_of_its_record_no_table_is_finished",),
    ),
    Mutant(
        "rows in the old table do not matter for a table that was moved",
        _PLAN,
        "source is None or source.contents.parts or each",
        "source is None or each",
        (f"{_PLAN_TESTS}::test_a_replica_with_a_part_in_the_other_table_is_not_finished",),
    ),
    Mutant(
        "a policy that hides rows does not matter for a table that was moved",
        _PLAN,
        "        if each.has_policy:\n",
        "        if False:\n",
        (f"{_PLAN_TESTS}::test_a_table_with_rows_that_a_policy_may_hide_is_not_finished",),
    ),
    Mutant(
        "a twin at another place does not matter on the way home",
        _PLAN,
        "        if refusal is not None:\n            return refusal\n",
        "",
        (f"{_PLAN_TESTS}::test_a_table_with_its_twin_at_another_place_did_leave",),
    ),
    Mutant(
        "a partition between the tables does not matter for a table that was moved",
        _PLAN,
        "        and not Records(hot, root, shard.shard_path).partition_ids()\n",
        "",
        (f"{_PLAN_TESTS}::test_a_partition_between_the_tables_is_not_finished",),
    ),
    Mutant(
        "large tables come first",
        _PLAN,
        "        return not _is_split(table), volume.partitions,",
        "        return not _is_split(table), -volume.partitions,",
        (f"{_PLAN_TESTS}::test_split_tables_come_first_and_then_small_ones",),
    ),
)
