# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of statements for both tables: one would be executed twice, on one table alone, or amid a move."""

from __future__ import annotations

from mutants.mutant import Mutant

_CONDITIONS = "twin/alter/conditions.py"
_EFFECT = "twin/alter/effect.py"
_READING = "twin/alter/reading.py"
_RECORD = "twin/alter/record.py"
_RUN = "twin/alter/run.py"
_STATEMENT = "twin/alter/statement.py"
_STEPS = "twin/alter/steps.py"
_UNDER_LEASE = "run/under_lease.py"
_TEST_EFFECT = "twin/alter/test_effect.py"
_TEST_RECORD = "twin/alter/test_record.py"
_TEST_RUN = "twin/alter/test_run.py"
_TEST_EXPIRY = "twin/alter/test_expiry.py"
_TEST_STEPS = "twin/alter/test_steps.py"
_KILLED = f"{_TEST_STEPS}::test_a_run_that_is_killed_anywhere_is_finished_by_the_next"

MUTANTS = (
    Mutant(
        "a reading table whose columns the user may not see keeps a column that leaves",
        _READING,
        "if not each.names:",
        "if each.names is None:",
        ("twin/alter/test_reading.py::test_a_reading_table_without_columns_is_one_whose_columns_are_hidden",),
    ),
    Mutant(
        "a table in brackets after IN is a column",
        _CONDITIONS,
        " or _has_name_as_values(tree)",
        "",
        ("twin/alter/test_conditions.py::test_a_name_alone_is_a_table_among_the_values_of_in",),
    ),
    Mutant(
        "a mutation that is not listed yet counts as not executed",
        _STEPS,
        "                effect.prove_not_executed(executor)\n",
        "                pass\n",
        (f"{_TEST_EFFECT}::test_a_mutation_that_is_not_listed_yet_is_not_executed_again",),
    ),
    Mutant(
        "a mutation of a killed run is executed again",
        _STEPS,
        "return [] if effect.marked(executor) else [executor]",
        "return [executor]",
        (f"{_TEST_EFFECT}::test_a_mutation_that_is_not_listed_yet_is_not_executed_again",),
    ),
    Mutant(
        "a mutation that somebody removed counts as never executed",
        _EFFECT,
        "if not listed or newer != list(range(first, first + len(newer))):",
        "if not listed:",
        (f"{_TEST_EFFECT}::test_a_mutation_that_somebody_removed_is_not_executed_again",),
    ),
    Mutant(
        "the proof does not wait until the server lists the newest mutation",
        _EFFECT,
        "listed = self._shard.wait_until("
        "lambda: any(mark in each.command for each in self._mutations(tables)))",
        "listed = True",
        (f"{_TEST_EFFECT}::test_a_mutation_that_is_not_listed_yet_is_not_executed_again",),
    ),
    Mutant(
        "later inserts count as parts that are still to be dropped",
        _EFFECT,
        "current[each].lowest <= last for each, last in recorded.items()",
        "current[each].lowest > 0 for each, last in recorded.items()",
        (f"{_TEST_EFFECT}::test_an_insert_after_a_truncate_is_not_taken_for_an_older_part",),
    ),
    Mutant(
        "parts that are still there count as dropped",
        _EFFECT,
        "return not self._has_recorded_blocks(tables)",
        "return True",
        (f"{_TEST_EFFECT}::test_a_part_that_contains_a_recorded_one_is_dropped",),
    ),
    Mutant(
        "an unchanged definition counts as changed",
        _EFFECT,
        "            return not self._is_unchanged(tables)\n",
        "            return True\n",
        (_KILLED,),
    ),
    Mutant(
        "a replica with another storage policy has changed",
        _EFFECT,
        "        if recorded is not None:\n",
        "        recorded = self._record.definition\n        if recorded is not None:\n",
        (f"{_TEST_EFFECT}::test_replicas_with_their_own_policies_end_alike_wherever_a_run_is_killed",),
    ),
    Mutant(
        "replicas with different definitions count as even",
        _EFFECT,
        "        return len(set(map(shared_definition, definitions))) == 1\n",
        "        return True\n",
        (_KILLED,),
    ),
    Mutant(
        "replicas with different policies get another one",
        "twin/alter/policy.py",
        "        if policy != expected:\n",
        "        if False:\n",
        (f"{_TEST_EFFECT}::test_a_policy_for_replicas_with_their_own_ones_is_refused",),
    ),
    Mutant(
        "a statement of a killed run is not waited for",
        _STEPS,
        "            self._shard.wait_until_quiet()\n        else:",
        "            pass\n        else:",
        ("twin/alter/test_shard.py::test_a_statement_that_stays_in_progress_ends_the_run",),
    ),
    Mutant(
        "a statement without an answer counts as executed",
        _STEPS,
        "            if not self._outlasted(effect):\n",
        "            if False:\n",
        (f"{_TEST_STEPS}::test_a_statement_without_an_answer_counts_once_its_effect_shows",),
    ),
    Mutant(
        "the record goes although the twin refused the statement",
        _STEPS,
        "if self._record.done or not effect.nothing_happened(is_resumed):",
        "if not effect.nothing_happened(is_resumed):",
        (f"{_TEST_STEPS}::test_a_statement_that_only_the_twin_refuses_stays_recorded",),
    ),
    Mutant(
        "the record goes although the tables differ",
        _STEPS,
        "        self._compare()\n",
        "",
        (f"{_TEST_STEPS}::test_tables_that_differ_afterwards_are_named",),
    ),
    Mutant(
        "the twin comes first",
        _STEPS,
        "ORDER = (Side.HOT, Side.COLD)",
        "ORDER = (Side.COLD, Side.HOT)",
        (f"{_TEST_STEPS}::test_the_twin_is_changed_only_after_the_table",),
    ),
    Mutant(
        "the next run does not know that a statement was begun",
        _STEPS,
        "self._save(self._record._replace(begun=(*self._record.begun, side)))",
        "pass",
        (f"{_TEST_EFFECT}::test_a_mutation_that_is_not_listed_yet_is_not_executed_again",),
    ),
    Mutant(
        "readers keep a column that leaves",
        _STEPS,
        "        self._prepare()\n",
        "",
        ("twin/alter/test_reading.py::test_the_order_of_the_statements",),
    ),
    Mutant(
        "the record of a statement that the reading table refuses stays for ever",
        _STEPS,
        "                if self._record.begun:\n                    raise\n",
        "                raise\n",
        ("twin/alter/test_reading.py::test_nothing_is_left_if_the_reading_table_keeps_the_column",),
    ),
    Mutant(
        "the record goes although the statement was begun",
        _STEPS,
        "                if self._record.begun:\n                    raise\n",
        "",
        (
            "twin/alter/test_reading.py::test_the_record_stays_if_the_reading_table_refuses_amid_the_statement",
        ),
    ),
    Mutant(
        "a column leaves readers before those that are computed from it",
        "twin/alter/dependents.py",
        "    begun.add(column)\n",
        "    begun.add(column)\n    found[column] = None\n",
        ("twin/alter/test_dependents.py::test_dependent_columns_leave_first",),
    ),
    Mutant(
        "a refused statement leaves readers without the column",
        _STEPS,
        "            recreate(self._shard, self._record.statement)\n        self._records.remove",
        "            pass\n        self._records.remove",
        ("twin/alter/test_reading.py::test_a_refused_statement_gives_the_reading_table_its_column_back",),
    ),
    Mutant(
        "a statement begins while a partition is between the tables",
        _RUN,
        "        if partitions:\n",
        "        if len(partitions) > 1:\n",
        (f"{_TEST_RUN}::test_a_partition_between_the_tables_has_to_arrive_first",),
    ),
    Mutant(
        "a statement begins amid another change",
        _RUN,
        "            if reasons:\n",
        "            if len(reasons) > 9:\n",
        (f"{_TEST_RUN}::test_nothing_begins_amid_another_change",),
    ),
    Mutant(
        "a statement begins while the tables differ",
        _RUN,
        "        if refusal is not None:\n",
        "        if refusal is not None and not every:\n",
        (f"{_TEST_RUN}::test_nothing_begins_while_the_tables_differ",),
    ),
    Mutant(
        "a record of other tables is continued",
        _RUN,
        "if places != (record.hot, record.cold):",
        "if not places:",
        (f"{_TEST_RUN}::test_a_record_of_other_tables_is_not_continued",),
    ),
    Mutant(
        "the recorded statement is executed once more when it is given again",
        _RUN,
        "if statement is not None and (stored is None or stored.record.statement != statement):",
        "if statement is not None:",
        (f"{_TEST_STEPS}::test_the_same_statement_finishes_the_recorded_one_and_is_not_executed_again",),
    ),
    Mutant(
        "the record of a statement is written without the lease",
        _RECORD,
        "outcome = self._hot.commit([(*checks, *ops)])[0]",
        "outcome = self._hot.commit([(*ops,)])[0]",
        (f"{_TEST_RECORD}::test_nothing_is_written_without_the_lease",),
    ),
    Mutant(
        "a mutation has no mark",
        _STATEMENT,
        "text = _marked(self.text, token) if self.kind is AlterKind.MUTATION else self.text",
        "text = self.text",
        ("twin/alter/test_statement.py::test_the_mark_of_a_mutation_changes_no_condition",),
    ),
    Mutant(
        "the mark changes the condition of a mutation",
        _STATEMENT,
        'f"({text[begin:].strip()})"',
        "text[begin:].strip()",
        ("twin/alter/test_statement.py::test_the_mark_of_a_mutation_changes_no_condition",),
    ),
    Mutant(
        "a move reads the two tables while a statement is unfinished",
        _UNDER_LEASE,
        "    if read(path) is None:\n        return None\n",
        "    if read(path) is not None:\n        return None\n",
        ("run/test_shard_run.py::test_an_unfinished_statement_is_named_before_anything_is_read",),
    ),
    Mutant(
        "a dropped partition stays in the ledger",
        _STEPS,
        "self._records.remove(shard.lease, self._stored, ops)",
        "self._records.remove(shard.lease, self._stored)",
        ("twin/alter/test_leaving.py::test_dropped_partitions_leave_the_ledger",),
    ),
    Mutant(
        "a dropped partition takes the others out of the ledger",
        "twin/alter/leaving.py",
        'if statement.partition in ("", each)]',
        "if statement.text]",
        ("twin/alter/test_leaving.py::test_dropped_partitions_leave_the_ledger",),
    ),
    Mutant(
        "a partition that was lost before a DELETE leaves the ledger",
        "twin/alter/leaving.py",
        "set(listed) - set(record.lacking)",
        "set(listed)",
        ("twin/alter/test_leaving.py::test_a_partition_that_was_lost_before_a_delete_stays_in_the_ledger",),
    ),
    Mutant(
        "partitions leave the ledger although the twin was set back to before the DELETE",
        "twin/alter/leaving.py",
        "if not every or not Effect(shard, record, Side.COLD).is_there():",
        "if not every:",
        (
            "twin/alter/test_leaving.py::test_nothing_leaves_the_ledger_if_the_twin_no_longer_has_the_mutation",
        ),
    ),
    Mutant(
        "partitions with rows leave the ledger after a DELETE",
        "twin/alter/leaving.py",
        "        if not names:\n            changes[each] = None\n        elif",
        "        if names:\n            changes[each] = None\n        elif",
        ("twin/alter/test_leaving.py::test_partitions_that_a_delete_empties_leave_the_ledger",),
    ),
    Mutant(
        "a part that a DELETE empties stays in the entry of its partition",
        "twin/alter/leaving.py",
        "elif ranges != before.ranges:",
        "elif not ranges:",
        ("twin/alter/test_leaving.py::test_a_part_that_a_delete_empties_leaves_the_entry_of_its_partition",),
    ),
    Mutant(
        "a part that was lost before a DELETE leaves the entry",
        "twin/alter/leaving.py",
        "                if uncovered(listed[each].ranges, names)\n",
        "                if not names\n",
        ("twin/alter/test_leaving.py::test_a_part_that_was_lost_before_a_delete_stays_in_the_entry",),
    ),
    Mutant(
        "the twin drops parts by a new TTL that the ledger does not know",
        _STEPS,
        "                    advance_expiries(self._shard, self._record.statement)\n",
        "                    pass\n",
        (f"{_TEST_EXPIRY}::test_nothing_that_the_ttl_drops_is_lost_however_a_run_ends",),
    ),
    Mutant(
        "a TTL that was removed explains later losses",
        _STEPS,
        "            renew_expiries(shard, statement)\n",
        "",
        (f"{_TEST_EXPIRY}::test_times_become_those_of_the_new_ttl",),
    ),
    Mutant(
        "a new TTL explains parts that the twin lacked before",
        "twin/alter/expiry.py",
        "    if uncovered([blocks], names):\n        return None\n",
        "    if uncovered([blocks], names):\n        return 1\n",
        (f"{_TEST_EXPIRY}::test_the_new_ttl_explains_no_part_that_was_lost_before",),
    ),
    Mutant(
        "times become later before the twin has the later TTL",
        "twin/alter/expiry.py",
        "return _earlier(before.expires, after or 0)",
        "return after or before.expires",
        (f"{_TEST_EXPIRY}::test_nothing_that_the_ttl_drops_is_lost_however_a_run_ends",),
    ),
    Mutant(
        "the time of one part is that of others with the blocks",
        "twin/alter/expiry.py",
        "return max(found) if all(found) else 0",
        "return min(found) if all(found) else 0",
        (f"{_TEST_EXPIRY}::test_blocks_in_several_parts_expire_with_the_last",),
    ),
    Mutant(
        "a TTL is changed although the user may not read when parts expire",
        _RUN,
        "        require_expiries(shard, statement, every[0])\n",
        "",
        (f"{_TEST_EXPIRY}::test_nothing_begins_if_the_twin_may_not_be_read",),
    ),
    Mutant(
        "the advice is to execute a doubtful mutation by hand",
        _STEPS,
        "except (EnsembleError, LeaseLost, Doubtful):",
        "except (EnsembleError, LeaseLost):",
        (f"{_TEST_EFFECT}::test_a_mutation_that_somebody_removed_is_not_executed_again",),
        about_text=True,
    ),
    Mutant(
        "a REPLACE of a killed run is repeated over later inserts",
        _STEPS,
        "            effect.refuse_doubtful()\n",
        "            pass\n",
        (f"{_TEST_STEPS}::test_a_replace_of_a_killed_run_is_not_repeated_over_later_inserts",),
    ),
    Mutant(
        "readers find only the former names amid a RENAME",
        "twin/alter/reading.py",
        "if statement.leaving or statement.names:",
        "if statement.leaving:",
        (f"{_TEST_STEPS}::test_readers_find_both_tables_amid_a_rename",),
    ),
    Mutant(
        "a reading table that a killed run dropped stays away",
        _STEPS,
        "            restore(self._shard, statement, self._record.reading)\n",
        "            pass\n",
        (f"{_TEST_STEPS}::test_readers_get_a_dropped_table_back_before_anything_else",),
    ),
    Mutant(
        "reading tables that are dropped first are not recorded",
        "twin/alter/reading.py",
        "if not each.can_be_replaced}",
        "if each.can_be_replaced}",
        (f"{_TEST_STEPS}::test_readers_get_a_dropped_table_back_before_anything_else",),
    ),
)
