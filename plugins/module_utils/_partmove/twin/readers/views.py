# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keeps what readers of a pair see in line with the records, on every replica."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...gates.gate import Refusal
from ...gates.names import GateName
from ...text import first_few, shortened
from ...tree.ports import Clock
from ...zip_strict import zip_strict
from ..move.partition import refused_on_error
from ..move.record import TwinRecord
from ..move.refusals import Refused
from ..move.tables import TwinTables
from .hidden import Hidden, hidden_by, policy_condition
from .servers import ReaderServers, Reading
from .statements import AlterPolicy, CreatePolicy, DropPolicy, LeftPolicy, policy_name

_POLL_SECONDS = 0.05
_LONGEST_POLL_SECONDS = 1.0


class Replica(NamedTuple):
    """A replica and how it reads the pair."""

    tables: TwinTables
    reading: Reading


class PolicyReaders:
    """Sets the row policies of a pair. Implements the port `Readers` of a move."""

    def __init__(
        self, servers: ReaderServers, clock: Clock, replicas: Sequence[Replica], limit: float
    ) -> None:
        """``limit``: how long to wait for readers that began earlier, in seconds."""
        self._servers = servers
        self._clock = clock
        self._replicas = replicas
        self._limit = limit
        is_left = any(reading.policies for _tables, reading in replicas)
        self._set: tuple[Hidden, ...] | None = None if is_left else ()
        """What the policies hide on every replica; None if this run does not know."""
        self._seen: frozenset[Hidden] = frozenset()
        """What no reader that began earlier can still see."""

    def follow(self, records: Mapping[str, TwinRecord], *, wait: bool = True) -> None:
        """Hide what the records demand; return once no reader is left that began with another policy.

        Without a record, the policies are removed. Without ``wait``, no statement may follow that relies on
        what readers see. Raises Refused with the gate ``readers_done`` if readers
        take too long, and if a server fails: then neither ATTACH nor DROP PART may be executed.
        """
        hidden = hidden_by(records)
        if not self._hides:
            self._remove_left()
            return
        # First: readers may begin between two statements, also if one of them fails.
        self._seen &= frozenset(hidden)
        with refused_on_error():
            if hidden != self._set:
                self._change(hidden)
            if wait and not self._seen.issuperset(hidden):
                self._wait()
                self._seen = frozenset(hidden)

    def show(self, records: Mapping[str, TwinRecord]) -> None:
        """Hide only what the records demand; return once no reader is left that began before.

        Such a reader may see less than the records demand, also if a killed run changed the policies. Raises
        as `follow` does.
        """
        self.follow(records, wait=False)
        if self._hides:
            with refused_on_error():
                self._wait()

    @property
    def has_nothing_to_do(self) -> bool:
        """Whether nothing reads the pair as one, and no policy of an earlier run is left."""
        return not self._hides and self._set is not None

    @property
    def _hides(self) -> bool:
        return any(reading.tables for _tables, reading in self._replicas)

    def _remove_left(self) -> None:
        """Remove policies of an earlier run, for a run that hides nothing."""
        if self._set is None:
            with refused_on_error():
                self._change(())

    def _change(self, hidden: tuple[Hidden, ...]) -> None:
        is_created, self._set = bool(self._set), None
        for tables, reading in self._replicas:
            condition = policy_condition(hidden, tables)
            own = {LeftPolicy(policy_name(tables), table) for table in reading.tables}
            if not hidden:
                for policy in sorted({*own, *reading.policies}):
                    self._servers.execute(DropPolicy(tables, policy))
                continue
            if not is_created:
                self._drop_older(tables, reading)
            for table in reading.tables:
                if not is_created:
                    self._servers.execute(CreatePolicy(tables, table, reading.storage))
                self._servers.execute(AlterPolicy(tables, table, condition))
        self._set = hidden

    def _drop_older(self, tables: TwinTables, reading: Reading) -> None:
        """Remove policies with a name of earlier versions, which no later step of this run alters.

        Before the new policy: with both in force, readers would miss rows that each of the two hides.
        """
        for policy in reading.policies:
            if policy.name != policy_name(tables):
                self._servers.execute(DropPolicy(tables, policy))

    def _wait(self) -> None:
        """Wait until everything that reads now has ended, on every replica."""
        began = self._clock.now()
        left = [self._servers.readers(tables) for tables, _reading in self._replicas]
        pause = _POLL_SECONDS
        while any(left):
            if self._clock.now() - began > self._limit:
                raise Refused(self._not_done(left))
            self._clock.sleep(pause)
            pause = min(2 * pause, _LONGEST_POLL_SECONDS)
            left = [
                readers & self._servers.readers(replica.tables) if readers else readers
                for readers, replica in zip_strict(left, self._replicas)
            ]

    def _not_done(self, left: Sequence[frozenset[str]]) -> Refusal:
        server, readers = next(
            (replica.tables.server, sorted(readers))
            for readers, replica in zip_strict(left, self._replicas)
            if readers
        )
        return Refusal(
            GateName.READERS_DONE,
            f"{server}: after {self._limit:g} s readers that began before the row policy are still reading:"
            f" {shortened(first_few(readers))}",
            "Run again when they have ended (SELECT * FROM system.processes), or raise readers_wait. With"
            " readers none a run does not wait, and readers see rows of moving partitions twice",
        )
