# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of what an audit tells after two looks, and of whose parts."""

from __future__ import annotations

from mutants import audit_alarms, audit_settled
from mutants.mutant import Mutant

_EVIDENCE = "patched/audit/evidence.py"
_TWO_READS = "findings/two_reads.py"
_READER = "patched/audit/reader.py"
_HOLDERS = "patched/audit/holders.py"
_JUDGE = "patched/audit/judge.py"
_PAYLOADS = "patched/audit/payloads.py"
_DETACHED = "patched/audit/detached.py"
_OTHER_WRITERS = "patched/audit/other_writers.py"
_STATEMENTS = "patched/audit/statements.py"
_VERDICTS = "patched/audit/verdicts.py"

MUTANTS = (
    Mutant(
        "what only the second look finds is told",
        _TWO_READS,
        "return before if before.kind.is_consistent and after.kind not in only_in_second else after",
        "return after",
        ("patched/audit/test_audit.py::test_an_inconsistency_after_the_first_read_is_not_reported",),
    ),
    Mutant(
        "content that is wrong is told only where names are",
        _TWO_READS,
        "return before if before.kind.is_consistent and after.kind not in only_in_second else after",
        "return before if before.kind.is_consistent else after",
        ("patched/audit/test_audit.py::test_content_of_consistent_partitions_is_compared_on_request",),
    ),
    Mutant(
        "a part that is inserted during a read is missing",
        _EVIDENCE,
        "return [part for part in uncovered if self.before is None or part.text in self.before.missing]",
        "return uncovered",
        ("patched/audit/test_audit.py::test_an_insert_in_each_read_is_no_inconsistency",),
    ),
    Mutant(
        "a part that is dropped during a read is unregistered",
        _EVIDENCE,
        "return [part for part in uncovered if self.before is None or part.text in self.before.unregistered]",
        "return uncovered",
        ("patched/audit/test_audit.py::test_a_drop_in_each_read_is_no_inconsistency",),
    ),
    Mutant(
        "a run hides an unsafe restart",
        _VERDICTS,
        "if not verdict.kind.is_inconsistent or verdict.restart_unsafe:",
        "if not verdict.kind.is_inconsistent:",
        ("patched/audit/test_audit.py::test_an_unsafe_restart_is_reported_beside_a_run",),
    ),
    Mutant(
        "what another hot ensemble has in cold is a dropped table's",
        _READER,
        "if self._is_of_another_path(layout):",
        "if self._is_of_another_path is None:",
        ("patched/audit/test_reader.py::test_what_another_hot_ensemble_has_there_is_not_ours",),
    ),
    Mutant(
        "a table that servers have in cold is a dropped table's",
        _READER,
        "if is_shard_path(self._cold.children([layout.path])[0] or ()):",
        "if False:",
        ("patched/audit/test_reader.py::test_a_whole_table_in_cold_is_no_leftover",),
    ),
    Mutant(
        "what another ensemble has counts as cold",
        "patched/audit/judge.py",
        "if partition.is_cold and not partition.cold_is_known else []",
        "if False else []",
        ("patched/repair/test_by_registration.py::test_a_copy_of_the_cold_ensemble_counts_as_another_one",),
    ),
    Mutant(
        "what a statement detached is put back",
        _HOLDERS,
        "    if part.text not in (replica.detached or ()):\n",
        "    if replica.detached is not None:\n",
        (
            (
                "patched/audit/test_judge.py::test_what_the_evidence_says[detached by a statement, attached "
                "elsewhere]"
            ),
        ),
    ),
    Mutant(
        "a cold part of another replica that no disk has is brought back",
        _JUDGE,
        "    _ghosts_elsewhere,\n",
        "",
        ("patched/audit/test_judge.py::test_what_the_evidence_says",),
    ),
    Mutant(
        "a cold part is a ghost although a silent server may have it",
        _JUDGE,
        "silent = next((each for each in sorted(others, key=_by_name) if each.active is None), None)",
        "silent = None",
        ("patched/audit/test_judge.py::test_what_the_evidence_says",),
    ),
    Mutant(
        "a cold part that another server has is a ghost",
        _JUDGE,
        "if not any(has_part(partition, each, part) for each in (replica, *others))",
        "if not any(has_part(partition, each, part) for each in others)",
        ("patched/audit/test_judge.py::test_what_the_evidence_says",),
    ),
    Mutant(
        "a damaged copy of a part that hot has whole makes a restart unsafe",
        _JUDGE,
        "return (self.kind.restart_unsafe and not self.only_copies) or self.blocks_start",
        "return self.kind.restart_unsafe or self.blocks_start",
        ("patched/audit/test_judge.py::test_what_must_not_be_restarted",),
    ),
    Mutant(
        "one damaged copy makes every unreadable znode safe",
        _JUDGE,
        "only_copies = all(path in replica.damaged_copies for path in replica.unreadable)",
        "only_copies = any(path in replica.damaged_copies for path in replica.unreadable)",
        ("patched/audit/test_judge.py::test_what_must_not_be_restarted",),
    ),
    Mutant(
        "a damaged copy hides a part that no server can load",
        _JUDGE,
        "        blocks_start=_blocks_start(replica),\n",
        "",
        ("patched/audit/test_judge.py::test_what_must_not_be_restarted",),
    ),
    Mutant(
        "a damaged part znode in cold alone is a copy",
        _PAYLOADS,
        "if text in known:",
        "if reader is not ensembles[0][0]:",
        (
            (
                "patched/audit/test_payloads.py"
                "::test_a_half_copied_legacy_part_is_a_damaged_copy_where_hot_has_it_whole"
            ),
        ),
    ),
    Mutant(
        "a partition is detached and attached on every server",
        _STATEMENTS,
        "    if replica.name != _first_with_all_parts(partition):\n",
        "    if False:\n",
        ("patched/audit/test_statements.py",),
    ),
    Mutant(
        "a partition is attached where a server lacks a part of it",
        _STATEMENTS,
        "if parts <= set(each.active or ()) and not",
        "if not",
        ("patched/audit/test_statements.py",),
    ),
    Mutant(
        "a partition is attached together with what its folder had before",
        _STATEMENTS,
        " and not _has_detached(partition, each):",
        ":",
        ("patched/audit/test_statements.py",),
    ),
    Mutant(
        "a partition is detached while a server is silent",
        _STATEMENTS,
        "if any(each.active is None or each.cold for each in replicas):",
        "if any(each.cold for each in replicas):",
        ("patched/audit/test_statements.py",),
    ),
    Mutant(
        "a partition is detached while cold registers parts of it",
        _STATEMENTS,
        "if any(each.active is None or each.cold for each in replicas):",
        "if any(each.active is None for each in replicas):",
        ("patched/audit/test_statements.py",),
    ),
    Mutant(
        "State that another tool wrote is not compared with the epoch",
        _OTHER_WRITERS,
        "found = {each for each, state in states.items() if _is_later(",
        "found = {each for each, state in states.items() if False and _is_later(",
        ("patched/audit/test_other_writers.py",),
    ),
    Mutant(
        "a run that works counts as another tool",
        _OTHER_WRITERS,
        "if lock is not None or locks is None or epoch is None:",
        "if locks is None or epoch is None:",
        ("patched/audit/test_other_writers.py",),
    ),
    Mutant(
        "what a run wrote before it deleted its lock counts as of another tool",
        _OTHER_WRITERS,
        "max(record.epoch.stat.mzxid, record.locks.stat.pzxid)",
        "record.epoch.stat.mzxid",
        ("patched/audit/test_other_writers.py",),
    ),
    Mutant(
        "parts in cold are not compared with the epoch",
        _OTHER_WRITERS,
        "found.update(_written_after(latest, partitions))",
        "pass",
        ("patched/audit/test_other_writers.py",),
    ),
    Mutant(
        "parts in cold of another table are compared with the epoch",
        _OTHER_WRITERS,
        "is_ours = partitions.owner is Owner.OURS",
        "is_ours = True",
        ("patched/audit/test_other_writers.py",),
    ),
    Mutant(
        "copies of parts that came after the last run are not seen",
        _OTHER_WRITERS,
        "found.update(each.partition for each in copies if _is_of_another(each, record))",
        "pass",
        ("patched/audit/test_other_writers.py",),
    ),
    Mutant(
        "a copy of a run counts as of another tool once its part was fetched anew",
        _OTHER_WRITERS,
        "return copy.ctime_in_cold >= copy.ctime_in_hot and _is_later(",
        "return _is_later(",
        ("patched/audit/test_other_writers.py",),
    ),
    Mutant(
        "znodes of an adopted table count as written after the last run",
        _OTHER_WRITERS,
        "if each.stat.czxid > epoch.stat.mzxid]",
        "if True]",
        ("patched/audit/test_other_writers.py",),
    ),
    Mutant(
        "copies of the transaction that makes what no run makes are not seen",
        _OTHER_WRITERS,
        "znode.stat.czxid >= min(later)",
        "znode.stat.czxid > min(later)",
        ("patched/audit/test_other_writers.py",),
    ),
    Mutant(
        "copies of a run that began during the read count as of another tool",
        _OTHER_WRITERS,
        "found.update(after_marks.get(cold_epoch.stat.mzxid, ()))",
        "found.update(each for one in after_marks.values() for each in one)",
        ("patched/audit/test_other_writers.py",),
    ),
    Mutant(
        "a folder is not needed where a part of another name is active",
        _DETACHED,
        "        return Need.COMPARE\n",
        "        return Need.NO\n",
        ("patched/audit/test_detached.py",),
    ),
    Mutant(
        "a folder is not needed where another replica has the part",
        _DETACHED,
        "if replica in holders:",
        "if holders:",
        ("patched/audit/test_detached.py",),
    ),
    Mutant(
        "a merged part has the rows of every folder that it covers",
        _DETACHED,
        "if part in (each.active or ())}",
        "if any(part.min_block >= other.min_block for other in each.active or ())}",
        ("patched/audit/test_detached.py",),
    ),
    *audit_alarms.MUTANTS,
    *audit_settled.MUTANTS,
)
