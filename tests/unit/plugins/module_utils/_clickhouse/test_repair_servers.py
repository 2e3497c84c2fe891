# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""No query of the rows of a table gives a name to a value that is the name of a column."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.client import (
    ClickHouseClient,
    QueryRefused,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.options import ClickHouseOptions
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.repair_servers import (
    HttpRepairServers,
)
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.twin_witnesses import statements_of
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.verdict import ManualCheck
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    Side,
    TwinReplica,
    TwinTables,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.repair.statements import (
    BuildScratch,
    surplus,
)
from support.memory.twins import table_of

_ALIAS = re.compile(r"\bAS (\w+)")


def tables_of(*columns: str) -> TwinTables:
    hot, cold = (table_of(each, "r1")._replace(columns=("id", *columns)) for each in Side)
    return TwinTables(TwinReplica("r1", ""), "ch1", hot, cold)


def queries_of(tables: TwinTables, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every query of rows of the two tables, and every statement for people."""
    asked: list[str] = []

    def rows(_client: ClickHouseClient, sql: str) -> list[list[str]]:
        if "FROM db.hits" not in sql:
            return [["25.8.2.1"]] if "version()" in sql else [[each] for each in re.findall(r"'(\w+)'", sql)]
        asked.append(sql)
        return [["0"] * (1 if "sum(a - " not in sql else 5)]

    monkeypatch.setattr(ClickHouseClient, "rows", rows)
    servers = HttpRepairServers(ClickHouseOptions(endpoints={"r1": "ch1"}))
    servers.row_counts(tables, ["h"], ["c"], "db.scratch")
    servers.rows_in_common(tables, ["c"], ["d"])
    check = ManualCheck({Side.HOT: ("h",), Side.COLD: ("c",)}, ())
    return [*asked, *statements_of(tables, check), surplus(tables, ["h"], ["c"])]


def reading_aliases(sql: str) -> Iterable[str]:
    """Names of values, in each SELECT of the query that reads a table and no answer of another SELECT."""
    for select in re.findall(r"SELECT (?:(?!SELECT ).)*? FROM db\.", sql):
        yield from _ALIAS.findall(select)


@pytest.mark.parametrize("columns", [1, 3000])
def test_a_scratch_table_is_created_and_filled_with_the_settings_that_it_needs(
    monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    """As a twin is: a server may refuse the definition by its settings, or read no text of such a length."""
    sent: list[tuple[str, dict[str, int]]] = []

    def rows(_client: ClickHouseClient, sql: str, **_settings: int) -> list[list[str]]:
        if "'max_query_size'" in sql:
            return [["flatten_nested", "1"], ["max_query_size", "50000"]]
        if "'^(allow_suspicious" in sql:
            return [["allow_suspicious_codecs"]]
        return [["7"]] if "count()" in sql else [[each] for each in re.findall(r"'(\w+)'", sql)]

    def execute(client: ClickHouseClient, sql: str, **settings: int) -> None:
        sent.append((sql.split(maxsplit=1)[0], settings))
        if sql.startswith("CREATE") and "allow_suspicious_codecs" not in settings:
            raise QueryRefused(client.label, 36, "the codec is no good idea")

    monkeypatch.setattr(ClickHouseClient, "rows", rows)
    monkeypatch.setattr(ClickHouseClient, "execute", execute)
    monkeypatch.setattr(ClickHouseClient, "version", lambda _client: "25.8.2.1")
    tables = tables_of(*(f"column_{number}" for number in range(columns)))
    written = ", ".join(f"`{each}` UInt8" for each in tables.hot.columns)
    definition = f"({written}, `n` Nested(a UInt8)) ReplicatedMergeTree() ORDER BY id"
    tables = tables._replace(hot=tables.hot._replace(definition=definition))
    servers = HttpRepairServers(ClickHouseOptions(endpoints={"r1": "ch1"}))
    build = BuildScratch(tables, "p", ("h",), ("c",))
    assert servers.build(build) == 7
    create, insert = (
        {"max_query_size": len(each) * 3 // 2} if columns > 1 else {} for each in build.statements
    )
    assert sent == [
        ("CREATE", {**create, "flatten_nested": 0}),
        ("CREATE", {**create, "flatten_nested": 0, "allow_suspicious_codecs": 1}),
        ("SYSTEM", {}),
        ("INSERT", {"insert_allow_materialized_columns": 1, "insert_deduplicate": 0, **insert}),
    ]


def test_queries_that_read_tables_name_values() -> None:
    sql = "SELECT h, 1 AS z FROM (SELECT a AS h, 0 AS side FROM db.hits UNION ALL SELECT b AS i FROM db.t)"
    assert list(reading_aliases(sql)) == ["h", "side", "i"]


def test_no_name_is_one_of_a_column(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = queries_of(tables_of(), monkeypatch)
    assert len(plain) == 4
    columns = {name for sql in plain for name in _ALIAS.findall(sql)}
    assert columns > {"h", "place", "rows", "hash", "partmove_h"}
    for sql in queries_of(tables_of(*sorted(columns)), monkeypatch):
        aliases = set(reading_aliases(sql))
        assert aliases
        assert aliases.isdisjoint(columns)


def test_nothing_has_a_name_if_the_server_shows_no_column() -> None:
    tables = tables_of()
    hidden = tables._replace(hot=tables.hot._replace(columns=()), cold=tables.cold._replace(columns=()))
    (sql,) = statements_of(hidden, ManualCheck({Side.HOT: ("h",), Side.COLD: ("c",)}, ()))
    assert not _ALIAS.findall(sql)
    assert sql.startswith(
        "SELECT 'db.hits', count(), sum(cityHash64(formatRow('RowBinary', *))) FROM db.hits"
    )


def test_nothing_is_dropped_without_a_comparison_that_is_right() -> None:
    tables = tables_of()
    shadowed = tables._replace(hot=tables.hot._replace(virtual_names=("_part",)))
    drop = ((Side.HOT, "h"),)
    assert statements_of(shadowed, ManualCheck({Side.HOT: ("h",), Side.COLD: ("c",)}, drop)) == []
    # Hashes of files are equal: nothing has to be compared.
    assert statements_of(shadowed, ManualCheck({}, drop)) == ["ALTER TABLE db.hits DROP PART 'h'"]
