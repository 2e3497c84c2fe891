# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Mutants of the window that limits the operations in flight."""

from __future__ import annotations

from mutants.mutant import Mutant
from mutants.zookeeper_sync import AdapterMutant

_WINDOW = "_zookeeper/window.py"
_TESTS = "_zookeeper/test_window.py"
_LOOP = "_partmove/run/latency_loop.py"
_LOOP_TESTS = "_partmove/run/test_latency_loop.py"
_SIZES = "test_multis_have_as_many_operations_as_they_should_have_at_that_moment"

MUTANTS: tuple[Mutant, ...] = (
    AdapterMutant(
        "requests never wait for the window",
        _WINDOW,
        "while self._loop is not None and self._in_flight >= self._loop.size and is_connected():",
        "while False:",
        (f"{_TESTS}::test_two_requests_fit_into_a_window",),
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
)
