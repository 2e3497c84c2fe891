# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a server had on disk, into a result and back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.health.disk_record import (
    detached_record,
    parse_record,
    parts_record,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.health.facts import (
    Disk,
    DiskPartition,
    DiskTable,
    TableKey,
)

NAMES = st.text(min_size=1, max_size=8)
KEYS = st.builds(TableKey, NAMES, NAMES)
PARTITIONS = st.builds(
    DiskPartition, st.integers(0, 10**12), st.lists(NAMES, max_size=3).map(lambda names: tuple(sorted(names)))
)
TABLES = st.builds(DiskTable, NAMES, st.booleans(), st.dictionaries(NAMES, PARTITIONS, max_size=3))
DISKS = st.builds(
    Disk,
    st.dictionaries(KEYS, TABLES, max_size=3),
    st.dictionaries(KEYS, st.none() | st.frozensets(NAMES, max_size=3), max_size=3),
)


@given(DISKS)
def test_a_disk_survives_the_way_through_json(disk: Disk) -> None:
    record = {"parts": parts_record(disk), "detached": detached_record(disk), "healthy": True}
    assert parse_record(json.loads(json.dumps(record))) == disk


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"parts": []},
        {"parts": None, "detached": []},
        {"parts": [{"database": "d"}], "detached": []},
        {
            "parts": [{"database": "d", "table": "t", "engine": "e", "ttl": False, "partitions": []}],
            "detached": [],
        },
        {"parts": [], "detached": [{"database": "d", "table": "t", "names": 1}]},
        {"msg": "failed", "failed": True},
    ],
)
def test_anything_else_is_refused(record: dict[str, Any]) -> None:
    with pytest.raises(FormatError, match="before is no earlier result of replica_info"):
        parse_record(record)
