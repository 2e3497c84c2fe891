# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The content of a backup, and which files are accepted as one."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.backup import (
    BackupHeader,
    SavedZnode,
    parse_backup,
)

HEADER = BackupHeader("2026-11-22T06:00:00.000Z", "/clickhouse/tables/01/hits", 7, "ghost")
ZNODE = SavedZnode("cold", "/clickhouse/tables/01/hits/replicas/r1/parts/1_0_0_0", b"\x00\xff", 3)

saved = st.builds(
    SavedZnode,
    st.sampled_from(["hot", "cold"]),
    st.text(min_size=1, max_size=20).map(lambda text: f"/{text}"),
    st.binary(max_size=30),
    st.integers(0, 2**31 - 1),
)


@given(st.lists(saved, max_size=5))
def test_what_was_written_is_read(znodes: list[SavedZnode]) -> None:
    data = b"".join([HEADER.encode(), *(each.encode() for each in znodes)])
    assert parse_backup(data, "a file") == (HEADER, znodes)


def test_a_last_line_that_is_cut_off_was_not_used_yet() -> None:
    data = HEADER.encode() + ZNODE.encode() + ZNODE.encode()[:-5]
    assert parse_backup(data, "a file") == (HEADER, [ZNODE])


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
    ],
)
def test_what_is_no_backup(data: bytes, message: str) -> None:
    with pytest.raises(FormatError) as refused:
        parse_backup(data, "a file")
    assert message in refused.value.message
    assert refused.value.remedy
