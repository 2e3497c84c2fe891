# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The report of a repair."""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.gate import Refusal
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    PartContent,
    PartsOf,
    Side,
    TwinPart,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.repair.report import (
    NotRepaired,
    TwinRepairReport,
    rows_of,
)


def test_reason_is_that_of_an_error_or_a_refusal() -> None:
    assert NotRepaired.by(PartMoveError("why", remedy="what to do")) == ("why", "what to do")
    assert NotRepaired.by(Refusal(GateName.TWIN_EVEN, "why", "what to do")) == ("why", "what to do")


def test_report_is_changed_by_statements_and_removed_records() -> None:
    assert not TwinRepairReport("/a").is_changed
    assert TwinRepairReport("/a", statements=["x"]).is_changed
    assert TwinRepairReport("/a", records_removed=["x"]).is_changed


def test_rows_of_each_table() -> None:
    parts = (TwinPart("a", PartContent(2, "", "")), TwinPart("b", PartContent(3, "", "")))
    assert rows_of(PartsOf(parts, parts[:1])) == {Side.HOT: 5, Side.COLD: 2}
