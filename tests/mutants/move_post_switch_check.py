# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of the aftermath: what is looked for after a switch, and when it is undone."""

from __future__ import annotations

from mutants.mutant import Mutant

_POST_SWITCH_CHECK = "patched/move/post_switch_check.py"
_LOOKS = "shard/reads.py"
_DETACHED = "patched/move/detached.py"

MUTANTS = (
    Mutant(
        "parts that hot has by now are not late",
        _POST_SWITCH_CHECK,
        "            elif registered:\n",
        "            elif registered and held:\n",
        ("patched/move/test_post_switch_check.py::test_what_was_dropped_since_does_not_come_back",),
    ),
    Mutant(
        "entries that wait are not late",
        _POST_SWITCH_CHECK,
        "entries = shard.pending.get(each)",
        "entries = shard.pending.get(shard.layout.path)",
        ("patched/move/test_to_cold.py::test_why_a_partition_was_not_moved[late_insert1]",),
    ),
    Mutant(
        "an added replica is ignored",
        _POST_SWITCH_CHECK,
        "if replica.name not in before.hot]",
        "if replica.name not in before.hot and not before.hot]",
        ("patched/move/test_post_switch_check.py::test_a_replica_that_is_added_right_after_the_switch",),
    ),
    Mutant(
        "inserts in flight are not late",
        _POST_SWITCH_CHECK,
        "held = read.block_numbers.in_flight.get(each)",
        "held = read.block_numbers.in_flight.get(shard.layout.path)",
        ("patched/move/test_post_switch_check.py::test_an_insert_that_holds_a_block_number_is_late",),
    ),
    Mutant(
        "locks of inserts are read last",
        _LOOKS,
        "self.block_numbers, self.parts, self.pending),",
        "self.parts, self.pending, self.block_numbers),",
        (
            (
                "patched/move/test_post_switch_check_order.py::test_an_insert_that_ends_right_before_its_lock_"
                "is_read"
            ),
        ),
    ),
    Mutant(
        "missing copies are ignored",
        _POST_SWITCH_CHECK,
        "return {each: paths for each, paths in gone.items() if paths}",
        "return {}",
        ("patched/move/test_to_cold.py::test_why_a_partition_was_not_moved[copies_kept]",),
    ),
    Mutant(
        "servers are not asked after the switch",
        _POST_SWITCH_CHECK,
        "failures = self._server_failures(asked, moved, detached_before)",
        "failures: dict[str, Refusal] = {}",
        (
            (
                "patched/move/test_post_switch_check.py::test_a_detached_part_is_reported_although_the_"
                "lease_was_lost_in_between"
            ),
        ),
    ),
    Mutant(
        "servers are asked after hot was read",
        _POST_SWITCH_CHECK,
        "        failures = self._server_failures(asked, moved, detached_before)\n"
        "        read = self._leased.read_names(sorted(switched))\n",
        "        read = self._leased.read_names(sorted(switched))\n"
        "        failures = self._server_failures(asked, moved, detached_before)\n",
        ("patched/move/test_post_switch_check_order.py::test_an_insert_while_the_servers_are_asked_is_late",),
    ),
    Mutant(
        "a switch is undone without the versions that were read",
        _POST_SWITCH_CHECK,
        ".commit([(partition_id, ops)], shard.fence)",
        ".commit([(partition_id, ops)])",
        (
            (
                "patched/move/test_post_switch_check_order.py::test_a_switch_is_not_undone_where_a_drop_"
                "is_assigned_i"
                "n_the_last_moment"
            ),
        ),
    ),
    Mutant(
        "a switch is undone although a drop waits",
        _POST_SWITCH_CHECK,
        "if now.state is None or any(entry.kind is not EntryKind.GET for entry in pending):",
        "if now.state is None:",
        ("patched/move/test_to_cold.py::test_why_a_partition_was_not_moved[late_insert1]",),
    ),
    Mutant(
        "a switch is undone although its copies are gone",
        _POST_SWITCH_CHECK,
        "if gone or not self._leased.hot.room(shard.fence).holds(ops):",
        "if not self._leased.hot.room(shard.fence).holds(ops):",
        ("patched/move/test_post_switch_check.py::test_what_was_dropped_since_does_not_come_back",),
    ),
    Mutant(
        "a switch counts as undone when State is HOT",
        _POST_SWITCH_CHECK,
        "                return all(\n"
        "                    is_covered(part.name, [each.name for each in "
        "now.hot[part.replica]]) for part in parts\n"
        "                )\n",
        "                return True\n",
        ("patched/move/test_post_switch_check_order.py::test_state_alone_does_not_make_a_switch_undone",),
    ),
    Mutant(
        "a switch that was not undone is reported as undone",
        _POST_SWITCH_CHECK,
        "            if undone:\n",
        "            if undone or late:\n",
        ("patched/move/test_post_switch_check.py::test_what_was_dropped_since_does_not_come_back",),
    ),
    Mutant(
        "a switch is undone once only, whatever comes in between",
        _POST_SWITCH_CHECK,
        "_ATTEMPTS = 100",
        "_ATTEMPTS = 1",
        ("patched/move/test_post_switch_check_order.py::test_a_switch_is_undone_although_the_table_is_busy",),
    ),
    Mutant(
        "a server that does not answer has detached nothing",
        _DETACHED,
        "return dict.fromkeys(owners.values(), server_silent(error)) | failures",
        "return failures",
        ("patched/move/test_detached.py::test_a_server_that_is_silent_leaves_every_partition_open",),
    ),
    Mutant(
        "a detached part is known by its bare name only",
        _DETACHED,
        "partition_id = owners.get(name) or owners.get(detached_part(name))",
        "partition_id = owners.get(name)",
        (
            (
                "patched/move/test_detached.py::test_a_folder_that_is_new_is_of_its_partition[unexpected_all_"
                "0_0_0]"
            ),
        ),
    ),
    Mutant(
        "what is in detached is not compared",
        _DETACHED,
        "for name in sorted(now[replica] - before[replica]):",
        "for name in sorted(now[replica] & before[replica]):",
        ("patched/move/test_detached.py::test_a_folder_that_was_there_before_is_nobody_s_fault",),
    ),
    Mutant(
        "a switch is undone although the servers have other parts by now",
        _POST_SWITCH_CHECK,
        "            if self._servers.lacking(shard, parts):\n                return False\n",
        "",
        ("patched/move/test_post_switch_check.py::test_what_was_replaced_since_does_not_come_back",),
    ),
)
