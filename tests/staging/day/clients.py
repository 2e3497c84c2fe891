# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Clients of a cluster that insert into several tables and select from them without a break.

Usage: python -m staging.day.clients FOLDER

For each shard one client inserts and one selects. They behave like clients behind a load balancer: a replica
that is drained gets no query. A query is never sent again, so a failure is one that a client would have seen.
Each answer is checked against the model of all rows. `config` has the files that steer them.
"""

from __future__ import annotations

import itertools
import json
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from pathlib import Path

from .balancer import Balancer
from .config import Config, Order, Replica, Table
from .model import Model
from .queries import Journal, Query, QueryError, send, since

_NO_REPLICA = "no replica of the shard is in use"


class Clients:
    """All clients of a cluster."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for name in ("inserted", "dropping", "gone"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        self._config, self._config_at = Config.load(folder), (folder / "config.json").stat().st_mtime
        self._balancer = Balancer(folder)
        self._model = Model(folder, self._config)
        self._journal = Journal(folder)
        self._ended = threading.Event()

    def run(self) -> None:
        """Go on until there is a file `stop`."""
        shards = self._balancer.shards
        for shard in shards:
            (self._folder / "insert" / shard).mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(2 * len(shards)) as threads:
            clients = [
                threads.submit(work, shard) for shard in shards for work in (self._insert, self._select)
            ]
            try:
                while not (self._folder / "stop").exists() and not any(each.done() for each in clients):
                    self._balancer.refresh()
                    self._read_config()
                    (self._folder / "started").touch()
                    time.sleep(0.1)
            finally:
                self._ended.set()
        for each in clients:
            each.result()
        (self._folder / "ended").touch()

    def _read_config(self) -> None:
        """Notice that a step has changed how a table is read."""
        changed = (self._folder / "config.json").stat().st_mtime
        if changed != self._config_at:
            self._config, self._config_at = Config.load(self._folder), changed

    def _insert(self, shard: str) -> None:
        tables = itertools.cycle(
            [table for table in self._config.tables if table.insert and not table.is_quiet]
        )
        while not self._ended.wait(self._config.pause):
            self._carry_out_orders(shard)
            today = datetime.now(UTC).date()
            self._send_rows(shard, next(tables), [today], "insert")

    def _carry_out_orders(self, shard: str) -> None:
        for file in sorted((self._folder / "insert" / shard).glob("*.json")):
            done = self._folder / "inserted" / file.stem
            if not done.exists():
                order = Order(**json.loads(file.read_text()))
                days = [date.fromisoformat(each) for each in order.dates for _row in range(order.rows)]
                error = self._send_rows(shard, self._config.table(order.table), days, "order")
                # In one go: an empty file means that all went well.
                outcome = file.with_suffix(".outcome")
                outcome.write_text(error)
                outcome.rename(done)

    def _send_rows(self, shard: str, table: Table, days: Sequence[date], kind: str) -> str:
        with self._balancer.next(shard) as chosen:
            if chosen is None:
                self._write(time.time(), 0.0, shard, table, None, kind, error=_NO_REPLICA)
                return _NO_REPLICA
            replica, _since = chosen
            rows = self._model.send(shard, table.name, days)
            at, begin = time.time(), time.monotonic()
            error = ""
            try:
                send(replica.address, table.statement(rows), self._config)
            except QueryError as failure:
                error = str(failure)
                if not failure.reached:
                    self._balancer.avoid(replica)
            else:
                self._model.confirm(shard, table.name, replica.name, rows)
            self._write(at, since(begin), shard, table, replica, kind, error=error)
            return error

    def _select(self, shard: str) -> None:
        for turn in itertools.count():
            table = self._config.tables[turn % len(self._config.tables)]
            if self._ended.wait(self._config.pause):
                return
            with self._balancer.next(shard) as chosen:
                if chosen is None:
                    self._write(time.time(), 0.0, shard, table, None, "select", error=_NO_REPLICA)
                else:
                    self._read(shard, table, *chosen)

    def _read(self, shard: str, table: Table, replica: Replica, in_use_since: float) -> None:
        question = self._model.ask(shard, table.name, replica.name, in_use_since=in_use_since)
        at, begin = time.time(), time.monotonic()
        error = wrong = ""
        try:
            answer = send(replica.address, table.read, self._config)
        except QueryError as failure:
            error = str(failure)
            if not failure.reached:
                self._balancer.avoid(replica)
        took = since(begin)
        if not error:
            wrong = self._model.check(question, json.loads(answer))
        self._write(at, took, shard, table, replica, "select", error=error, wrong=wrong)

    def _write(
        self,
        at: float,
        took: float,
        shard: str,
        table: Table,
        replica: Replica | None,
        kind: str,
        *,
        error: str = "",
        wrong: str = "",
    ) -> None:
        name = replica.name if replica else ""
        self._journal.write(Query(at, took, shard, table.name, name, kind, error, wrong))


if __name__ == "__main__":
    Clients(Path(sys.argv[1])).run()
