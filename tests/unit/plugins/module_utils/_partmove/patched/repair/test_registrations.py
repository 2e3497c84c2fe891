# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Files of registrations: what is written comes back for its table, and anything else is refused."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.backup import (
    SavedZnode,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.registrations import (
    encode_header,
    parse_registrations,
)

LAYOUT = ShardLayout("/clickhouse/tables/01/hits")
OURS = SavedZnode("hot", LAYOUT.replica("r1").part("201912_0_0_0"), b"\x00data", 3)
THEIRS = SavedZnode("hot", f"{LAYOUT.path}2/replicas/r1/parts/201912_0_0_0", b"", 0)
HEADER = encode_header("hot=/var/lib/zookeeper")


def parsed(*lines: bytes) -> list[SavedZnode]:
    return parse_registrations(lines, LAYOUT, "file")


def test_what_is_of_the_table_comes_back() -> None:
    assert parsed(HEADER, OURS.encode(), THEIRS.encode()) == [OURS]
    assert parsed(HEADER) == []


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ([HEADER[:-1]], "file, line 1 is cut off"),
        ([HEADER, OURS.encode()[:-1]], "file, line 2 is cut off"),
        ([OURS.encode()], "file, line 1: this is no file of registrations"),
        ([HEADER.replace(b'"version": 1', b'"version": 2')], "file, line 1: its version is 2"),
        ([HEADER.replace(b"source", b"sauce")], "file, line 1: sauce is not a known key"),
        ([HEADER, b"[]\n"], "file, line 2 is no JSON object"),
        ([HEADER, OURS.encode().replace(b"hot", b"hat")], "file, line 2: ensemble is 'hat'"),
    ],
)
def test_what_is_something_else_is_refused(lines: list[bytes], problem: str) -> None:
    with pytest.raises(FormatError) as refusal:
        parsed(*lines)
    assert refusal.value.message.startswith(problem)
