# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Moves a whole table of a shard to the other ensemble, so that its name stays.

The current state is given by three facts:

- which table has the name on each replica,
- whether the table without the name has partitions,
- whether there are records of partitions between the two tables.

A run that is killed at any point leaves one of these states, and the next run continues from there::

    no twin         a replica has none                    → create the twin on every replica
    not exchanged   no replica has the name at its        → move partitions away from the name, as far as
                    destination                             they are old enough; then exchange the names
    exchanged       some replicas have it there           → exchange on the others, one after the other
      partly
    exchanged       all replicas have it there            → move what is left in the other table to the table
                                                            with the name
    done            and the other table is empty          → nothing

Why nothing is lost: an exchange moves no row. An insert goes to the table that has the name on its replica
when the insert begins, and stays in this table, however late it ends and whatever the names are by then. Both
tables replicate by their places, so no replica misses the insert. Rows in the table without the name are
moved by partition after the exchange, with the same safety as any partition, in every run of the module. A
record of the exchange tells each run which inserts are older (`exchange_record`), so that a move is finished
only once no row can come to the table without the name any more.

Why a statement never reaches the wrong table: statements of moves contain names. Names are exchanged only
under the lease of the shard path, and only without any record, so no partition is between the tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...errors import PartMoveError
from ...gates.gate import Refusal
from ...gates.names import GateName
from ...journal.events import Event
from ...lease.confirmation import confirm_lease
from ...lease.lease import Lease
from ..ledger.moves import close_ledger
from ..move.partition import TwinOptions
from ..move.record import Records, refuse_records
from ..move.report import TwinReport
from ..move.run import TwinMoveContext, TwinRun
from ..move.servers import read_replicas
from ..move.tables import Side
from .departure import require_never_left
from .exchange_record import ReplicaExchange
from .exchange_watch import ExchangeWatch
from .left_policies import refuse_left_policies
from .pair import (
    LocatedTables,
    PairContents,
    PairServers,
    TableName,
    TablePair,
    as_twin_tables,
    describe_difference,
    locate_name,
    named_tables,
    refuse_databases,
    refuse_hindrances,
    refuse_inner_tables,
    refuse_pairs,
    refuse_unnamed,
)
from .switch_report import Exchanged, FinalCounts, TableSwitchReport
from .table_refused import TableRefused

STAYS_FOR_NOW = frozenset(
    {GateName.OLD_ENOUGH, GateName.TWIN_AT_REST, GateName.TWIN_EVEN, GateName.CLONES_EQUAL}
)
"""Gates that ongoing inserts may close; a table without the name gets no more inserts."""
_READS = 20
_READ_AGAIN_SECONDS = 0.5


class Target(NamedTuple):
    """The desired place of the name."""

    twin: str
    """The name of a twin, with the placeholder for the name of its table."""
    desired: Side
    """HOT for the table at home, in the default ensemble; COLD for the table away."""


class TableSwitch:
    """The steps for a shard path. A run takes each step for all shard paths before the next step."""

    def __init__(
        self,
        context: TwinMoveContext,
        servers: PairServers,
        names: Target,
        options: TwinOptions,
        report: TableSwitchReport,
    ) -> None:
        """In check mode, which ``context`` says, the switch executes no statement."""
        self._context = context
        self._check_mode = context.check_mode
        self._servers = servers
        self._twin, self._desired = names
        self._options = options
        self._path = report.shard_path
        self.report = report
        self._records = Records(context.hot, context.leases.root, report.shard_path)
        self._watch = ExchangeWatch(context, servers, report.shard_path, names.desired)
        self._older: Mapping[str, Sequence[str]] = {}
        self._contents_before: dict[str, PairContents] = {}

    def find_tables(self) -> bool:
        """Find the tables; return whether every replica has both, so that no twin must be created.

        Returns False only if every replica that has both tables has the name at home, so that the missing
        twins may be created. On the way home it returns False only if the table never left: then the shard
        is finished. Raises PartMoveError if the names can never be exchanged.
        """
        found = self._locate()
        refuse_inner_tables(found)
        refuse_databases(found)
        for each in found:
            self._servers.require_rights(each)
        pairs = [each.pair for each in found if each.pair is not None]
        has_all = len(pairs) == len(found)
        if has_all:
            self.report.name = str(refuse_pairs(self._path, pairs, self._twin)[0])
        else:
            refuse_unnamed(found, self._twin)
            self.report.name = str(found[0].home)
            if self._desired is Side.HOT:
                require_never_left(
                    self._context.hot, self._context.leases.root, self._path, found, self._twin
                )
                self.report.never_left = True
                return False
        named = [named_tables(each, self._twin) for each in found]
        refuse_left_policies(self._servers, named, self._records)
        return has_all

    @property
    def has_desired_name(self) -> bool:
        """Whether the name is at its desired place on every replica."""
        return all(each.at is self._desired for each in self._names())

    def move_before(self) -> None:
        """Move partitions away from the name, unless a replica already exchanged its names."""
        if any(each.at is self._desired for each in self._names()):
            return
        self.report.before = TwinReport(self._path)
        self._move(self.report.before, Side.COLD)

    def refuse_unmoved(self) -> None:
        """Raise TableRefused if a partition stayed for a reason that an exchange would not end."""
        moved = self.report.before
        if moved is None:
            return
        stay = {each: why for each, why in moved.deferred.items() if why.gate not in STAYS_FOR_NOW}
        for partition, refusal in sorted({**stay, **moved.failed}.items()):
            reason = (
                f"The names of {self.report.name} and its twin are not exchanged, as partition {partition} of"
                f" {self._path} cannot be moved: {refusal.reason}"
            )
            raise TableRefused(Refusal(refusal.gate, reason, refusal.remedy))

    def exchange(self) -> None:
        """Give the name to the table in the desired ensemble, on each replica with the name elsewhere."""
        if self.has_desired_name:
            return
        lease = self._context.leases.acquire(self._path)
        try:
            self._exchange_all(lease)
        finally:
            self._context.leases.release(lease)

    def await_older_inserts(self, wait_seconds: float) -> None:
        """Wait until no insert can come to the table without the name any more, or for this time."""
        if self.has_desired_name:
            self._older = self._watch.settle(self._pairs(), wait_seconds)

    def move_after(self) -> None:
        """Move the partitions left in the table without the name to the table with the name."""
        self.report.after = TwinReport(self._path)
        self._move(self.report.after, Side.HOT)

    def record_final_counts(self) -> None:
        """Record the contents of the tables of every replica, once all are equal or after a while."""
        for attempt in range(_READS):
            pairs = self._pairs()
            found = [self._servers.contents(each) for each in pairs]
            self.report.differing = describe_difference(pairs, found)
            if not self.report.differing or self._check_mode:
                break
            if attempt + 1 < _READS:
                self._context.clock.sleep(_READ_AGAIN_SECONDS)
        self.report.final_counts = [self._counts_of(pair, both) for pair, both in zip(pairs, found)]
        self.report.between = self._records.partition_ids()

    def _counts_of(self, pair: TablePair, both: PairContents) -> FinalCounts:
        at = locate_name(pair, self._twin).at
        before = self._contents_before.get(pair.replica.name)
        return FinalCounts(
            pair.replica.name,
            pair.server,
            *_with_name_first(both, at),
            None if before is None else _with_name_first(before, at),
            self._older.get(pair.replica.name),
        )

    def _move(self, report: TwinReport, destination: Side) -> None:
        run = TwinRun(self._context, destination, self._options, report)
        try:
            run.carry_out(run.find())
        finally:
            report.record_refusals(self._context.journal)

    def _exchange_all(self, lease: Lease) -> None:
        """Exchange the names on each replica in turn."""
        refuse_records(self._records, self._path)
        pairs = self._pairs()
        names = refuse_pairs(self._path, pairs, self._twin)
        self.report.name = str(names[0])
        named = [as_twin_tables(pair, name.at) for pair, name in zip(pairs, names)]
        refuse_left_policies(self._servers, named, self._records)
        for pair in pairs:
            self._refuse_hindrances(pair, self._servers.hindrances(pair))
        self._contents_before = {each.replica.name: self._servers.contents(each) for each in pairs}
        if self._desired is Side.COLD:
            close_ledger(self._context.hot, self._context.leases.root, self._path, lease)
        for each in pairs:
            # Executing the statement twice would exchange the names back, so the names are read right before.
            pair = self._read_again(each)
            if locate_name(pair, self._twin).at is self._desired:
                continue
            if not self._check_mode:
                self._exchange_one(lease, pair, len(pairs))
            statement = self._servers.exchange_statement(pair)
            self.report.exchanged.append(Exchanged(pair.replica.name, pair.server, statement))

    def _refuse_hindrances(self, pair: TablePair, reasons: Sequence[str]) -> None:
        if not self._check_mode:
            refuse_hindrances(pair.server, reasons)

    def _exchange_one(self, lease: Lease, pair: TablePair, replicas: int) -> None:
        place = {"shard_path": self._path, "replica": pair.replica.name, "table": self.report.name}
        self._context.journal.record(Event.EXCHANGING, [{**place, "place": pair.at(self._desired).place}])
        # Until the moment of this exchange is known, everything that runs counts as older.
        self._watch.records.update(lease, lambda record: record.without(pair.replica.name))
        self._refuse_hindrances(pair, self._servers.queued_inserts(pair))
        confirm_lease(self._context.hot, lease, self._path)
        try:
            self._servers.exchange(pair)
            is_done = locate_name(self._read_again(pair), self._twin).at is self._desired
        except PartMoveError as error:
            raise self._exchange_error(pair, replicas, error.message) from error
        if not is_done:
            raise self._exchange_error(pair, replicas, "its names have not changed")
        exchange = ReplicaExchange(self._servers.moment(pair), is_settled=False)
        self._watch.records.update(lease, lambda record: record.having(pair.replica.name, exchange))

    def _exchange_error(self, pair: TablePair, replicas: int, reason: str) -> PartMoveError:
        """Return the error if a replica did not exchange its names, or if this is unknown."""
        return PartMoveError(
            f"{self.report.name} was exchanged on {len(self.report.exchanged)} of {replicas} replicas of"
            f" {self._path} by this run, and then {pair.server} did not exchange it or did not confirm:"
            f" {reason}",
            remedy="Nothing is lost, and inserts go to both tables meanwhile. Run again when the server"
            " answers to continue from here, or run with the other state to undo the exchange",
        )

    def _locate(self) -> list[LocatedTables]:
        replicas = read_replicas(self._context.hot, self._path)
        return [self._servers.find(self._path, each) for each in replicas]

    def _pairs(self) -> list[TablePair]:
        return [self._pair_of(each) for each in self._locate()]

    def _read_again(self, pair: TablePair) -> TablePair:
        """Return the pair in its current state."""
        return self._pair_of(self._servers.find(self._path, pair.replica))

    def _pair_of(self, found: LocatedTables) -> TablePair:
        if found.pair is None:
            raise PartMoveError(
                f"{found.server} has no twin of {found.home} at its place",
                remedy="Run again, which creates it",
            )
        return found.pair

    def _names(self) -> Sequence[TableName]:
        return [locate_name(each, self._twin) for each in self._pairs()]


def _with_name_first(both: PairContents, at: Side) -> PairContents:
    home, away = both
    return (home, away) if at is Side.HOT else (away, home)
