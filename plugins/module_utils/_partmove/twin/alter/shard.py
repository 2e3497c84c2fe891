# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the work on one shard path needs: its ports, its lease and its replicas."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import NamedTuple

from ...errors import PartMoveError
from ...journal.events import Event
from ...journal.port import Journal
from ...lease.confirmation import confirm_lease
from ...lease.lease import (
    Lease,
)
from ...tree.ports import Clock, ZnodeStore
from ..move.tables import TwinReplica, TwinTables
from .servers import AlterServers

_FIRST_POLL, _LAST_POLL = 0.1, 5.0


@dataclass
class AlterReport:
    """The outcome for a shard path."""

    shard_path: str
    statements: list[str] = field(default_factory=list)
    """The executed statements, in order; in check mode, those to execute."""
    finished: str = ""
    """The statement of an earlier run that this run finished; in check mode, would finish."""


class AlterShard(NamedTuple):
    """The ports of the work on a shard path, under its lease."""

    shard_path: str
    root: str
    """The coordination root."""
    hot: ZnodeStore
    clock: Clock
    journal: Journal
    servers: AlterServers
    lease: Lease
    replicas: Sequence[TwinReplica]
    report: AlterReport
    wait_seconds: float
    """How long to wait for a statement to take effect on every replica."""

    def tables(self) -> list[TwinTables]:
        """Return both tables of every replica, as they are now."""
        return [self.servers.tables(self.shard_path, each) for each in self.replicas]

    def execute(self, tables: TwinTables, sql: str) -> None:
        """Execute a statement if the lease is still valid. Raises as `AlterServers.execute` does."""
        confirm_lease(self.hot, self.lease, self.shard_path)
        line = {"shard_path": self.shard_path, "replica": tables.replica.name, "statement": sql}
        self.journal.record(Event.ALTERING, [line])
        self.report.statements.append(sql)
        self.servers.execute(tables, sql)

    def wait_until(self, is_so: Callable[[], bool], most: float | None = None) -> bool:
        """Return whether the condition holds, at the latest after ``wait_seconds``, or ``most`` if less."""
        seconds = self.wait_seconds if most is None else min(most, self.wait_seconds)
        deadline, pause = self.clock.now() + seconds, _FIRST_POLL
        while not is_so():
            if self.clock.now() >= deadline:
                return False
            self.clock.sleep(pause)
            pause = min(2 * pause, _LAST_POLL)
        return True

    def wait_until_quiet(self) -> None:
        """Wait until no statement that alters one of the tables is in progress. Raises PartMoveError."""
        reasons: list[str] = []

        def is_quiet() -> bool:
            reasons[:] = [
                f"{each.server}: {reason}"
                for each in self.tables()
                for reason in self.servers.in_progress(each)
            ]
            return not reasons

        if not self.wait_until(is_quiet):
            raise PartMoveError(
                f"{self.shard_path}: {reasons[0]}",
                remedy="Wait until the statement has ended (system.processes, system.replication_queue), and"
                " run again",
            )


def digest_of(definition: str) -> str:
    """Return a digest of the definition of a table, for comparisons."""
    return sha256(definition.encode()).hexdigest()
