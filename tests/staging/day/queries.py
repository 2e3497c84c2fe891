# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One query to a ClickHouse server over HTTP, which is never sent again, and the journal of all queries."""

from __future__ import annotations

import http.client
import json
import threading
import time
import urllib.parse
from dataclasses import asdict, dataclass
from pathlib import Path

from .config import Config

_QUERY_SECONDS = 120.0


class QueryError(Exception):
    """What the server or the connection said. reached: whether the server answered."""

    def __init__(self, text: str, *, reached: bool) -> None:
        super().__init__(text)
        self.reached = reached


@dataclass(frozen=True)
class Query:
    """A query of a client, as a line of queries.jsonl."""

    at: float
    """When it began, in seconds of the epoch."""
    ms: float
    shard: str
    table: str
    replica: str
    kind: str
    """insert or select; order for rows that a step has ordered."""
    error: str = ""
    """Why the query failed."""
    wrong: str = ""
    """What is wrong with its answer."""


class Journal:
    """Appends to queries.jsonl. Threads share it."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "queries.jsonl"
        self._lock = threading.Lock()

    def write(self, query: Query) -> None:
        """Append a line."""
        with self._lock, self._file.open("a") as file:
            file.write(json.dumps(asdict(query)) + "\n")


def read_queries(folder: Path) -> list[Query]:
    """Return all queries in their order."""
    lines = (folder / "queries.jsonl").read_text().splitlines()
    return [Query(**json.loads(line)) for line in lines]


def send(address: str, sql: str, config: Config) -> str:
    """Send one query, once, and return its answer.

    Raises:
        QueryError: it failed, or its outcome is unknown.
    """
    path = "/?" + urllib.parse.urlencode({"wait_end_of_query": 1})
    headers = {"X-ClickHouse-User": config.user, "X-ClickHouse-Key": config.password} if config.user else {}
    connection = http.client.HTTPConnection(address, timeout=_QUERY_SECONDS)
    try:
        connection.request("POST", path, body=sql.encode(), headers=headers)
        answer = connection.getresponse()
        text = answer.read().decode(errors="replace").strip()
    except (OSError, http.client.HTTPException) as error:
        raise QueryError(f"{type(error).__name__}: {error}", reached=False) from error
    finally:
        connection.close()
    if answer.status != http.client.OK:
        raise QueryError(text[:500], reached=True)
    return text


def since(begin: float) -> float:
    """Return the milliseconds since a time of `time.monotonic`."""
    return round((time.monotonic() - begin) * 1000, 2)
