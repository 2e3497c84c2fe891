# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tables that were renamed since a moment, and reads that are unknown because of that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.client import ClickHouseClient
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.options import ClickHouseOptions
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.renames import renamed_tables
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.usage import read_usage

HOUR = 3_600_000
TABLES = [("db", "hits"), ("db", "hits_hot"), ("my.db", "a`b"), ("other", "hits")]
NAMES = ["db.hits", "db.hits_hot", "`my.db`.`a\\`b`", "other.hits"]
COLUMNS = ("partitions", "query_kind", "databases", "tables")


class Logged(ClickHouseClient):
    """A server with the table db.hits_hot, whose log has renames of the last hour."""

    def __init__(
        self,
        databases: Sequence[str],
        tables: Sequence[str],
        query: str = "",
        columns: Sequence[str] = COLUMNS,
    ) -> None:
        super().__init__("127.0.0.1", 1, ClickHouseOptions())
        self._entry = {"databases": databases, "tables": tables, "is_of_databases": "DATABASE" in query}
        self._columns = columns

    def rows(self, sql: str, *_more: Any, **_settings: Any) -> list[list[Any]]:
        """As ClickHouseClient does."""
        if "system.columns" in sql:
            return [[each] for each in self._columns] if "query_log" in sql else [["database"]]
        if "engine_full" in sql:
            return []
        if "system.replicas" in sql:
            return [["db", "hits_hot", "/t/hits", "r1"]]
        return [[1]]

    def stream(self, sql: str, *_more: Any, **_settings: Any) -> Iterator[Mapping[str, Any]]:  # type: ignore[override]
        """As ClickHouseClient does."""
        if "query_kind" in sql:
            yield dict(self._entry)
        elif "system.parts WHERE active" in sql:
            numbers = dict.fromkeys(("active_parts", "rows", "bytes_on_disk", "data_version"), 1)
            yield {"database": "db", "table": "hits_hot", "partition_id": "1", **numbers}


@pytest.mark.parametrize(
    ("log", "renamed"),
    [
        (Logged(["db"], ["db.hits", "db.hits_hot"]), NAMES[:2]),
        (Logged(["`my.db`"], ["`my.db`.`a\\`b`"]), NAMES[2:3]),
        (Logged(["db"], ["db.hits_ho"]), []),
        (Logged(["db", "new"], [], "RENAME DATABASE new TO db"), NAMES[:2]),
        (Logged(["`my.db`", "new"], ["`my.db`.``", "new.``"], "RENAME DATABASE new TO `my.db`"), NAMES[2:3]),
        (Logged(["`my.db`", "new"], ["`my.db`.``", "new.``"]), NAMES[2:3]),
        (Logged(["db"], []), NAMES[:2]),
        (Logged(["x"], ["a.b.c"]), NAMES),
        (Logged(["a`"], [], "RENAME DATABASE"), NAMES),
        (Logged(["db"], ["db.hits"], columns=["partitions"]), []),
    ],
)
def test_renamed_tables_are_found(log: Logged, renamed: Sequence[str]) -> None:
    assert sorted(renamed_tables(log, TABLES, "1")) == sorted(renamed)


@pytest.mark.parametrize("names", [["db.hits", "db.hits_hot"], ["db.hits", "db.hits_cold"]])
def test_reads_of_a_table_with_another_name_are_unknown(names: Sequence[str]) -> None:
    is_renamed = "db.hits_hot" in names
    (row,) = [each for each in read_usage(Logged(["db"], names), {HOUR: 1}) if each.active_parts]
    assert row.reads_within == ({} if is_renamed else {HOUR: 0})
    assert row.has_log is not is_renamed
