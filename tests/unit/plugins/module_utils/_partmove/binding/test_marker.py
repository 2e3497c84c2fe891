# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The marker in cold: round trips, and refusal of unknown data."""

from __future__ import annotations

import json

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.binding.marker import (
    ColdMarker,
    HotSide,
    TableId,
    parse_marker,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Stat, Znode

SIDE = HotSide("/clickhouse/tables/01/hits", "/clickhouse/partmove")


def znode(data: bytes) -> Znode:
    return Znode("/tables/01/hits", data, Stat(5, 5, 0, 0, 0, 0, 0, 0, len(data), 0, 0))


@pytest.mark.parametrize("marker", [ColdMarker(TableId("", 7, 0), SIDE), ColdMarker(TableId("", 7, 0), None)])
def test_a_marker_survives_a_round_trip(marker: ColdMarker) -> None:
    assert parse_marker(znode(marker.encode())) == marker


def test_the_fields_are_those_of_version_2() -> None:
    assert json.loads(ColdMarker(TableId("", 7, 0), SIDE).encode()) == {
        "format": "olap.partmove/cold-shard",
        "version": 2,
        "hot_czxid": 7,
        "hot_path": SIDE.path,
        "coordination_root": SIDE.root,
    }


def test_version_1_has_no_coordination_root() -> None:
    data = b'{"format": "olap.partmove/cold-shard", "hot_czxid": 7, "version": 1}'
    assert parse_marker(znode(data)) == ColdMarker(TableId("", 7, 0), None)
    assert ColdMarker(TableId("", 7, 0), None).encode() == data


def test_a_znode_without_data_has_no_marker() -> None:
    assert parse_marker(znode(b"")) is None


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"nonsense", "is no JSON object"),
        (b"[]", "is no JSON object"),
        (b'{"format": "other"}', "its format is not olap.partmove/cold-shard"),
        (b'{"format": "olap.partmove/cold-shard", "version": 4}', "its version is 4"),
        (b'{"format": "olap.partmove/cold-shard", "version": 2, "hot_czxid": 7}', "hot_path is missing"),
        (b'{"format": "olap.partmove/cold-shard", "version": 1, "hot_czxid": "7"}', "hot_czxid is '7'"),
    ],
)
def test_other_data_than_a_marker_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(FormatError, match=r"The data of /tables/01/hits in the cold ensemble") as refused:
        parse_marker(znode(data))
    assert reason in refused.value.message
    assert refused.value.remedy
