# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A part that its server would not drop is not attached."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    ActivityInProgress,
    Side,
)
from support.memory.twins import DAY, TwinBench, Twins


@pytest.mark.parametrize("destination", list(Side))
@pytest.mark.parametrize("most", [99, 100])
def test_a_part_that_the_server_would_not_drop_defers(destination: Side, most: int) -> None:
    """Each part has 100 bytes. Only the server that executes the statements compares."""
    bench = TwinBench(Twins(("a", "b"), ("c",), at=destination.other))
    at_rest = ActivityInProgress((), {}, {"default": 100}, 9e9)
    bench.servers.unrests = {
        "r1": at_rest._replace(most_bytes_to_drop=most),
        "r2": at_rest._replace(most_bytes_to_drop=1),
    }
    if most == 100:
        assert bench.run(destination).moved.keys() == {DAY}
        return
    refusal = bench.run(destination).deferred[DAY]
    assert refusal.gate is GateName.PARTS_DROPPABLE
    assert "has 100 bytes, and server of r1 drops parts of at most 99 bytes for this user" in refusal.reason
    assert "SYSTEM RELOAD CONFIG" in refusal.remedy
    assert not bench.servers.statements
    assert not bench.records
