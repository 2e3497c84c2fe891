# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the moves of all partitions of a shard path share under its lease."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from ...errors import PartMoveError
from ...journal.port import Journal
from ...lease.lease import Lease
from ...tree.ports import Clock, ZnodeStore
from .gates import server_failed
from .ledgers import NoLedger, ShardLedger
from .readers import NoReaders, Readers
from .record import Records
from .refusals import Refused
from .servers import TwinServers
from .tables import TwinTables


class TwinOptions(NamedTuple):
    """Options of a run."""

    min_age: float = 0.0
    """The age that the newest part must have, in seconds. Only for moves to cold."""
    stop_merges: bool = False
    """Whether merges of both tables are stopped while a partition is in both of them."""
    checksums: bool = False
    """Whether rows are read and compared, in addition to the hashes of the files."""


class TwinShard(NamedTuple):
    """Everything that the moves of all partitions of a shard path share under a lease."""

    shard_path: str
    hot: ZnodeStore
    clock: Clock
    journal: Journal
    servers: TwinServers
    records: Records
    lease: Lease
    tables: Sequence[TwinTables]
    """Of every replica, sorted by the name of the replica."""
    options: TwinOptions
    readers: Readers = NoReaders()
    ledger: ShardLedger = NoLedger()


@contextmanager
def refused_on_error() -> Iterator[None]:
    """Raise Refused on an error of a server, so that the partition and its record stay as they are.

    The statement may have taken effect: the next run compares the tables with the record.
    """
    try:
        yield
    except PartMoveError as error:
        raise Refused(server_failed(error)) from error
