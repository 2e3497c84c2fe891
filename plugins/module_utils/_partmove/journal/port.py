# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The protocol through which the domain writes a journal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from .events import Event


class Journal(Protocol):
    """A log of a run's actions, for people. No run reads the journal: the truth is in the two ensembles."""

    def record(self, event: Event, rows: Iterable[Mapping[str, object]]) -> None:
        """Append the event once for each row of fields, and return when all lines are on disk.

        If the journal is switched off, the iterable is not consumed.

        Raises PartMoveError if the lines cannot be written.
        """
