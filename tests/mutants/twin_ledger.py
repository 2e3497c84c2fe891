# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of the ledger of a twin: what counts as lost, and who may change the ledger."""

from __future__ import annotations

from mutants.mutant import Mutant

_COMPARE = "twin/ledger/compare.py"
_CREATION = "twin/ledger/creation.py"
_DROPPING = "twin/ledger/dropping.py"
_ENTERING = "twin/ledger/entering.py"
_ENTRY = "twin/ledger/entry.py"
_IDENTITY = "twin/ledger/identity.py"
_LEDGER = "twin/ledger/ledger.py"
_MOVES = "twin/ledger/moves.py"
_RETENTION = "twin/ledger/retention.py"
_WORK = "twin/ledger/work.py"
_RULES = "twin/audit/ledger_rules.py"
_JUDGE = "twin/audit/judge.py"
_READER = "twin/audit/reader.py"

MUTANTS = (
    Mutant(
        "blocks of no part count as there",
        _COMPARE,
        "    if ranges:\n",
        "    if ranges and not parts:\n",
        ("twin/ledger/test_compare.py::test_what_is_missing_is_named",),
    ),
    Mutant(
        "fewer rows in the same blocks count as merged",
        _COMPARE,
        "    if rows < entry.rows and not _may_lose_rows(entry, names, definition):\n",
        "    if False:\n",
        ("twin/ledger/test_compare.py::test_what_is_missing_is_named",),
    ),
    Mutant(
        "other rows under the same names count as the same",
        _COMPARE,
        "    if _names_digest(parts) == entry.names:\n",
        "    if False:\n",
        ("twin/ledger/test_compare.py::test_what_is_missing_is_named",),
        # The text is the answer: without it nothing is missing.
        about_text=True,
    ),
    Mutant(
        "a mutation from before the entry explains missing rows",
        _COMPARE,
        "    is_mutated = any((each.mutation or 0) > entry.mutation for each in names)\n",
        "    is_mutated = any(each.mutation for each in names)\n",
        ("twin/ledger/test_compare.py::test_a_mutation_of_before_explains_no_missing_rows",),
    ),
    Mutant(
        "an ensemble that was set back proves retention",
        _RETENTION,
        "    if cold_blocks < entry.cold_blocks:\n",
        "    if False:\n",
        (
            "twin/ledger/test_retention.py::test_a_drop_needs_a_trace_in_both_tables",
            "twin/ledger/test_retention.py::test_a_ttl_needs_the_time_and_an_ensemble_of_today",
        ),
    ),
    Mutant(
        "parts in detached do not count against retention",
        _RETENTION,
        " or folders_with(ranges, partition_id, facts):\n",
        ":\n",
        ("twin/ledger/test_retention.py::test_a_drop_needs_a_trace_in_both_tables",),
    ),
    Mutant(
        "a DROP PARTITION of the twin alone is retention",
        _RETENTION,
        " and hot_blocks is not None and hot_blocks > entry.hot_blocks\n",
        "\n",
        ("twin/ledger/test_retention.py::test_a_drop_needs_a_trace_in_both_tables",),
    ),
    Mutant(
        "a mutation of the table is a DROP PARTITION",
        "twin/ledger/blocks.py",
        "_allocated(znode.stat) - count for",
        "_allocated(znode.stat) for",
        ("twin/ledger/test_blocks.py::test_numbers_that_mutations_allocated_do_not_count",),
    ),
    Mutant(
        "an INSERT into the table is a DROP PARTITION of the twin",
        _RETENTION,
        " and cold_blocks > entry.cold_blocks and is_dropped_in_hot\n",
        " and is_dropped_in_hot\n",
        ("twin/ledger/test_retention.py::test_a_drop_needs_a_trace_in_both_tables",),
    ),
    Mutant(
        "rows that have not expired count as dropped by the TTL",
        _RETENTION,
        "    if all(0 < each.expires <= facts.now for each in ranges):\n",
        "    if all(0 < each.expires for each in ranges):\n",
        ("twin/ledger/test_retention.py::test_a_ttl_needs_the_time_and_an_ensemble_of_today",),
    ),
    Mutant(
        "one expired part explains all missing ones",
        _RETENTION,
        "    if all(0 < each.expires <= facts.now for each in ranges):\n",
        "    if any(0 < each.expires <= facts.now for each in ranges):\n",
        ("twin/ledger/test_retention.py::test_every_missing_block_must_have_expired",),
    ),
    Mutant(
        "a twin without a known UUID is never replaced, nor is one of which a replica is new",
        _ENTRY,
        " or set(self.uuids.values()) & set(now.uuids.values()):\n",
        " or set(self.uuids.values()) == set(now.uuids.values()):\n",
        ("twin/ledger/test_entry.py::test_a_table_is_replaced_only_if_no_replica_has_its_uuid",),
    ),
    Mutant(
        "a table of unknown birth is the one of the ledger",
        _ENTRY,
        "        return self.born is None or self.born != now.born\n",
        "        return self.born != now.born\n",
        ("twin/ledger/test_entry.py::test_a_table_with_the_znodes_of_then_is_not_replaced",),
    ),
    Mutant(
        "a twin that was created anew at its path is the one of the ledger",
        _ENTRY,
        "        return self.born is None or self.born != now.born\n",
        "        return self.born is None\n",
        (
            "twin/ledger/test_entry.py::test_a_table_with_the_znodes_of_then_is_not_replaced",
            "twin/audit/test_ledger_rules.py::test_replaced_replicas_are_consistent",
        ),
    ),
    Mutant(
        "the birth of a twin is the one that any server shows",
        _IDENTITY,
        "    return Births(of_hot, found.pop() if len(found) == 1 else None)\n",
        "    return Births(of_hot, found.pop() if found else None)\n",
        ("twin/ledger/test_identity.py::test_the_birth_of_a_twin_is_unknown_if_servers_differ",),
    ),
    Mutant(
        "another twin gets the birth of the twin of the ledger",
        _IDENTITY,
        " and not then.is_replaced_by(now)\n",
        "\n",
        (
            "twin/ledger/test_identity.py::test_a_birth_that_servers_do_not_show_stays_known_of_the_same_table",
        ),
    ),
    Mutant(
        "a twin that was created after the head was there before it",
        _IDENTITY,
        "    return is_at_place and born is not None and born.ctime + _MARGIN <= written\n",
        "    return is_at_place and born is not None\n",
        (
            "twin/ledger/test_identity.py::test_a_twin_that_is_older_than_the_head_was_at_its_place",
            "twin/ledger/test_entering.py::test_an_older_twin_is_entered_if_it_is_whole",
        ),
    ),
    Mutant(
        "a run that finishes a move makes the ledger one of another twin",
        _MOVES,
        "                self._pair = known\n",
        "                pass\n",
        ("twin/ledger/test_moves.py::test_a_twin_whose_replicas_were_all_replaced_moves",),
    ),
    Mutant(
        "an older twin is entered without the blocks of the ledger",
        _ENTERING,
        "    return not missing_of(entry, parts.cold, partition_id, work.case.tables[0].cold.definition)\n",
        "    return True\n",
        ("twin/ledger/test_entering.py::test_an_older_twin_that_lacks_rows_is_refused",),
    ),
    Mutant(
        "an older twin is entered whatever its ensemble knows of it",
        _ENTERING,
        "    if blocks is None or blocks.get(partition_id, 0) < entry.cold_blocks:\n",
        "    if False:\n",
        ("twin/ledger/test_entering.py::test_an_older_twin_is_entered_if_it_is_whole",),
    ),
    Mutant(
        "a page is written whatever it was meanwhile",
        _LEDGER,
        "    return SetData(after.path, encode_page(after.entries), before.version)\n",
        "    return SetData(after.path, encode_page(after.entries), -1)\n",
        ("twin/ledger/test_ledger.py::test_every_write_checks_what_was_read",),
    ),
    Mutant(
        "a change of entries does not check whose twin the ledger is about",
        _LEDGER,
        "    return LedgerChange((head, *ops), TwinLedger(path, version, pair, tuple(pages)))\n",
        "    more = () if isinstance(head, Check) else (head,)\n"
        "    return LedgerChange((*more, *ops), TwinLedger(path, version, pair, tuple(pages)))\n",
        ("twin/ledger/test_ledger.py::test_every_write_checks_what_was_read",),
    ),
    Mutant(
        "a command writes without its lease",
        _LEDGER,
        "        checks = lease.hot_checks\n",
        "        checks = ()\n",
        ("twin/ledger/test_ledger.py::test_nothing_is_written_without_the_lease",),
    ),
    Mutant(
        "an unproven entry is replaced by what is left",
        _ENTERING,
        "        if problem:\n            work.refuse(each, problem, _AUDIT)\n            continue\n",
        "",
        ("twin/ledger/test_entering.py::test_an_entry_is_not_replaced_by_fewer_rows",),
    ),
    Mutant(
        "another twin is entered by its block numbers",
        _ENTERING,
        "    return bool(work.outcome.refused)\n",
        "    work.outcome.refused.clear()\n    return False\n",
        ("twin/ledger/test_entering.py::test_another_twin_needs_the_same_rows",),
    ),
    Mutant(
        "a twin whose servers set parts aside is entered as whole",
        _ENTERING,
        "        folders = uncovered_folders(parts.cold, partition_id, facts)\n",
        "        folders = []\n",
        ("twin/ledger/test_entering.py::test_parts_that_a_server_set_aside_are_refused",),
    ),
    Mutant(
        "a partition between the tables is entered",
        _WORK,
        "            if each in self.recorded:\n",
        "            if False:\n",
        ("twin/ledger/test_entering.py::test_a_partition_between_the_tables_is_refused",),
    ),
    Mutant(
        "a partition that one replica lacks is entered",
        _WORK,
        "            if uneven is None:\n",
        "            if True:\n",
        ("twin/ledger/test_entering.py::test_an_uneven_partition_is_refused",),
    ),
    Mutant(
        "a whole partition leaves the ledger by command",
        _DROPPING,
        "        elif not missing:\n",
        "        elif False:\n",
        ("twin/ledger/test_dropping.py::test_a_partition_that_is_whole_is_refused",),
    ),
    Mutant(
        "a partition in detached leaves the ledger by command",
        _DROPPING,
        "        elif folders and not has_as_many_rows(entry, parts.cold):\n",
        "        elif False:\n",
        ("twin/ledger/test_dropping.py::test_rows_in_detached_are_refused",),
    ),
    Mutant(
        "a renamed twin counts as dropped",
        _DROPPING,
        "    if elsewhere:\n",
        "    if False:\n",
        ("twin/ledger/test_dropping.py::test_a_twin_under_another_name_was_not_dropped",),
    ),
    Mutant(
        "an empty twin is created in place of a filled one",
        _CREATION,
        "    path = new.shard_path if new.shard_path in heads else _other_path(servers, new, heads)\n",
        "    path = _other_path(servers, new, heads)\n",
        ("twin/ledger/test_creation.py::test_a_ledger_of_the_shard_path_refuses_an_empty_twin",),
    ),
    Mutant(
        "a table at another path gets an empty twin",
        _CREATION,
        " or uuids & set(pair.hot.uuids.values())\n",
        "\n",
        ("twin/ledger/test_creation.py::test_the_ledger_of_another_shard_path_is_found_by_the_uuid",),
    ),
    Mutant(
        "a move enters what is left of a partition as everything",
        _MOVES,
        "        return with_loss(before, entry) if missing else entry\n",
        "        return entry\n",
        ("twin/ledger/test_moves.py::test_what_the_twin_loses_during_a_move_stays_a_loss",),
    ),
    Mutant(
        "a move goes on while the twin lacks rows",
        _MOVES,
        "        reason = self._problem or self._missing(partition_id, parts)\n",
        "        reason = self._problem\n",
        ("twin/ledger/test_moves.py::test_a_twin_that_lacks_rows_refuses_moves",),
    ),
    Mutant(
        "a move goes on with another twin",
        _MOVES,
        "        reason = self._problem or self._missing(partition_id, parts)\n",
        "        reason = self._missing(partition_id, parts)\n",
        ("twin/ledger/test_moves.py::test_another_table_refuses_all_moves",),
    ),
    Mutant(
        "what the ledger lists is not audited",
        _RULES,
        "    return TwinKind.LOST, (), missing\n",
        "    return None\n",
        ("twin/audit/test_ledger_rules.py::test_a_lost_part_is_reported_with_its_blocks",),
    ),
    Mutant(
        "parts are to be attached whose rows are there under other numbers",
        _RULES,
        "    if has_as_many_rows(entry, parts.cold):\n",
        "    if False:\n",
        ("twin/audit/test_ledger_rules.py::test_rows_under_other_numbers_are_not_to_be_attached_again",),
    ),
    Mutant(
        "a dropped twin is a table without a twin",
        _RULES,
        "        return TwinKind.TWIN_GONE, reason\n",
        "        return None\n",
        ("twin/audit/test_ledger_rules.py::test_a_twin_that_no_replica_has_is_gone",),
    ),
    Mutant(
        "a twin is gone while a server is silent",
        _RULES,
        "    if ledger.pair is None or read.silent or read.problem:\n",
        "    if ledger.pair is None:\n",
        ("twin/audit/test_ledger_rules.py::test_a_twin_is_not_gone_while_a_server_is_silent",),
    ),
    Mutant(
        "a record on the way to the twin hides a loss",
        _JUDGE,
        "    if record is None or record.destination is Side.COLD:\n",
        "    if record is None:\n",
        ("twin/audit/test_ledger_rules.py::test_a_record_takes_precedence_only_on_the_way_to_hot",),
    ),
    Mutant(
        "partitions of which nothing is left are not read",
        _READER,
        "        ids = {*read.record_znodes, *read.ledger.entries}\n",
        "        ids = {*read.record_znodes}\n",
        ("twin/audit/test_ledger_rules.py::test_a_partition_that_neither_table_has_any_more_is_reported",),
    ),
    Mutant(
        "an entry that a run writes while servers are read is a loss",
        _READER,
        "                (read.record_znodes.get(each), read.ledger.entries.get(each))\n"
        "                != (after.get(each), entries.get(each)),\n",
        "                read.record_znodes.get(each) != after.get(each),\n",
        ("twin/audit/test_ledger_rules.py::test_an_entry_that_changes_during_the_read_is_not_judged",),
    ),
    Mutant(
        "an entry is not written with the removal of the record",
        "twin/move/ending.py",
        "    group.commit([(each, None) for each in members], more)\n",
        "    group.commit([(each, None) for each in members])\n",
        ("twin/move/test_ledgers.py::test_what_was_moved_is_entered_and_what_came_back_leaves",),
    ),
    Mutant(
        "an entry is written after the removal of the record",
        "twin/move/ending.py",
        "    group.commit([(each, None) for each in members], more)\n",
        "    group.commit([(each, None) for each in members])\n"
        "    if more:\n"
        "        group.shard.hot.commit([(*group.shard.lease.hot_checks, *more)])\n",
        ("twin/move/test_ledgers.py::test_a_record_or_an_entry_lists_the_rows_wherever_a_run_is_killed",),
    ),
    Mutant(
        "a run does not ask the ledger",
        "twin/move/cloning.py",
        "        or _refuse_unwhole(group, current)\n",
        "",
        ("twin/move/test_ledgers.py::test_a_twin_that_lacks_rows_is_not_moved_either_way",),
    ),
    Mutant(
        "a run goes on with what it knew of the ledger before its own entries",
        "twin/move/ending.py",
        "    group.shard.ledger.written()\n",
        "",
        ("twin/move/test_ledgers.py::test_several_groups_write_one_ledger",),
    ),
)
