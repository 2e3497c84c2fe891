# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The record of an exchange of names: until when each server had the former names.

An INSERT goes to the table that had the name when the INSERT began, so rows may arrive in the other table
after the exchange. The record lets each later run know which statements are older. It is a znode in hot,
below the coordination root::

    exchanges/<shard path, quoted>    the record, as JSON

A run removes the moment of a replica before it exchanges the names there, and writes the new moment
afterwards. A replica that has exchanged its names and has no moment got killed in between, or had its names
exchanged by hand: then the next run writes the current moment, so that everything that runs counts as older.

Every write checks the lease of the shard path, and that the znode still has the version of the last read.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import NamedTuple
from urllib.parse import quote

from ...envelope import Envelope
from ...errors import EnsembleError, LeaseLost
from ...lease.lease import Lease, raise_if_lease_lost
from ...records import COUNT, FLAG, Record, mapping_of, word_of
from ...tree.paths import ensure_path, raise_if_unwritable
from ...tree.ports import ZnodeStore
from ...tree.znodes import Committed, Create, Op, Rejected, SetData, Znode
from ..move.tables import Side

FORMAT = "olap.partmove/exchange"
VERSION = 1

_REMEDY = "Use the version of olap.partmove that wrote it, or find out which client wrote it"
_ENVELOPE = Envelope("record of an exchange of names", FORMAT, VERSION, remedy=_REMEDY)
_MOMENT = Record({"uptime": COUNT, "time": COUNT, "is_settled": FLAG}, remedy=_REMEDY)
_RECORD = Record(
    {"side": word_of({each.value: each for each in Side}), "replicas": mapping_of(_MOMENT)}, remedy=_REMEDY
)


class ServerMoment(NamedTuple):
    """A moment by the clocks of a server."""

    uptime: int
    """For how long the server has been running, in seconds. This clock never jumps."""
    time: int
    """In seconds since 1970; for people."""


class ReplicaExchange(NamedTuple):
    """A replica after the exchange of its names."""

    moment: ServerMoment
    """A moment at which the server already had the names of now."""
    is_settled: bool
    """Whether no statement that began before the moment can insert any more."""


class ExchangeRecord(NamedTuple):
    """The replicas that have the name at one side."""

    side: Side
    """The side of the table that has the name."""
    replicas: Mapping[str, ReplicaExchange]
    """Replica → its exchange; without replicas whose moment is unknown."""

    def without(self, replica: str) -> ExchangeRecord:
        """Return the record before another exchange of the replica."""
        return self._replace(replicas={name: each for name, each in self.replicas.items() if name != replica})

    def having(self, replica: str, exchange: ReplicaExchange) -> ExchangeRecord:
        """Return the record with the exchange of a replica."""
        return self._replace(replicas={**self.replicas, replica: exchange})

    def encode(self) -> bytes:
        """Return the data for the znode of the record."""
        replicas = {
            name: {**each.moment._asdict(), "is_settled": each.is_settled}
            for name, each in sorted(self.replicas.items())
        }
        fields = {"side": self.side.value, "replicas": replicas}
        return json.dumps(_ENVELOPE.around(fields), separators=(",", ":")).encode()


def parse_exchange(znode: Znode) -> ExchangeRecord:
    """Parse the data of a record's znode. Raises FormatError."""
    where = f"The data of {znode.path}"
    fields = _RECORD.read(_ENVELOPE.parsed(znode.data, where), where)
    replicas = {
        name: ReplicaExchange(ServerMoment(each["uptime"], each["time"]), each["is_settled"])
        for name, each in fields["replicas"].items()
    }
    return ExchangeRecord(fields["side"], replicas)


class ExchangeRecords:
    """The record of a shard path, for a table that has, or is to have, the name at one side."""

    def __init__(self, hot: ZnodeStore, root: str, shard_path: str, side: Side) -> None:
        self._hot = hot
        self._shard_path = shard_path
        self._side = side
        self._folder = f"{root}/exchanges"
        self.path = f"{self._folder}/{quote(shard_path, safe='')}"

    def read(self) -> ExchangeRecord:
        """Return the record; one without replicas if there is none, or one of the other side."""
        return self._of(self._stored())

    @property
    def is_stored(self) -> bool:
        """Whether the last exchange gave, or was to give, the name to the table at this side."""
        stored = self._stored()
        return stored is not None and parse_exchange(stored).side is self._side

    def update(self, lease: Lease, change: Callable[[ExchangeRecord], ExchangeRecord]) -> ExchangeRecord:
        """Change the record as it is now, and return the new record.

        Raises LeaseLost without a valid lease, and EnsembleError if the outcome is unknown.
        """
        stored = self._stored()
        record = change(self._of(stored))
        if stored is None:
            ensure_path(self._hot, self._folder)
            self._commit(lease, Create(self.path, record.encode()))
        elif record != parse_exchange(stored):
            self._commit(lease, SetData(self.path, record.encode(), stored.stat.version))
        return record

    def _stored(self) -> Znode | None:
        return self._hot.read([self.path])[0]

    def _of(self, stored: Znode | None) -> ExchangeRecord:
        record = None if stored is None else parse_exchange(stored)
        return record if record and record.side is self._side else ExchangeRecord(self._side, {})

    def _commit(self, lease: Lease, op: Op) -> None:
        checks = lease.hot_checks
        outcome = self._hot.commit([(*checks, op)])[0]
        if isinstance(outcome, Committed):
            return
        if isinstance(outcome, Rejected):
            raise_if_lease_lost(outcome, len(checks), self._shard_path)
            raise_if_unwritable(self._hot, self.path, outcome)
            raise LeaseLost(
                f"{self.path} has changed since this run read it: {outcome.reason.value}",
                remedy="Another run took over the shard path; run again",
            )
        raise EnsembleError(
            f"It is not known whether {self.path} was written: {outcome.cause}", remedy="Run again"
        )
