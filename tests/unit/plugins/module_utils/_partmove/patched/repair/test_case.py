# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The common part of repairs: a read under the lease of the partitions that still have the kind."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.binding.marker import (
    ColdMarker,
    HotSide,
    TableId,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import LeaseHeld, PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.case import NotRepaired
from support.memory.arrange import create_cold
from support.memory.bench import LOCK, PART, PATH
from support.memory.drifted import Drifted
from support.memory.synthetic import MINIMALISTIC

STRAY = f"replicas/r9/parts/{PART}"


@pytest.fixture
def drifted() -> Drifted:
    drifted = Drifted()
    create_cold(STRAY, MINIMALISTIC)(drifted.bench)
    return drifted


def test_what_is_not_so_any_more_is_left_alone(drifted: Drifted) -> None:
    replica = f"{PATH}/replicas/r9"
    drifted.bench.before_lease(lambda: drifted.bench.hot.create(f"{replica}/host", b"", makepath=True))
    drifted.repair(FindingKind.ANOTHER_REPLICA)
    assert drifted.done == []


def test_another_run_keeps_the_table(drifted: Drifted) -> None:
    drifted.bench.before_lease(lambda: drifted.bench.hot.create(LOCK, b"another run"))
    with pytest.raises(LeaseHeld):
        drifted.repair(FindingKind.ANOTHER_REPLICA)
    assert drifted.done == []


def test_why_something_was_left_is_said_by_an_error() -> None:
    assert NotRepaired.by(PartMoveError("what", remedy="way")) == NotRepaired("what", "way")


def test_a_marker_of_another_root_is_refused(drifted: Drifted) -> None:
    marker = ColdMarker(TableId("", 1, 0), HotSide(PATH, "/elsewhere"))
    drifted.bench.cold.set(PATH, marker.encode())
    with pytest.raises(PartMoveError, match="Runs on .* meet at /elsewhere"):
        drifted.repair(FindingKind.ANOTHER_REPLICA)
