# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The result says of each row what was done with it, and why it was left."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.backup import (
    SavedZnode,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.case import (
    NotRepaired,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.restore_report import (
    RestoredRow,
    RestoreReport,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.restore_rows import (
    Action,
    Row,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Stat,
    Znode,
)
from support.memory.restores import Restores


@pytest.fixture
def lost() -> Restores:
    """A cold partition that was removed as a ghost while its disks were not mounted; the disks are back."""
    return Restores.of_lost_disks()


def test_rows_that_are_left_have_a_reason_and_a_remedy(lost: Restores) -> None:
    lost.forget_partitions()
    lost.restore()
    assert all(row.reason and row.remedy for row in lost.report.rows)


def test_rows_are_counted_by_action_and_sorted() -> None:
    report = RestoreReport()
    znode = Znode("/b", b"1", Stat(1, 1, 0, 0, 0, 0, 0, 0, 1, 0, 1))
    missing, same = (
        Row(SavedZnode("hot", path, b"1", 0), now, ()) for path, now in (("/a", None), ("/b", znode))
    )
    report.add([same, missing])
    report.add([same, missing], NotRepaired("why", "how"))
    assert report.of(Action.CREATED) == [RestoredRow("hot", "/a", Action.CREATED)]
    assert report.of(Action.LEFT) == [RestoredRow("hot", "/a", Action.LEFT, "why", "how")]
    assert report.of(Action.UNCHANGED) == [RestoredRow("hot", "/b", Action.UNCHANGED)] * 2
    assert report.of(Action.SET_BACK) == []
