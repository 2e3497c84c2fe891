# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Errors for unusable files."""

from __future__ import annotations

from pathlib import Path

import pytest

from partition_classify.zookeeper_files.damage import DamagedFile, unreadable

SNAPSHOT = Path("/copy/version-2/snapshot.a")


def test_damage_names_file_offset_and_remedy() -> None:
    error = DamagedFile(SNAPSHOT, 17, "it is torn")
    assert error.message == "/copy/version-2/snapshot.a: it is torn at byte 17"
    assert "snapshots first and then logs" in error.remedy
    assert (error.path, error.offset) == (SNAPSHOT, 17)
    assert DamagedFile(SNAPSHOT, 17, "it is torn", remedy="Wait").remedy == "Wait"


def test_unreadable_file_names_the_cause() -> None:
    with pytest.raises(FileNotFoundError) as error:
        Path("/none/snapshot.a").read_bytes()
    assert (
        unreadable(SNAPSHOT, error.value).message == f"{SNAPSHOT} cannot be read: No such file or directory"
    )
    assert unreadable(SNAPSHOT, OSError("odd")).message == f"{SNAPSHOT} cannot be read: odd"


def test_damage_without_a_place() -> None:
    error = DamagedFile(SNAPSHOT, None, "two znodes are one")
    assert error.message == f"{SNAPSHOT}: two znodes are one"
    assert error.offset is None
