# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Servers for check mode: they answer as if the statements of the run had been executed.

With these servers, and with an overlay over hot, check mode runs the same code as a run. Check mode prints
the statements of the run in their order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from ...formats.names import parse_names
from .servers import TwinServers
from .statements import AttachPartitions, DropParts, SetMerges, Statement
from .tables import (
    ActivityInProgress,
    KnownClones,
    PairMarks,
    Parts,
    PartsOf,
    Side,
    TwinPart,
    TwinReplica,
    TwinTables,
)

_WHERE = "system.parts"


class SimulatedServers:
    """Implements TwinServers on top of the servers of one shard path, and only reads from these servers."""

    def __init__(self, servers: TwinServers, executed: list[str]) -> None:
        """Append the SQL of each statement to ``executed``."""
        self._servers = servers
        self._executed = executed
        self._added: dict[tuple[Side, str], list[TwinPart]] = defaultdict(list)
        """Table and partition id → clones that an ATTACH would have made."""
        self._dropped: dict[Side, set[str]] = {side: set() for side in Side}
        """Table → names of the parts that a DROP PART would have dropped."""

    def tables(self, shard_path: str, replica: TwinReplica) -> TwinTables:
        """Return the answer of the server."""
        return self._servers.tables(shard_path, replica)

    def partition_ids(self, tables: TwinTables, side: Side) -> Sequence[str]:
        """Return the answer of the server."""
        return self._servers.partition_ids(tables, side)

    def activity(self, tables: TwinTables, partition_ids: Sequence[str]) -> ActivityInProgress:
        """Return the answer of the server."""
        return self._servers.activity(tables, partition_ids)

    def parts(self, tables: TwinTables, partition_ids: Sequence[str]) -> Mapping[str, PartsOf]:
        """Return the parts as they would be after the statements."""
        actual = self._servers.parts(tables, partition_ids)
        return {each: self._simulated(each, parts) for each, parts in actual.items()}

    def checksum(self, tables: TwinTables, side: Side, parts: Sequence[str]) -> str:
        """Return a constant for all parts: a simulated clone has no rows to read."""
        return "not read in check mode"

    def marks(self, tables: TwinTables, partition_ids: Sequence[str]) -> PairMarks:
        """Return the answer of the server."""
        return self._servers.marks(tables, partition_ids)

    def known_clones(
        self, tables: TwinTables, side: Side, since: Mapping[str, int]
    ) -> Mapping[str, KnownClones]:
        """Return the answer of the server."""
        return self._servers.known_clones(tables, side, since)

    def attach(self, statement: AttachPartitions) -> str:
        """Add a clone, with a new block number, of each part of the source."""
        self._execute(statement)
        found = self.parts(statement.tables, statement.partition_ids)
        for each in statement.partition_ids:
            self._clone(each, statement.destination, found[each])
        return ""

    def _clone(self, partition_id: str, destination: Side, parts: PartsOf) -> None:
        names = [part.name for part in (*parts.on(destination), *parts.past(destination))]
        last = max((name.max_block for name in parse_names(names, partition_id, _WHERE)), default=0)
        for part in parts.on(destination.other):
            last += 1
            (name,) = parse_names([part.name], partition_id, _WHERE)
            clone = part._replace(name=f"{partition_id}_{last}_{last}_{name.level}")
            self._added[destination, partition_id].append(clone)

    def drop(self, statement: DropParts) -> bool:
        """Remove the parts from their table."""
        self._execute(statement)
        self._dropped[statement.side].update(statement.parts)
        return True

    def set_merges(self, statement: SetMerges) -> None:
        """Add the statement to the list."""
        self._execute(statement)

    def _execute(self, statement: Statement) -> None:
        self._executed.append(statement.sql)

    def _simulated(self, partition_id: str, parts: PartsOf) -> PartsOf:
        active: dict[Side, Parts] = {}
        past: dict[Side, Parts] = {}
        for side in Side:
            every = (*parts.on(side), *self._added[side, partition_id])
            dropped = self._dropped[side]
            active[side] = tuple(sorted(part for part in every if part.name not in dropped))
            past[side] = (*parts.past(side), *(part for part in every if part.name in dropped))
        return PartsOf(active[Side.HOT], active[Side.COLD], past[Side.HOT], past[Side.COLD])
