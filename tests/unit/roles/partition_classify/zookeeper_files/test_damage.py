# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is told of a file that cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from partition_classify.zookeeper_files.damage import DamagedFile, unreadable

SNAPSHOT = Path("/copy/version-2/snapshot.a")


def test_damage_is_told_with_file_byte_and_way_out() -> None:
    error = DamagedFile(SNAPSHOT, 17, "it is torn")
    assert error.message == "/copy/version-2/snapshot.a: it is torn at byte 17"
    assert "snapshots first and then logs" in error.remedy
    assert (error.path, error.offset) == (SNAPSHOT, 17)
    assert DamagedFile(SNAPSHOT, 17, "it is torn", remedy="Wait").remedy == "Wait"


def test_file_that_the_system_does_not_hand_out_is_told_with_its_reason() -> None:
    with pytest.raises(FileNotFoundError) as error:
        Path("/none/snapshot.a").read_bytes()
    assert (
        unreadable(SNAPSHOT, error.value).message == f"{SNAPSHOT} cannot be read: No such file or directory"
    )
    assert unreadable(SNAPSHOT, OSError("odd")).message == f"{SNAPSHOT} cannot be read: odd"
