# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Entries of mutations."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.mutation_entry import (
    parse_mutation_entry,
)

WHERE = "/clickhouse/tables/01/t/mutations/0000000000"

# As a server of version 18.16.1 wrote it.
DELETE = (
    b"format version: 1\ncreate time: 2026-11-21 00:23:39\nsource replica: r1\nblock numbers count: 2\n"
    b"20191201\t3\n20191202\t1\ncommands: DELETE WHERE k = 1 "
)
HEAD = b"format version: 1\ncreate time: 2026-11-21 00:23:39\nsource replica: r1\n"


def test_reads_entries_of_18_16() -> None:
    entry = parse_mutation_entry(DELETE, WHERE)
    assert entry.where == WHERE
    assert entry.id == "0000000000"
    assert entry.create_time == "2026-11-21 00:23:39"
    assert entry.source_replica == "r1"
    assert entry.block_numbers == {"20191201": 3, "20191202": 1}
    assert entry.commands == "DELETE WHERE k = 1 "
    assert entry.alter_version is None


@pytest.mark.parametrize(
    ("data", "block_numbers", "commands", "alter_version"),
    [
        (HEAD + b"block numbers count: 0\ncommands: \nalter version: -1", {}, "", -1),
        (HEAD + b"block numbers count: 0\ncommands: ", {}, "", None),
        (
            HEAD + b"block numbers count: 1\n2019-1\t12\ncommands: MODIFY COLUMN k UInt64\nalter version: 4",
            {"2019-1": 12},
            "MODIFY COLUMN k UInt64",
            4,
        ),
        (
            HEAD
            + b"block numbers count: 1\nall\t0\ncommands: DELETE WHERE v = \\'a\\\\nb\\'\nalter version: -1",
            {"all": 0},
            "DELETE WHERE v = 'a\\nb'",
            -1,
        ),
        (
            HEAD.replace(b"version: 1", b"version: 2")
            + b"block numbers count: 1\nall\t7\ncommands: DELETE WHERE 1\nalter version: -1\nauthor: ann",
            {"all": 7},
            "DELETE WHERE 1",
            -1,
        ),
    ],
)
def test_reads_entries_of_later_servers(
    data: bytes, block_numbers: dict[str, int], commands: str, alter_version: int | None
) -> None:
    entry = parse_mutation_entry(data, WHERE)
    assert entry.block_numbers == block_numbers
    assert entry.commands == commands
    assert entry.alter_version == alter_version


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "line 1: expected 'format version: '"),
        (DELETE.replace(b"version: 1", b"version: 3"), "line 1: expected format version 1 or 2"),
        (DELETE.replace(b"count: 2", b"count: 1"), "line 6: expected 'commands: ', found '20191202"),
        (
            DELETE.replace(b"count: 2", b"count: 3"),
            "line 7: expected a partition id, a tab and a block number",
        ),
        (DELETE.replace(b"count: 2", b"count: -2"), "line 4: expected a count"),
        (DELETE.replace(b"\t3", b" 3"), "line 5: expected another partition id, a tab and a block number"),
        (DELETE.replace(b"\t3", b"\t03"), "line 5: expected a decimal number"),
        (DELETE.replace(b"\t3", b"\t-3"), "line 5: expected a count"),
        (DELETE.replace(b"20191202", b"20191201"), "line 6: expected another partition id"),
        (DELETE.replace(b"20191202", b"2019_12"), "'2019_12' is not a partition id"),
        (DELETE[: DELETE.index(b"commands")], "line 7: expected 'commands: '"),
        (DELETE + b"\nalter version: x", "line 8: expected a decimal number"),
        (DELETE + b"\nauthor: ann", "line 8: expected the end of the text, found 'author: ann'"),
        (DELETE.replace(b"version: 1", b"version: 2"), "line 7: expected 'author: ' and a newline"),
    ],
)
def test_refuses_unknown_text(data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message) as caught:
        parse_mutation_entry(data, WHERE)
    assert WHERE in caught.value.message
    assert caught.value.remedy


@given(st.binary())
def test_any_data_is_read_or_refused(data: bytes) -> None:
    for text in (data, HEAD + b"block numbers count: 1\nall\t1\n" + data):
        with pytest.raises(FormatError):
            parse_mutation_entry(text, WHERE)


@given(st.dictionaries(st.from_regex(r"[0-9A-Za-z-]{1,32}", fullmatch=True), st.integers(0, 2**63 - 1)))
def test_every_partition_keeps_its_block_number(block_numbers: dict[str, int]) -> None:
    lines = "".join(f"{partition_id}\t{number}\n" for partition_id, number in block_numbers.items())
    text = f"{HEAD.decode()}block numbers count: {len(block_numbers)}\n{lines}commands: DELETE WHERE 1"
    assert parse_mutation_entry(text.encode(), WHERE).block_numbers == block_numbers
