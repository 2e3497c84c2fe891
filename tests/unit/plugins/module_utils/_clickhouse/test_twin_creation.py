# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where twins may be, and what is said of those that servers refuse; more is tested on real servers."""

from __future__ import annotations

import re
from typing import Any, cast

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.client import QueryRefused
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.twin_creation import (
    TwinPlace,
    TwinSteps,
    plan_twins,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.twin_servers import (
    HttpTwinServers,
    TwinOfReplica,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    TwinReplica,
    TwinTable,
)

ENGINE = "ReplicatedMergeTree('/t/{uuid}/{shard}', '{replica}') ORDER BY d"
MACROS = {"shard": "01", "replica": "r1"}


class Server:
    """Refuses each statement, or keeps it. All replicas have the macro {replica} of the first."""

    label = "the server"

    def __init__(self, database: str = "Atomic", refusal: QueryRefused | None = None) -> None:
        self.database = database
        self.refusal = refusal
        self.given: list[str] = []

    def rows(self, sql: str) -> list[list[str]]:
        if "getMacro" in sql:
            return [[MACROS[each] for each in re.findall(r"getMacro\('(\w+)'\)", sql)]]
        if "toString(uuid)" in sql:
            return [["u"]]
        return [[self.database]] if "system.databases" in sql else []

    def execute(self, sql: str, **settings: int) -> None:
        if self.refusal:
            raise self.refusal
        self.given.append(sql)


class Servers:
    """Tables without twins, in place of servers."""

    def __init__(self, server: Server, created: str = "") -> None:
        self.server = server
        self.created = created
        """The definition that twins have once they are created."""

    def read_twin(self, path: str, replica: TwinReplica) -> TwinOfReplica:
        hot = TwinTable("db", "hits", "default", path, replica.name, "", ("a",), 1, 1)
        twin = hot._replace(name="hits_cold", definition=self.created) if self.server.given else None
        query = f"CREATE TABLE db.hits (`d` Date) ENGINE = {ENGINE}"
        return TwinOfReplica(cast("Any", self.server), hot, "db.hits_cold", ENGINE, query, twin)


def steps(server: Server, place: TwinPlace, created: str = "") -> list[TwinSteps]:
    """The steps of a table with two replicas."""
    replicas = [TwinReplica("r1", ""), TwinReplica("r2", "")]
    return plan_twins(cast("HttpTwinServers", Servers(server, created)), "/t/u/01", replicas, place)


def test_each_replica_has_its_statement() -> None:
    server = Server()
    for each in steps(server, TwinPlace("cold", "{path}_cold")):
        each.carry_out()
    twin = (
        "CREATE TABLE db.hits_cold (`d` Date) ENGINE = ReplicatedMergeTree('cold:/t/u/{shard}_cold', '{}')"
        " ORDER BY d"
    )
    # The macro of the second replica is not its name.
    assert server.given == [twin.replace("{}", each) for each in ("{replica}", "r2")]


def test_another_path_has_the_macros_of_the_table() -> None:
    (first, _) = steps(Server(), TwinPlace("cold", "/other{path}"))
    assert "('cold:/other/t/u/{shard}', '{replica}')" in first.statement
    (first, _) = steps(Server(), TwinPlace("cold", "/other"))
    assert "('cold:/other', '{replica}')" in first.statement


def test_a_twin_that_is_created_unlike_its_table_is_said_to_be() -> None:
    with pytest.raises(
        PartMoveError, match=r"created db\.hits_cold unlike db\.hits: '' and 'other'"
    ) as error:
        steps(Server(), TwinPlace("cold", "{path}_cold"), "other")[0].carry_out()
    assert error.value.remedy.startswith("DROP TABLE db.hits_cold SYNC")


def test_a_table_in_a_replicated_database_gets_no_twin() -> None:
    with pytest.raises(PartMoveError, match="of the engine Replicated"):
        steps(Server("Replicated"), TwinPlace("cold", "{path}_cold"))


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        (253, "If a twin at this path was dropped without SYNC"),
        (344, "Let the user of clickhouse change the setting"),
        (60, "Use a user"),
    ],
)
def test_a_twin_that_was_just_dropped_has_its_own_remedy(code: int, remedy: str) -> None:
    text = "Replica /t/u/01_cold/replicas/r1 already exists"
    server = Server(refusal=QueryRefused("the server", code, text))
    with pytest.raises(
        PartMoveError, match=r"refused to create db\.hits_cold, the twin of db\.hits.*already exists"
    ) as error:
        steps(server, TwinPlace("cold", "{path}_cold"))[0].carry_out()
    assert error.value.remedy.startswith(remedy)


def test_twins_of_several_tables_cannot_have_one_path() -> None:
    with pytest.raises(PartMoveError, match=r"twins of /t/01, /t/02 would have the same path /cold") as error:
        TwinPlace("cold", "/cold").refuse_shared(["/t/01", "/t/02"])
    assert error.value.remedy.startswith("Put {path} into path")
    TwinPlace("cold", "/cold").refuse_shared(["/t/01"])
    TwinPlace("cold", "{path}_cold").refuse_shared(["/t/01", "/t/02"])
