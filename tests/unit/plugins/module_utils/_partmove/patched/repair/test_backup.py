# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The content of a backup, and which files are accepted as one."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.backup import (
    DELETED,
    Backup,
    BackupHeader,
    BackupLine,
    Left,
    PartitionLeft,
    SavedZnode,
    WrittenZnode,
    parse_backup,
)

HEADER = BackupHeader("2026-11-22T06:00:00.000Z", "/clickhouse/tables/01/hits", 7, "ghost", 5, "a" * 32)
ZNODE = SavedZnode("cold", "/clickhouse/tables/01/hits/replicas/r1/parts/1_0_0_0", b"\x00\xff", 3)

ensembles = st.sampled_from(["hot", "cold"])
paths = st.text(min_size=1, max_size=20).map(lambda text: f"/{text}")
versions = st.integers(0, 2**31 - 1)
lefts = st.one_of(st.just(DELETED), st.builds(Left, st.binary(max_size=30), versions))
saved = st.builds(SavedZnode, ensembles, paths, st.binary(max_size=30), versions, st.one_of(st.none(), lefts))
written = st.builds(WrittenZnode, ensembles, paths, lefts)
names = st.dictionaries(st.text(max_size=5), st.lists(st.text(max_size=5), max_size=3), max_size=2)
partitions = st.builds(
    PartitionLeft,
    st.text(max_size=5),
    st.one_of(st.none(), st.builds(Left, st.binary(max_size=5), versions)),
    names,
    names,
)


@given(st.lists(st.one_of(saved, written, partitions), max_size=6))
def test_what_was_written_is_read(lines: list[BackupLine]) -> None:
    data = b"".join([HEADER.encode(), *(each.encode() for each in lines)])
    assert parse_backup(data, "a file") == Backup.of(HEADER, lines)


def test_a_last_line_that_is_cut_off_was_not_used_yet() -> None:
    data = HEADER.encode() + ZNODE.encode() + ZNODE.encode()[:-5]
    assert parse_backup(data, "a file") == Backup(HEADER, [ZNODE], [], [])


def test_a_file_of_version_1() -> None:
    header = b"""{"czxid": 7, "format": "olap.partmove/backup", "kind": "ghost", "shard_path": "/a/b",\
 "time": "2026-11-22T06:00:00.000Z", "version": 1}""".replace(b"\\\n", b"")
    line = b"""{"data": "AP8=", "ensemble": "cold", "path": "/a/b/replicas/r1/parts/1_0_0_0", "version": 3}"""
    assert parse_backup(header + b"\n" + line + b"\n", "a file") == Backup(
        BackupHeader("2026-11-22T06:00:00.000Z", "/a/b", 7, "ghost"),
        [SavedZnode("cold", "/a/b/replicas/r1/parts/1_0_0_0", b"\x00\xff", 3)],
        [],
        [],
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "a file, line 1 is no JSON object"),
        (b"{}\n", "this is no backup of a repair"),
        (HEADER.encode() + b"junk\n", "a file, line 2 is no JSON object"),
        (HEADER.encode() + b"{}\n", "a file, line 2: ensemble is missing"),
        (
            HEADER.encode() + ZNODE.encode().replace(b'"cold"', b'"warm"'),
            "a file, line 2: ensemble is 'warm'",
        ),
        (
            HEADER.encode() + ZNODE.encode().replace(b'"AP8="', b'"A"'),
            "a file, line 2: data is 'A'",
        ),
        (HEADER._replace(shard_path="hits").encode(), "'hits'"),
        (HEADER.encode().replace(b'"version": 2', b'"version": 3'), "this collection reads version 2"),
        (HEADER.encode() + b'{"partition": "1"}\n', "a file, line 2: state is missing"),
    ],
)
def test_what_is_no_backup(data: bytes, message: str) -> None:
    with pytest.raises(FormatError) as refused:
        parse_backup(data, "a file")
    assert message in refused.value.message
    assert refused.value.remedy


def test_what_is_unknown_and_what_is_deleted_have_one_form() -> None:
    """Files of version 1 have no time of creation, and later versions read what earlier ones wrote."""
    assert BackupHeader("2026-11-22T06:00:00.000Z", "/a/b", 7, "ghost").ctime == 0
    assert DELETED.encoded() == {"data": None, "version": 0}
