# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The result of a restore: what was done with each row of the backup."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .backup import SavedZnode
from .case import NotRepaired
from .restore_rows import Action, Row


class RestoredRow(NamedTuple):
    """A znode of the backup, and what was done with it."""

    ensemble: str
    path: str
    action: Action
    reason: str = ""
    """Why the znode was left as it is."""
    remedy: str = ""


@dataclass
class RestoreReport:
    """The result, even if the restore ended with an error: then without the rows that it did not reach."""

    rows: list[RestoredRow] = field(default_factory=list)

    def of(self, action: Action) -> list[RestoredRow]:
        """Return the rows with the action, by ensemble and path."""
        return sorted(row for row in self.rows if row.action is action)

    def add(self, rows: Sequence[Row], why: NotRepaired | None = None) -> None:
        """Add rows with their actions; with ``why``, rows to write are left as they are."""
        for row in rows:
            saved = row.saved
            if why is None or row.action is Action.UNCHANGED:
                self.rows.append(RestoredRow(saved.ensemble, saved.path, row.action))
            else:
                self.leave(saved, why)

    def leave(self, saved: SavedZnode, why: NotRepaired) -> None:
        """Add a row that is left as it is."""
        self.rows.append(RestoredRow(saved.ensemble, saved.path, Action.LEFT, why.reason, why.remedy))
