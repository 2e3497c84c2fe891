# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Nothing that is read is older than the call, also where members are behind."""

from __future__ import annotations

import pytest

from support.memory.arrange import create_cold
from support.memory.behind import lag
from support.memory.bench import DAY, PART, Bench


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_hot_catches_up_first(bench: Bench) -> None:
    hot, _cold = lag(bench)
    hot.fall_behind()
    bench.servers.insert(DAY)

    look = bench.reader().look([DAY])

    assert look.partitions[DAY].names.hot["r1"] == [PART, f"{DAY}_2_2_0"]
    assert look.shard.pending.keys() == {DAY}


def test_cold_catches_up_first(bench: Bench) -> None:
    _hot, cold = lag(bench)
    cold.fall_behind()
    create_cold(f"replicas/r1/parts/{PART}")(bench)

    look = bench.reader().look([DAY])

    assert look.partitions[DAY].names.cold["r1"] == [PART]
    assert look.shard.has_parts_in_cold
