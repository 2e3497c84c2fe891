# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tables below a root in memory: what the hot ensemble registers, and what each server shows."""

from __future__ import annotations

from collections.abc import Sequence

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError, ServerAway
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import ensure_path
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    Side,
    TwinReplica,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.table.pair import TableContents
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.table.root_survey import (
    Place,
    PlacedTable,
    RootSurvey,
    RootTable,
    ServerTables,
    survey,
)
from support.memory.memory import MemoryEnsemble
from support.memory.pairs import TWIN

ROOT = "/partmove"


def contents(parts: int, digest: str = "same") -> TableContents:
    """A table with so many parts of ten rows."""
    return TableContents(10 * parts, parts, digest if parts else "")


class ModelRoot:
    """Implements RootServers. A server has the name of its replica, which no other shard has."""

    def __init__(self) -> None:
        self.hot = MemoryEnsemble("hot")
        self.shown: dict[str, dict[Place, PlacedTable]] = {}
        self.silent: set[str] = set()
        """Replicas whose servers do not answer."""
        self.policies: dict[str, list[str]] = {}
        """Replica → names of row policies of twin_move on its server."""
        self.blind: set[str] = set()
        """Replicas whose server does not show row policies to the user."""
        self.paths: list[str] = []

    def register(self, path: str, *replicas: str) -> None:
        """Register replicas in the hot ensemble; their servers show nothing of it."""
        ensure_path(self.hot.open(), f"{path}/replicas")
        for each in replicas:
            ensure_path(self.hot.open(), f"{path}/replicas/{each}/host")
            self.shown.setdefault(each, {})
        self.paths.append(path)

    def add(
        self,
        path: str,
        replicas: Sequence[str],
        name: str = "hits",
        *,
        parts: int = 1,
        twin: str = "hits_cold",
        twin_parts: int | None = None,
    ) -> None:
        """Add a table at home, and one at the place of the twin if it has a number of parts."""
        self.register(path, *replicas)
        for each in replicas:
            self.show("default", path, each, name, parts)
            if twin_parts is not None:
                self.show("cold", f"{path}_cold", each, twin, twin_parts)

    def show(self, ensemble: str, path: str, replica: str, name: str, parts: int) -> None:
        """Let the server of a replica show a table."""
        table = PlacedTable("db", name, ensemble, path, replica, contents(parts), parts, 100 * parts)
        self.shown[replica][ensemble, path, replica] = table

    def find(self, desired: Side = Side.COLD) -> RootSurvey:
        """Survey all paths."""
        return survey(self.hot.open(), sorted(self.paths), self, TWIN, desired)

    def table(self, desired: Side = Side.COLD) -> RootTable:
        """The only table."""
        (table,) = self.find(desired).tables
        return table

    def placed_tables(self, shard_path: str, replica: TwinReplica) -> ServerTables:
        """As RootServers says."""
        del shard_path
        if replica.name in self.silent:
            raise ServerAway(f"{replica.name} cannot be reached", remedy="Start it")
        policies = None if replica.name in self.blind else self.policies.get(replica.name, ())
        return ServerTables(replica.name, self.shown[replica.name], policies)

    def place_of_twin(self, shard_path: str) -> tuple[str, str]:
        """As RootServers says."""
        return "cold", f"{shard_path}_cold"

    def explain_missing(self, shard_path: str, replica: TwinReplica) -> PartMoveError:
        """As RootServers says."""
        return PartMoveError(f"{replica.name} has no table at {shard_path}", remedy="ATTACH it")
