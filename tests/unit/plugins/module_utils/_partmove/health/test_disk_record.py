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


TABLE = {"database": "d", "table": "t", "engine": "e", "ttl": False, "partitions": {}}
WHOLE = {"parts": [TABLE], "detached": [{"database": "d", "table": "t", "names": None}]}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"parts": None}, "parts is None. It has to be a list"),
        ({"parts": [{"database": "d"}]}, "parts[0].table is missing. It has to be text in quotes"),
        ({"parts": [TABLE, TABLE | {"ttl": 1}]}, "parts[1].ttl is 1. It has to be true or false"),
        ({"parts": [TABLE | {"partitions": []}]}, "parts[0].partitions is []. It has to be a mapping"),
        ({"parts": [TABLE | {"partitions": {2019: {}}}]}, "parts[0].partitions is {2019: {}}. It has to be"),
        (
            {"parts": [TABLE | {"partitions": {"2019": {"rows": "3", "parts": []}}}]},
            "parts[0].partitions['2019'].rows is '3'. It has to be a whole number, 0 or more",
        ),
        ({"detached": [{"database": "d", "table": "t", "names": 1}]}, "detached[0].names is 1. It has to be"),
        ({"detached": [{"database": "d", "table": "t"}]}, "detached[0].names is missing. It has to be"),
    ],
)
def test_anything_else_is_refused(change: dict[str, Any], problem: str) -> None:
    assert parse_record(WHOLE).detached == {TableKey("d", "t"): None}
    with pytest.raises(FormatError) as refusal:
        parse_record(WHOLE | change)
    assert str(refusal.value).startswith(f"before is no earlier result of replica_info: {problem}")
    assert str(refusal.value).endswith(
        "Register a result of the module that did not fail, and give it whole."
    )


@pytest.mark.parametrize(
    ("record", "missing"),
    [({}, "parts"), ({"parts": []}, "detached"), ({"msg": "failed", "failed": True}, "parts")],
)
def test_a_result_without_what_was_on_disk_is_refused(record: dict[str, Any], missing: str) -> None:
    with pytest.raises(
        FormatError, match=f"before is no earlier result of replica_info: {missing} is missing"
    ):
        parse_record(record)
