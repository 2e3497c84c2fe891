# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Executes the statement of a record on the table, then on its twin, and removes the record.

A run that is killed at any point leaves the record. The next run continues::

    reading tables that a killed run dropped are created
    the columns that leave are dropped from the reading tables, or the record is removed if these refuse
    for the table, then for its twin:
        before the twin, expiry times in the ledger become earlier by a new TTL (`expiry`)
        "begun" is recorded
        the statement is executed, unless the servers prove that it took effect (`effect`)
        the run waits until it took effect on every replica
        "done" is recorded
    the reading tables are created again
    both tables are compared on every replica
    expiry times in the ledger become those of the twin
    the record is removed, and with it dropped and emptied partitions from the ledger of the twin

No partition is between the tables meanwhile: the record keeps moves from the shard path. The table comes
first, because it gets the inserts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from ...errors import EnsembleError, LeaseLost, PartMoveError
from ...journal.events import Event
from ..move.gates import refuse_tables
from ..move.tables import Side, TwinTables
from .effect import Doubtful, Effect
from .expiry import advance_expiries, renew_expiries
from .leaving import leave_ledger
from .reading import prepare, recreate, restore
from .record import AlterRecord, AlterRecords, StoredAlter
from .servers import Refused
from .shard import AlterShard
from .statement import AlterKind

ORDER = (Side.HOT, Side.COLD)
_READERS, _LEDGER = "a table that reads both tables", "the ledger of the twin"
_SETTLE_SECONDS = 3.0
"""Before a run decides whether the statement of a killed run took effect: a server may just be reading it."""
_GRACE_SECONDS = 10.0
"""How long a statement without an answer may take to show an effect, once no server executes it."""


class AlterSteps:
    """The steps for the record of a shard path."""

    def __init__(self, shard: AlterShard, records: AlterRecords, stored: StoredAlter) -> None:
        self._shard = shard
        self._records = records
        self._stored = stored

    @property
    def _record(self) -> AlterRecord:
        return self._stored.record

    def finish(self) -> None:
        """Take the steps that are left.

        Raises PartMoveError. The record then stays, unless the servers refused the statement or a step before
        it, and neither table has changed.
        """
        statement = self._record.statement
        with self._followed_by(_READERS):
            restore(self._shard, statement, self._record.reading)
        self._prepare()
        for side in ORDER:
            if side not in self._record.done:
                self._change(side)
        with self._followed_by(_READERS):
            recreate(self._shard, statement)
        self._compare()
        shard = self._shard
        with self._followed_by(_LEDGER):
            renew_expiries(shard, statement)
            ops = leave_ledger(shard, self._record)
        self._records.remove(shard.lease, self._stored, ops)
        line = {"shard_path": shard.shard_path, "statement": statement.text}
        shard.journal.record(Event.ALTERED, [line])

    def _prepare(self) -> None:
        with self._followed_by(_READERS):
            try:
                prepare(self._shard, self._record.statement)
            except Refused as refused:
                if self._record.begun:
                    raise
                refusal = refused
            else:
                return
        raise self._withdrawn(refusal)

    @contextmanager
    def _followed_by(self, what: str) -> Iterator[None]:
        """Say in errors what is left beside the two tables, and how it is finished."""
        try:
            yield
        except (EnsembleError, LeaseLost):
            raise
        except PartMoveError as error:
            raise PartMoveError(
                f"{self._shard.shard_path}: the statement is not finished, as {what} cannot follow, and no"
                f" partition of the two tables moves meanwhile: {error.message}",
                remedy=f"{error.remedy or 'Remove the cause'}, and run twin_alter without a statement, which"
                " continues",
            ) from None

    def _change(self, side: Side) -> None:
        is_resumed = side in self._record.begun
        if is_resumed:
            # A server may still execute the statement of the killed run.
            self._shard.clock.sleep(_SETTLE_SECONDS)
            self._shard.wait_until_quiet()
        else:
            if side is Side.COLD:
                with self._followed_by(_LEDGER):
                    advance_expiries(self._shard, self._record.statement)
            self._save(self._record._replace(begun=(*self._record.begun, side)))
        effect = Effect(self._shard, self._record, side)
        if not (is_resumed and effect.is_there()):
            self._execute(side, effect, is_resumed)
        self._save(self._record._replace(done=(*self._record.done, side)))

    def _execute(self, side: Side, effect: Effect, is_resumed: bool) -> None:
        record = self._record
        try:
            for tables in self._targets(effect, side, is_resumed):
                self._shard.execute(tables, record.statement.sql(tables, side, record.token))
        except (EnsembleError, LeaseLost, Doubtful):
            raise
        except Refused as refused:
            raise self._refused(side, effect, refused, is_resumed) from None
        except PartMoveError as error:
            # The server may still execute the statement, and wait for the other replicas.
            if not self._outlasted(effect):
                raise self._not_done(side, effect.failure() or error.message) from None
        if not self._shard.wait_until(effect.is_settled):
            reason = effect.failure() or effect.other_policy()
            raise self._not_done(side, reason or "it has not taken effect on every replica")

    def _outlasted(self, effect: Effect) -> bool:
        """Return whether a statement took effect that ended without an answer."""
        if effect.failure():
            return False
        self._shard.wait_until_quiet()
        most = None if effect.is_under_way() else _GRACE_SECONDS
        return self._shard.wait_until(effect.is_there, most)

    def _targets(self, effect: Effect, side: Side, is_resumed: bool) -> Iterable[TwinTables]:
        """Return the replicas on whose servers the statement is to be executed."""
        kind = self._record.statement.kind
        if kind is AlterKind.MUTATION:
            executor = effect.executor
            if is_resumed:
                effect.prove_not_executed(executor)
            return [] if effect.marked(executor) else [executor]
        if is_resumed:
            effect.refuse_doubtful()
        is_drop = kind is AlterKind.DROP or (kind is AlterKind.REPLACE and side is Side.COLD)
        if (is_drop or kind is AlterKind.ATTACH) and effect.is_there():
            return []
        return effect.targets()

    def _refused(self, side: Side, effect: Effect, refused: Refused, is_resumed: bool) -> PartMoveError:
        """Return the error, and remove the record if the statement had no effect on any table."""
        if self._record.done or not effect.nothing_happened(is_resumed):
            return self._not_done(side, refused.message)
        return self._withdrawn(refused)

    def _withdrawn(self, refused: Refused) -> PartMoveError:
        """Return the error for a statement without effect, after the record of it was removed."""
        with self._followed_by(_READERS):
            recreate(self._shard, self._record.statement)
        self._records.remove(self._shard.lease, self._stored)
        return PartMoveError(f"{refused.message}. Neither table was changed", remedy=refused.remedy)

    def _not_done(self, side: Side, reason: str) -> PartMoveError:
        tables = self._shard.tables()[0]
        table = tables.on(side)
        sql = self._record.statement.sql(tables, side, self._record.token)
        return PartMoveError(
            f"{self._shard.shard_path}: the statement is not finished on {table}, and no partition of the two"
            f" tables moves meanwhile: {reason}",
            remedy="Remove the cause, and run twin_alter without a statement, which continues. Or execute"
            f" {sql} by hand, and then run twin_alter without a statement",
        )

    def _compare(self) -> None:
        """Raise PartMoveError unless both tables are alike on every replica."""
        if self._record.statement.kind is not AlterKind.STRUCTURE:
            return
        refusal = refuse_tables(self._shard.shard_path, self._shard.tables())
        if refusal is not None:
            raise PartMoveError(
                f"{self._shard.shard_path}: the statement was executed on both tables, and they differ:"
                f" {refusal.reason}",
                remedy=f"{refusal.remedy}. Then run twin_alter without a statement",
            )

    def _save(self, record: AlterRecord) -> None:
        self._stored = self._records.replace(self._shard.lease, self._stored, record)
