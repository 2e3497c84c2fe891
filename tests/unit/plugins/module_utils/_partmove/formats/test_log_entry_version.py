# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Entries of a format version that is not known are refused, even if all their lines are."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.log_entry import (
    EntryKind,
    parse_log_entry,
)

LINES = {
    4: "create_time: 2026-11-21 00:23:36\nsource replica: r1\nblock_id: \n",
    7: "create_time: 2026-11-21 00:23:36\nsource replica: r1\nblock_id: \nlog_entry_id: \n",
}


def entry(version: int, lines: str) -> bytes:
    """Return an entry that names a part to get."""
    return f"format version: {version}\n{lines}get\nall_0_0_0\n".encode()


@pytest.mark.parametrize("known", LINES)
@pytest.mark.parametrize("version", [0, 3, 8, 40])
def test_an_unknown_version_is_refused(known: int, version: int) -> None:
    assert parse_log_entry(entry(known, LINES[known]), "an entry").kind is EntryKind.GET
    with pytest.raises(FormatError):
        parse_log_entry(entry(version, LINES[known]), "an entry")
