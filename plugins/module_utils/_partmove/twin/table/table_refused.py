# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Refusals of whole tables, with the name of the gate."""

from __future__ import annotations

from ...errors import LeaseHeld, LeaseLost, PartMoveError
from ...gates.gate import Refusal
from ...gates.names import GateName
from ...run.under_lease import gate_of
from ..move.gates import server_failed


class TableRefused(PartMoveError):
    """A gate refuses to move a whole table or to exchange its names."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.reason, remedy=refusal.remedy)
        self.refusal = refusal


def refusal_of(error: PartMoveError) -> Refusal:
    """Return the refusal of a table whose move ended with the error; `TWIN_READY` if no other gate fits."""
    if isinstance(error, TableRefused):
        return error.refusal
    if isinstance(error, LeaseHeld):
        return Refusal(gate_of(error), error.message, error.remedy)
    if isinstance(error, LeaseLost):
        return Refusal(GateName.LOCK_KEPT, error.message, error.remedy)
    return server_failed(error)
