# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A partition executes no statement without its lease, and waits for lagging replicas."""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side
from support.memory.interleaving import Script
from support.memory.twins import DAY, TwinBench, Twins


def test_a_run_waits_for_a_lagging_replica_only_between_the_tables() -> None:
    bench = TwinBench(Twins(("a",)))
    trace = Script()
    TwinBench(Twins(("a",))).run(Side.COLD, trace)
    hot = bench.twins.tables[Side.HOT]

    def late() -> None:
        bench.twins.insert(Side.HOT, ("late",))
        hot.late_on_r2.add(max(hot.parts))

    script = Script()
    script.actions[trace.last("servers drop")] = late
    report = bench.run(Side.COLD, script)
    assert report.deferred[DAY].gate is GateName.TWIN_EVEN
    assert bench.clock.now() > 4
    assert bench.records
    waited = bench.clock.now()
    assert bench.run(Side.COLD).deferred[DAY].gate is GateName.TWIN_EVEN
    assert bench.clock.now() > waited
    hot.late_on_r2.clear()
    assert bench.run(Side.COLD).moved.keys() == {DAY}


def test_no_statement_is_executed_after_the_lease_is_lost() -> None:
    bench = TwinBench(Twins(("a",)))
    trace = Script()
    TwinBench(Twins(("a",))).run(Side.COLD, trace)
    for statement in ("attach", "drop"):
        script = Script()
        number = trace.last(f"servers {statement}")
        script.actions[number - 1] = lambda: bench.hot.end_session(bench.hot._sessions)
        given = len(bench.servers.statements)
        bench.run(Side.COLD, script)
        # The lease was taken again, and the statement given once.
        assert bench.servers.statements[given:].count("attach to cold") <= 1
    assert bench.twins.rows == bench.twins.inserted
