# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each of several things that close one gate closes it alone, and nothing is written."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from support.memory.arrange import Arrange, create, delete, quorum
from support.memory.bench import DAY, PART, PATH, Bench

CASES: dict[str, tuple[GateName, Arrange]] = {
    "no is_lost on r1": (GateName.REPLICAS_HEALTHY, delete("replicas/r1/is_lost")),
    "no is_lost on r2": (GateName.REPLICAS_HEALTHY, delete("replicas/r2/is_lost")),
    "quorum status": (GateName.NO_QUORUM_OPEN, create("quorum/status", quorum(PART))),
    "parallel quorum": (GateName.NO_QUORUM_OPEN, create(f"quorum/parallel/{PART}", quorum(PART))),
    "failed quorum": (GateName.NO_QUORUM_OPEN, create(f"quorum/failed_parts/{DAY}_5_5_0")),
}


@pytest.mark.parametrize(("gate", "arrange"), CASES.values(), ids=CASES)
def test_a_gate_is_closed_by_one_of_its_reasons(gate: GateName, arrange: Arrange) -> None:
    bench = Bench()
    arrange(bench)
    before = [each.data(PATH) for each in (bench.hot_ensemble, bench.cold_ensemble)]

    report = bench.move()

    assert report.deferred[DAY].gate is gate
    assert not report.moved
    assert [each.data(PATH) for each in (bench.hot_ensemble, bench.cold_ensemble)] == before
