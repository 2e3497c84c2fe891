# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of the move of a whole table to the other ensemble."""

from __future__ import annotations

from mutants.mutant import Mutant

_SWITCH = "twin/table/table_switch.py"
_PAIR = "twin/table/pair.py"
_TESTS = "twin/table/test_table_switch.py"

MUTANTS = (
    Mutant(
        "names are exchanged while a partition is between the tables",
        _SWITCH,
        "        refuse_records(Records(self._context.hot, self._context.leases.root, self._path)"
        ", self._path)"
        "\n",
        "",
        (f"{_TESTS}::test_names_stay_while_a_partition_is_between_the_tables",),
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
        "            if reasons and not self._check_mode:\n",
        "            if False:\n",
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
        (f"{_TESTS}::test_a_run_without_its_lease_exchanges_nothing_more",),
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
