# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The errors of this collection. Each names the problem, its place and a remedy."""

from __future__ import annotations


class PartMoveError(Exception):
    """The base class of all errors of this collection.

    message: one sentence with the problem and its place.
    remedy: one sentence with the next step for the operator; may be empty.
    """

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        sentences = [part.rstrip(".") + "." for part in (self.message, self.remedy) if part]
        return " ".join(sentences)


class FormatError(PartMoveError):
    """The text of a znode, name or file has an unknown format. Such text is refused, never guessed."""


class PlanError(PartMoveError):
    """A plan file or a list of partitions cannot be carried out without a change."""


class EnsembleError(PartMoveError):
    """An ensemble or a member cannot be used."""


class EnsembleUnreachable(EnsembleError):
    """An ensemble or a member did not answer before the timeout."""


class AccessDenied(EnsembleError):
    """The ACL of a znode denies an operation to the identity of the session."""


class SessionRefused(AccessDenied):
    """The ensemble refuses the identity, or requires an identity and got none. No znode is readable."""


class SameEnsemble(EnsembleError):
    """The hot and the cold connection lead to the same ensemble."""


class BindingConflict(PartMoveError):
    """Earlier runs used other locks or another cold ensemble for the same shard path."""


class PausedTooLong(PartMoveError):
    """An ensemble was unhealthy for longer than the run may pause. Completed work stays valid."""


class LeaseLost(PartMoveError):
    """This run lost the lock or the epoch of a shard path, by takeover or by the end of its session."""


class LeaseHeld(PartMoveError):
    """Another run holds the lock of the shard path."""


class ShardHeld(LeaseHeld):
    """Somebody has a hold on the shard path: no run may work on it until the hold ends."""


class AlterUnfinished(LeaseHeld):
    """twin_alter has changed only one of the two tables, or did not confirm both."""


class ServerAway(PartMoveError):
    """A ClickHouse server cannot be reached, or did not answer."""


class NotPermitted(PartMoveError):
    """The server does not let the user do or see something; the message names it. Nothing was changed."""


class PartTooLarge(PartMoveError):
    """A server refused to drop a part because of its size; it dropped the parts before it."""


class StatementEnded(PartMoveError):
    """A server answered a statement with an error, and executes it no more. Its effect is unknown."""


class UserRefused(PartMoveError):
    """A ClickHouse server refuses the user: unknown, another password, or another network."""


class NoSuchReplica(PartMoveError):
    """Neither the table nor the ledger contains the replica."""


class NoSuchTable(PartMoveError):
    """There is no replicated table at the shard path."""
