# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the domain asks of a journal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

from .events import Event


class Journal(Protocol):
    """A record for people of what a run does. Nothing depends on it: the truth is in the two ensembles."""

    def record(self, event: Event, rows: Iterable[Mapping[str, object]]) -> None:
        """Append the event once for each row of fields; all of them are on disk when this returns.

        Raises PartMoveError where they cannot be. Where nobody wants a journal, no row is asked for.
        """
