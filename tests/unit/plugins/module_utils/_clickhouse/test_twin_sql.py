# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What statements in progress are; tests/integration/test_twin_cluster.py has them of real servers."""

from __future__ import annotations

import re

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.twin_sql import (
    pattern_of,
    sum_of_rows,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side
from support.memory.twins import table_of


@pytest.mark.parametrize(
    "query",
    [
        "ALTER TABLE d.t DELETE WHERE 1",
        "\n alter\ttable d.t",
        "/* ddl_entry=query-0000000005 */ ALTER TABLE d.t (DELETE WHERE 1)",
        "/* a\nb */-- c\n/**/ RENAME TABLE a TO b",
        "# a\n#! b\nRENAME\nTABLE a TO b",
    ],
)
def test_comments_in_front_of_a_statement_do_not_count(query: str) -> None:
    assert re.search(pattern_of("ALTER", "RENAME"), query)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT query FROM system.processes WHERE query ILIKE 'ALTER %'",
        "-- ALTER TABLE d.t\nSELECT 1",
        "/* ALTER TABLE d.t */ SELECT 1",
        "ALTERED",
        "INSERT INTO t VALUES ('ALTER TABLE d.t')",
    ],
)
def test_other_statements_are_none(query: str) -> None:
    assert not re.search(pattern_of("ALTER", "RENAME"), query)


def test_the_sum_is_over_whole_rows_of_all_stored_columns() -> None:
    table = table_of(Side.HOT, "r1")._replace(columns=("day", "a b"))
    assert sum_of_rows(table) == "sum(cityHash64(formatRow('RowBinary', `day`, `a b`)))"
    assert sum_of_rows(table._replace(columns=())) == "sum(cityHash64(formatRow('RowBinary', *)))"
