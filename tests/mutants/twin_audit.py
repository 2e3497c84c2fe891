# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of the audit of twins: its verdicts, and the parts that it proposes to drop."""

from __future__ import annotations

from mutants.mutant import Mutant

_AGES = "twin/audit/ages.py"
_AUDIT = "twin/audit/audit.py"
_JUDGE = "twin/audit/judge.py"
_RECORDED = "twin/audit/recorded.py"
_READER = "twin/audit/reader.py"
_REPORT = "twin/audit/report.py"

MUTANTS = (
    Mutant(
        "the destination loses parts that the source has lost",
        _RECORDED,
        "if all(names.get(name) == content for name, content in record.parts.items()):",
        "if True:",
        ("twin/audit/test_judge.py::test_no_part_is_dropped_from_the_destination_once_the_source_lost_one",),
    ),
    Mutant(
        "equal parts are dropped that are in one table only",
        _RECORDED,
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
        ("twin/audit/test_judge.py::test_rows_that_may_be_equal_are_compared_first",),
    ),
    Mutant(
        "a replica that lacks a part counts as having it",
        _JUDGE,
        "    if uneven is not None:",
        "    if False:",
        ("twin/audit/test_judge.py::test_an_uneven_partition_is_reported_as_uneven_first",),
    ),
    Mutant(
        "parts of a move in progress are proposed for a drop",
        _JUDGE,
        "    if verdict is None or verdict.kind.is_consistent or not read.lock:",
        "    if True:",
        ("twin/audit/test_judge.py::test_under_the_lock_of_a_run_only_consistent_partitions_are_judged",),
    ),
    Mutant(
        "a run that begins while servers are read is not noticed",
        _READER,
        "                (read.record_znodes.get(each), read.ledger.entries.get(each))\n"
        "                != (after.get(each), entries.get(each)),\n",
        "                False,\n",
        ("twin/audit/test_reader.py::test_a_record_created_during_the_read_is_noticed",),
    ),
    Mutant(
        "an inconsistency that only the first read found is reported",
        _AUDIT,
        "for place, verdict in first.items() if not verdict.kind.is_inconsistent}",
        "for place, verdict in first.items()}",
        ("twin/audit/test_audit.py::test_a_replica_is_reported_only_if_both_reads_find_it",),
    ),
    Mutant(
        "an inconsistency that only the second read found is reported",
        "findings/two_reads.py",
        "        return None if after.kind.is_inconsistent else after\n",
        "        return after\n",
        ("twin/audit/test_audit.py::test_a_replica_is_reported_only_if_both_reads_find_it",),
    ),
    Mutant(
        "an unjudged replica counts as consistent",
        _AUDIT,
        "for place, verdict in first.items() if not verdict.kind.is_inconsistent}",
        "for place, verdict in first.items() if verdict.kind.is_consistent}",
        ("twin/audit/test_audit.py::test_replicas_are_reported_if_partitions_cannot_be_read",),
    ),
    Mutant(
        "a record counts from the newest one on",
        _AGES,
        "tuple(_sample(each, min(each.began.values())) for each in audits if each.began),",
        "tuple(_sample(each, max(each.began.values())) for each in audits if each.began),",
        ("twin/audit/test_ages.py::test_the_oldest_record_counts_and_the_oldest_with_doubled_rows",),
    ),
    Mutant(
        "rows are doubled since the move of another partition began",
        _AGES,
        "    return [audit.began[each] for each in doubled if each in audit.began]",
        "    return list(audit.began.values()) if any(doubled) else []",
        ("twin/audit/test_ages.py::test_the_oldest_record_counts_and_the_oldest_with_doubled_rows",),
    ),
    Mutant(
        "a statement that nobody is finishing counts as in progress",
        _READER,
        "is_in_progress=lock is not None)",
        "is_in_progress=True)",
        ("twin/audit/test_reader.py::test_a_read_has_the_hold_and_the_unfinished_statement",),
    ),
    Mutant(
        "a table of which nothing can move is not named",
        _REPORT,
        "if row.verdict.kind is TwinKind.TWIN_UNLIKE)",
        "if row.verdict.kind is TwinKind.TWIN_MISSING)",
        ("twin/audit/test_report.py::test_tables_of_which_nothing_can_move_are_named",),
    ),
)
