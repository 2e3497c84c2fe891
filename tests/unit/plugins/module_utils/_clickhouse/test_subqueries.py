# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""No query has IN (SELECT …) on a table where ClickHouse 24.5 refuses it with code 49."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.client import ClickHouseClient
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.merge_servers import HttpMergeServers
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.options import ClickHouseOptions
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.replica_probe import HttpReplicaProbe

SOURCES = sorted((Path(__file__).resolve().parents[5] / "plugins/module_utils/_clickhouse").glob("*.py"))
REFUSING = {"mutations", "replicas", "replication_queue"}
"""Tables that filter their rows before the set of the subquery is there."""
_OUTER = re.compile(r"FROM system\.(\w+)(?:(?!\bFROM\b).)*?\bIN\s*\(SELECT\b", re.DOTALL)


def filtered_tables(sql: str) -> set[str]:
    """Return the tables with IN (SELECT …) as a condition."""
    return {table for each in sql.split(" UNION ALL ") for table in _OUTER.findall(each)}


def texts(path: Path) -> str:
    """Return all texts of a source, in order and without the code between them; comments are no texts."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = [
        node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    return " ".join(
        str(node.value) for node in sorted(found, key=lambda each: (each.lineno, each.col_offset))
    )


def test_tables_before_a_subquery_are_found() -> None:
    of_all = "(database, table) IN (SELECT database, table FROM system.replicas WHERE a = 'b')"
    assert filtered_tables(f"SELECT name FROM system.mutations WHERE is_done = 0 AND {of_all}") == {
        "mutations"
    }
    assert filtered_tables(f"SELECT 1 FROM system.replicas UNION ALL SELECT 2 FROM t WHERE {of_all}") == set()


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_no_source_has_such_a_query(path: Path) -> None:
    assert filtered_tables(texts(path)) <= {"parts", "detached_parts"}


def test_no_query_about_a_replica_is_such_a_query(monkeypatch: pytest.MonkeyPatch) -> None:
    """These are put together where they are asked."""
    asked: list[str] = []

    def rows(_client: ClickHouseClient, sql: str) -> list[list[str]]:
        asked.append(sql)
        if "FROM system.columns" in sql:
            return [["parts", "hash_of_all_files"], ["detached_parts", "name"]]
        if sql.startswith("SELECT count() FROM system.merges"):
            return [["0"]]
        own = [["queue", "1", "0", "", ""]] if "queue_size" in sql else []
        return [["", "db", "t", "0", "0"], *own]

    monkeypatch.setattr(ClickHouseClient, "rows", rows)
    options = ClickHouseOptions(endpoints={"r1": "ch1"})
    HttpMergeServers(options).read_state("/t", "r1", "", "all")
    HttpReplicaProbe(options).parts("/t", "r1", "")
    found = set().union(*map(filtered_tables, asked))
    assert found == {"parts", "detached_parts"}
