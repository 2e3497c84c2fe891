# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decides whether a record is about the tables that a run has found."""

from __future__ import annotations

from collections.abc import Mapping

from ...gates.gate import Refusal
from ...gates.names import GateName
from .record import TwinRecord
from .tables import TwinTables


def problem_of_record(record: TwinRecord, tables: TwinTables) -> str:
    """Return why a record is about other tables than these; "" if it is about these."""
    if (record.hot, record.cold) == (tables.hot.place, tables.cold.place):
        return ""
    return (
        f"its record is about a move between {record.hot} and {record.cold}, and these tables are"
        f" {tables.hot.place} and {tables.cold.place}"
    )


def refuse_other_pair(records: Mapping[str, TwinRecord], tables: TwinTables) -> Refusal | None:
    """Return why no move may begin between the tables, as long as a record is about another twin.

    A shard path has the ledger and the row policies of one twin at a time.
    """
    for each in sorted(records):
        problem = problem_of_record(records[each], tables)
        if problem:
            return Refusal(
                GateName.TWIN_WHOLE,
                f"partition {each}: {problem}",
                "Run twin_audit_info, and follow the remedy of its finding before anything is moved",
            )
    return None
