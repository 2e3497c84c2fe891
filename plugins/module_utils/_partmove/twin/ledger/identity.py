# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which tables a ledger is about, and whether the tables of today are these tables.

Names can be exchanged, and paths used again. The UUID of a table tells a table from another one at its place.
Each replica has a UUID of its own, unless the table was created ON CLUSTER. If all replicas were replaced, no
UUID is left. Then only the time at which the znodes of the table were created tells it from another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...tree.ports import ZnodeReader
from ..move.tables import TwinReplica, TwinTable, TwinTables
from .entry import Birth, TablePlace, TwinPair
from .servers import FactServers, Identities


def read_identities(
    servers: FactServers, tables: Sequence[TwinTables], pair: TwinPair | None = None
) -> Identities:
    """Read the UUIDs of both tables on each replica, and where tables of ``pair`` are."""
    return {
        each.replica.name: servers.identities(each.replica, (each.hot, each.cold), known_uuids(pair))
        for each in tables
    }


class Births(NamedTuple):
    """When the znodes of both tables were created; None for what is not known."""

    hot: Birth | None = None
    cold: Birth | None = None


UNKNOWN_BIRTHS = Births()
_MARGIN = 24 * 3600
"""Seconds by which the clocks of two ensembles certainly do not differ."""


def read_births(
    hot: ZnodeReader, shard_path: str, servers: FactServers, tables: Sequence[TwinTables]
) -> Births:
    """Read when the znodes of both tables were created; those of the twin by all servers that show them.

    tables: of the replicas with both tables.
    """
    (log,) = hot.read([f"{shard_path}/log"])
    of_hot = None if log is None else Birth(log.stat.czxid, log.stat.ctime // 1000)
    found = {servers.cold_birth(each) for each in tables} - {None}
    return Births(of_hot, found.pop() if len(found) == 1 else None)


def known_uuids(pair: TwinPair | None) -> list[str]:
    """Return the UUIDs of both tables of a ledger."""
    return [] if pair is None else sorted({*pair.hot.uuids.values(), *pair.cold.uuids.values()})


def pair_of(
    tables: Sequence[TwinTables],
    identities: Identities,
    births: Births = UNKNOWN_BIRTHS,
    then: TwinPair | None = None,
) -> TwinPair:
    """Return both tables as of now, for a ledger.

    then: the tables of the ledger. Of the same table, what is known of its birth stays known.
    """
    hot, cold = (
        _place_of([(each.replica, each.on(side)) for each in tables], identities)
        for side in (tables[0].home, tables[0].home.other)
    )
    now = TwinPair(hot._replace(born=births.hot), cold._replace(born=births.cold))
    if then is None:
        return now
    return TwinPair(_with_known_birth(then.hot, now.hot), _with_known_birth(then.cold, now.cold))


def _with_known_birth(then: TablePlace, now: TablePlace) -> TablePlace:
    is_same = now.born is None and then.place == now.place and not then.is_replaced_by(now)
    return now._replace(born=then.born) if is_same else now


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
    if not then.is_replaced_by(now):
        return ""
    uuid = min(then.uuids.values())
    is_known = then.born is not None and now.born is not None
    znodes = "its znodes are not" if is_known else "nothing shows that its znodes are"
    return (
        f"no replica's {now.name} has the UUID of then, such as {uuid}, and {znodes} those of then"
        f"{found_as(then, identities)}"
    )


def was_there(now: TwinPair, then: TwinPair, written: float) -> bool:
    """Whether the twin of now was at its place when the head of the ledger was written: then it is the one.

    For heads without a birth. Two tables cannot be at one place, and the znodes of a later twin are younger
    than the head. written: in seconds since 1970 by the clock of hot; 0 if unknown.
    """
    born = now.cold.born
    is_at_place = then.cold.born is None and now.cold.place == then.cold.place
    return is_at_place and born is not None and born.ctime + _MARGIN <= written


def found_as(then: TablePlace, identities: Identities) -> str:
    """Return the names under which servers have a table of a ledger today, for people; "" without any."""
    wanted = set(then.uuids.values())
    names = {name for known in identities.values() for name, uuid in known.items() if uuid in wanted}
    return f"; {', '.join(sorted(names))} has this UUID now" if names else ""
