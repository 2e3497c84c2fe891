# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The outcome of a repair for the partitions of a shard path whose table has a cold twin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ...errors import PartMoveError
from ...gates.gate import Refusal
from ..move.tables import PartsOf, Side


class NotRepaired(NamedTuple):
    """Why a partition was not repaired, and the remedy."""

    reason: str
    remedy: str

    @classmethod
    def by(cls, why: PartMoveError | Refusal) -> NotRepaired:
        """Return the reason and the remedy of an error or a refusal."""
        reason = why.reason if isinstance(why, Refusal) else why.message
        return cls(reason, why.remedy)


class LeftAsIs(Exception):
    """The partition stays as it is, or as the statements so far left it; no row is missing."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(reason)
        self.why = NotRepaired(reason, remedy)


class RepairedTwin(NamedTuple):
    """A repaired partition; in check mode, a partition that a run would repair.

    what: what was done, for people.
    rows_before, rows_after: rows in each table, deleted rows that a merge has not removed yet included.
    kept: names of the parts that are in ``detached/`` now.
    """

    partition: str
    what: str
    rows_before: Mapping[Side, int]
    rows_after: Mapping[Side, int]
    kept: Mapping[Side, tuple[str, ...]]


@dataclass
class TwinRepairReport:
    """Each partition of the kind is in exactly one of the two once the repair is over.

    statements: the SQL statements that the run executed; in check mode, would execute.
    """

    shard_path: str
    repaired: dict[str, RepairedTwin] = field(default_factory=dict)
    left: dict[str, NotRepaired] = field(default_factory=dict)
    statements: list[str] = field(default_factory=list)
    records_removed: list[str] = field(default_factory=list)
    """Paths of the znodes of records that the repair removed."""
    error: PartMoveError | None = None
    """What a server does not let the user do; the remaining partitions are left then."""

    @property
    def is_changed(self) -> bool:
        """Whether the run changed anything; in check mode, whether it would."""
        return bool(self.statements or self.records_removed)


def rows_of(parts: PartsOf) -> dict[Side, int]:
    """Return the rows of the active parts of each table."""
    return {side: sum(part.content.rows for part in parts.on(side)) for side in Side}
