# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Entries of the replication log and of the queues."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.log_entry import (
    EntryKind,
    LogEntry,
    parse_log_entry,
    partitions_named,
)

WHERE = "/clickhouse/tables/01/t/log/log-0000000009"


def head(version: int = 4, extra: str = "") -> str:
    create_time = "2026-11-21 00:23:36"
    return f"format version: {version}\ncreate_time: {create_time}\nsource replica: r1\nblock_id: \n{extra}"


def parse(text: str | bytes) -> LogEntry:
    return parse_log_entry(text if isinstance(text, bytes) else text.encode(), WHERE)


# As a server of version 18.16.1 wrote them.
GET = (
    b"format version: 4\ncreate_time: 2026-11-21 00:23:24\nsource replica: r1\n"
    b"block_id: 20191201_10722528789740062226_14761988884515614513\nget\n20191201_0_0_0\n"
)
GET_WITH_QUORUM = (
    b"format version: 4\ncreate_time: 2026-11-21 00:23:45\nsource replica: r1\n"
    b"block_id: 20191203_13880045338749163414_10826204882828086304\nget\n20191203_0_0_0\nquorum: 2\n"
)
GET_BY_MONTH = (
    b"format version: 4\ncreate_time: 2026-11-21 00:24:17\nsource replica: r1\n"
    b"block_id: 201912_7764231911341355718_5197857308639156424\nget\n20191201_20191220_0_0_0\n"
)
MERGE = (
    b"format version: 4\ncreate_time: 2026-11-21 00:23:36\nsource replica: r1\nblock_id: \nmerge\n"
    b"20191201_0_0_0\n20191201_1_1_0\n20191201_2_2_0\ninto\n20191201_0_2_1\ndeduplicate: 0\n"
)
MUTATE = (
    b"format version: 4\ncreate_time: 2026-11-21 00:23:39\nsource replica: r1\nblock_id: \n"
    b"mutate\n20191201_0_2_1\nto\n20191201_0_2_1_3\n"
)
CLEAR_COLUMN = (
    b"format version: 4\ncreate_time: 2026-11-21 00:23:48\nsource replica: \nblock_id: \n"
    b"clear_column\nw\nfrom\n20191202_0_1_999999999_1\n"
)
REPLACE_RANGE = (
    b"format version: 4\ncreate_time: 2026-11-21 00:23:51\nsource replica: r1\nblock_id: \nREPLACE_RANGE\n"
    b"drop_range_name: 20191201_0_4_4294967295\nfrom_database: default\nfrom_table: src\n"
    b"source_parts: ['20191201_1_1_0']\nnew_parts: ['20191201_5_5_0']\n"
    b"part_checksums: ['8557D6AEA26E81B12FFDADC5CB38D48B']\ncolumns_version: 1\n"
)
DETACH = (
    b"format version: 4\ncreate_time: 2026-11-21 00:23:55\nsource replica: r1\nblock_id: \n"
    b"detach\n20191203_0_0_999999999\n"
)
DROP = (
    b"format version: 4\ncreate_time: 2026-11-21 00:24:13\nsource replica: r1\nblock_id: \n"
    b"drop\n20191201_0_7_999999999_3\n"
)

MERGE_BY_MONTH = (
    b"format version: 4\ncreate_time: 2026-11-21 00:24:23\nsource replica: r1\nblock_id: \nmerge\n"
    b"20191201_20191220_0_0_0\n20191205_20191205_1_1_0\ninto\n20191201_20191220_0_1_1\ndeduplicate: 0\n"
)
MUTATE_BY_MONTH = (
    b"format version: 4\ncreate_time: 2026-11-21 00:24:26\nsource replica: r1\nblock_id: \n"
    b"mutate\n20191201_20191220_0_1_1\nto\n20191201_20191220_0_1_1_2\n"
)
DROP_BY_MONTH = (
    b"format version: 4\ncreate_time: 2026-11-21 00:24:32\nsource replica: r1\nblock_id: \n"
    b"drop\n20191201_20191231_0_2_999999999_2\n"
)


@pytest.mark.parametrize(
    ("data", "kind", "parts"),
    [
        (GET, EntryKind.GET, ("20191201_0_0_0",)),
        (GET_WITH_QUORUM, EntryKind.GET, ("20191203_0_0_0",)),
        (GET_BY_MONTH, EntryKind.GET, ("20191201_20191220_0_0_0",)),
        (MERGE, EntryKind.MERGE, ("20191201_0_0_0", "20191201_1_1_0", "20191201_2_2_0", "20191201_0_2_1")),
        (MUTATE, EntryKind.MUTATE, ("20191201_0_2_1", "20191201_0_2_1_3")),
        (CLEAR_COLUMN, EntryKind.CLEAR_COLUMN, ("20191202_0_1_999999999_1",)),
        (
            REPLACE_RANGE,
            EntryKind.REPLACE_RANGE,
            ("20191201_0_4_4294967295", "20191201_1_1_0", "20191201_5_5_0"),
        ),
        (DETACH, EntryKind.DETACH, ("20191203_0_0_999999999",)),
        (DROP, EntryKind.DROP, ("20191201_0_7_999999999_3",)),
    ],
)
def test_reads_entries_of_18_16(data: bytes, kind: EntryKind, parts: tuple[str, ...]) -> None:
    entry = parse(data)
    assert (entry.kind, entry.parts, entry.table_wide) == (kind, parts, False)


def test_reads_the_head_of_an_entry() -> None:
    entry = parse(GET)
    assert entry.where == WHERE
    assert entry.create_time == "2026-11-21 00:23:24"
    assert entry.source_replica == "r1"
    assert entry.block_id == "20191201_10722528789740062226_14761988884515614513"
    assert parse(CLEAR_COLUMN).source_replica == ""


ALTER = (
    "alter\nalter_version\n3\nhave_mutation\n1\n"
    "columns_str_size:\n49\ncolumns format version: 1\n1 columns:\n`k\u00e9` UInt8\n\n"
    "metadata_str_size:\n27\nmetadata format version: 1\n\n"
)


@pytest.mark.parametrize(
    ("body", "kind", "parts", "table_wide"),
    [
        ("get\nall_1_1_0\npart_type: Compact\n", EntryKind.GET, ("all_1_1_0",), False),
        ("get\nall_1_1_0\npart_type: Compact\nquorum: 2\n", EntryKind.GET, ("all_1_1_0",), False),
        ("get\nall_1_1_0\npart_type: InMemory\nstorage_type: Packed\n", EntryKind.GET, ("all_1_1_0",), False),
        ("attach\nall_1_1_0\npart_checksum: 8557D6AE\n", EntryKind.ATTACH, ("all_1_1_0",), False),
        (
            "attach\ndetached\nall_1_1_0\ninto\nall_4_4_0\n",
            EntryKind.ATTACH,
            ("all_1_1_0", "all_4_4_0"),
            False,
        ),
        (
            "attach\nunreplicated\nall_1_1_0\ninto\nall_4_4_0\n",
            EntryKind.ATTACH,
            ("all_1_1_0", "all_4_4_0"),
            False,
        ),
        (
            "merge\nall_0_0_0\ninto\nall_0_0_1\ndeduplicate: 1\nmerge_type: 2\npart_type: Compact\n",
            EntryKind.MERGE,
            ("all_0_0_0", "all_0_0_1"),
            False,
        ),
        (
            (
                "merge\nall_0_0_0\ninto\nall_0_0_1\ndeduplicate: 1\nmerge_type: 4\n"
                "into_uuid: 61f0c404-5cb3-11e7-907b-a6006ad3dba0\ndeduplicate_by_columns: 'a','b'\n"
                "cleanup: 1\napply_patches: 2\npatch-0a-all_5_5_0\npatch-0a-all_6_6_0\n"
            ),
            EntryKind.MERGE,
            ("all_0_0_0", "all_0_0_1", "patch-0a-all_5_5_0", "patch-0a-all_6_6_0"),
            False,
        ),
        (
            "mutate\nall_0_0_0\nto\nall_0_0_0_3\nalter_version\n5\n",
            EntryKind.MUTATE,
            ("all_0_0_0", "all_0_0_0_3"),
            False,
        ),
        (
            (
                "mutate\nall_0_0_0\nto\nall_0_0_0_3\nto_uuid\n61f0c404-5cb3-11e7-907b-a6006ad3dba0\n"
                "alter_version\n-1\npart_type: Compact\n"
            ),
            EntryKind.MUTATE,
            ("all_0_0_0", "all_0_0_0_3"),
            False,
        ),
        ("clear_index\ni\nfrom\nall_0_5_999999999\n", EntryKind.CLEAR_INDEX, ("all_0_5_999999999",), False),
        (
            (
                "REPLACE_RANGE\ndrop_range_name: all_0_0_0\nfrom_database: a\\tb\nfrom_table: it\\'s\n"
                "source_parts: ['all_1_1_0','all_2_2_0']\nnew_parts: ['all_7_7_0','all_8_8_0']\n"
                "part_checksums: ['A','B']\ncolumns_version: -1\n"
            ),
            EntryKind.REPLACE_RANGE,
            ("all_0_0_0", "all_1_1_0", "all_2_2_0", "all_7_7_0", "all_8_8_0"),
            False,
        ),
        (
            (
                "REPLACE_RANGE\ndrop_range_name: all_0_9_999999999\nfrom_database: a\nfrom_table: b\n"
                "source_parts: []\nnew_parts: []\npart_checksums: []\ncolumns_version: 4\n"
            ),
            EntryKind.REPLACE_RANGE,
            ("all_0_9_999999999",),
            False,
        ),
        (ALTER, EntryKind.ALTER, (), True),
        (
            "clone_part_from_shard\nall_1_1_0\nsource_shard: /clickhouse/tables/02/t\n",
            EntryKind.CLONE_FROM_SHARD,
            ("all_1_1_0",),
            False,
        ),
        ("sync_pinned_part_uuids\n\n", EntryKind.SYNC_PINNED_PARTS, (), True),
    ],
)
def test_reads_entries_of_other_servers(
    body: str, kind: EntryKind, parts: tuple[str, ...], table_wide: bool
) -> None:
    for text in (head(4) + body, head(5) + body, head(6) + body, head(7, "log_entry_id: /a/b\n") + body):
        entry = parse(text)
        assert (entry.kind, entry.parts, entry.table_wide) == (kind, parts, table_wide)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: expected 'format version: '"),
        ("\n", "line 1: expected 'format version: '"),
        (
            head(3) + "get\nall_0_0_0\n",
            "line 1: expected a format version from 4 to 7, found 'format version: 3'",
        ),
        (
            head(8) + "get\nall_0_0_0\n",
            "line 1: expected a format version from 4 to 7, found 'format version: 8'",
        ),
        (
            head().replace("2026-11-21 00", "2026-11-21T00") + "get\nall_0_0_0\n",
            "line 2: expected a date and time",
        ),
        (head(7) + "get\nall_0_0_0\n", "line 5: expected 'log_entry_id: '"),
        (head() + "\n\n", "line 5: expected a known type of entry, found ''"),
        (head() + "empty\n\n", "line 5: expected a known type of entry, found 'empty'"),
        (head() + "replace_column\nc\nin\nall_0_0_0\n", "found 'replace_column'"),
        (head() + "GET\nall_0_0_0\n", "line 5: expected a known type of entry, found 'GET'"),
        (head() + "get\nall_0_0_0", "line 6: expected the name of a part and a newline"),
        (head() + "get\nall_0_0_0\nall_1_1_0\n", "line 7: expected the end of the text, found 'all_1_1_0'"),
        (head() + "get\nall_0_0_0\n\n", "line 7: expected the end of the text, found ''"),
        (head() + "get\nall_0_0_0\nquorum: x\n", "line 7: expected a decimal number"),
        (head() + "get\nall_0_0_0\nquorum: 2\nquorum: 2\n", "line 8: expected the end of the text"),
        (head() + "get\nall_0_0_0\npart_type: Sparse\n", "line 7: expected 'part_type: ' and one of Wide"),
        (
            head() + "get\nall_0_0_0\nstorage_type: Tape\n",
            "line 7: expected 'storage_type: ' and one of Full",
        ),
        (head() + "merge\nall_0_0_0\nall_1_1_0\n", "line 8: expected the name of a part"),
        (head() + "merge\nall_0_0_0\ninto\nall_0_0_1\n", "line 9: expected 'deduplicate: '"),
        (
            head() + "merge\nall_0_0_0\ninto\nall_0_0_1\ndeduplicate: 0\ncleanup_by: 1\n",
            "line 10: expected the end of the text, found 'cleanup_by: 1'",
        ),
        (
            head()
            + "merge\nall_0_0_0\ninto\nall_0_0_1\ndeduplicate: 0\napply_patches: 2\npatch-a-all_1_1_0\n",
            "line 12: expected the name of a part",
        ),
        (head() + "mutate\nall_0_0_0\ninto\nall_0_0_0_3\n", "line 7: expected 'to', found 'into'"),
        (head() + "attach\nall_0_0_0\n", "line 7: expected 'part_checksum: '"),
        (head() + "clear_column\nc\nall_0_0_999999999\n", "line 7: expected 'from'"),
        (head() + ALTER.replace("\n49\n", "\n40\n"), "line 12: expected columns text of 40 bytes"),
        (head() + ALTER.replace("\n27\n", "\n28\n"), "line 18: expected metadata text of 28 bytes"),
        (head() + "sync_pinned_part_uuids\n", "line 6: expected ''"),
    ],
)
def test_refuses_unknown_text(text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message) as caught:
        parse(text)
    assert caught.value.message.startswith(f"{WHERE}, line ")
    assert caught.value.remedy


@pytest.mark.parametrize(
    "value", ["", "all_1_1_0", "['all_1_1_0'", "[all_1_1_0]", "['a''b']", "['a',]", "['a\\']"]
)
def test_refuses_a_malformed_list(value: str) -> None:
    text = REPLACE_RANGE.decode().replace("['20191201_5_5_0']", value)
    with pytest.raises(FormatError, match="line 10: expected 'new_parts: ' and a list of quoted names"):
        parse(text)


@pytest.mark.parametrize(
    ("data", "format_version", "partitions"),
    [
        (GET, 1, {"20191201"}),
        (GET_BY_MONTH, 0, {"201912"}),
        (MERGE_BY_MONTH, 0, {"201912"}),
        (MUTATE_BY_MONTH, 0, {"201912"}),
        (DROP_BY_MONTH, 0, {"201912"}),
        (MUTATE, 1, {"20191201"}),
        (CLEAR_COLUMN, 1, {"20191202"}),
        (DETACH, 1, {"20191203"}),
        (MERGE, 1, {"20191201"}),
        (REPLACE_RANGE, 1, {"20191201"}),
        (DROP, 1, {"20191201"}),
        ((head() + ALTER).encode(), 1, set()),
    ],
)
def test_partitions_named(data: bytes, format_version: int, partitions: set[str]) -> None:
    assert partitions_named(parse(data), format_version) == partitions


def test_partitions_named_refuses_a_name_that_is_no_part() -> None:
    entry = parse(head() + "get\nall_0_0\n")
    with pytest.raises(FormatError, match=f"{WHERE}: 'all_0_0' is not the name of a part"):
        partitions_named(entry, 1)


SAMPLES = (
    GET,
    GET_WITH_QUORUM,
    MERGE,
    MUTATE,
    CLEAR_COLUMN,
    REPLACE_RANGE,
    DETACH,
    DROP,
    (head() + ALTER).encode(),
)


@given(st.sampled_from(SAMPLES), st.data())
def test_a_cut_entry_never_loses_a_part(sample: bytes, data: st.DataObject) -> None:
    cut = sample[: data.draw(st.integers(0, len(sample) - 1))]
    try:
        entry = parse(cut)
    except FormatError:
        return
    assert entry.parts == parse(sample).parts


@given(st.sampled_from(SAMPLES), st.text(min_size=1))
def test_nothing_may_follow_an_entry(sample: bytes, more: str) -> None:
    try:
        entry = parse(sample + more.encode())
    except FormatError:
        return
    assert more.startswith(("part_type: ", "storage_type: ", "quorum: "))
    assert entry.parts == parse(sample).parts


@given(st.binary())
def test_any_data_is_read_or_refused(data: bytes) -> None:
    for text in (data, head().encode() + data, b"".join((head().encode(), b"merge\n", data))):
        with pytest.raises(FormatError):
            parse(text)


@given(st.sampled_from(list(EntryKind)), st.lists(st.text(alphabet="al_0\n:into", max_size=12), max_size=6))
def test_lines_of_any_kind_are_read_or_refused(kind: EntryKind, lines: list[str]) -> None:
    text = head() + kind.value + "\n" + "".join(line + "\n" for line in lines)
    try:
        entry = parse(text)
    except FormatError:
        return
    assert entry.kind is kind
    assert set(entry.parts) <= set(text.split("\n"))
