# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads ZooKeeper through the session of a server: the table ``system.zookeeper``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import unquote

from .._partmove.errors import PartMoveError
from .._partmove.formats.sql import literal
from .._partmove.health.facts import DdlTask, Registration, ReplicaPath
from .client import ClickHouseClient, QueryRefused
from .query_errors import KEEPER_EXCEPTION, UNKNOWN_TABLE, ServerSilent

_NO_NODE = re.compile(r"\bno node\b", re.IGNORECASE)
_HOSTS = re.compile(r"'((?:[^'\\]|\\.)*)'")
_DDL_TASKS = 100
"""How many ON CLUSTER statements are read, newest first. Servers keep up to a thousand."""


class SystemZookeeper:
    """Reads znodes with the session of one server."""

    def __init__(self, client: ClickHouseClient) -> None:
        self._client = client

    def problem(self) -> str | None:
        """Return why the server cannot read ZooKeeper; None if it can, "" if ZooKeeper is not configured.

        Only for a server that has answered another query before. Raises PartMoveError if the server cannot be
        queried.
        """
        try:
            self._children("/")
        except QueryRefused as error:
            return "" if error.code == UNKNOWN_TABLE else error.text
        except ServerSilent:
            return "it waited for an answer of ZooKeeper for longer than a query may take"
        return None

    def children(self, path: str) -> Mapping[str, str] | None:
        """Map the names of the children of a znode to their data; None if the znode does not exist.

        Raises PartMoveError if ZooKeeper or the server does not answer.
        """
        try:
            return self._children(path)
        except QueryRefused as error:
            if _is_no_node(error):
                return None
            raise

    def registration(self, path: ReplicaPath) -> Registration:
        """Return the registration of a replica. Raises PartMoveError as `children` does."""
        return registration_of(self.children(str(path)))

    def ddl_tasks(self, folder: str) -> list[DdlTask]:
        """Return the newest ON CLUSTER statements, oldest first; empty if none was ever executed.

        Raises PartMoveError as `children` does.
        """
        try:
            rows = self._client.rows(
                "SELECT name, value, toUInt32(now()) - toUInt32(ctime) FROM system.zookeeper"
                f" WHERE path = {literal(folder)} AND name LIKE 'query-%'"
                f" ORDER BY name DESC LIMIT {_DDL_TASKS}"
            )
        except QueryRefused as error:
            if _is_no_node(error):
                return []
            raise
        tasks = []
        for name, text, age in reversed(rows):
            path = f"{folder}/{name}"
            finished = self.children(f"{path}/finished")
            # Servers may remove old statements while the statements are read.
            if finished is not None:
                tasks.append(parse_ddl_task(path, text, int(age), finished))
        return tasks

    def _children(self, path: str) -> Mapping[str, str]:
        rows = self._client.rows(f"SELECT name, value FROM system.zookeeper WHERE path = {literal(path)}")
        return dict(rows)


def _is_no_node(error: QueryRefused) -> bool:
    return error.code == KEEPER_EXCEPTION and _NO_NODE.search(error.text) is not None


def _fields(text: str) -> dict[str, str]:
    """Parse the lines ``name: value`` of a znode."""
    return dict(line.split(": ", 1) for line in text.splitlines() if ": " in line)


def registration_of(children: Mapping[str, str] | None) -> Registration:
    """Build the registration from the children of the replica's znode: name → data. None: no such znode."""
    if children is None:
        return Registration(exists=False)
    host = _fields(children.get("host", "")).get("host", "")
    return Registration(exists=True, active="is_active" in children, host=host)


def parse_ddl_task(path: str, text: str, age: int, finished: Mapping[str, str]) -> DdlTask:
    """Parse the statement in the znode at the path. Raises FormatError for unknown text.

    age: seconds since the statement was created. finished: name of each host that executed it → its answer.
    """
    fields = _fields(text)
    if "query" not in fields or "hosts" not in fields:
        raise PartMoveError(
            f"{path} is no statement of ON CLUSTER that is understood",
            remedy="Give the path that the server has in distributed_ddl as ddl_path",
        )
    return DdlTask(
        path=path,
        query=fields["query"],
        age=max(0, age),
        hosts=tuple(unquote(host) for host in _HOSTS.findall(fields["hosts"])),
        finished={unquote(host): _error_of(status) for host, status in finished.items()},
    )


def _error_of(status: str) -> str:
    """Return the error of a host: the message after the code, or ""; "" for success."""
    code, _newline, message = status.partition("\n")
    return "" if code.strip() == "0" else (message or status).strip()
