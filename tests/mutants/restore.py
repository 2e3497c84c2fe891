# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of backups and restores: what is kept, what changed since, what is judged, how it is written."""

from __future__ import annotations

from mutants.mutant import Mutant

_SAVING = "patched/repair/saving.py"
_LEFT = "patched/repair/left.py"
_CASE = "patched/repair/case.py"
_RESTORE = "patched/repair/restore.py"
_ROWS = "patched/repair/restore_rows.py"
_SIMULATED = "patched/repair/restore_simulated.py"
_WRITER = "patched/repair/restore_writer.py"

_IN_SAVING = "patched/repair/test_saving.py"
_IN_LEFT = "patched/repair/test_left.py"
_IN_RESTORE = "patched/repair/test_restore.py"
_IN_ROWS = "patched/repair/test_restore_rows.py"
_IN_SIMULATED = "patched/repair/test_restore_simulated.py"
_IN_WRITER = "patched/repair/test_restore_writer.py"

_SAVE = "        if saved:\n            self._save(saved)\n"
_ANNOUNCE = (
    "        writes = [[_in_words(self._ensemble, op) for op in multi if _changes(op)] for multi in made]\n"
    "        self._announce([words for words in writes if words])\n"
)
_COMMIT = "        outcomes = self.inner.commit(made)\n"


def _mutant(name: str, file: str, old: str, new: str, *tests: str) -> Mutant:
    return Mutant(name, file, old, new, tests)


MUTANTS = (
    _mutant(
        "what is deleted is not kept",
        _SAVING,
        "paths = sorted({op.path for op in ops if isinstance(op, (Delete, SetData))})",
        "ops = [op for op in ops if not isinstance(op, Delete)]\n"
        "        paths = sorted({op.path for op in ops if isinstance(op, SetData)})",
        f"{_IN_SAVING}::test_what_is_deleted_and_changed_is_kept",
    ),
    _mutant(
        "what is changed is not kept",
        _SAVING,
        "paths = sorted({op.path for op in ops if isinstance(op, (Delete, SetData))})",
        "ops = [op for op in ops if not isinstance(op, SetData)]\n"
        "        paths = sorted({op.path for op in ops if isinstance(op, Delete)})",
        f"{_IN_SAVING}::test_what_is_deleted_and_changed_is_kept",
    ),
    _mutant(
        "what is deleted is kept afterwards",
        _SAVING,
        _SAVE + _ANNOUNCE + _COMMIT,
        _ANNOUNCE + _COMMIT + _SAVE,
        f"{_IN_SAVING}::test_what_cannot_be_kept_is_not_done",
    ),
    _mutant(
        "the writes of a repair are announced after they are done",
        _SAVING,
        "        self._announce([words for words in writes if words])\n" + _COMMIT,
        _COMMIT + "        self._announce([words for words in writes if words])\n",
        f"{_IN_SAVING}::test_a_write_that_cannot_be_announced_is_not_done",
    ),
    _mutant(
        "a write that will be rejected counts as done by the repair",
        _SAVING,
        "isinstance(op, (Delete, SetData)) and versions[op.path] == op.version:",
        "isinstance(op, (Delete, SetData)):",
        f"{_IN_SAVING}::test_what_is_not_as_it_was_read_is_neither_kept_nor_done",
    ),
    _mutant(
        "a changed znode is kept with the version before the change",
        _SAVING,
        "Left(op.data, op.version + 1)",
        "Left(op.data, op.version)",
        f"{_IN_SAVING}::test_what_is_deleted_and_changed_is_kept",
    ),
    _mutant(
        "a backup says how a repair left partitions without the lease",
        _CASE,
        "            self.shard.confirm()\n            context.save_left(left)\n",
        "            context.save_left(left)\n",
        f"{_IN_LEFT}::test_without_the_lease_nothing_is_said",
    ),
    _mutant(
        "a repair does not say how it leaves partitions",
        _CASE,
        "            leased.save_left()\n",
        "",
        f"{_IN_LEFT}::test_a_repair_ends_with_what_it_leaves",
    ),
    _mutant(
        "parts are listed by a member that is behind",
        _LEFT,
        "        each.sync(layout.path)\n",
        "        pass\n",
        f"{_IN_LEFT}::test_servers_that_are_behind_are_waited_for",
    ),
    _mutant(
        "parts of one ensemble count as those of the other",
        _LEFT,
        "_names(in_hot, each), _names(in_cold, each)",
        "_names(in_cold, each), _names(in_hot, each)",
        f"{_IN_LEFT}::test_state_and_names_of_both_ensembles",
    ),
    _mutant(
        "another table at the path gets what the former one had",
        _RESTORE,
        "if shard.czxid != header.czxid or (header.ctime and shard.ctime != header.ctime):",
        "if False:",
        f"{_IN_RESTORE}::test_a_table_that_was_created_again",
    ),
    _mutant(
        "a table with the same transaction counts as the same table",
        _RESTORE,
        "if shard.czxid != header.czxid or (header.ctime and shard.ctime != header.ctime):",
        "if shard.czxid != header.czxid:",
        f"{_IN_RESTORE}::test_a_table_that_was_created_again",
    ),
    _mutant(
        "the backup of one cluster is restored in another",
        _RESTORE,
        "        if of_backup and of_backup != own:\n",
        "        if False:\n",
        f"{_IN_RESTORE}::test_another_ensemble",
    ),
    _mutant(
        "a backup may write anywhere",
        _RESTORE,
        'or each.path.startswith(f"{layout.path}/")',
        'or each.path.startswith("/")',
        f"{_IN_RESTORE}::test_paths_of_others_are_refused",
    ),
    _mutant(
        "the last of several changes is put back",
        _RESTORE,
        "first.setdefault((each.ensemble, each.path), each)",
        "first[(each.ensemble, each.path)] = each",
        f"{_IN_RESTORE}::test_the_first_of_several_changes_counts",
    ),
    _mutant(
        "a restore goes by any cold ensemble, and by another cluster's table",
        _RESTORE,
        "reader = ShardReader(context.hot, context.cold, layout, context.leases.root)",
        "reader = ShardReader(context.hot, context.cold, layout, context.leases.root, any_cold=True)",
        f"{_IN_RESTORE}::test_a_table_in_cold_of_another_cluster",
    ),
    _mutant(
        "a restore asks no gate",
        _RESTORE,
        "        if why is None and gate is not None:\n",
        "        if False:\n",
        f"{_IN_RESTORE}::test_a_closed_gate_leaves_the_partition",
    ),
    _mutant(
        "a restore does not compare with how the repair left the partition",
        _RESTORE,
        "why = each.refusal(now.get(each.partition_id, PartitionLeft(each.partition_id, None, {}, {})))",
        "why = None",
        f"{_IN_ROWS}::test_copies_that_differed_do_not_become_the_only_registration",
    ),
    _mutant(
        "a restore is not judged before it is written",
        _RESTORE,
        "        refused.update(simulation.refused(leased.layout, passed))\n",
        "",
        f"{_IN_SIMULATED}::test_state_does_not_become_hot_over_parts_in_cold_only",
        f"{_IN_SIMULATED}::test_state_does_not_become_cold_over_parts_in_hot",
    ),
    _mutant(
        "a partition is restored in spite of its refusal",
        _RESTORE,
        "[each for each in pending if each.partition_id not in left]",
        "pending",
        f"{_IN_SIMULATED}::test_ghosts_are_not_made_again",
    ),
    _mutant(
        "the marker of a shard path is a row like any other",
        _ROWS,
        '    if folder != "replicas" or not part or "/" in replica:\n        return None\n',
        '    if folder != "replicas" or not part or "/" in replica:\n        return "20190101"\n',
        f"{_IN_RESTORE}::test_the_marker_and_the_record_are_never_written",
    ),
    _mutant(
        "after a killed repair what exists is set back",
        _ROWS,
        "if self.left is None and row.action is Action.SET_BACK:",
        "if False:",
        f"{_IN_ROWS}::test_after_a_killed_repair_nothing_is_set_back",
    ),
    _mutant(
        "a znode that others wrote is overwritten",
        _ROWS,
        "            if not row.is_as_left():\n",
        "            if False:\n",
        f"{_IN_ROWS}::test_a_copy_with_other_data_of_the_version_that_the_repair_left_is_not_set_back",
    ),
    _mutant(
        "data alone says whether a znode is as the repair left it",
        _ROWS,
        "        return Left.of(self.now) in self.lefts\n",
        "        return self.now.data in [left.data for left in self.lefts]\n",
        f"{_IN_ROWS}::test_a_copy_that_was_written_again_with_the_same_data_is_left",
    ),
    _mutant(
        "a znode that others deleted is created again",
        _ROWS,
        "return not self.lefts or DELETED in self.lefts",
        "return True",
        f"{_IN_ROWS}::test_a_copy_that_others_deleted_is_not_created_again",
    ),
    _mutant(
        "a znode that the repair created may be anything by now",
        _ROWS,
        "if znode is not None and Left.of(znode) not in lefts:",
        "if False:",
        f"{_IN_ROWS}::test_a_znode_that_the_repair_created_and_others_wrote_leaves_the_partition",
    ),
    _mutant(
        "a partition that moved since the repair is restored",
        _ROWS,
        "        if now.state != left.state:\n",
        "        if False:\n",
        f"{_IN_ROWS}::test_a_partition_that_was_moved_and_brought_back_is_left",
    ),
    _mutant(
        "a State that was written since counts by its data alone",
        _ROWS,
        "        if now.state != left.state:\n",
        "        if (now.state and now.state.data) != (left.state and left.state.data):\n",
        f"{_IN_ROWS}::test_a_partition_that_was_moved_and_brought_back_is_left",
    ),
    _mutant(
        "a partition that was inserted again is restored",
        _ROWS,
        '(("hot", left.hot, now.hot), ("cold", left.cold, now.cold))',
        '(("cold", left.cold, now.cold),)',
        f"{_IN_ROWS}::test_a_partition_that_was_inserted_again_beside_its_parts_is_left",
    ),
    _mutant(
        "a partition whose copies changed is restored",
        _ROWS,
        '(("hot", left.hot, now.hot), ("cold", left.cold, now.cold))',
        '(("hot", left.hot, now.hot),)',
        f"{_IN_ROWS}::test_a_partition_whose_copies_went_is_left",
    ),
    _mutant(
        "a killed restore is not continued",
        _ROWS,
        "if row.saved.ensemble == ensemble and row.action is Action.UNCHANGED",
        "if False",
        f"{_IN_WRITER}::test_a_killed_restore_is_continued",
    ),
    _mutant(
        "a restore may end in any finding",
        _SIMULATED,
        "        if not _is_acceptable(before.get(replica, _EMPTY), verdict):\n",
        "        if False:\n",
        f"{_IN_SIMULATED}::test_ghosts_are_not_made_again",
    ),
    _mutant(
        "a finding of one replica is overlooked",
        _SIMULATED,
        "for replica, verdict in sorted(after.items()):",
        "for replica, verdict in sorted(after.items())[:1]:",
        f"{_IN_SIMULATED}::test_a_finding_on_one_replica_leaves_the_partition",
    ),
    _mutant(
        "a part with other data than the disk may be registered",
        _SIMULATED,
        "before.restart_unsafe and after.kind in _REGISTERED_AS_ON_DISK",
        "before.restart_unsafe",
        f"{_IN_SIMULATED}::test_a_part_with_another_hash_is_left",
    ),
    _mutant(
        "the content of parts is not compared",
        _SIMULATED,
        "content_of=[*ids]",
        "content_of=[]",
        f"{_IN_SIMULATED}::test_a_part_with_another_hash_is_left",
    ),
    _mutant(
        "a restart that is unsafe before may be so afterwards",
        _SIMULATED,
        "    if after.restart_unsafe:\n        return False\n",
        "    if after.restart_unsafe:\n        return before.restart_unsafe\n",
        f"{_IN_SIMULATED}::test_of_a_part_that_is_merged_on_disk_nothing_is_restored",
    ),
    _mutant(
        "a lesser finding keeps a part from being registered",
        _SIMULATED,
        "after.kind.is_consistent or (before.restart_unsafe and after.kind in _REGISTERED_AS_ON_DISK)",
        "after.kind.is_consistent",
        f"{_IN_SIMULATED}::test_a_lesser_finding_is_better_than_a_part_that_a_restart_takes_out",
    ),
    _mutant(
        "State is not judged with the parts",
        _SIMULATED,
        "state = [] if partition.state is None else [partition.state.op]",
        "state = []",
        f"{_IN_SIMULATED}::test_state_does_not_become_hot_over_parts_in_cold_only",
    ),
    _mutant(
        "hot is written before cold",
        _WRITER,
        '        remaining = self._commit(leased.cold, partitions, lambda each: each.of("cold"), ())\n'
        '        remaining = self._commit(leased.hot, remaining, lambda each: each.of("hot"), fence)\n'
        "        self._commit(leased.hot, remaining, _state, fence)\n",
        '        remaining = self._commit(leased.hot, partitions, lambda each: each.of("hot"), fence)\n'
        "        remaining = self._commit(leased.hot, remaining, _state, fence)\n"
        '        self._commit(leased.cold, remaining, lambda each: each.of("cold"), ())\n',
        f"{_IN_WRITER}::test_cold_comes_before_state",
    ),
    _mutant(
        "State is set without the fence of the read",
        _WRITER,
        "        self._commit(leased.hot, remaining, _state, fence)\n",
        "        self._commit(leased.hot, remaining, _state, ())\n",
        f"{_IN_WRITER}::test_a_table_that_changes_under_the_lease_keeps_its_state",
    ),
    _mutant(
        "a part is registered in hot without the fence of the read",
        _WRITER,
        'lambda each: each.of("hot"), fence)',
        'lambda each: each.of("hot"), ())',
        f"{_IN_WRITER}::test_a_part_in_hot_carries_the_fence",
    ),
    _mutant(
        "a part is registered in hot whatever State is by then",
        _WRITER,
        "return [Check(state.path, state.stat.version), *ops]",
        "return ops",
        f"{_IN_WRITER}::test_a_part_in_hot_is_not_registered_once_state_changed",
    ),
    _mutant(
        "State is set though cold did not take a part",
        _WRITER,
        "return [each for each in partitions if each.partition_id not in stopped]",
        "return [*partitions]",
        f"{_IN_WRITER}::test_a_copy_that_appears_under_the_lease_is_not_overwritten",
    ),
    _mutant(
        "a lost lease goes unnoticed by a restore",
        _WRITER,
        "        written.raise_problem()\n",
        "",
        f"{_IN_WRITER}::test_a_lost_lease_between_the_ensembles_then_again",
    ),
)
