# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of repairs: what they keep, what they remove, and what they register."""

from __future__ import annotations

from mutants.mutant import Mutant

_JUDGED = "patched/repair/judged.py"
_RUN = "patched/repair/run.py"
_REMOVAL = "patched/repair/by_removal.py"
_REGISTRATION = "patched/repair/by_registration.py"
_COPIES = "patched/repair/by_copies.py"
_STATE = "patched/repair/by_state.py"
_JUDGE = "patched/audit/judge.py"

MUTANTS = (
    Mutant(
        "what could not be judged counts as nothing to repair",
        "patched/repair/run.py",
        "for each, rows in in_doubt.items() if each not in before}",
        "for each, rows in in_doubt.items() if each in before}",
        ("patched/repair/test_run.py::test_what_could_not_be_judged_is_left_and_no_success[False]",),
    ),
    Mutant(
        "a repair is in the journal after it was done",
        _RUN,
        "        context.journal.record(Event.REPAIRING, announced)\n"
        "        work.judged.update(rows)\n"
        "        work.left.update(REMEDIES[case.kind](leased, again.judged))\n",
        "        work.judged.update(rows)\n"
        "        work.left.update(REMEDIES[case.kind](leased, again.judged))\n"
        "        context.journal.record(Event.REPAIRING, announced)\n",
        ("patched/repair/test_run.py::test_a_repair_is_in_the_journal_before_and_after",),
    ),
    Mutant(
        "a server that falls silent does not keep what it may have",
        _JUDGED,
        "if verdict.kind is FindingKind.NOT_JUDGED:",
        "if False:",
        ("patched/repair/test_judged.py::test_a_server_that_is_silent_by_now_keeps_its_partition",),
    ),
    Mutant(
        "a cold ensemble that is not the right one counts as lost",
        _RUN,
        "if kind is FindingKind.COLD_UNKNOWN and not options.cold_is_lost:",
        "if False:",
        ("patched/repair/test_by_registration.py::test_a_cold_ensemble_that_is_lost",),
    ),
    Mutant(
        "what only a replica has that is gone is removed unasked",
        _REMOVAL,
        "elif not (case.options.replica_is_gone or _is_of_another(partition, part)):",
        "elif False:",
        ("patched/repair/test_by_removal.py::test_of_another_replica_that_alone_has_it",),
    ),
    Mutant(
        "State of a partition with live cold parts becomes HOT with its ghosts",
        _REMOVAL,
        "        and not any(replica.active for replica in evidence[each.partition_id].replicas)\n",
        "",
        ("patched/repair/test_by_removal.py::test_a_ghost_beside_what_is_alive",),
    ),
    Mutant(
        "an intact copy is removed for a part damaged in hot",
        _REMOVAL,
        "if payload_problem(data, dict(children)) is None:",
        "if False:",
        ("patched/repair/test_by_removal.py::test_an_intact_copy_of_a_part_damaged_in_hot_stays",),
    ),
    Mutant(
        "State is set to COLD while a queue entry waits that reads it",
        _STATE,
        "        if partition.partition_id in refused:\n",
        "        if False:\n",
        ("patched/repair/test_by_state.py::test_state_is_left_while_a_queue_entry_waits_that_reads_it",),
    ),
    Mutant(
        "a damaged registration goes although it is the only one",
        _REMOVAL,
        "            if not is_covered(part, replica.hot):",
        "            if False:",
        ("patched/repair/test_by_removal.py::test_a_cold_part_whose_data_no_part_has",),
    ),
    Mutant(
        "any bytes register a part",
        _REGISTRATION,
        "if registers_hash(source.data, source.children, shown):",
        "if source.data is not None:",
        ("patched/repair/test_by_registration.py::test_other_data_on_disk_is_not_registered[other]",),
    ),
    Mutant(
        "a part without a shown hash is registered",
        _REGISTRATION,
        "    if shown is None:\n        raise _Refused(",
        "    if shown is None:\n        return next(sources.of(replica.name, part.text))\n"
        "    if shown is None:\n        raise _Refused(",
        ("patched/repair/test_by_registration.py::test_other_data_on_disk_is_not_registered[unknown]",),
    ),
    Mutant(
        "what an ensemble has that is not the right one registers a part",
        "patched/repair/sources.py",
        "if case.kind is not FindingKind.COLD_UNKNOWN:",
        "if True:",
        ("patched/repair/test_sources.py::test_what_only_cold_registers",),
    ),
    Mutant(
        "no gate is asked before parts are registered",
        _REGISTRATION,
        "left = {each: NotRepaired(why.reason, why.remedy) for each, why in refused.items()}",
        "left: dict[str, NotRepaired] = {}",
        ("patched/repair/test_by_registration.py::test_a_gate_keeps_it",),
    ),
    Mutant(
        "State stays COLD of what hot registers again",
        _REGISTRATION,
        "in_hot.append(SetData(partition.state.path",
        "list(in_hot).append(SetData(partition.state.path",
        ("patched/repair/test_by_registration.py::test_a_cold_ensemble_that_is_lost",),
    ),
    Mutant(
        "copies that differ from hot are adopted",
        _COPIES,
        "    if replica.differing:\n",
        "    if False:\n",
        ("patched/repair/test_by_copies.py::test_all_or_nothing[differ]",),
    ),
    Mutant(
        "copies are adopted beside what is not to be",
        _COPIES,
        "if verdict.kind is not FindingKind.FOREIGN:",
        "if False:",
        ("patched/repair/test_by_copies.py::test_parts_with_another_hash_are_not_adopted",),
    ),
    Mutant(
        "parts are adopted by their names alone",
        _COPIES,
        "if unproven and not options.without_hashes:",
        "if False:",
        ("patched/repair/test_by_copies.py::test_parts_without_a_shown_hash_are_not_adopted",),
    ),
    Mutant(
        "copies are adopted while the other tool writes",
        _COPIES,
        "if age >= case.options.quiet:",
        "if True:",
        ("patched/repair/test_by_copies.py::test_while_the_other_tool_may_be_at_work",),
    ),
    Mutant(
        "copies are adopted whatever gate refuses",
        _COPIES,
        "if refusal is not None and refusal.gate is not GateName.SAME_TABLE:",
        "if False:",
        ("patched/repair/test_by_copies.py::test_another_gate_keeps_them_foreign",),
    ),
    Mutant(
        "copies that hot does not have are removed as different",
        _COPIES,
        "passed = [each for each in read.partitions.values() if each.partition_id not in left]",
        "passed = list(read.partitions.values())",
        ("patched/repair/test_by_copies.py::test_what_differs_beside_what_only_cold_has",),
    ),
    Mutant(
        "State is set without asking for the disks",
        _STATE,
        "leased.lend(), context.servers, leased.case.layout",
        "leased.lend(), __import__('ansible_collections.olap.partmove.plugins.module_utils._partmove"
        ".gates.servers', fromlist=['_']).AssumeActive(), leased.case.layout",
        ("patched/repair/test_case.py::test_state_stays_if_a_disk_has_more_than_it_was_judged_by",),
    ),
    Mutant(
        "an unregistered part is consistent",
        _JUDGE,
        "    _unregistered,\n    _unreadable,\n",
        "    _unreadable,\n",
        ("patched/audit/test_audit.py::test_kinds[lost_from_both-expected0]",),
    ),
    Mutant(
        "a part that another server may have counts as dropped",
        _JUDGE,
        "    if silent is not None:\n        return Verdict(FindingKind.NOT_JUDGED, _names(missing),",
        "    if silent is None and False:\n        return Verdict(FindingKind.NOT_JUDGED, _names(missing),",
        ("patched/repair/test_by_removal.py::test_while_a_server_is_silent_nothing_is_removed",),
    ),
    Mutant(
        "the last registration of a part on a disk is removed",
        _REMOVAL,
        "    if _on_a_disk(partition, part):\n",
        "    if False:\n",
        ("patched/repair/test_by_removal_last.py",),
    ),
    Mutant(
        "what no server shows loses its last registration though a disk may not be mounted",
        _REMOVAL,
        "    if case.options.disks_are_mounted:\n",
        "    if True:\n",
        ("patched/repair/test_by_removal_last.py",),
    ),
    Mutant(
        "what hot registers stays in cold until the disks are said to be mounted",
        _REMOVAL,
        "if not is_covered(part, replica.hot) and (why :=",
        "if (why :=",
        ("patched/repair/test_by_removal_last.py",),
    ),
    Mutant(
        "the last registration of a part goes unless all disks have the part",
        _REMOVAL,
        "return any(is_covered(part, each.active or ())",
        "return all(is_covered(part, each.active or ())",
        ("patched/repair/test_by_removal_last.py",),
    ),
)
