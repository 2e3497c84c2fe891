# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a run writes into its journal of partitions that it did not move."""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.gate import Refusal
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.journal.events import Event
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.report import ShardReport
from ansible_collections.olap.partmove.plugins.module_utils._partmove.run.report import record_refusals
from support.memory.bench import DAY, OTHER, PATH
from support.memory.moves import ListJournal

REFUSAL = Refusal(GateName.POST_SWITCH_CHECK, "it is so", "Do this")


def test_refusals_are_told_sorted() -> None:
    journal = ListJournal()
    record_refusals(
        journal, ShardReport(PATH, deferred={OTHER: REFUSAL, DAY: REFUSAL}, failed={"x": REFUSAL})
    )
    common = {"shard_path": PATH, "gate": "post_switch_check", "reason": "it is so"}
    assert journal.events == [
        (Event.DEFERRED, {**common, "partition": DAY}),
        (Event.DEFERRED, {**common, "partition": OTHER}),
        (Event.FAILED, {**common, "partition": "x"}),
    ]
