# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The moment to decide for. Files know no change after their last one, so it may not be later."""

from __future__ import annotations

import argparse
from typing import NamedTuple

from olap_partmove._partmove.errors import PartMoveError
from olap_partmove._partmove.text import format_time

from .arguments import now_ms
from .progress import log_line

# Tolerated clock difference: the current time of another host is not a future moment.
_CLOCKS_DIFFER_MS = 60_000


class Moment(NamedTuple):
    """The moment to decide for, and the last change in the files of hot, in milliseconds since 1970.

    last_change: None for running ensembles.
    """

    as_of: int
    last_change: int | None

    def described(self, source: str) -> str:
        """Return the source for the header of the plan, with the last change of files."""
        if self.last_change is None:
            return source
        return f"{source} last_change={format_time(self.last_change)}"


def check_moment(arguments: argparse.Namespace) -> None:
    """Reject a future moment: partitions changing until then would count as unchanged."""
    if arguments.as_of is None or arguments.future:
        return
    if arguments.as_of > now_ms() + _CLOCKS_DIFFER_MS:
        raise PartMoveError(
            "The moment to decide for is in the future: partitions that change until then would count as"
            " unchanged",
            remedy="Omit the moment, or allow it with --future (role: partition_classify_future)",
        )


def moment_of(arguments: argparse.Namespace, last_change: int | None) -> Moment:
    """Return the given moment; by default now, but not after the last change in files.

    Raises PartMoveError for a given moment after that change, unless such moments are allowed.
    """
    given: int | None = arguments.as_of
    if given is None:
        if last_change is None:
            return Moment(now_ms(), None)
        as_of = min(now_ms(), last_change)
        log_line(f"deciding for {format_time(as_of)}, the last change in the files of hot")
        return Moment(as_of, last_change)
    if last_change is not None and given > last_change + _CLOCKS_DIFFER_MS and not arguments.future:
        raise PartMoveError(
            f"The moment to decide for, {format_time(given)}, is after the last change in the files of hot,"
            f" {format_time(last_change)}: partitions that changed between the two would count as unchanged",
            remedy="Omit the moment, copy the files again, or allow it with --future (role:"
            " partition_classify_future)",
        )
    return Moment(given, last_change)
