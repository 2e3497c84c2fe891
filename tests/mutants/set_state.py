# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of setting State without moving anything."""

from __future__ import annotations

from mutants.mutant import Mutant

_STATE = "patched/move/set_state.py"

_WAITING = "patched/move/test_set_state_refusals.py::test_state_is_refused_while_an_entry_waits_that_reads_it"

MUTANTS = (
    Mutant(
        "State is set although a drop was assigned before the lease",
        _STATE,
        "            self._refuse_waiting(read, partition, desired)\n",
        "",
        (f"{_WAITING}[under the lease]",),
    ),
    Mutant(
        "State is set whatever the servers have",
        _STATE,
        "        if refusal is not None:\n            raise self._refused(partition.partition_id",
        "        if refusal is not None and self._servers.asks is None:\n"
        "            raise self._refused(partition.partition_id",
        ("patched/move/test_set_state.py::test_state_is_not_cold_where_no_server_has_the_parts",),
    ),
    Mutant(
        "servers are asked before the lease only",
        _STATE,
        "            self._refuse_disks(read, partition, desired)\n            path",
        "            path",
        ("patched/move/test_set_state_refusals.py::test_the_servers_are_asked_again_under_the_lease",),
    ),
    Mutant(
        "servers are asked for what hot registers, where State is to be COLD",
        _STATE,
        "expected = replace(partition, hot=partition.cold) if desired is State.COLD else partition",
        "expected = partition",
        ("patched/move/test_set_state.py::test_state_is_not_cold_where_no_server_has_the_parts",),
    ),
    Mutant(
        "State is COLD with parts in hot",
        _STATE,
        "        if in_hot:\n",
        "        if len(in_hot) > len(names.hot):\n",
        ("patched/move/test_set_state.py::test_a_part_that_arrives_in_the_last_moment_is_seen_afterwards",),
    ),
    Mutant(
        "State is COLD without parts in cold",
        _STATE,
        "if locate(names) is Location.ABSENT:",
        "if locate(names) is Location.MIXED:",
        ("patched/move/test_set_state_refusals.py::test_cold_is_refused_where_cold_has_no_part",),
    ),
    Mutant(
        "State is COLD with other parts on each replica",
        _STATE,
        "if not names.are_even_in_cold:",
        "if not names.cold:",
        (
            "patched/move/test_set_state_refusals.py::test_cold_is_refused_where_the_replicas_have_other_parts_in_cold",
        ),
    ),
    Mutant(
        "State is HOT with parts in cold only",
        _STATE,
        "        if only_cold:\n",
        "        if only_cold and not names.is_cold:\n",
        ("patched/move/test_set_state_refusals.py::test_hot_is_refused_while_cold_alone_has_the_parts",),
    ),
    Mutant(
        "State is HOT with another ensemble for cold",
        _STATE,
        "if names.is_cold and not read.shard.binding.is_proven:",
        "if names.is_cold and read.shard.binding is None:",
        (
            "patched/move/test_set_state.py::test_hot_needs_a_cold_ensemble_that_says_it_is_the_one_of_the_table",
        ),
    ),
    Mutant(
        "State is set whatever happened since it was judged",
        _STATE,
        "leased.hot.commit([(partition_id, [op])], read.shard.fence)",
        "leased.hot.commit([(partition_id, [op])])",
        ("patched/move/test_set_state.py::test_a_table_that_does_not_come_to_rest_is_left_alone",),
    ),
    Mutant(
        "State is judged before the lease only",
        _STATE,
        "            partition = self._checked(read, partition_id, desired)\n            if _has_state",
        "            partition = read.partitions[partition_id]\n            if _has_state",
        ("patched/move/test_set_state.py::test_a_part_that_arrives_in_the_last_moment_is_seen_afterwards",),
    ),
    Mutant(
        "servers are asked nothing where they vouch for State HOT",
        _STATE,
        "        if self._servers.asks:\n            return\n",
        "        if not self._servers.asks:\n            return\n",
        ("patched/move/test_set_state.py::test_the_leftovers_of_a_drop_have_a_remedy[copied_then_dropped]",),
    ),
    Mutant(
        "State is COLD by what another cold ensemble registers",
        _STATE,
        "any_cold = desired is State.HOT and self._servers.asks",
        "any_cold = self._servers.asks",
        ("patched/move/test_set_state_another_cold.py",),
    ),
    Mutant(
        "State is HOT with another cold ensemble although no server is asked",
        _STATE,
        "any_cold = desired is State.HOT and self._servers.asks",
        "any_cold = desired is State.HOT",
        ("patched/move/test_set_state_another_cold.py",),
    ),
    Mutant(
        "State is set with any cold ensemble",
        _STATE,
        "any_cold = desired is State.HOT and self._servers.asks",
        "any_cold = True",
        ("patched/move/test_set_state_another_cold.py",),
    ),
)
