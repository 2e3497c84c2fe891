# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Refuses to create an empty twin in place of a twin that has rows, by the ledgers in hot."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

from ...errors import PartMoveError
from ...text import count_of
from ...tree.ports import ZnodeReader
from ..move.tables import TwinReplica, TwinTable
from .entry import TwinPair
from .identity import found_as, known_uuids
from .ledger import read_heads, read_ledger
from .servers import Identities


class IdentityServers(Protocol):
    """The part of LedgerServers that a creation needs."""

    def identities(
        self, replica: TwinReplica, tables: Sequence[TwinTable], uuids: Collection[str]
    ) -> Mapping[str, str]:
        """Map database and name of tables to their UUIDs, as `LedgerServers.identities` does."""


class NewTwin(NamedTuple):
    """A table that no replica has a twin of."""

    shard_path: str
    place: str
    """Ensemble and path of the twin to create."""
    tables: Sequence[tuple[TwinReplica, TwinTable]]
    """Every replica with its hot table."""


def refuse_new_twin_of_ledger(hot: ZnodeReader, root: str, servers: IdentityServers, new: NewTwin) -> None:
    """Raise PartMoveError if a ledger lists rows that a twin of the table has, or had.

    Looks for the ledger of the shard path, and for the ledger of another shard path that is about the same
    table, by UUID, or about a twin at the same place. Raises FormatError for an unreadable ledger.
    """
    heads = read_heads(hot, root)
    if not heads:
        return
    path = new.shard_path if new.shard_path in heads else _other_path(servers, new, heads)
    if path is None:
        return
    pair = heads[path]
    identities = _identities(servers, new, known_uuids(pair))
    raise _refusal(hot, root, new, path, pair, identities)


def _other_path(servers: IdentityServers, new: NewTwin, heads: Mapping[str, TwinPair]) -> str | None:
    """Return another shard path whose ledger is about the same table or the same place; None without one."""
    uuids = {uuid for known in _identities(servers, new, ()).values() for uuid in known.values()}
    found = (
        path
        for path, pair in sorted(heads.items())
        if pair.cold.place == new.place or uuids & set(pair.hot.uuids.values())
    )
    return next(found, None)


def _identities(servers: IdentityServers, new: NewTwin, uuids: Collection[str]) -> Identities:
    """Read the UUIDs of the hot table on every replica, and which tables have the given UUIDs."""
    return {replica.name: servers.identities(replica, [table], uuids) for replica, table in new.tables}


def _refusal(
    hot: ZnodeReader, root: str, new: NewTwin, path: str, pair: TwinPair, identities: Identities
) -> PartMoveError:
    ledger = read_ledger(hot, root, path)
    partitions = count_of(0 if ledger is None else len(ledger.entries), "partition")
    of = "" if path == new.shard_path else f" of {path}"
    return PartMoveError(
        f"The ledger{of} lists {partitions} in the twin {pair.cold.name} at {pair.cold.place}, and a new twin"
        f" of {new.tables[0][1]} would be empty{found_as(pair.cold, identities)}",
        remedy="Bring that twin back under its name (RENAME, UNDROP or a backup), or set twin and path to"
        " its name and place. Only if all rows were dropped on purpose, run twin_ledger with state dropped",
    )
