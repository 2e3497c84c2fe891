# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of what readers see while partitions are between a table and its cold twin."""

from __future__ import annotations

from mutants.mutant import Mutant

_HIDDEN = "twin/readers/hidden.py"
_VIEWS = "twin/readers/views.py"
_PREPARE = "twin/readers/prepare.py"
_RECORDED = "twin/readers/recorded_readers.py"
_STATEMENTS = "twin/readers/statements.py"
_OF_HIDDEN = "twin/readers/test_hidden.py"
_OF_VIEWS = "twin/readers/test_views.py"
_OF_PREPARE = "twin/readers/test_prepare.py"
_OF_RECORDED = "twin/readers/test_recorded_readers.py"
_OF_ANOTHER_TWIN = (
    "twin/move/test_merges.py::test_a_record_of_another_twin_keeps_its_stopped_merges_and_lets_no_move_begin"
)

MUTANTS = (
    Mutant(
        "readers miss rows that the destination already had",
        _HIDDEN,
        "        return [_of(arriving, partition_id, source, [Blocks(last + 1, None)])]\n",
        "        return [_of(arriving, partition_id, source, [Blocks(0, None)])]\n",
        (f"{_OF_HIDDEN}::test_until_the_clones_are_recorded_new_parts_of_the_destination_are_hidden",),
    ),
    Mutant(
        "readers see the destination before the clones are verified",
        _HIDDEN,
        "    if not record.is_verified or len(undone) == len(record.parts):\n",
        "    if record.undoing and len(undone) == len(record.parts):\n",
        (f"{_OF_HIDDEN}::test_until_the_clones_are_recorded_new_parts_of_the_destination_are_hidden",),
    ),
    Mutant(
        "readers miss the rows of clones that are being dropped",
        _HIDDEN,
        "    if not record.undoing:\n",
        "    if record.parts:\n",
        (f"{_OF_HIDDEN}::test_while_one_clone_is_dropped_again_its_source_alone_is_shown",),
    ),
    Mutant(
        "readers miss rows that the source has merged",
        _HIDDEN,
        "    if record.released:\n",
        "    if not record.parts:\n",
        (f"{_OF_HIDDEN}::test_parts_that_a_record_has_released_are_shown",),
    ),
    Mutant(
        "readers miss late inserts",
        _HIDDEN,
        "    return [Blocks(0, max(each.max_block for each in source))]\n",
        "    return [Blocks(0, None)]\n",
        (f"{_OF_HIDDEN}::test_from_then_on_recorded_parts_of_the_source_are_hidden",),
    ),
    Mutant(
        "a run does not wait for readers",
        _VIEWS,
        "            if wait and not self._seen.issuperset(hidden):\n",
        "            if wait and not hidden:\n",
        (f"{_OF_VIEWS}::test_readers_of_every_replica_are_waited_for_and_later_ones_are_not",),
    ),
    Mutant(
        "a run waits for the readers of one replica",
        _VIEWS,
        "        left = [self._servers.readers(tables) for tables, _reading in self._replicas]\n",
        "        left = [self._servers.readers(tables) for tables, _reading in self._replicas[:1]]\n"
        "        left += [frozenset[str]()] * (len(self._replicas) - 1)\n",
        (f"{_OF_VIEWS}::test_readers_of_every_replica_are_waited_for_and_later_ones_are_not",),
    ),
    Mutant(
        "a run that has waited too long goes on",
        _VIEWS,
        "                raise Refused(self._not_done(left))\n",
        "                return\n",
        (f"{_OF_VIEWS}::test_a_wait_that_takes_too_long_names_the_reader",),
    ),
    Mutant(
        "after a failed step a run takes readers of the step before for granted",
        _VIEWS,
        "        self._seen &= frozenset(hidden)\n",
        "",
        (f"{_OF_VIEWS}::test_a_server_that_fails_stops_the_move_and_the_next_step_is_waited_for",),
    ),
    Mutant(
        "a policy of a killed run is taken for granted",
        _VIEWS,
        "        self._set: tuple[Hidden, ...] | None = None if is_left else ()\n",
        "        self._set: tuple[Hidden, ...] | None = ()\n",
        (f"{_OF_VIEWS}::test_a_run_that_hides_nothing_removes_left_policies_once",),
    ),
    Mutant(
        "a policy is created and not altered, so that it is not in force",
        _VIEWS,
        "                self._servers.execute(AlterPolicy(tables, table, condition))\n",
        "",
        (f"{_OF_VIEWS}::test_policies_come_change_and_go_and_are_waited_for",),
    ),
    Mutant(
        "one replica with a working policy is enough",
        _PREPARE,
        "            if problem:\n                return list(found), problem\n",
        "            if problem and not replicas:\n                return list(found), problem\n",
        (f"{_OF_PREPARE}::test_where_one_replica_cannot_have_a_policy_the_option_decides",),
    ),
    Mutant(
        "policies of a killed run may be left unseen",
        _PREPARE,
        "is_unknown = may_be_left or is_away\n",
        "is_unknown = is_away\n",
        (f"{_OF_PREPARE}::test_policies_that_may_be_left_and_cannot_be_found_stop_a_run",),
    ),
    Mutant(
        "a server that is away has no readers",
        _PREPARE,
        "is_unknown = may_be_left or is_away\n",
        "is_unknown = may_be_left\n",
        (f"{_OF_PREPARE}::test_a_server_that_is_away_may_have_readers",),
    ),
    Mutant(
        "records of other groups are forgotten",
        _RECORDED,
        "            records = {each: stored[each].record for each in stored if each not in without}\n",
        "            records = {each: stored[each].record for each in sorted(stored)[:1]}\n",
        (f"{_OF_RECORDED}::test_hooks_of_a_group_follow_all_records",),
        about_text=True,
    ),
    Mutant(
        "policies change without the lease",
        _RECORDED,
        "        confirm_lease(shard.hot, shard.lease, shard.shard_path)\n",
        "",
        (f"{_OF_RECORDED}::test_without_the_lease_no_policy_is_changed",),
    ),
    Mutant(
        "tables of the same name in several databases share a policy",
        _STATEMENTS,
        '    return f"{POLICY_PREFIX}{tables.shard_path}"\n',
        '    return f"{POLICY_PREFIX}{tables.hot.name}"\n',
        ("twin/readers/test_statements.py::test_the_name_is_that_of_the_shard_path",),
    ),
    Mutant(
        "a policy with an older name stays beside the new one",
        _VIEWS,
        "            if not is_created:\n                self._drop_older(tables, reading)\n",
        "",
        (f"{_OF_VIEWS}::test_a_policy_with_an_older_name_goes_before_the_new_one_comes",),
    ),
    Mutant(
        "after a failed removal the left policies are forgotten",
        _VIEWS,
        "        return not self._hides and self._set is not None\n",
        "        return not self._hides\n",
        (f"{_OF_VIEWS}::test_a_left_policy_that_could_not_be_removed_is_still_to_be_removed",),
    ),
    Mutant(
        "rows of this twin are hidden because of a record about another one",
        _RECORDED,
        "            if other is not None and not self._prepared.readers.has_nothing_to_do:\n",
        "            if other is not None and showing:\n",
        (f"{_OF_RECORDED}::test_records_of_another_twin_let_no_policy_change",),
    ),
    Mutant(
        "a move begins while a record is about another twin",
        "twin/move/run.py",
        "        if refusal is not None:\n            # Before a record of these",
        "        if refusal is not None and not partition_ids:\n            # Before a record of these",
        (_OF_ANOTHER_TWIN,),
    ),
    Mutant(
        "a record of another twin says that its merges were started",
        "twin/move/merges.py",
        "                if not problem_of_record(stored.record, shard.tables[0])\n",
        "",
        (_OF_ANOTHER_TWIN,),
    ),
)
