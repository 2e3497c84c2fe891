# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an error of a server means for a partition under the lease of a repair."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...errors import EnsembleError, LeaseLost, NotPermitted, PartMoveError, UserRefused
from ...gates.gate import Refusal
from .report import LeftAsIs

AGAIN = "Run twin_repair again while nothing is inserted into the partition, merged or mutated"


@contextmanager
def left_on_error() -> Iterator[None]:
    """Raise LeftAsIs on an error of a server. The next run compares the tables as they are then.

    What a server does not let the user do is an error of the run: no partition can be repaired.
    """
    try:
        yield
    except (LeaseLost, EnsembleError, NotPermitted, UserRefused):
        raise
    except PartMoveError as error:
        raise LeftAsIs(error.message, error.remedy or AGAIN) from None


def leave_if_refused(refusal: Refusal | None) -> None:
    """Raise LeftAsIs for a refusal."""
    if refusal is not None:
        raise LeftAsIs(refusal.reason, refusal.remedy)
