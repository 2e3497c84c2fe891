# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of the window that limits the operations in flight, and of the slots at servers."""

from __future__ import annotations

from mutants.mutant import Mutant
from mutants.zookeeper_sync import AdapterMutant

_WINDOW = "_zookeeper/window.py"
_TESTS = "_zookeeper/test_window.py"
_LOOP = "_partmove/run/latency_loop.py"
_LOOP_TESTS = "_partmove/run/test_latency_loop.py"
_SLOTS = "_partmove/run/slots.py"
_SLOT_TESTS = "_partmove/run/test_slots.py"
_RUN_TESTS = "_partmove/twin/move/test_run.py"
_SIZES = "test_multis_have_as_many_operations_as_they_should_have_at_that_moment"

MUTANTS: tuple[Mutant, ...] = (
    AdapterMutant(
        "requests never wait for the window",
        _WINDOW,
        "while self._is_full() and is_connected():",
        "while False:",
        (f"{_TESTS}::test_two_requests_fit_into_a_window",),
    ),
    AdapterMutant(
        "what is on the network counts in the window",
        _WINDOW,
        "self._in_flight >= self._loop.size + self._on_the_way",
        "self._in_flight >= self._loop.size",
        (f"{_TESTS}::test_what_is_on_the_network_fits_besides",),
    ),
    AdapterMutant(
        "the farther an ensemble, the more is in flight, without a bound",
        _WINDOW,
        "min(distance, _FARTHEST_SECONDS)",
        "distance",
        (f"{_TESTS}::test_the_network_holds_more_the_farther_the_ensemble_is_up_to_a_bound",),
    ),
    AdapterMutant(
        "the window grows however late answers are",
        _LOOP,
        "        if most > 1:\n",
        "        if False:\n",
        (f"{_LOOP_TESTS}::test_the_size_shrinks_to_the_smallest_while_the_ensemble_is_slow",),
    ),
    AdapterMutant(
        "the window grows while nothing is in flight",
        _LOOP,
        "elif in_progress >= self.size / 2:",
        "else:",
        (f"{_LOOP_TESTS}::test_a_size_that_is_not_used_does_not_grow",),
    ),
    AdapterMutant(
        "one late answer shrinks the window",
        _LOOP,
        "[-_LATENCIES:])[-2]",
        "[-_LATENCIES:])[-1]",
        (f"{_LOOP_TESTS}::test_a_single_late_answer_has_no_effect",),
    ),
    AdapterMutant(
        "multis are as large as they may be",
        "_partmove/tree/multi_batches.py",
        "            most = min(MAX_OPS, ops_at_once())\n",
        "",
        (f"_partmove/tree/test_multi_batches.py::{_SIZES}",),
    ),
    AdapterMutant(
        "shard paths never wait for a slot",
        _SLOTS,
        "return loop is None or self._taken[server] + 1 <= loop.size",
        "return True",
        (f"{_SLOT_TESTS}::test_many_threads_never_take_more_than_there_are",),
    ),
    AdapterMutant(
        "a part of a slot counts as a slot",
        _SLOTS,
        "self._taken[server] + 1 <= loop.size",
        "self._taken[server] < loop.size",
        (f"{_SLOT_TESTS}::test_only_whole_slots_are_taken",),
    ),
    AdapterMutant(
        "a shard path overtakes one that has waited longer for a slot",
        _SLOTS,
        "                if servers & wanted:\n",
        "                if False:\n",
        (f"{_SLOT_TESTS}::test_who_waits_first_is_served_first",),
    ),
    AdapterMutant(
        "a group of partitions takes no slot",
        "_partmove/twin/move/run.py",
        "with self._slots([each.replica for each in self._tables]):",
        "if True:",
        (f"{_RUN_TESTS}::test_partitions_move_within_a_slot_of_their_servers",),
    ),
    AdapterMutant(
        "a server that fails quickly counts as quick",
        "_clickhouse/server_slots.py",
        "return max(_FAILED_SECONDS, time.monotonic() - begin)",
        "return time.monotonic() - begin",
        (
            "_clickhouse/test_server_slots.py::test_a_server_that_fails_has_fewer_slots_however_quickly_it_fails",
        ),
    ),
)
