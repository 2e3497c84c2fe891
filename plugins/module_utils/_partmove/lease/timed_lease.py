# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Timed leases: let several hosts with the same schedule take turns in maintaining the tables.

The znodes are below the coordination root of the hot ensemble::

    guard            persistent: a write to this znode yields the current time of the ensemble
    guard/<name>     persistent: the owner of the lease, and the duration since the write of the znode

A timed lease outlives the session of its owner, because a run is many modules with a session each. The lease
ends when the owner gives it back, or when its time has passed by the clock of the ensemble.

A timed lease keeps runs from repeating the same work. It does not protect data: every write still needs the
lease of its shard path.
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
_REMEDY = "Find out who wrote the znode, and delete it while no guard is running"
_ENVELOPE = Envelope("timed lease", "olap.partmove/timed-lease", 1, _REMEDY)
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
    """The data of a timed lease: its owner, and its duration in seconds since the write of the znode."""

    owner: str
    ttl: int

    @property
    def data(self) -> bytes:
        """The data of the znode, for `parse_claim`."""
        return json.dumps(_ENVELOPE.around(self._asdict()), ensure_ascii=False, sort_keys=True).encode()


class TimedLease(NamedTuple):
    """The result of taking a timed lease.

    claim: the claim that is valid now. former: the claim before; None for a free lease.
    seconds_left: the remaining time of ``claim``.
    """

    claim: Claim
    former: Claim | None
    seconds_left: float


def parse_claim(data: bytes, where: str) -> Claim:
    """Parse the data of a timed lease. ``where``: its path, for messages. Raises FormatError."""
    return Claim(**_RECORD.read(_ENVELOPE.parsed(data, where), where))


class TimedLeases:
    """Takes timed leases and gives them back, in one ensemble.

    States of a lease: free → taken → free, or taken by another owner after its time has passed. Every change
    checks the version that was read. So of two concurrent takers, one succeeds.
    """

    def __init__(self, hot: ZnodeStore, root: str = DEFAULT_ROOT) -> None:
        self._hot = hot
        self._parent = f"{root}/guard"

    def take(self, name: str, claim: Claim) -> TimedLease:
        """Take or prolong the lease. If another owner has the lease, return the other owner's claim.

        Raises FormatError for an invalid name and for unknown data of the znode, and EnsembleError.
        """
        path = self._path(name)
        ensure_path(self._hot, self._parent)
        former: Claim | None = None
        for attempt in range(_ATTEMPTS):
            znode = self._hot.read([path])[0]
            current = None if znode is None else parse_claim(znode.data, path)
            # After the first attempt, the current claim may be ours, from an attempt with a lost answer.
            former = current if attempt == 0 or current != claim else former
            if znode is not None and current is not None and current.owner != claim.owner:
                left = self._seconds_left(znode, current)
                if left > 0:
                    return TimedLease(current, current, left)
            op: Op = (
                Create(path, claim.data) if znode is None else SetData(path, claim.data, znode.stat.version)
            )
            if self._is_done(path, op):
                return TimedLease(claim, former, float(claim.ttl))
        raise _unsettled(path)

    def give_back(self, name: str, owner: str) -> Claim | None:
        """Give the lease back if ``owner`` has it. Returns the claim before; None for a free lease.

        Raises as `take` does.
        """
        path = self._path(name)
        former: Claim | None = None
        for _attempt in range(_ATTEMPTS):
            znode = self._hot.read([path])[0]
            current = None if znode is None else parse_claim(znode.data, path)
            if znode is None or current is None or current.owner != owner:
                return former or current
            former = current
            if self._is_done(path, Delete(path, znode.stat.version)):
                return current
        raise _unsettled(path)

    def _path(self, name: str) -> str:
        if _NAME.fullmatch(name) is None:
            raise FormatError(
                f"The name of the lease is {name!r}, which is invalid",
                remedy="Use at most 60 of the characters a to z, 0 to 9, _ and -",
            )
        return f"{self._parent}/{name}"

    def _seconds_left(self, znode: Znode, claim: Claim) -> float:
        """Return the remaining time, by the clock of the ensemble only.

        The parent znode is written to get the current time; the result compares the two modification times.
        """
        parent = self._hot.read([self._parent])[0]
        if parent is not None:
            # A rejection means that another client has just written the znode, which sets the time as well.
            # After a lost answer, the time read is at worst older, and the lease seems to last longer.
            self._is_done(self._parent, SetData(self._parent, b"", parent.stat.version))
            parent = self._hot.read([self._parent])[0]
        now = znode.stat.mtime if parent is None else parent.stat.mtime
        return claim.ttl - (now - znode.stat.mtime) / 1000

    def _is_done(self, path: str, op: Op) -> bool:
        """Send the operation, and return whether it was certainly applied. Raises EnsembleError."""
        outcome = self._hot.commit([(op,)])[0]
        if isinstance(outcome, Rejected):
            raise_if_unwritable(self._hot, path, outcome)
        return isinstance(outcome, Committed)


def _unsettled(path: str) -> EnsembleError:
    return EnsembleError(
        f"The timed lease {path} could not be taken or given back in {_ATTEMPTS} tries",
        remedy="Check whether another client writes to the znode, or the connection keeps breaking, and run"
        " again",
    )
