# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the clients of a day are told: tables, replicas, and files that steer them.

A folder has everything about the clients of one scenario:

    config.json       tables and settings, see `Config`; read again when it changes, for how tables are read
    replicas.json     the replicas that may be asked, see `Replica`; read again whenever it changes
    drained/NAME      this replica gets no query; made by a drain hook
    left/NAME         this replica has no query any more; made by the clients
    insert/SHARD/NAME.json    rows to insert besides, see `Order`
    inserted/NAME     the order NAME is done, with the error if it failed
    dropping/NAME.json, gone/NAME.json    partitions that are about to be dropped, and that are; see `Dropped`
    started, stop, ended
    rows.jsonl        what was inserted, see `model`
    queries.jsonl     each query, see `Query`
    steps.jsonl       begin and end of each step, see `steps`
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple


class Replica(NamedTuple):
    """A server that can be asked for the rows of its shard."""

    shard: str
    name: str
    address: str


@dataclass(frozen=True)
class Table:
    """A table with a column of unique ids."""

    name: str
    read: str
    """Returns all ids as one array."""
    insert: str = ""
    """The statement without its rows, such as INSERT INTO hits (d, id) VALUES; empty with a source."""
    row: str = ""
    """One row, with {date} and {id}."""
    partition: str = ""
    """Partition ID as strftime writes the date; empty without partitions."""
    modulus: int = 0
    """If not 0, the partition ID ends with a dash and the remainder of the id."""
    source: str = ""
    """The table whose rows a materialized view has."""
    is_quiet: bool = False
    """Gets ordered rows only."""

    def partition_of(self, day: date, number: int) -> str:
        """Return the partition ID of a row."""
        written = day.strftime(self.partition) if self.partition else "all"
        return f"{written}-{number % self.modulus}" if self.modulus else written

    def statement(self, rows: Sequence[tuple[date, int]]) -> str:
        """Return the statement that inserts these rows."""
        values = ",".join(self.row.format(date=day.isoformat(), id=number) for day, number in rows)
        return f"{self.insert} {values}"


@dataclass(frozen=True)
class Config:
    """Tables and settings."""

    tables: Sequence[Table]
    user: str = ""
    password: str = ""
    pause: float = 0.4
    """Seconds between two queries of a client."""
    lag: float = 120.0
    """Seconds after which a replica that was always in use must have a row of another replica."""

    @classmethod
    def load(cls, folder: Path) -> Config:
        """Read config.json."""
        content: dict[str, Any] = json.loads((folder / "config.json").read_text())
        return cls(**{**content, "tables": [Table(**each) for each in content["tables"]]})

    def table(self, name: str) -> Table:
        """Return a table by its name."""
        return next(table for table in self.tables if table.name == name)

    def fed_by(self, name: str) -> list[Table]:
        """Return the tables that get the rows of an insert into one of them."""
        return [table for table in self.tables if name in (table.name, table.source)]


class Order(NamedTuple):
    """Rows to insert besides, such as old ones or late ones. Each date gets as many."""

    table: str
    dates: Sequence[str]
    rows: int


class Dropped(NamedTuple):
    """Partitions of a table and shard that a step drops."""

    shard: str
    table: str
    partitions: Sequence[str]


def read_replicas(folder: Path) -> list[Replica]:
    """Read replicas.json. Raises ValueError without a replica: a check of none would find nothing wrong."""
    replicas = [Replica(**each) for each in json.loads((folder / "replicas.json").read_text())]
    if not replicas:
        raise ValueError(f"{folder}/replicas.json names no replica")
    return replicas


def read_dropped(folder: Path) -> Iterator[Dropped]:
    """Read all files of the folder dropping or gone; a step writes each of them in one go."""
    for file in sorted(folder.glob("*.json")):
        yield from (Dropped(**each) for each in json.loads(file.read_text()))
