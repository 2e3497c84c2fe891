# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Registrations come from three kinds of file, distinguished by their content."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError, PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.journal.events import Event
from ansible_collections.olap.partmove.plugins.module_utils._partmove.journal.lines import (
    encoded_lines,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.backup import (
    BackupHeader,
    SavedZnode,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.registrations import (
    encode_header,
)
from ansible_collections.olap.partmove.plugins.module_utils._tasks.registrations_file import (
    read_registrations,
)

LAYOUT = ShardLayout("/clickhouse/tables/01/hits")
SAVED = SavedZnode("hot", LAYOUT.replica("r1").part("202611_1_1_0"), b"\x00data", 0)
SWITCHING = {
    "shard_path": LAYOUT.path,
    "partition": "202611",
    "state": "COLD",
    "state_before": "HOT",
    "state_version": 0,
    "parts": [
        {
            "part": "202611_1_1_0",
            "digest": "0" * 64,
            "replicas": ["r1", "r2"],
            "data": b64encode(SAVED.data).decode(),
        }
    ],
}


def test_of_a_backup(tmp_path: Path) -> None:
    file = tmp_path / "backup.jsonl"
    header = BackupHeader("2026-11-22T06:00:00.000Z", LAYOUT.path, 7, "ghost")
    file.write_bytes(header.encode() + SAVED.encode())
    assert read_registrations(str(file), LAYOUT) == [SAVED]


def test_of_a_journal(tmp_path: Path) -> None:
    file = tmp_path / "journal.jsonl"
    lines = encoded_lines("2026-11-22T06:45:00.000Z", "0" * 32, Event.SWITCHING, [SWITCHING])
    file.write_bytes(b"\n" + b"".join(lines))
    assert read_registrations(str(file), LAYOUT) == [SAVED]


def test_of_files_of_zookeeper(tmp_path: Path) -> None:
    file = tmp_path / "registrations.jsonl"
    file.write_bytes(encode_header("hot=/data") + SAVED.encode())
    assert read_registrations(str(file), LAYOUT) == [SAVED]
    assert read_registrations(str(file), ShardLayout("/other")) == []


def test_of_another_format(tmp_path: Path) -> None:
    file = tmp_path / "plan.jsonl"
    file.write_bytes(b'{"format": "olap.partmove/plan"}\n')
    with pytest.raises(FormatError, match=r"plan\.jsonl, line 1: its version is None"):
        read_registrations(str(file), LAYOUT)


def test_of_an_unreadable_file(tmp_path: Path) -> None:
    with pytest.raises(PartMoveError, match="The registrations .*none cannot be read: No such file"):
        read_registrations(str(tmp_path / "none"), LAYOUT)
