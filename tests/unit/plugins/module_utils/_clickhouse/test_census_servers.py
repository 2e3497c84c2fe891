# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Failed servers have a problem; tests/integration and tests/clickhouse have answers of real servers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.census_servers import query_servers
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.client import (
    ClickHouseClient,
    QueryRefused,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.settings import clients_of
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.servers import (
    ANY_PARTITION,
    PartitionUse,
    ServerAnswer,
)

Answers = Mapping[str, Sequence[Sequence[object]] | QueryRefused]
HITS, TWIN, OTHER = "/t/hits", "/cold/hits", "/t/other"


class FakeServer:
    """Answers a query with the rows of the longest text that the query contains."""

    label = "ch1"

    def __init__(self, answers: Answers) -> None:
        self._answers = answers

    def rows(self, sql: str) -> list[list[Any]]:
        """Return the rows of a query, or raise its error; no rows for an unknown query."""
        texts = [text for text in self._answers if text in sql]
        answer = self._answers[max(texts, key=len)] if texts else []
        if isinstance(answer, QueryRefused):
            raise answer
        return [list(row) for row in answer]

    def version(self) -> str:
        """Return the version of the server."""
        return str(self.rows("SELECT version()")[0][0])


MODERN: Answers = {
    "version()": [["26.9.2.1"]],
    "system.metrics": [["ReadonlyReplica", "0"], ["AttachedReplicatedTable", "3"]],
    "count() FROM system.tables": [["3"]],
    "is_readonly FROM system.replicas": [[HITS, "r1", 0], [TWIN, "r1", 0], [OTHER, "r1", 0]],
    "EXISTS": [[0]],
    "table = 'detached_tables'": [["database"], ["table"]],
    "table = 'detached_parts'": [["database"], ["table"]],
    "table = 'replicas'": [["zookeeper_name"]],
    "INNER JOIN system.tables": [
        ["db", "hits", "default", HITS, "day", "id"],
        ["db", "hits_cold", "cold", TWIN, "day", "id"],
        ["db", "other", "default", OTHER, "month", "id"],
    ],
    "FROM system.parts": [["db", "hits_cold", "20190101"]],
    "FROM system.detached_parts": [["db", "hits", "20190102"], ["db", "other", ""]],
    "FROM system.detached_tables": [["db", "parked"]],
}
OLD: Answers = {
    "version()": [["18.16.1"]],
    "system.metrics": [["ReadonlyReplica", "0"]],
    "count() FROM system.tables": [["1"]],
    "is_readonly FROM system.replicas": [[HITS, "r1", 0]],
    "EXISTS": [[0]],
    "SHOW GRANTS": QueryRefused("ch1", 62, "Syntax error"),
}


def answer_of(server: Answers, **changes: Sequence[Sequence[object]] | QueryRefused) -> ServerAnswer:
    (answer,) = query_servers([cast(ClickHouseClient, FakeServer({**server, **changes}))])
    return answer


def test_a_later_server_lists_what_it_needs() -> None:
    answer = answer_of(MODERN)
    assert answer[:6] == (
        "ch1",
        ((HITS, "r1"), (TWIN, "r1"), (OTHER, "r1")),
        "",
        "",
        ("db.parked",),
        (26, 9),
    )
    assert {(each.shard_path, each.partition_id) for each in answer.uses or ()} == {
        (HITS, "20190101"),
        (HITS, "20190102"),
        (TWIN, "20190102"),
        (OTHER, ANY_PARTITION),
    }
    assert answer.uses is not None
    assert (
        PartitionUse(
            HITS,
            "20190101",
            "db.hits_cold on ch1, which is in the ensemble cold and has the same keys, has the partition",
        )
        in answer.uses
    )


def test_an_early_server_cannot_list_all() -> None:
    assert answer_of(OLD) == ServerAnswer("ch1", ((HITS, "r1"),), version=(18, 16))


@pytest.mark.parametrize(
    ("server", "changes", "hidden"),
    [
        (
            MODERN,
            {"system.metrics": [["ReadonlyReplica", "0"], ["AttachedReplicatedTable", "4"]]},
            "has 4 repl",
        ),
        (MODERN, {"count() FROM system.tables": [["4"]]}, "has 4 replicated tables by system.tables, and"),
        (
            OLD,
            {"system.metrics": [["ReadonlyReplica", "1"]]},
            "has 1 read-only replicated tables by Readonly",
        ),
        (OLD, {"system.metrics": []}, "does not show system.metrics"),
        (OLD, {"EXISTS": QueryRefused("ch1", 291, "Access denied to x")}, "shows the user only tables of"),
        (MODERN, {"EXISTS": QueryRefused("ch1", 497, "Not enough privileges")}, "shows the user only tables"),
        (OLD, {"SHOW GRANTS": [["GRANT SELECT ON *.* TO u"], ["REVOKE SELECT ON x.* FROM u"]]}, "withholds"),
    ],
)
def test_hidden_tables_are_found(
    server: Answers, changes: dict[str, Sequence[Sequence[object]] | QueryRefused], hidden: str
) -> None:
    assert answer_of(server, **changes).hidden.startswith(f"ch1 {hidden}")


@pytest.mark.parametrize("query", ["EXISTS", "SHOW GRANTS", "version()", "is_readonly FROM system.replicas"])
def test_another_refusal_is_a_problem(query: str) -> None:
    answer = answer_of(OLD, **{query: QueryRefused("ch1", 241, "Memory limit exceeded")})
    assert answer.problem == "ch1 refused a query with code 241: Memory limit exceeded"


def test_a_version_that_is_not_understood_is_a_problem() -> None:
    """Of a server that was taken for the oldest, the census would advise what newer servers need not."""
    answer = answer_of(OLD, **{"version()": [["next"]]})
    assert answer.problem == "ch1 reports the version 'next', which is not understood"


def test_a_table_that_is_just_being_created_is_not_hidden() -> None:
    class Creating(FakeServer):
        asked = 0

        def rows(self, sql: str) -> list[list[Any]]:
            self.asked += "is_readonly" in sql
            return [] if "is_readonly" in sql and self.asked == 1 else super().rows(sql)

    (answer,) = query_servers([cast(ClickHouseClient, Creating(OLD))])
    assert (answer.hidden, answer.replicas) == ("", ((HITS, "r1"),))


def test_every_silent_server_says_why_in_the_order_of_the_servers() -> None:
    # Nothing listens on these ports.
    hosts = [f"127.0.0.1:{port}" for port in range(1, 21)]
    answers = query_servers(clients_of({"hosts": hosts}))
    assert [answer.label for answer in answers] == [f"ClickHouse at {host}" for host in hosts]
    assert all(
        answer.problem == f"{answer.label} cannot be reached: Connection refused" for answer in answers
    )
    assert all(answer.replicas == () for answer in answers)
