# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of how a whole table goes to another ensemble under its name."""

from __future__ import annotations

from mutants.mutant import Mutant

_WHOLE = "twin/table/table_switch.py"
_PAIR = "twin/table/pair.py"
_TESTS = "twin/table/test_table_switch.py"

MUTANTS = (
    Mutant(
        "names are exchanged while a partition is between the tables",
        _WHOLE,
        "            refuse_records(records, self._path)\n",
        "",
        (f"{_TESTS}::test_names_stay_while_a_partition_is_between_the_tables",),
    ),
    Mutant(
        "names are exchanged though a partition can never be moved",
        _WHOLE,
        "if why.gate not in STAYS_FOR_NOW}",
        "if False}",
        (f"{_TESTS}::test_names_stay_while_a_partition_cannot_be_moved_at_all",),
    ),
    Mutant(
        "names are exchanged while an ALTER goes on",
        _WHOLE,
        "            if reasons and not self._context.dry:\n",
        "            if False:\n",
        (f"{_TESTS}::test_names_stay_while_something_goes_on_that_knows_them",),
    ),
    Mutant(
        "a replica exchanges again that has exchanged",
        _WHOLE,
        "            if named(pair, self._twin).at is self._wanted:\n                continue\n",
        "",
        (f"{_TESTS}::test_a_replica_that_does_not_exchange_leaves_a_state_that_leads_both_ways",),
    ),
    Mutant(
        "a run without its lease exchanges",
        _WHOLE,
        "        confirm_lease(self._context.hot, lease, self._path)\n",
        "",
        (f"{_TESTS}::test_a_run_that_lost_its_lease_exchanges_nothing_more",),
    ),
    Mutant(
        "an exchange that did nothing counts",
        _WHOLE,
        "        if not is_done:\n",
        "        if False:\n",
        (f"{_TESTS}::test_an_exchange_that_changed_nothing_is_told",),
    ),
    Mutant(
        "partitions are moved while names differ",
        _WHOLE,
        "        if any(each.at is self._wanted for each in self._names()):\n",
        "        if all(each.at is self._wanted for each in self._names()):\n",
        (f"{_TESTS}::test_a_replica_that_does_not_exchange_leaves_a_state_that_leads_both_ways",),
    ),
    Mutant(
        "databases that replicate statements exchange twice",
        _PAIR,
        "        if each.database_engine != EXCHANGEABLE:\n",
        "        if each.database_engine == 'Ordinary':\n",
        ("twin/table/test_pair.py::test_databases_that_exchange_in_another_way_or_not_at_all_are_refused",),
    ),
    Mutant(
        "the table at home has the name always",
        _PAIR,
        "            return Named(table.database, table.name, other.name, side)\n",
        "            return Named(table.database, table.name, other.name, Side.HOT)\n",
        ("twin/table/test_pair.py::test_the_name_is_that_of_the_table_whose_twin_is_named_after_it",),
    ),
)
