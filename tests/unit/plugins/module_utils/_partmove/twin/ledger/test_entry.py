# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Entries and heads are written and read unchanged; other text is refused; an entry is small."""

from __future__ import annotations

import json

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Stat, Znode
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.entry import (
    Birth,
    BlockRange,
    LedgerEntry,
    TablePlace,
    TwinPair,
    encode_page,
    parse_head,
    parse_page,
)

ENTRY = LedgerEntry(12, (BlockRange(0, 2), BlockRange(5, 5, 1_700_000_000)), 7, "0a1b2c", "3d4e5f", 6, 4)
PAIR = TwinPair(
    TablePlace("db.hits", "default:/hits", {"r1": "u1"}, Birth(7, 1_600_000_000)),
    TablePlace("db.hits_cold", "cold:/hits", {}),
)


def znode(data: bytes) -> Znode:
    return Znode("/the/path", data, Stat(*(0 for _field in Stat._fields)))


def test_a_page_is_read_as_written() -> None:
    entries = {"20240101": ENTRY, "all": ENTRY._replace(ranges=())}
    assert parse_page(znode(encode_page(entries))) == entries


def test_a_head_is_read_as_written() -> None:
    assert parse_head(znode(PAIR.encode())) == PAIR


def test_a_head_without_births_is_read() -> None:
    data = (
        b'{"format":"olap.partmove/twin-ledger","version":1,'
        b'"hot":{"name":"db.hits","place":"default:/hits","uuids":{"r1":"u1"}},'
        b'"cold":{"name":"db.hits_cold","place":"cold:/hits","uuids":{}}}'
    )
    without = PAIR._replace(hot=PAIR.hot._replace(born=None))
    assert parse_head(znode(data)) == without
    assert without.encode() == data


@pytest.mark.parametrize("text", ["5-", "-5", "1 2-x", "01", "3@", "1-2@x"])
def test_other_ranges_are_refused(text: str) -> None:
    data = encode_page({"20240101": ENTRY}).replace(b"0-2 5@1700000000", text.encode())
    with pytest.raises(FormatError, match="/the/path"):
        parse_page(znode(data))


@pytest.mark.parametrize(
    "value", [[], [1, "0", 0, "0a1b2c3d4e5f", 1], [-1, "0", 0, "0a1b2c3d4e5f", 1, 1], [1, "0", 0, "0A", 1, 1]]
)
def test_other_entries_are_refused(value: object) -> None:
    page = json.loads(encode_page({}))
    page["entries"] = {"20240101": value}
    with pytest.raises(FormatError, match="six values"):
        parse_page(znode(json.dumps(page).encode()))


def test_other_versions_are_refused() -> None:
    for parse, data in ((parse_page, encode_page({})), (parse_head, PAIR.encode())):
        with pytest.raises(FormatError, match="version is 2"):
            parse(znode(data.replace(b'"version":1', b'"version":2')))


def test_a_table_is_replaced_only_if_no_replica_has_its_uuid() -> None:
    then = TablePlace("t", "p", {"r1": "u1", "r2": "u2"})
    assert then.is_replaced_by(then._replace(uuids={"r1": "u3", "r2": "u4"}))
    assert not then.is_replaced_by(then._replace(uuids={"r1": "u3", "r2": "u2"}))
    assert not then.is_replaced_by(then._replace(uuids={"r3": "u1"}))
    assert not then.is_replaced_by(then._replace(uuids={}))
    assert not then._replace(uuids={}).is_replaced_by(then)


def test_a_table_with_the_znodes_of_then_is_not_replaced() -> None:
    then = TablePlace("t", "p", {"r1": "u1"}, Birth(7, 100))
    now = then._replace(uuids={"r3": "u3"})
    assert not then.is_replaced_by(now)
    for other in (None, Birth(8, 100), Birth(7, 101)):
        assert then.is_replaced_by(now._replace(born=other))
        assert then._replace(born=None).is_replaced_by(now._replace(born=other))
        assert not then.is_replaced_by(then._replace(born=other))


def test_an_entry_of_a_usual_partition_takes_about_50_bytes() -> None:
    """docs/twin/audit.md has this number."""
    entry = LedgerEntry(10_000_000, (BlockRange(0, 120),), 0, "0a1b2c", "3d4e5f", 121, 121)
    days = [f"2024{month:02}{day:02}" for month in range(1, 13) for day in range(1, 29)]
    per_partition = (len(encode_page(dict.fromkeys(days, entry))) - len(encode_page({}))) / len(days)
    assert 45 < per_partition < 55
