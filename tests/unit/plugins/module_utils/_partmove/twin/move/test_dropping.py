# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Parts are dropped by their names, and parts inserted meanwhile stay."""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._partmove.journal.events import Event
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side
from support.memory.interleaving import Script
from support.memory.twins import DAY, TwinBench, Twins


def steps() -> Script:
    script = Script()
    TwinBench(Twins(("a",), ("b",))).run(Side.COLD, script)
    return script


def test_the_clone_of_a_merged_part_is_dropped_and_the_move_continues() -> None:
    bench = TwinBench(Twins(("a",), ("b",)))
    script = Script()
    first_drop = steps().trace.index("servers drop hot")
    # After the read that finds every clone, and before the clones are recorded.
    script.actions[first_drop - 3] = lambda: bench.twins.merge(Side.HOT)
    report = bench.run(Side.COLD, script)
    assert report.moved[DAY].parts == 1
    undone = bench.journal.of(Event.ATTACH_UNDONE)
    assert [row["parts"] for row in undone] == [[f"{DAY}_1_1_0", f"{DAY}_2_2_0"]]
    assert "were merged in the source" in str(undone[0]["reason"])
    assert bench.twins.rows == bench.twins.inserted


def test_each_part_is_named_in_the_record_before_it_is_dropped() -> None:
    trace = steps().trace
    at = trace.index("servers drop hot")
    assert any(each.startswith("hot commit /partmove/twins") for each in trace[at - 3 : at])
