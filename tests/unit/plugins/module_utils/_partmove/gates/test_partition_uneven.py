# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Replicas with as many parts that are not the same ones: such a partition is never switched."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from support.memory.arrange import Arrange, both, create, delete
from support.memory.bench import DAY, PART, PATH, Bench
from support.memory.synthetic import MINIMALISTIC
from support.memory.tables import TableOptions

LATER = f"{DAY}_1_1_0"


@pytest.mark.parametrize(
    "arrange",
    [
        both(delete(f"replicas/r2/parts/{PART}"), create(f"replicas/r2/parts/{LATER}", MINIMALISTIC)),
        create(f"replicas/r2/parts/{LATER}", MINIMALISTIC),
        delete(f"replicas/r1/parts/{PART}"),
        delete(f"replicas/r2/parts/{PART}"),
    ],
    ids=["as many", "one more", "none on the first", "none on the last"],
)
def test_a_partition_with_other_parts_on_each_replica_stays_hot(arrange: Arrange) -> None:
    bench = Bench()
    arrange(bench)
    before = [each.data(PATH) for each in (bench.hot_ensemble, bench.cold_ensemble)]

    report = bench.move()

    assert report.deferred[DAY].gate is GateName.EQUAL_PARTS
    assert not report.moved
    assert [each.data(PATH) for each in (bench.hot_ensemble, bench.cold_ensemble)] == before


def test_the_third_replica_counts_as_well() -> None:
    bench = Bench(TableOptions(partitions=(DAY,), replicas=("r1", "r2", "r3")))
    both(delete(f"replicas/r3/parts/{PART}"), create(f"replicas/r3/parts/{LATER}", MINIMALISTIC))(bench)

    assert bench.move().deferred[DAY].gate is GateName.EQUAL_PARTS
