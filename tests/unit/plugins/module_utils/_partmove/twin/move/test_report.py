# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A report has each partition once, and writes deferred partitions to the journal."""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.gate import Refusal
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.journal.events import Event
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.report import (
    MovedTwin,
    TwinReport,
)
from support.memory.moves import ListJournal

REFUSAL = Refusal(GateName.TWIN_EVEN, "a reason", "a remedy")


def test_partitions_without_an_outcome_are_open() -> None:
    report = TwinReport("/a", deferred={"2": REFUSAL}, failed={"3": REFUSAL}, unchanged={"4"})
    assert not report.is_changed
    report.moved["1"] = MovedTwin("1", 1, 2, 3, (), None)
    assert report.open(["5", "4", "3", "2", "1", "0"]) == ["5", "0"]
    assert report.is_changed


def test_a_statement_without_effect_is_a_change() -> None:
    assert TwinReport("/a", deferred={"2": REFUSAL}, touched={"2"}).is_changed


def test_the_journal_gets_partitions_that_stayed() -> None:
    journal = ListJournal()
    TwinReport("/a", deferred={"2": REFUSAL, "1": REFUSAL}, failed={"3": REFUSAL}).record_refusals(journal)
    row = {"shard_path": "/a", "gate": "twin_even", "reason": "a reason"}
    assert journal.of(Event.DEFERRED) == [{**row, "partition": "1"}, {**row, "partition": "2"}]
    assert journal.of(Event.FAILED) == [{**row, "partition": "3"}]
