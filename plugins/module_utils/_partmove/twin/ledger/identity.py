# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which tables a ledger is about, and whether the tables of today are these tables.

Names can be exchanged, and paths used again. Only the UUID of a table tells a table from another one at its
place. Each replica has a UUID of its own, unless the table was created ON CLUSTER.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..move.tables import TwinReplica, TwinTable, TwinTables
from .entry import TablePlace, TwinPair
from .servers import FactServers, Identities


def read_identities(
    servers: FactServers, tables: Sequence[TwinTables], pair: TwinPair | None = None
) -> Identities:
    """Read the UUIDs of both tables on each replica, and where tables of ``pair`` are."""
    return {
        each.replica.name: servers.identities(each.replica, (each.hot, each.cold), known_uuids(pair))
        for each in tables
    }


def known_uuids(pair: TwinPair | None) -> list[str]:
    """Return the UUIDs of both tables of a ledger."""
    return [] if pair is None else sorted({*pair.hot.uuids.values(), *pair.cold.uuids.values()})


def pair_of(tables: Sequence[TwinTables], identities: Identities) -> TwinPair:
    """Return both tables as of now, for a ledger."""
    hot, cold = (
        _place_of([(each.replica, each.on(side)) for each in tables], identities)
        for side in (tables[0].home, tables[0].home.other)
    )
    return TwinPair(hot, cold)


def _place_of(found: Sequence[tuple[TwinReplica, TwinTable]], identities: Identities) -> TablePlace:
    table = found[0][1]
    return TablePlace(str(table), table.place, uuids_of(found, identities))


def uuids_of(found: Sequence[tuple[TwinReplica, TwinTable]], identities: Identities) -> dict[str, str]:
    """Map replicas to the UUID of their table; without replicas whose server keeps no UUIDs."""
    uuids = {replica.name: identities.get(replica.name, {}).get(str(table), "") for replica, table in found}
    return {replica: uuid for replica, uuid in sorted(uuids.items()) if uuid}


def replaced_twin(pair: TwinPair, now: TwinPair, identities: Identities) -> str:
    """Return why the twin of now is certainly not the twin of the ledger, for people; "" if it may be."""
    if now.cold.place != pair.cold.place:
        return f"{now.cold.name} is at {now.cold.place}, and the ledger is about {pair.cold.place}"
    return _replaced(pair.cold, now.cold, identities)


def replaced_table(pair: TwinPair, now: TwinPair, identities: Identities) -> str:
    """Return why the table of now is certainly not the table of the ledger; "" if it may be."""
    return _replaced(pair.hot, now.hot, identities)


def _replaced(then: TablePlace, now: TablePlace, identities: Identities) -> str:
    if not then.is_replaced_by(now.uuids):
        return ""
    uuid = min(then.uuids.values())
    return f"no replica's {now.name} has the UUID of then, such as {uuid}{found_as(then, identities)}"


def found_as(then: TablePlace, identities: Identities) -> str:
    """Return the names under which servers have a table of a ledger today, for people; "" without any."""
    wanted = set(then.uuids.values())
    names = {name for known in identities.values() for name, uuid in known.items() if uuid in wanted}
    return f"; {', '.join(sorted(names))} has this UUID now" if names else ""
