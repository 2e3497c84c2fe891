# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of the audit of twins: its verdicts, and the parts that it proposes to drop."""

from __future__ import annotations

from mutants.mutant import Mutant

_AUDIT = "twin/audit/audit.py"
_JUDGE = "twin/audit/judge.py"
_READER = "twin/audit/reader.py"

MUTANTS = (
    Mutant(
        "the destination loses parts that the source has lost",
        _JUDGE,
        "if all(names.get(name) == content for name, content in record.parts.items()):",
        "if True:",
        ("twin/audit/test_judge.py::test_once_the_source_has_lost_something_the_destination_keeps_all",),
    ),
    Mutant(
        "equal parts are dropped that are in one table only",
        _JUDGE,
        "            left[part.content] -= 1\n",
        "",
        ("twin/audit/test_judge.py::test_without_a_record",),
    ),
    Mutant(
        "rows that may be the same are dropped without a comparison",
        _JUDGE,
        "        manual_check = ManualCheck({Side.HOT: hot, Side.COLD: cold}, "
        "tuple((Side.HOT, name) for name in hot))",
        "        manual_check = ManualCheck({}, tuple((Side.HOT, name) for name in hot))",
        ("twin/audit/test_judge.py::test_of_what_may_be_equal_the_rows_are_compared_first",),
    ),
    Mutant(
        "a replica that lacks a part counts as having it",
        _JUDGE,
        "    if uneven is not None:",
        "    if False:",
        ("twin/audit/test_judge.py::test_a_partition_that_is_not_even_is_told_so_whatever_it_is",),
    ),
    Mutant(
        "parts of a move in progress are proposed for a drop",
        _JUDGE,
        "    if verdict is None or verdict.kind.is_consistent or not read.lock:",
        "    if True:",
        ("twin/audit/test_judge.py::test_while_a_run_is_at_work_nothing_is_told_but_what_is_sound",),
    ),
    Mutant(
        "a run that begins while servers are read is not noticed",
        _READER,
        "read.record_znodes.get(each) != after.get(each),",
        "False,",
        ("twin/audit/test_reader.py::test_a_record_that_comes_meanwhile_is_noticed",),
    ),
    Mutant(
        "an inconsistency that only the first read found is reported",
        _AUDIT,
        "for place, verdict in first.items() if not verdict.kind.is_inconsistent}",
        "for place, verdict in first.items()}",
        ("twin/audit/test_audit.py::test_a_replica_is_told_only_where_both_looks_say_so",),
    ),
    Mutant(
        "an inconsistency that only the second read found is reported",
        "findings/two_reads.py",
        "        return None if after.kind.is_inconsistent else after\n",
        "        return after\n",
        ("twin/audit/test_audit.py::test_a_replica_is_told_only_where_both_looks_say_so",),
    ),
    Mutant(
        "an unjudged replica counts as consistent",
        _AUDIT,
        "for place, verdict in first.items() if not verdict.kind.is_inconsistent}",
        "for place, verdict in first.items() if verdict.kind.is_consistent}",
        ("twin/audit/test_audit.py::test_replicas_are_told_where_partitions_cannot_be",),
    ),
)
