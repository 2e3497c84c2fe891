# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A whole table and its twin in memory: the tables of `twins`, whose names each replica can exchange."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    NotPermitted,
    PartMoveError,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import LeaseKeeper
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.overlay import OverlayStore
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.ports import ZnodeStore
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.ledgers import NoLedgers
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.partition import TwinOptions
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.run import TwinMoveContext
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.servers import read_replicas
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    PartsOf,
    Side,
    TwinReplica,
    TwinTables,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.readers.statements import (
    LeftPolicy,
    policy_name,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.table.exchange_record import (
    ServerMoment,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.table.left_policies import (
    RefusingReaders,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.table.older_inserts import (
    InsertsInProgress,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.table.pair import (
    LocatedTables,
    TableContents,
    TablePair,
    as_twin_tables,
    locate_name,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.table.switch_report import (
    TableSwitchReport,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.table.table_switch import (
    TableSwitch,
    Target,
)
from support.memory.interleaving import Script
from support.memory.readers import READING
from support.memory.twins import PATH, REPLICAS, ModelServers, TwinBench, Twins, table_of

TWIN = "{table}_cold"
NOTHING = InsertsInProgress({}, {}, {})
"""A server without inserts."""


class ModelPairs(ModelServers):
    """Implements PairServers and TwinServers; sides of ``twins`` are places, whatever the names are."""

    def __init__(self, twins: Twins) -> None:
        super().__init__(twins, Script())
        self.at = dict.fromkeys(REPLICAS, Side.HOT)
        """Replica → where the table with the name is."""
        self.database_engine = "Atomic"
        self.lacking: set[str] = set()
        """Replicas without a twin."""
        self.elsewhere = ""
        """A table in another ensemble, of replicas without a twin."""
        self.policies: Mapping[str, str] = {}
        """Replica → the condition of the policy that twin_move has on its reading table."""
        self.alter: Callable[[LocatedTables], LocatedTables] = lambda found: found
        """What is different about what servers tell of a replica."""
        self.hindered: Sequence[str] = ()
        self.in_progress: Callable[[str, ServerMoment], InsertsInProgress] = lambda _replica, _since: NOTHING
        """What may insert on the server of a replica, after a moment."""
        self.queued: Sequence[str] = ()
        """Asynchronous inserts that are queued on every server."""
        self.uptime = dict.fromkeys(REPLICAS, 1000)
        """Replica → for how long its server has been running."""
        self.forbidden: set[str] = set()
        """Replicas whose server does not permit the user something."""
        self.blind: set[str] = set()
        """Replicas whose server does not show row policies to the user."""
        self.on_exchange: Callable[[str], None] = lambda _replica: None
        self.on_queued_inserts: Callable[[str], None] = lambda _replica: None
        """What happens right before an exchange; it may raise PartMoveError, so that none is done."""
        self.uneven_looks = 0
        """How many more looks find the second replica with other parts."""

    def find(self, shard_path: str, replica: TwinReplica) -> LocatedTables:
        """As PairServers says."""
        home, away = (table_of(side, replica.name) for side in Side)
        home, away = home._replace(path=shard_path), away._replace(path=f"{PATH}_cold")
        if self.at[replica.name] is Side.COLD:
            home, away = home._replace(name=away.name), away._replace(name=home.name)
        there = None if replica.name in self.lacking else away
        return self.alter(
            LocatedTables(
                replica,
                f"server of {replica.name}",
                home,
                there,
                self.database_engine,
                self.elsewhere if there is None else "",
            )
        )

    def tables(self, shard_path: str, replica: TwinReplica) -> TwinTables:
        """As TwinServers says."""
        pair = self.find(shard_path, replica).pair
        assert pair is not None
        return as_twin_tables(pair, locate_name(pair, TWIN).at)

    def parts(self, tables: TwinTables, partition_ids: Sequence[str]) -> Mapping[str, PartsOf]:
        """As TwinServers says."""
        found = super().parts(tables, partition_ids)
        if tables.home is Side.HOT:
            return found
        return {each: PartsOf(parts.cold, parts.hot) for each, parts in found.items()}

    def partition_ids(self, tables: TwinTables, side: Side) -> Sequence[str]:
        """As TwinServers says."""
        return super().partition_ids(tables, self.place(tables, side))

    def place(self, tables: TwinTables, side: Side) -> Side:
        """Which of the tables of ``twins`` is on that side, wherever the names are."""
        return side if tables.home is Side.HOT else side.other

    def exchange(self, pair: TablePair) -> None:
        """As PairServers says."""
        self._step("exchange")
        self.on_exchange(pair.replica.name)
        self.at[pair.replica.name] = self.at[pair.replica.name].other
        self._step("exchanged")
        self.statements.append(f"exchange on {pair.replica.name}")

    def exchange_statement(self, pair: TablePair) -> str:
        """As PairServers says."""
        return f"EXCHANGE TABLES {pair.home} AND {pair.away}"

    def hindrances(self, pair: TablePair) -> Sequence[str]:
        """As PairServers says."""
        del pair
        return self.hindered

    def contents(self, pair: TablePair) -> tuple[TableContents, TableContents]:
        """As PairServers says."""
        home, away = (self._holding(side) for side in Side)
        if pair.replica.name != REPLICAS[0] and self.uneven_looks:
            self.uneven_looks -= 1
            home = home._replace(digest="other")
        return home, away

    def _holding(self, side: Side) -> TableContents:
        parts = self.twins.tables[side].shown()
        return TableContents(sum(part.content.rows for part in parts), len(parts), str(sorted(parts)))

    def queued_inserts(self, pair: TablePair) -> Sequence[str]:
        """As PairServers says."""
        self.on_queued_inserts(pair.replica.name)
        return self.queued

    def require_rights(self, found: LocatedTables) -> None:
        """As PairServers says."""
        if found.replica.name in self.forbidden:
            raise NotPermitted(f"{found.server} does not permit it", remedy="GRANT it")

    def left_policies(self, tables: TwinTables) -> Sequence[LeftPolicy]:
        """As PolicyServers says."""
        replica = tables.replica.name
        if replica in self.blind:
            raise NotPermitted(f"{tables.server} does not show row policies", remedy="GRANT it")
        return [LeftPolicy(policy_name(tables), READING)] if replica in self.policies else []

    def moment(self, pair: TablePair) -> ServerMoment:
        """As PairServers says; a server is a second older each time."""
        self._step("moment")
        self.uptime[pair.replica.name] += 1
        return ServerMoment(self.uptime[pair.replica.name], int(self.now))

    def inserts_in_progress(self, pair: TablePair, since: ServerMoment) -> InsertsInProgress:
        """As PairServers says."""
        self._step("inserts")
        return self.in_progress(pair.replica.name, since)


class PairBench(TwinBench):
    """A whole table of two replicas, and runs that move it."""

    def __init__(self, *inserted: tuple[str, ...]) -> None:
        super().__init__(Twins(*inserted))
        self.pairs = ModelPairs(self.twins)
        self.servers = self.pairs
        self.session = self.hot.open()
        """That of the last run."""

    def insert(self, replica: str, *rows: str) -> None:
        """Insert by the name, which is that of the table where the replica has it."""
        self.twins.insert(self.pairs.at[replica], rows)

    def leases(self) -> LeaseKeeper:
        """That of the last run."""
        return LeaseKeeper(self.session, None, self.clock, owner="a test", wait_seconds=0)

    def pair_of_each(self) -> list[TablePair]:
        """Both tables of each replica."""
        found = [self.pairs.find(PATH, each).pair for each in read_replicas(self.session, PATH)]
        return [each for each in found if each is not None]

    def whole(self, wanted: Side, *, min_age: float = 0.0, check_mode: bool = False) -> TableSwitch:
        """The steps of the table, with a session of its own."""
        self.session = self.hot.open()
        store: ZnodeStore = OverlayStore(self.session, self.clock) if check_mode else self.session
        leases = LeaseKeeper(store, None, self.clock, owner="a test", wait_seconds=0)
        ports = (self.pairs, RefusingReaders(self.pairs), NoLedgers())
        context = TwinMoveContext(store, self.clock, self.journal, leases, *ports, check_mode=check_mode)
        return TableSwitch(
            context,
            self.pairs,
            Target(TWIN, wanted),
            TwinOptions(min_age),
            TableSwitchReport(PATH),
        )

    def move(
        self, wanted: Side, *, min_age: float = 0.0, check_mode: bool = False, insert_wait: float = 0.0
    ) -> TableSwitchReport:
        """All steps, one after the other."""
        whole = self.whole(wanted, min_age=min_age, check_mode=check_mode)
        assert whole.find_tables()
        whole.move_before()
        whole.refuse_unmoved()
        whole.exchange()
        whole.await_older_inserts(insert_wait)
        if not check_mode:
            whole.move_after()
        whole.record_final_counts()
        return whole.report

    def is_at(self, side: Side) -> bool:
        """Whether every replica has the name there, with all rows, each once."""
        return (
            set(self.pairs.at.values()) == {side}
            and self.twins.tables[side].rows == self.twins.inserted
            and not self.twins.tables[side.other].rows
        )


class Silent(PartMoveError):
    """A server that does not answer."""
