# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A table's definition."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.table_metadata import (
    columns_have_ttl,
    parse_table_metadata,
)

WHERE = "/clickhouse/tables/01/t/metadata"

# As a server of version 18.16.1 wrote them, with and without PARTITION BY.
BY_DAY = (
    b"metadata format version: 1\ndate column: \nsampling expression: \nindex granularity: 8192\nmode: 0\n"
    b"sign column: \nprimary key: k\ndata format version: 1\npartition key: toYYYYMMDD(d)\n"
)
BY_MONTH = (
    b"metadata format version: 1\ndate column: d\nsampling expression: \nindex granularity: 8192\nmode: 0\n"
    b"sign column: \nprimary key: k\n"
)
ALL_OPTIONAL = (
    b"sorting key: k, d\n"
    b"ttl: d + toIntervalMonth(1)\n"
    b"indices: i k TYPE minmax GRANULARITY 1\n"
    b"projections: p (SELECT k ORDER BY k)\n"
    b"granularity bytes: 10485760\n"
    b"constraints: c CHECK k > 0\n"
    b"merge parameters format version: 2\n"
    b"version column: v\n"
    b"is_deleted column: gone\n"
    b"columns to sum: a,b\n"
    b"graphite hash: 0123456789ABCDEF\n"
)


@pytest.mark.parametrize(
    ("data", "format_version", "partition_key", "ttl"),
    [
        (BY_DAY, 1, "toYYYYMMDD(d)", ""),
        (BY_MONTH, 0, "", ""),
        (BY_DAY.replace(b"toYYYYMMDD(d)", b""), 1, "", ""),
        (BY_DAY + ALL_OPTIONAL, 1, "toYYYYMMDD(d)", "d + toIntervalMonth(1)"),
        (BY_MONTH + b"granularity bytes: 10485760\n", 0, "", ""),
        (BY_MONTH + b"data format version: 0\n", 0, "", ""),
        (
            BY_DAY + b"ttl: d + toIntervalDay(7) TO DISK 'slow'\n",
            1,
            "toYYYYMMDD(d)",
            "d + toIntervalDay(7) TO DISK 'slow'",
        ),
    ],
)
def test_reads_the_definition(data: bytes, format_version: int, partition_key: str, ttl: str) -> None:
    metadata = parse_table_metadata(data, WHERE)
    assert metadata.format_version == format_version
    assert metadata.partition_key == partition_key
    assert metadata.ttl == ttl
    assert metadata.has_ttl is bool(ttl)
    assert metadata.raw == data


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "line 1: expected 'metadata format version: 1'"),
        (
            BY_DAY.replace(b"metadata format version: 1", b"metadata format version: 2"),
            "line 1: .*version: 2",
        ),
        (
            BY_DAY.replace(b"\ndata format version: 1", b"\ndata format version: 2"),
            "line 8: expected data format version",
        ),
        (
            BY_DAY.replace(b"\ndata format version: 1", b"\ndata format version: one"),
            "line 8: expected a decimal number",
        ),
        (BY_DAY.replace(b"partition key: toYYYYMMDD(d)\n", b""), "line 9: expected 'partition key: '"),
        (BY_DAY.replace(b"mode: 0\n", b""), "line 5: expected 'mode: '"),
        (BY_DAY + b"unique key: k\n", "line 10: expected the end of the text, found 'unique key: k'"),
        (BY_DAY + b"ttl: a\nttl: b\n", "line 11: expected the end of the text, found 'ttl: b'"),
        (BY_DAY + b"ttl: a", "line 10: expected 'ttl: ' and a newline"),
        (BY_MONTH + b"partition key: d\n", "line 8: expected the end of the text"),
        (BY_MONTH[:-1], "line 7: expected 'primary key: ' and a newline"),
        (b"\xff" + BY_DAY, "is not text"),
    ],
)
def test_refuses_unknown_text(data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message) as caught:
        parse_table_metadata(data, WHERE)
    assert WHERE in caught.value.message
    assert caught.value.remedy


@given(st.binary())
def test_any_data_is_read_or_refused(data: bytes) -> None:
    for prefix in (b"", BY_DAY, BY_MONTH):
        try:
            assert parse_table_metadata(prefix + data, WHERE).raw == prefix + data
        except FormatError:
            continue


COLUMNS = b"columns format version: 1\n3 columns:\n`d` Date\n`k` UInt32\n`v` String\n"


@pytest.mark.parametrize(
    ("data", "has_ttl"),
    [
        (COLUMNS, False),
        (b"columns format version: 1\n1 columns:\n`v` String\tTTL d + toIntervalDay(1)\n", True),
        (
            b"columns format version: 1\n1 columns:\n`v` UInt8\tDEFAULT\t1\tCODEC(ZSTD(1))\tTTL d\n",
            True,
        ),
        (b"columns format version: 1\n1 columns:\n`v` String\tTTL d\tSETTINGS (a = 1)\n", True),
        (b"columns format version: 1\n1 columns:\n`TTL d` String\n", False),
        (b"columns format version: 1\n1 columns:\n`v` String\tDEFAULT\t'\\tTTL d'\n", False),
        (b"columns format version: 1\n1 columns:\n`v` String\tCOMMENT 'TTL d'\n", False),
        (b"columns format version: 1\n0 columns:\n", False),
    ],
)
def test_columns_have_ttl(data: bytes, has_ttl: bool) -> None:
    assert columns_have_ttl(data, WHERE) is has_ttl


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "line 1: expected 'columns format version: 1'"),
        (COLUMNS.replace(b"version: 1", b"version: 2"), "found 'columns format version: 2'"),
        (COLUMNS.replace(b"3 columns", b"4 columns"), "line 6: expected a column"),
        (COLUMNS.replace(b"3 columns", b"2 columns"), "line 5: expected the end of the text"),
        (COLUMNS.replace(b"3 columns", b"-3 columns"), "line 2: expected a count"),
    ],
)
def test_refuses_unknown_columns(data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        columns_have_ttl(data, WHERE)
