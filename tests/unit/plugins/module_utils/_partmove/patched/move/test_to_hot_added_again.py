# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A replica that was replaced after its server was asked."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.probe import ActivePart
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.servers import AskServers
from support.memory.bench import DAY, Bench
from support.memory.probe import SimulatedProbe
from support.memory.reheating import cold_bench


class AddedAgain(SimulatedProbe):
    """A replica is dropped and added again right after its server has answered."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench.servers)
        self._bench = bench
        self.left = [True]

    def active_parts(
        self, shard_path: str, replica: str, host: str, partitions: Collection[str]
    ) -> Mapping[str, tuple[ActivePart, ...]]:
        found = super().active_parts(shard_path, replica, host, partitions)
        if replica == "r2" and self.left:
            self.left.pop()
            self._bench.servers.remove_replica("r2")
            self._bench.servers.add_replica("r2")
        return found


def test_nothing_comes_back_to_a_replica_that_was_added_again() -> None:
    """It has none of the parts that cold still has of its namesake."""
    bench = cold_bench()
    probe = AddedAgain(bench)
    bench.context = bench.context._replace(servers=AskServers(probe))

    report = bench.reheat(DAY)

    assert probe.left == []
    assert report.deferred[DAY].gate is GateName.QUIET_TABLE
    assert "added again under its name" in report.deferred[DAY].reason
    assert bench.hot.exists(bench.part("r2")) is None
