# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decides whether a statement has changed one of the two tables since a partition was recorded.

Why a mutation is neither lost nor applied twice, if it runs on the source and on the destination:

- Added to a table before the record: the record names it, and the gates refuse it until it is done.
- Added after the record and before this check: the check finds it, and the run drops the clones.
- Added after this check: the clones exist already, so the mutation of the destination rewrites them. In the
  source it either rewrites a recorded part before its DROP PART, or finds the part gone. A rewritten part has
  another name, so its DROP PART fails, and the run drops its clone.

The same holds for patch parts of lightweight updates and for changes of the structure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...gates.gate import Refusal
from ...gates.names import GateName
from ...text import first_few
from .record import TwinRecord
from .tables import PairMarks, Side, TwinTables


def change_since(
    record: TwinRecord, tables: Sequence[TwinTables], found: Sequence[PairMarks], partition_id: str
) -> str:
    """Return what has changed since the record, for people; "" if nothing has.

    tables, found: of every replica, in the same order.
    """
    if record.marks is None:
        return "an earlier release recorded it, without what a change could be told by"
    changes = [
        f"{each.server}: {change}"
        for each, marks in zip(tables, found)
        for change in _changes_on(record.marks, each, marks, partition_id)
    ]
    return first_few(changes)


def _changes_on(
    recorded: PairMarks, tables: TwinTables, found: PairMarks, partition_id: str
) -> Iterator[str]:
    for side in Side:
        table, before, now = tables.on(side), recorded.on(side), found.on(side)
        if now.structure != before.structure:
            yield f"the structure of {table} has changed"
        if now.mutation > before.mutation:
            yield f"{table} got the mutation {now.mutation}"
        patches = sorted({*now.patches} - {*before.patches})
        if patches:
            yield f"{table} got the patch part {first_few(patches)}"
    for each in ("", partition_id):
        yield from found.queued.get(each, ())


def refuse_change(change: str) -> Refusal:
    """Return the refusal of a partition whose clones were dropped because of a change."""
    return Refusal(
        GateName.TWIN_AT_REST,
        f"it changed during its move, and the clones were dropped: {change}",
        "Run again once the statement has run on both tables and is done (system.mutations)",
    )


def refuse_unlike(tables: Sequence[TwinTables], found: Sequence[PairMarks]) -> Refusal | None:
    """Return why no partition may be recorded: the structure of a table differs; None if all are alike."""
    for each, marks in zip(tables, found):
        for side in Side:
            if marks.on(side).structure != found[0].hot.structure:
                return Refusal(
                    GateName.TWIN_ALIKE,
                    f"{each.server}: {each.on(side)} no longer has the structure of {tables[0].hot} on"
                    f" {tables[0].server}",
                    "Run the same ALTER on the other table, and run again",
                )
    return None


def newest(found: Sequence[PairMarks]) -> PairMarks:
    """Return the marks to record: the newest that any replica has, without what is queued."""
    hot, cold = (
        found[0]
        .on(side)
        ._replace(
            mutation=max(marks.on(side).mutation for marks in found),
            log=max(marks.on(side).log for marks in found),
        )
        for side in Side
    )
    return PairMarks(hot, cold)
