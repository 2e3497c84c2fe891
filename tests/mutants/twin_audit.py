# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of what an audit of twins tells a person to drop, and of what it takes for so."""

from __future__ import annotations

from mutants.mutant import Mutant

_AUDIT = "twin/audit/audit.py"
_JUDGE = "twin/audit/judge.py"
_READER = "twin/audit/reader.py"

MUTANTS = (
    Mutant(
        "the destination loses what the source has not any more",
        _JUDGE,
        "if all(names.get(name) == content for name, content in record.parts.items()):",
        "if True:",
        ("twin/audit/test_judge.py::test_once_the_source_has_lost_something_the_destination_keeps_all",),
    ),
    Mutant(
        "of parts that are equal all are dropped, also those that are there once",
        _JUDGE,
        "            left[part.content] -= 1\n",
        "",
        ("twin/audit/test_judge.py::test_without_a_record",),
    ),
    Mutant(
        "rows that may be the same are dropped without being compared",
        _JUDGE,
        "        doubt = ManualCheck({Side.HOT: hot, Side.COLD: cold}, tuple((Side.HOT, name) for name in hot))",
        "        doubt = ManualCheck({}, tuple((Side.HOT, name) for name in hot))",
        ("twin/audit/test_judge.py::test_of_what_may_be_equal_the_rows_are_compared_first",),
    ),
    Mutant(
        "a replica that lacks a part is taken for one that has it",
        _JUDGE,
        "    if uneven is not None:",
        "    if False:",
        ("twin/audit/test_judge.py::test_a_partition_that_is_not_even_is_told_so_whatever_it_is",),
    ),
    Mutant(
        "what a run is in the middle of is told for a person to drop",
        _JUDGE,
        "    if verdict is None or verdict.kind.is_consistent or not look.lock:",
        "    if True:",
        ("twin/audit/test_judge.py::test_while_a_run_is_at_work_nothing_is_told_but_what_is_sound",),
    ),
    Mutant(
        "a run that begins while servers are asked is not noticed",
        _READER,
        "look.noted.get(each) != after.get(each),",
        "False,",
        ("twin/audit/test_reader.py::test_a_record_that_comes_meanwhile_is_noticed",),
    ),
    Mutant(
        "what only the first look sees is told",
        _AUDIT,
        "for place, verdict in first.items() if not verdict.kind.is_inconsistent}",
        "for place, verdict in first.items()}",
        ("twin/audit/test_audit.py::test_a_replica_is_told_only_where_both_looks_say_so",),
    ),
    Mutant(
        "what only the second look sees is told",
        _AUDIT,
        "if place in first else verdict.kind.is_inconsistent)",
        "if place in first else False)",
        ("twin/audit/test_audit.py::test_a_replica_is_told_only_where_both_looks_say_so",),
    ),
    Mutant(
        "what nobody could judge is sound",
        _AUDIT,
        "for place, verdict in first.items() if not verdict.kind.is_inconsistent}",
        "for place, verdict in first.items() if verdict.kind.is_consistent}",
        ("twin/audit/test_audit.py::test_replicas_are_told_where_partitions_cannot_be",),
    ),
)
