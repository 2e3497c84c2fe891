# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Names of twins and of parts; tests/clickhouse covers the queries."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.client import QueryRefused
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.options import ClickHouseOptions
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.twin_activity import partition_of
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.twin_servers import (
    HttpTwinServers,
    _parts_are_equal,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError


@pytest.mark.parametrize("twin", ["cold", "{table}", ""])
def test_the_name_of_a_twin_depends_on_its_table(twin: str) -> None:
    with pytest.raises(PartMoveError, match=r"Write it as \{table\}_cold"):
        HttpTwinServers(ClickHouseOptions(), twin)


@pytest.mark.parametrize(
    ("part", "partition"),
    [
        ("20191201_1_1_0", "20191201"),
        ("20191201_1_5_2_9", "20191201"),
        ("all_0_0_0", "all"),
        ("20191201_20191220_0_5_2", "201912"),
        ("20191201_0_5_999999999", "20191201"),
        ("", ""),
        ("something", ""),
    ],
)
def test_an_entry_of_a_queue_concerns_the_partition_of_its_part_or_all(part: str, partition: str) -> None:
    assert partition_of(part) == partition


@pytest.mark.parametrize(
    ("code", "text", "equal"),
    [
        (999, "Transaction failed (Node exists): Op #3, path: /t/blocks/20240101_replace_from_8A", True),
        (999, "Transaction failed (Node exists): Op #3, path: /t/log/log-0000000001", False),
        (999, "Session expired, path: /t/blocks/20240101_replace_from_8A", False),
        (341, "Node exists, /t/blocks/20240101", False),
    ],
)
def test_an_attach_of_equal_parts_is_told_from_others_with_an_open_outcome(
    code: int, text: str, *, equal: bool
) -> None:
    assert _parts_are_equal(QueryRefused("a server", code, text)) is equal
