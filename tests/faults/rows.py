# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A table with a record of every row that it must have, and what is done to it while partitions move."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.client import HTTPException

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from support.servers.clickhouse import QueryError
from support.servers.replicated import Definition, ReplicatedTable, wait_for

TRAVELLING = ("20191201", "20191202", "20191203")
"""Partitions that go to cold and back."""
ARCHIVED = ("20191211", "20191212")
"""Partitions that stay in cold; a table that is mutated has them in hot."""
STANDING = ("20191221", "20191222", "20191223")
"""Partitions that never move, and that rows come to and go from."""

_COLUMNS = "day Date, id UInt32, body String"
_CLAUSES = "PARTITION BY toYYYYMMDD(day) ORDER BY id"
QUIET = Definition(_COLUMNS, f"{_CLAUSES} SETTINGS max_replicated_merges_in_queue = 0")
"""Nothing is merged unless it is told to, and nothing is mutated."""
BUSY = Definition(_COLUMNS, _CLAUSES)

_TRY_SECONDS = 300.0
_WAIT_SECONDS = 0.2
_ROWS = 4
_NO_ROW = 4_000_000_000


class KnownTable:
    """A table, and the rows that it must have.

    What is done to it is done by one thread at a time. A statement without an answer is sent again: servers
    take the same rows of an INSERT once only, and the others have the same effect when they are repeated.
    """

    def __init__(self, table: ReplicatedTable, *, busy: bool) -> None:
        """`busy`: servers merge and mutate it; else they do only what they are told to."""
        self.table = table
        self.busy = busy
        self.days: dict[str, set[int]] = {}
        """Partition → ids of its rows."""
        self.acts: Counter[str] = Counter()
        """How often it was changed since it was created."""
        self.hangs = False
        """Whether the servers have to start again for an ALTER to be carried out."""
        self._next_id = 0
        self._columns = 0

    def create(self) -> None:
        """Create the table with a part in each of its partitions."""
        self.table.create(BUSY if self.busy else QUIET)
        for day in (*TRAVELLING, *ARCHIVED, *STANDING):
            self.insert(day, 0)
        self.acts.clear()

    def rows(self) -> list[tuple[object, ...]]:
        """All rows that each replica must have, in order."""
        return sorted((_date(day), number, _body(number)) for day, ids in self.days.items() for number in ids)

    def insert(self, day: str, server: int) -> None:
        """Insert a few rows."""
        ids = range(self._next_id, self._next_id + _ROWS)
        self._next_id += _ROWS
        values = ", ".join(f"('{_date(day)}', {number}, '{_body(number)}')" for number in ids)
        self._execute(server, f"INSERT INTO {self.table.name} (day, id, body) VALUES {values}")
        self.days.setdefault(day, set()).update(ids)
        self.acts["inserts"] += 1

    def merge(self, day: str) -> None:
        """Make one part of all that the partition has, also of a single one."""
        self._execute(0, f"OPTIMIZE TABLE {self.table.name} PARTITION {day} FINAL")
        self.acts["merges"] += 1

    def drop(self, day: str, server: int) -> None:
        """Drop a partition on both servers."""
        self._execute(server, f"ALTER TABLE {self.table.name} DROP PARTITION {day}", wait_for_all=True)
        self.days.pop(day, None)
        self.acts["drops"] += 1

    def mutate(self, day: str, server: int) -> None:
        """Delete a row, which writes every part of the table again."""
        # A server of this version may crash when an insert is on its way to the other one.
        self.settle()
        row = max(self.days.get(day) or {_NO_ROW})
        self._execute(server, f"ALTER TABLE {self.table.name} DELETE WHERE id = {row}")
        self.days.get(day, set()).discard(row)
        self.acts["mutations"] += 1

    def add_column(self, server: int) -> None:
        """Add a column that no part has; what hangs then will be done when the servers start."""
        self._columns += 1
        column = f"more{self._columns}"
        try:
            self._execute(server, f"ALTER TABLE {self.table.name} ADD COLUMN {column} UInt8")
        except QueryError as error:
            self.hangs = "Alter is not finished" in str(error)
            if not self.hangs and "already exists" not in str(error):
                raise
        self.acts["new columns"] += 1

    def settle(self) -> None:
        """Wait until the replicas have nothing to do, all mutations are done, and outdated parts are gone."""
        question = f"SELECT count() FROM system.mutations WHERE table = '{self.table.name}' AND NOT is_done"
        wait_for(lambda: all(server.query(question) == [(0,)] for server in self.table.servers))
        self.table.settle()

    def is_idle(self) -> bool:
        """Whether no replica has anything in its queue."""
        question = f"SELECT count() FROM system.replicas WHERE table = '{self.table.name}' AND queue_size = 0"
        return all(server.query(question) == [(1,)] for server in self.table.servers)

    def states(self, client: KazooClient, partitions: Sequence[str]) -> dict[str, bytes | None]:
        """The State of each of the partitions, for a client of hot; None where there is none."""
        client.sync("/")
        states: dict[str, bytes | None] = {}
        for each in partitions:
            try:
                states[each] = bytes(client.get(f"{self.table.path}/block_numbers/{each}/State")[0])
            except NoNodeError:
                states[each] = None
        return states

    @contextmanager
    def going_on(self, acts: Sequence[Callable[[], object]]) -> Iterator[Background]:
        """Do one of the acts after the other meanwhile; raises what a server refused."""
        background = Background(acts)
        thread = threading.Thread(target=background.run, daemon=True)
        thread.start()
        try:
            yield background
        finally:
            background.stop()
            thread.join()
        background.check()

    def _execute(self, server: int, sql: str, *, wait_for_all: bool = False) -> None:
        settings = {"replication_alter_partitions_sync": 2} if wait_for_all else {}
        deadline = time.monotonic() + _TRY_SECONDS
        while True:
            try:
                self.table.servers[server].execute(sql, **settings)
                return
            except (QueryError, OSError, HTTPException) as error:
                if time.monotonic() > deadline or (isinstance(error, QueryError) and not _passes(error)):
                    raise
                time.sleep(_WAIT_SECONDS)


class Background:
    """Acts that a thread carries out one after the other, with pauses."""

    def __init__(self, acts: Sequence[Callable[[], object]]) -> None:
        self._acts = acts
        self._stopped = threading.Event()
        self._idle = threading.Lock()
        self._errors: list[Exception] = []
        self.done = 0

    def do(self, act: Callable[[], object]) -> None:
        """Carry out something else in this thread, between two of the acts."""
        with self._idle:
            act()

    def run(self) -> None:
        """Carry them out until `stop`."""
        for act in self._acts:
            with self._idle:
                if self._stopped.is_set():
                    return
                try:
                    act()
                except (QueryError, OSError, HTTPException, TimeoutError) as error:
                    self._errors.append(error)
                    return
                self.done += 1
            self._stopped.wait(_WAIT_SECONDS)

    def stop(self) -> None:
        """Begin no other act, and wait for the one that is going on."""
        self._stopped.set()
        with self._idle:
            pass

    def check(self) -> None:
        """Raise what an act raised."""
        if self._errors:
            raise self._errors[0]


def _passes(error: QueryError) -> bool:
    """Whether it is about the state of a server, and will be over."""
    return any(word in str(error) for word in ("readonly", "ZooKeeper", "Coordination", "ession", "eader"))


def _date(day: str) -> str:
    return f"{day[:4]}-{day[4:6]}-{day[6:]}"


def _body(number: int) -> str:
    return f"row {number}"
