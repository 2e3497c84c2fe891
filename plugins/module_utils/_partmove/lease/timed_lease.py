# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whose turn it is to look after the tables, where several hosts do so on a schedule.

Under the coordination root of the hot ensemble::

    guard            persistent: what is written to it has the time that the ensemble says it is
    guard/<name>     persistent: who has the turn, and for how long after the znode was written

A turn outlives the session of who takes it, as a run is many modules with a session each. It ends when it is
given back, or when its time has passed by the ensemble's own clock. It keeps runs from doing the same work
twice, and protects nothing: a run whose turn was taken over still has to have the lease of what it writes to.
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from ..envelope import Envelope
from ..errors import EnsembleError, FormatError
from ..records import TEXT, Record, satisfying
from ..tree.paths import DEFAULT_ROOT, ensure_path, raise_if_unwritable
from ..tree.ports import ZnodeStore
from ..tree.znodes import Committed, Create, Delete, Op, Rejected, SetData, Znode

LONGEST_SECONDS = 604_800
_ATTEMPTS = 10
_NAME = re.compile(r"[a-z0-9_-]{1,60}", re.ASCII)
_REMEDY = "See who wrote it, and delete the znode while nobody looks after the tables"
_ENVELOPE = Envelope("turn", "olap.partmove/turn", 1, _REMEDY)
_RECORD = Record(
    {
        "owner": TEXT,
        "ttl": satisfying(
            lambda value: (
                isinstance(value, int) and not isinstance(value, bool) and 0 < value <= LONGEST_SECONDS
            ),
            f"a whole number of seconds from 1 to {LONGEST_SECONDS}",
        ),
    },
    remedy=_REMEDY,
)


class Claim(NamedTuple):
    """What a znode says: who has the turn, and for how many seconds after the znode was written."""

    owner: str
    ttl: int

    @property
    def data(self) -> bytes:
        """As the znode has it; `parse_claim` reads it."""
        return json.dumps(_ENVELOPE.around(self._asdict()), ensure_ascii=False, sort_keys=True).encode()


class TimedLease(NamedTuple):
    """Who has the turn once it was asked for.

    former: who had it before; None for nobody. seconds_left: for how long the claim holds still.
    """

    claim: Claim
    former: Claim | None
    seconds_left: float


def parse_claim(data: bytes, where: str) -> Claim:
    """What the data of a turn says; raises FormatError. ``where`` is what messages call it."""
    return Claim(**_RECORD.read(_ENVELOPE.parsed(data, where), where))


class TimedLeases:
    """Takes turns and gives them back, in one ensemble.

    States of a turn: free → taken → free, or taken by another owner once its time has passed. Each change is
    conditional on the version that was read, so of two that take it at once one has it.
    """

    def __init__(self, hot: ZnodeStore, root: str = DEFAULT_ROOT) -> None:
        self._hot = hot
        self._parent = f"{root}/guard"

    def take(self, name: str, claim: Claim) -> TimedLease:
        """Take the turn, or prolong it, unless another owner has it: then the claim of that one is told.

        Raises FormatError for a name that cannot be and for a turn that is not understood, and EnsembleError.
        """
        path = self._path(name)
        ensure_path(self._hot, self._parent)
        former: Claim | None = None
        for attempt in range(_ATTEMPTS):
            znode = self._hot.read([path])[0]
            found = None if znode is None else parse_claim(znode.data, path)
            # From the second attempt on it may be ours because the answer to the one before was lost.
            former = found if attempt == 0 or found != claim else former
            if znode is not None and found is not None and found.owner != claim.owner:
                left = self._seconds_left(znode, found)
                if left > 0:
                    return TimedLease(found, found, left)
            op: Op = (
                Create(path, claim.data) if znode is None else SetData(path, claim.data, znode.stat.version)
            )
            if self._is_done(path, op):
                return TimedLease(claim, former, float(claim.ttl))
        raise _unsettled(path)

    def give_back(self, name: str, owner: str) -> Claim | None:
        """Give the turn back if the owner has it; returns who had it, None for nobody.

        Raises as `take` does.
        """
        path = self._path(name)
        former: Claim | None = None
        for _attempt in range(_ATTEMPTS):
            znode = self._hot.read([path])[0]
            found = None if znode is None else parse_claim(znode.data, path)
            if znode is None or found is None or found.owner != owner:
                return former or found
            former = found
            if self._is_done(path, Delete(path, znode.stat.version)):
                return found
        raise _unsettled(path)

    def _path(self, name: str) -> str:
        if _NAME.fullmatch(name) is None:
            raise FormatError(
                f"The name of the turn is {name!r}, which no turn has",
                remedy="Use at most 60 of the characters a to z, 0 to 9, _ and -",
            )
        return f"{self._parent}/{name}"

    def _seconds_left(self, znode: Znode, claim: Claim) -> float:
        """By the clock of the ensemble alone: from the time of one write of it to that of another one."""
        parent = self._hot.read([self._parent])[0]
        if parent is not None:
            # Where this is refused somebody else has just written, and that tells the time as well. Where the
            # answer is lost an older time is read, at worst, and the turn seems to last longer.
            self._is_done(self._parent, SetData(self._parent, b"", parent.stat.version))
            parent = self._hot.read([self._parent])[0]
        now = znode.stat.mtime if parent is None else parent.stat.mtime
        return claim.ttl - (now - znode.stat.mtime) / 1000

    def _is_done(self, path: str, op: Op) -> bool:
        """Whether it was applied for sure; raises EnsembleError where nothing could be written at all."""
        outcome = self._hot.commit([(op,)])[0]
        if isinstance(outcome, Rejected):
            raise_if_unwritable(self._hot, path, outcome)
        return isinstance(outcome, Committed)


def _unsettled(path: str) -> EnsembleError:
    return EnsembleError(
        f"Whose turn it is at {path} could not be settled in {_ATTEMPTS} tries",
        remedy="See whether something else writes there, or the connection keeps breaking, and run again",
    )
