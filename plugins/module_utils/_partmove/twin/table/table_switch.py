# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A whole table of one shard on its way to another ensemble, so that its name stays.

What is so is where the name is on each replica, whether partitions are left in the table that has it not, and
whether there are records of partitions between the two. A run that is killed at any point leaves one of these
states, and the next run goes on from there::

    no twin         a replica has none                    → it is created, on all
    not exchanged   no replica has the name at its end    → partitions are moved away from the name, as far as
                                                            they are old enough; then the names are exchanged
    exchanged       some replicas have it there           → the others exchange, one after the other
      partly
    exchanged       all have it there                     → what is left in the other table is moved to the
                                                            one with the name
    done            nothing is left there either          → nothing is done

Why nothing is lost: an exchange moves no row. An insert goes to the table that has the name on its replica
when it begins, and stays there, however late it ends and whatever the names are by then. Both tables
replicate by their places, so no replica misses it. What came to the table without the name is moved by its
partition after the exchange, as any partition is, and as often as the module runs.

Why a statement never meets the other table: names are exchanged under the lease of the shard path and only
while there is no record, which is when no partition is between the tables. Statements of moves carry names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ...errors import PartMoveError
from ...gates.names import GateName
from ...journal.events import Event
from ...lease.lease import Lease, confirm_lease
from ...text import first_few
from ..move.partition import TwinOptions
from ..move.record import Records, refuse_records
from ..move.report import TwinReport
from ..move.run import TwinMoveContext, TwinRun
from ..move.servers import read_replicas
from ..move.simulated_servers import SimulatedServers
from ..move.tables import Side
from .pair import (
    FoundTables,
    Holding,
    Named,
    PairServers,
    TablePair,
    differing,
    named,
    refuse_databases,
    refuse_pairs,
)

STAYS_FOR_NOW = frozenset(
    {GateName.OLD_ENOUGH, GateName.TWIN_AT_REST, GateName.TWIN_EVEN, GateName.CLONES_EQUAL}
)
"""Gates that may be closed because rows are being inserted, which ends for a table without the name."""
_LOOKS = 20
_LOOK_AGAIN_SECONDS = 0.5


class Exchanged(NamedTuple):
    """The exchange of one replica, done or foretold."""

    replica: str
    server: str
    statement: str


class FinalCounts(NamedTuple):
    """What a replica has once the run is over, and what it had before the names were exchanged."""

    replica: str
    server: str
    with_name: Holding
    without_name: Holding
    before: tuple[Holding, Holding] | None
    """With and without the name as they were, at the same places; None where nothing was exchanged."""
    older_inserts: int
    """Inserts under way that began before the exchange, and may still end in the table without the name."""


class Target(NamedTuple):
    """Where the name shall be."""

    twin: str
    """The name of a twin, with the word for the name of its table in it."""
    wanted: Side
    """HOT for home, the default ensemble; COLD for away."""


@dataclass
class TableSwitchReport:
    """What was done to the table of one shard."""

    shard_path: str
    name: str = ""
    exchanged: list[Exchanged] = field(default_factory=list)
    before: TwinReport | None = None
    """What was moved away from the name, before the exchange."""
    after: TwinReport | None = None
    """What was moved to it, after that."""
    kept: list[FinalCounts] = field(default_factory=list)
    differing: str = ""
    """Where replicas had not the same parts in the end."""


class TableSwitch:
    """The steps of one shard path, which a run takes for all of them side by side."""

    def __init__(
        self,
        context: TwinMoveContext,
        servers: PairServers,
        names: Target,
        options: TwinOptions,
        report: TableSwitchReport,
        *,
        check_mode: bool = False,
    ) -> None:
        """In check mode nothing is executed, and ``context.hot`` is an overlay."""
        self._context = context
        self._check_mode = check_mode
        self._servers = servers
        self._twin, self._wanted = names
        self._options = options
        self._path = report.shard_path
        self.report = report
        self._began = 0.0
        self._held: dict[str, tuple[Holding, Holding]] = {}

    def look(self) -> bool:
        """Whether every replica has both tables; raises PartMoveError where names could never be exchanged.

        False where the replicas have the name at home, so that missing twins may be created.
        """
        found = self._find()
        refuse_databases(found)
        pairs = [each.pair for each in found if each.pair is not None]
        if len(pairs) == len(found):
            self._name(refuse_pairs(self._path, pairs, self._twin))
            return True
        for pair in pairs:
            if named(pair, self._twin).at is Side.COLD:
                lacking = [each.server for each in found if each.away is None]
                raise PartMoveError(
                    f"{first_few(lacking)} has no table at {pair.away.place}, which has the name on {pair.server}",
                    remedy="Create it there as on the other replicas, and run again",
                )
        self.report.name = str(found[0].home)
        return False

    @property
    def is_at_end(self) -> bool:
        """Whether the name is where it is wanted on every replica."""
        return all(each.at is self._wanted for each in self._names())

    def move_before(self) -> None:
        """Move partitions away from the name, unless names were exchanged on some replica already."""
        if any(each.at is self._wanted for each in self._names()):
            return
        self.report.before = TwinReport(self._path)
        self._move(self.report.before, Side.COLD)

    def refuse_left(self) -> None:
        """Raise PartMoveError where a partition stayed that would stay after the exchange, too."""
        moved = self.report.before
        if moved is None:
            return
        stay = {each: why for each, why in moved.deferred.items() if why.gate not in STAYS_FOR_NOW}
        for partition, refusal in sorted({**stay, **moved.failed}.items()):
            raise PartMoveError(
                f"The names of {self.report.name} and its twin are not exchanged, as partition {partition} of"
                f" {self._path} cannot be moved: {refusal.reason}",
                remedy=refusal.remedy,
            )

    def exchange(self) -> None:
        """Give the name to the table in the wanted ensemble, on each replica that has it elsewhere."""
        if self.is_at_end:
            return
        lease = self._context.leases.acquire(self._path)
        try:
            self._exchange_all(lease)
        finally:
            self._context.leases.release(lease)

    def move_after(self) -> None:
        """Move what is left in the table without the name to the one that has it."""
        self.report.after = TwinReport(self._path)
        self._move(self.report.after, Side.HOT)

    def look_after(self) -> None:
        """Take down what every replica has, once all have the same or after a while."""
        for attempt in range(_LOOKS):
            pairs = self._pairs()
            found = [self._servers.contents(each) for each in pairs]
            self.report.differing = differing(pairs, found)
            if not self.report.differing or self._check_mode:
                break
            if attempt + 1 < _LOOKS:
                self._context.clock.sleep(_LOOK_AGAIN_SECONDS)
        elapsed = self._context.clock.now() - self._began if self._began else None
        self.report.kept = [self._kept(pair, both, elapsed) for pair, both in zip(pairs, found)]

    def _kept(self, pair: TablePair, both: tuple[Holding, Holding], elapsed: float | None) -> FinalCounts:
        at = named(pair, self._twin).at
        before = self._held.get(pair.replica.name)
        return FinalCounts(
            pair.replica.name,
            pair.server,
            *_with_name_first(both, at),
            None if before is None else _with_name_first(before, at),
            0 if elapsed is None else self._servers.older_inserts(pair, elapsed),
        )

    def _move(self, report: TwinReport, destination: Side) -> None:
        context = self._context
        if self._check_mode:
            context = context._replace(servers=SimulatedServers(context.servers, report.statements))
        run = TwinRun(context, destination, self._options, report)
        try:
            run.carry_out(run.find())
        finally:
            report.record_refusals(self._context.journal)

    def _exchange_all(self, lease: Lease) -> None:
        """Exchange the names on one replica after the other."""
        refuse_records(Records(self._context.hot, self._context.leases.root, self._path), self._path)
        pairs = self._pairs()
        self._name(refuse_pairs(self._path, pairs, self._twin))
        for pair in pairs:
            reasons = self._servers.hindrances(pair)
            if reasons and not self._check_mode:
                raise PartMoveError(
                    f"{pair.server}: the names are not exchanged, as {first_few(reasons)}",
                    remedy="Wait until that is done, and run again",
                )
        self._held = {each.replica.name: self._servers.contents(each) for each in pairs}
        for each in pairs:
            # A statement given twice would undo itself, so it is given only right after a look.
            pair = self._pair(each)
            if named(pair, self._twin).at is self._wanted:
                continue
            if not self._check_mode:
                self._exchange_one(lease, pair, len(pairs))
            statement = self._servers.exchange_statement(pair)
            self.report.exchanged.append(Exchanged(pair.replica.name, pair.server, statement))

    def _exchange_one(self, lease: Lease, pair: TablePair, replicas: int) -> None:
        confirm_lease(self._context.hot, lease, self._path)
        self._began = self._began or self._context.clock.now()
        place = {"shard_path": self._path, "replica": pair.replica.name, "table": self.report.name}
        self._context.journal.record(Event.EXCHANGING, [{**place, "place": pair.at(self._wanted).place}])
        try:
            self._servers.exchange(pair)
            is_done = named(self._pair(pair), self._twin).at is self._wanted
        except PartMoveError as error:
            raise self._torn(pair, replicas, error.message) from error
        if not is_done:
            raise self._torn(pair, replicas, "its names are as before")

    def _torn(self, pair: TablePair, replicas: int, reason: str) -> PartMoveError:
        """What to say where one replica did not exchange, or nobody knows."""
        return PartMoveError(
            f"{self.report.name} was exchanged on {len(self.report.exchanged)} of {replicas} replicas of"
            f" {self._path} by this run, and then {pair.server} did not or did not say so: {reason}",
            remedy="Nothing is lost, and inserts go to both tables meanwhile. Run again when the server"
            " answers, which goes on from here, or with the other state, which goes back",
        )

    def _find(self) -> list[FoundTables]:
        replicas = read_replicas(self._context.hot, self._path)
        return [self._servers.find(self._path, each) for each in replicas]

    def _pairs(self) -> list[TablePair]:
        found = self._find()
        return [self._pair_of(each) for each in found]

    def _pair(self, pair: TablePair) -> TablePair:
        """The same, as it is by now."""
        return self._pair_of(self._servers.find(self._path, pair.replica))

    def _pair_of(self, found: FoundTables) -> TablePair:
        if found.pair is None:
            raise PartMoveError(
                f"{found.server} has no twin of {found.home} at its place",
                remedy="Run again, which creates it",
            )
        return found.pair

    def _names(self) -> Sequence[Named]:
        return [named(each, self._twin) for each in self._pairs()]

    def _name(self, names: Sequence[Named]) -> None:
        self.report.name = str(names[0])


def _with_name_first(both: tuple[Holding, Holding], at: Side) -> tuple[Holding, Holding]:
    home, away = both
    return (home, away) if at is Side.HOT else (away, home)
