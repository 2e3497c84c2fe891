# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The port to those who query both tables while a group of partitions is in both of them.

A group calls the port, also when a later run finishes the records of a killed run:

1. ``before_attach``, after the records are written and before the ATTACH, and again before an undo drops
   clones. What comes has to be hidden.
2. ``before_drop``, after every replica has all clones and before the first DROP PART of these partitions.
   What goes has to be hidden instead. Afterwards the group reads once more whether anything changed.
3. ``before_removal``, before records are removed: nothing of these partitions is in both tables any more. So
   rows are hidden only while a record says so.
4. ``after``, once the group does nothing more. What is left is between the tables until a later run.

Every call names all partitions of the group with a record, so an implementation may compute what to hide from
the records alone, whatever a killed run left behind.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

from ...gates.gate import Refusal
from .record import TwinRecord
from .tables import TwinTables


class ReadersSeen(NamedTuple):
    """What readers of both tables saw during moves.

    tables: names of the tables whose readers saw each row once.
    reason: why readers of reading tables saw rows twice; "" if they did not, or if there is no such table.
    left: why rows may still be hidden after the moves; "" if none is.
    """

    tables: tuple[str, ...] = ()
    reason: str = ""
    left: str = ""


class Readers(Protocol):
    """Hides rows that are in both tables from readers. Raises PartMoveError if a server fails."""

    def before_attach(
        self, tables: Sequence[TwinTables], moving: Mapping[str, TwinRecord], going: Collection[str]
    ) -> Refusal | None:
        """Hide the clones that an ATTACH adds or an undo drops; return why the group must do neither.

        tables: of every replica. moving: partition id → record, of the whole group. going: the partitions
        whose recorded parts were hidden by `before_drop` and may be dropped already.
        """

    def before_drop(
        self, tables: Sequence[TwinTables], moving: Mapping[str, TwinRecord], going: Collection[str]
    ) -> Refusal | None:
        """Show the clones of the partitions ``going``, and hide their recorded parts in the source instead.

        Returns why the group must not drop yet. Its records stay then, and a later run goes on.
        """

    def before_repair(self, tables: Sequence[TwinTables]) -> Refusal | None:
        """Show everything of partitions whose records a repair works on, and wait for earlier readers.

        Returns why the repair must not change the tables yet.
        """

    def before_removal(self, tables: Sequence[TwinTables], removed: Collection[str]) -> Refusal | None:
        """Hide nothing of these partitions any more; return why their records must stay."""

    def after(self, tables: Sequence[TwinTables], left: Mapping[str, TwinRecord]) -> None:
        """Show everything again, but for partitions that are left between the tables with their records."""

    def seen(self) -> ReadersSeen:
        """Return what readers saw so far."""


class NoReaders:
    """Implements Readers: hides nothing."""

    def before_attach(
        self, tables: Sequence[TwinTables], moving: Mapping[str, TwinRecord], going: Collection[str]
    ) -> Refusal | None:
        """Hide nothing."""
        del tables, moving, going
        return None

    def before_drop(
        self, tables: Sequence[TwinTables], moving: Mapping[str, TwinRecord], going: Collection[str]
    ) -> Refusal | None:
        """Hide nothing."""
        del tables, moving, going
        return None

    def before_repair(self, tables: Sequence[TwinTables]) -> Refusal | None:
        """Hide nothing."""
        del tables
        return None

    def before_removal(self, tables: Sequence[TwinTables], removed: Collection[str]) -> Refusal | None:
        """Hide nothing."""
        del tables, removed
        return None

    def after(self, tables: Sequence[TwinTables], left: Mapping[str, TwinRecord]) -> None:
        """Do nothing."""
        del tables, left

    def seen(self) -> ReadersSeen:
        """Return that nothing was hidden."""
        return ReadersSeen()
