# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A statement that is late names the replicas that it waits for."""

from __future__ import annotations

from typing import Any, cast

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.client import (
    QueryRefused,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.query_errors import ServerSilent
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.waited_replicas import (
    StatementWaits,
    WaitedReplica,
    name_waited,
    waits_for,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import TwinTable

TABLE = TwinTable("db", "hits_cold", "cold", "/t_cold", "r1", "", (), 2, 2)
SILENT = ServerSilent("ch1 did not finish a statement within 30 s", remedy="")


class Server:
    """Has such rows of system.replicas, or does not answer."""

    def __init__(self, label: str, *numbers: int, silent: bool = False) -> None:
        self.label = label
        self.numbers = numbers
        self.silent = silent

    def rows(self, sql: str) -> list[list[str]]:
        assert "database = 'db' AND table = 'hits_cold'" in sql
        if self.silent:
            raise PartMoveError("no answer", remedy="")
        return [[str(each) for each in self.numbers]] if self.numbers else []


FIRST = Server("ch1", 1, 5, 6)
"""The server of the statement; its own queue is no reason."""


def waited(other: Server, error: PartMoveError = SILENT) -> PartMoveError:
    return name_waited(error, cast("Any", FIRST), TABLE, [replica("r1", FIRST), replica("r2", other)])


def replica(name: str, server: Server) -> WaitedReplica:
    return WaitedReplica(name, cast("Any", server), TABLE)


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (Server("ch2", 1, 5, 6), "replica r2 (ch2), which has to execute 1 log record"),
        (Server("ch2", 0, 5, 4), "replica r2 (ch2), which has to execute 2 log records"),
        (Server("ch2"), "replica r2 (ch2), which does not have the table attached"),
        (Server("ch2", silent=True), "replica r2 (ch2), which does not answer"),
    ],
)
@pytest.mark.parametrize(
    "error", [SILENT, QueryRefused("ch1", 341, "Timeout"), QueryRefused("ch1", 159, "Timeout")]
)
def test_the_replica_and_what_it_lacks_are_named(other: Server, reason: str, error: PartMoveError) -> None:
    found = waited(other, error)
    assert isinstance(found, StatementWaits)
    assert found.message == (
        "ch1 did not finish a statement on db.hits_cold in time, because it waits for " + reason
    )
    assert "system.replication_queue of that replica" in found.remedy


def test_other_errors_stay() -> None:
    """A server that is slow itself, and a statement that failed."""
    assert waited(Server("ch2", 0, 5, 6)) is SILENT
    for error in (QueryRefused("ch1", 36, "no"), PartMoveError("ch1 cannot be reached", remedy="")):
        assert waited(Server("ch2", 1, 5, 6), error) is error


def test_without_other_replicas_the_error_stays() -> None:
    assert name_waited(SILENT, cast("Any", FIRST), TABLE, [replica("r1", FIRST)]) is SILENT


def test_a_replica_without_a_known_reason_is_named() -> None:
    found = waits_for(cast("Any", FIRST), TABLE, [replica("r2", Server("ch2", 0, 5, 6))])
    assert found.message.endswith("because it waits for replica r2 (ch2)")
