# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a run writes into its journal of partitions that it did not move."""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.gate import Refusal
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.journal.events import Event
from ansible_collections.olap.partmove.plugins.module_utils._partmove.run.report import RunReport
from support.memory.bench import DAY, OTHER, PATH
from support.memory.moves import ListJournal

REFUSAL = Refusal(GateName.POST_SWITCH_CHECK, "it is so", "Do this")


def test_refusals_are_journalled_sorted() -> None:
    journal = ListJournal()
    report: RunReport[None] = RunReport(PATH, deferred={OTHER: REFUSAL, DAY: REFUSAL}, failed={"x": REFUSAL})
    report.record_refusals(journal)
    common = {"shard_path": PATH, "gate": "post_switch_check", "reason": "it is so"}
    assert journal.events == [
        (Event.DEFERRED, {**common, "partition": DAY}),
        (Event.DEFERRED, {**common, "partition": OTHER}),
        (Event.FAILED, {**common, "partition": "x"}),
    ]


def test_partitions_without_an_outcome_are_open() -> None:
    report: RunReport[str] = RunReport(PATH, moved={"1": "row"}, unchanged={"2"}, failed={"4": REFUSAL})
    assert report.open(["5", "4", "3", "2", "1"]) == ["5", "3"]
    report.defer_open(["1", "3"], REFUSAL)
    assert report.deferred == {"3": REFUSAL}
    assert report.open(["5", "3"]) == ["5"]


def test_a_report_is_changed_by_what_was_moved_or_touched() -> None:
    assert not RunReport[str](PATH, unchanged={"1"}, deferred={"2": REFUSAL}).is_changed
    assert RunReport(PATH, moved={"1": "row"}).is_changed
    assert RunReport[str](PATH, deferred={"2": REFUSAL}, touched={"2"}).is_changed
