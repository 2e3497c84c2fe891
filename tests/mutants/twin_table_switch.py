# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of the move of a whole table to the other ensemble."""

from __future__ import annotations

from mutants.mutant import Mutant

_SWITCH = "twin/table/table_switch.py"
_PAIR = "twin/table/pair.py"
_REPORT = "twin/table/switch_report.py"
_WATCH = "twin/table/exchange_watch.py"
_RECORD = "twin/table/exchange_record.py"
_OLDER = "twin/table/older_inserts.py"
_POLICIES = "twin/table/left_policies.py"
_DEPARTURE = "twin/table/departure.py"
_TESTS = "twin/table/test_table_switch.py"
_POLICY_TESTS = "twin/table/test_left_policies.py"
_DEPARTURE_TESTS = "twin/table/test_departure.py"

MUTANTS = (
    Mutant(
        "names are exchanged while a partition is between the tables",
        _SWITCH,
        "        refuse_records(self._records, self._path)\n",
        "",
        (f"{_TESTS}::test_names_stay_while_a_partition_is_between_the_tables",),
    ),
    Mutant(
        "names are exchanged while a policy hides rows",
        _SWITCH,
        "        named = [as_twin_tables(pair, name.at) for pair, name in zip(pairs, names)]\n"
        "        refuse_left_policies(self._servers, named, self._records)\n",
        "",
        (f"{_POLICY_TESTS}::test_no_name_is_exchanged_if_a_policy_is_left_right_before",),
    ),
    Mutant(
        "a policy of an exchanged table does not matter",
        _SWITCH,
        "        named = [named_tables(each, self._twin) for each in found]\n"
        "        refuse_left_policies(self._servers, named, self._records)\n",
        "",
        (f"{_POLICY_TESTS}::test_a_policy_that_no_move_needs_is_named_with_its_statement",),
    ),
    Mutant(
        "a record is ended while its policy hides rows",
        _POLICIES,
        "        refuse_left_policies(self._servers, shard.tables, shard.records)\n",
        "",
        (f"{_POLICY_TESTS}::test_no_record_is_ended_if_twin_move_was_killed_after_the_first_look",),
    ),
    Mutant(
        "a twin that only some replicas lack does not matter on the way home",
        _DEPARTURE,
        "        if each.away is not None:\n",
        "        if False:\n",
        (f"{_DEPARTURE_TESTS}::test_a_twin_that_only_some_replicas_lack_is_refused",),
    ),
    Mutant(
        "a table whose name was exchanged never left",
        _DEPARTURE,
        "    if exchanges.is_stored:\n",
        "    if False:\n",
        (f"{_DEPARTURE_TESTS}::test_the_record_of_an_exchange_is_enough",),
    ),
    Mutant(
        "names are exchanged though a partition can never be moved",
        _SWITCH,
        "if why.gate not in STAYS_FOR_NOW}",
        "if False}",
        (f"{_TESTS}::test_names_stay_while_a_partition_can_never_be_moved",),
    ),
    Mutant(
        "names are exchanged during an ALTER",
        _SWITCH,
        "        if not self._check_mode:\n            refuse_hindrances",
        "        if False:\n            refuse_hindrances",
        (f"{_TESTS}::test_names_stay_during_activity_that_depends_on_names",),
    ),
    Mutant(
        "a replica that has exchanged exchanges again",
        _SWITCH,
        "            if locate_name(pair, self._twin).at is self._desired:\n                continue\n",
        "",
        (f"{_TESTS}::test_a_run_in_either_direction_continues_after_a_failed_exchange",),
    ),
    Mutant(
        "a run without its lease exchanges",
        _SWITCH,
        "        confirm_lease(self._context.hot, lease, self._path)\n",
        "",
        (f"{_TESTS}::test_a_lease_that_ends_while_a_server_answers_exchanges_nothing",),
    ),
    Mutant(
        "an exchange that did nothing counts",
        _SWITCH,
        "        if not is_done:\n",
        "        if False:\n",
        (f"{_TESTS}::test_an_exchange_without_effect_is_an_error",),
    ),
    Mutant(
        "partitions are moved while names differ",
        _SWITCH,
        "        if any(each.at is self._desired for each in self._names()):\n",
        "        if all(each.at is self._desired for each in self._names()):\n",
        (f"{_TESTS}::test_a_run_in_either_direction_continues_after_a_failed_exchange",),
    ),
    Mutant(
        "the moment of the exchange before stays while another one may be under way",
        _SWITCH,
        "        self._watch.records.update(lease, lambda record: record.without(pair.replica.name))\n",
        "",
        (f"{_TESTS}::test_a_second_exchange_in_one_direction_forgets_the_first_moment",),
    ),
    Mutant(
        "names are exchanged while asynchronous inserts are queued",
        _SWITCH,
        "        self._refuse_hindrances(pair, self._servers.queued_inserts(pair))\n",
        "",
        (f"{_TESTS}::test_names_stay_while_asynchronous_inserts_are_queued",),
    ),
    Mutant(
        "a user without all rights begins",
        _SWITCH,
        "            self._servers.require_rights(each)\n",
        "            pass\n",
        (f"{_TESTS}::test_nothing_is_changed_without_all_rights",),
    ),
    Mutant(
        "the inner table of a view is moved",
        _SWITCH,
        "        refuse_inner_tables(found)\n",
        "",
        (f"{_TESTS}::test_inner_tables_of_views_are_refused",),
    ),
    Mutant(
        "older inserts do not matter",
        _REPORT,
        "            if each.older_inserts:\n",
        "            if False:\n",
        (f"{_TESTS}::test_no_run_is_finished_while_an_older_insert_runs",),
    ),
    Mutant(
        "rows in the other table do not matter",
        _REPORT,
        "            if each.without_name.parts:\n",
        "            if False:\n",
        ("twin/table/test_switch_report.py::test_what_keeps_a_move_from_being_finished",),
    ),
    Mutant(
        "a replica without a known moment has no older inserts",
        _WATCH,
        "        lacking = [pair for pair in pairs if pair.replica.name not in record.replicas]\n",
        "        lacking = []\n",
        ("twin/table/test_exchange_watch.py::test_every_run_asks_for_what_is_older_than_the_first_moment",),
    ),
    Mutant(
        "the exchange of another run is settled",
        _WATCH,
        "                if stored.replicas.get(name) == exchange:\n",
        "                if True:\n",
        ("twin/table/test_exchange_watch.py::test_an_exchange_of_another_run_is_not_settled_by_this_one",),
    ),
    Mutant(
        "the record of the other side is taken for this one",
        _RECORD,
        " if record and record.side is self._side else ",
        " if record else ",
        ("twin/table/test_exchange_record.py::test_a_record_of_the_other_side_says_nothing",),
    ),
    Mutant(
        "what a statement queues at its end is overlooked",
        _OLDER,
        "            self._queued = self._background = None\n            return False\n",
        "            self._queued = seen.queued\n            return False\n",
        ("twin/table/test_older_inserts.py::test_what_a_statement_queued_at_its_end_counts",),
    ),
    Mutant(
        "what leaves the queue is overlooked",
        _OLDER,
        "            self._background = None\n",
        "            self._background = seen.background\n",
        ("twin/table/test_older_inserts.py::test_what_leaves_the_queue_counts_in_the_background",),
    ),
    Mutant(
        "databases that replicate statements exchange twice",
        _PAIR,
        "        if each.database_engine != EXCHANGEABLE:\n",
        "        if each.database_engine == 'Ordinary':\n",
        ("twin/table/test_pair.py::test_only_atomic_databases_may_exchange",),
    ),
    Mutant(
        "the table at home always has the name",
        _PAIR,
        "            return TableName(table.database, table.name, other.name, side)\n",
        "            return TableName(table.database, table.name, other.name, Side.HOT)\n",
        ("twin/table/test_pair.py::test_the_name_is_that_of_the_table_whose_twin_is_named_after_it",),
    ),
)
