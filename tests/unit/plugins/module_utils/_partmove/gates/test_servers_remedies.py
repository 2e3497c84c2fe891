# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an operator is advised to do about a server with other parts than are registered."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.servers import AskServers
from support.memory.arrange import create
from support.memory.bench import DAY, PART, PATH, Bench
from support.memory.probe import SimulatedProbe


@pytest.mark.parametrize("is_in_hot", [False, True])
def test_a_partition_of_which_cold_alone_has_parts_is_not_to_be_checked(is_in_hot: bool) -> None:
    """Whatever State is: CHECK TABLE would detach the part, and no server can fetch it."""
    bench = Bench()
    bench.move()
    bench.hot.set(f"{PATH}/block_numbers/{DAY}/State", b"HOT")
    if is_in_hot:
        for replica in ("r1", "r2"):
            create(f"replicas/{replica}/parts/{PART}", bench.cold.get(bench.part(replica))[0])(bench)
        bench.servers.disk["r2"].discard(PART)
    shard, found = bench.reader().read([DAY])

    refused = AskServers(SimulatedProbe(bench.servers)).refusals(shard, list(found.values()))

    assert ("do not restart the server nor CHECK the table: set State to COLD" in refused[DAY].remedy) is (
        not is_in_hot
    )
