# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Children of a partition's znode."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.block_lock import (
    BlockLock,
    block_lock,
)

PARTITION = "/clickhouse/tables/01/t/block_numbers/20191201"
HOLDER = b"/clickhouse/tables/01/t/temp/abandonable_lock-0000000012"
LIVING = frozenset({"abandonable_lock-0000000012"})
SESSION = 0x100000EE6060000


@pytest.mark.parametrize(
    ("data", "owner", "living", "expected"),
    [
        # From 18.16 on: gone with the session.
        (HOLDER, SESSION, LIVING, BlockLock.IN_FLIGHT),
        # From 22.11 on the holder is one for all.
        (b"/t/temp/abandonable_lock-insert", SESSION, {"abandonable_lock-insert"}, BlockLock.IN_FLIGHT),
        (b"/t/temp/abandonable_lock-other", 0, {"abandonable_lock-other"}, BlockLock.IN_FLIGHT),
        # The holder tells nothing about an ephemeral one, nor does the data.
        (HOLDER, SESSION, frozenset(), BlockLock.IN_FLIGHT),
        (b"", SESSION, frozenset(), BlockLock.IN_FLIGHT),
        (b"\xff", SESSION, frozenset(), BlockLock.IN_FLIGHT),
        # Before 18.16: outlives the insert.
        (HOLDER, 0, LIVING, BlockLock.IN_FLIGHT),
        (HOLDER, 0, frozenset(), BlockLock.ABANDONED),
        (HOLDER, 0, frozenset({"abandonable_lock-0000000013"}), BlockLock.ABANDONED),
        (b"", 0, LIVING, BlockLock.ABANDONED),
        # The server may see the shard under another root than we do.
        (b"/temp/abandonable_lock-0000000012", 0, LIVING, BlockLock.IN_FLIGHT),
    ],
)
def test_an_insert_is_in_flight_or_abandoned(
    data: bytes, owner: int, living: frozenset[str], expected: BlockLock
) -> None:
    name = "block-0000000003"
    assert block_lock(name, data, owner, living, f"{PARTITION}/{name}") is expected


@pytest.mark.parametrize("data", [b"", b"HOT", b"COLD", b"COLD\n", b"\xff"])
def test_the_marker_is_no_insert(data: bytes) -> None:
    assert block_lock("State", data, 0, LIVING, f"{PARTITION}/State") is BlockLock.MARKER


@pytest.mark.parametrize(
    "name", ["state", "STATE", "State2", "block-", "block-1x", "block--1", "lock-0000000003"]
)
def test_refuses_any_other_child(name: str) -> None:
    with pytest.raises(
        FormatError, match=f"{PARTITION}/{name} is neither a block number nor the State marker"
    ):
        block_lock(name, b"", 0, LIVING, f"{PARTITION}/{name}")


@pytest.mark.parametrize(
    "data",
    [
        b"abandonable_lock-0000000012",
        b"/clickhouse/tables/01/t/abandonable_lock-0000000012",
        b"/clickhouse/tables/01/t/temp/lock-0000000012",
        b"/clickhouse/tables/01/t/temp/abandonable_lock-",
        b"/clickhouse/tables/01/t/temp/abandonable_lock-1/x",
        HOLDER + b"\n",
        b"\xff",
    ],
)
def test_refuses_unknown_data(data: bytes) -> None:
    with pytest.raises(FormatError, match=f"^{PARTITION}/block-0000000003"):
        block_lock("block-0000000003", data, 0, LIVING, f"{PARTITION}/block-0000000003")


@given(st.integers(0, 10**10 - 1), st.binary(), st.sets(st.text()))
def test_an_ephemeral_znode_is_always_in_flight(number: int, data: bytes, living: set[str]) -> None:
    name = f"block-{number:010}"
    assert block_lock(name, data, SESSION, living, f"{PARTITION}/{name}") is BlockLock.IN_FLIGHT
