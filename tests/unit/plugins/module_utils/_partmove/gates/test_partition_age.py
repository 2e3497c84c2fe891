# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The age of a partition is that of its newest part, by the clock of the ensemble."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.gate import GateOptions
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.judge import refuse_partitions
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from support.memory.arrange import on_both
from support.memory.bench import DAY, Bench


def gate_of(bench: Bench) -> GateName | None:
    """Return the closed gate of a partition with a minimum age of 100 s and at most two parts."""
    look = bench.reader().read([DAY])
    options = GateOptions(min_age=100.0, max_parts=2)
    partitions = list(look.partitions.values())
    refused = refuse_partitions(look.shard, partitions, bench.clock.now(), options=options)
    return refused[DAY].gate if refused else None


@pytest.fixture
def bench() -> Bench:
    bench = Bench()
    bench.clock.sleep(1000.0)
    return bench


def test_all_parts_that_are_old_pass(bench: Bench) -> None:
    on_both(f"{DAY}_1_1_0")(bench)
    bench.clock.sleep(100.0)
    assert gate_of(bench) is None


def test_one_part_that_is_young_is_enough(bench: Bench) -> None:
    on_both(f"{DAY}_1_1_0")(bench)
    bench.clock.sleep(99.0)
    assert gate_of(bench) is GateName.OLD_ENOUGH


def test_a_part_from_the_future_has_no_age(bench: Bench) -> None:
    bench.hot_ensemble.set_time(bench.part("r2"), bench.clock.now() + 5000.0)
    assert gate_of(bench) is GateName.OLD_ENOUGH
