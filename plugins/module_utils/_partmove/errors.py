# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The one tree of errors: each says what is wrong, where, and the way out."""

from __future__ import annotations


class PartMoveError(Exception):
    """Anything this collection refuses or cannot do.

    ``message`` is one sentence that says what is wrong and where; ``remedy`` is one that says
    what a person can do about it.
    """

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        sentences = [part.rstrip(".") + "." for part in (self.message, self.remedy) if part]
        return " ".join(sentences)


class FormatError(PartMoveError):
    """Text of a znode, a name or a file that is not understood; it is refused, never guessed."""


class PlanError(PartMoveError):
    """A plan file or a list of partitions that cannot be carried out as it stands."""


class EnsembleError(PartMoveError):
    """An ensemble, or one of its members, cannot be used."""


class EnsembleUnreachable(EnsembleError):
    """No answer from an ensemble or a member within the time allowed."""


class AccessDenied(EnsembleError):
    """The identity given may not do this to the znode."""


class SessionRefused(AccessDenied):
    """The identity given is refused, or none was given where one is asked for: no znode may be read."""


class SameEnsemble(EnsembleError):
    """Hot and cold turned out to be one ensemble."""


class BoundElsewhere(PartMoveError):
    """Other runs go about the shard path in another way: by other locks, or with another ensemble."""


class PausedTooLong(PartMoveError):
    """An ensemble was in trouble for longer than the run may wait; what was done until then holds."""


class LeaseLost(PartMoveError):
    """The lock or the epoch of a shard path is no longer ours: taken over, or our session ended."""


class LeaseHeld(PartMoveError):
    """Another run holds the lock of the shard path."""


class NoSuchReplica(PartMoveError):
    """Neither the table nor the ledger has the replica."""


class NoSuchTable(PartMoveError):
    """There is no replicated table at the shard path."""
