# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A replica on which merges cannot be started keeps no other replica from starting its merges."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.statements import SetMerges
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side
from support.memory.twins import DAY, REPLICAS, TwinBench, Twins


@pytest.mark.parametrize("failing", REPLICAS)
def test_merges_start_on_all_replicas_but_the_failing_one(failing: str) -> None:
    bench = TwinBench(Twins(("a", "b"), ("c",), at=Side.HOT))
    set_merges = bench.servers.set_merges

    def fail(statement: SetMerges) -> None:
        if statement.allowed and statement.tables.replica.name == failing:
            raise PartMoveError("it is down")
        set_merges(statement)

    bench.servers.set_merges = fail  # type: ignore[method-assign]
    report = bench.run(Side.COLD, stop_merges=True)

    assert report.deferred.keys() == {DAY}
    assert bench.twins.stopped == {failing}

    del bench.servers.set_merges
    assert bench.run(Side.COLD).moved.keys() == {DAY}
    assert not bench.twins.stopped
