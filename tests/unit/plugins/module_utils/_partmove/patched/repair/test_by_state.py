# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""State is set, and partitions are brought back, only if the servers confirm it."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from support.memory.arrange import create, delete, write
from support.memory.bench import DAY, PART, PATH
from support.memory.drifted import Drifted
from support.memory.synthetic import MINIMALISTIC

STATE = f"block_numbers/{DAY}/State"
R1 = f"replicas/r1/parts/{PART}"


@pytest.fixture
def drifted() -> Drifted:
    return Drifted()


def test_a_state_that_would_not_be_true_is_left(drifted: Drifted) -> None:
    create(STATE, b"COLD")(drifted.bench)
    stray = f"{DAY}_5_5_0"
    drifted.bench.before_lease(lambda: drifted.bench.servers.disk["r1"].add(stray))
    left = drifted.repair(FindingKind.HOT_MARKED_COLD).left[DAY]
    assert "has the active parts" in left.reason
    assert drifted.bench.hot.get(f"{PATH}/{STATE}")[0] == b"COLD"


def test_a_partition_without_state_comes_back_as_well(drifted: Drifted) -> None:
    drifted.bench.move()
    create(R1, drifted.bench.cold.get(f"{PATH}/{R1}")[0])(drifted.bench)
    delete(STATE)(drifted.bench)
    assert set(drifted.kinds().values()) == {FindingKind.HALF_COLD}
    assert drifted.repair(FindingKind.HALF_COLD).left == {}
    assert set(drifted.kinds().values()) == {FindingKind.COPIES_NEEDED}


def test_state_is_left_while_a_queue_entry_waits_that_reads_it(drifted: Drifted) -> None:
    drifted.bench.move()
    create(R1, drifted.bench.cold.get(f"{PATH}/{R1}")[0])(drifted.bench)
    write(STATE, b"HOT")(drifted.bench)
    drifted.bench.servers.assign_drop(DAY)
    left = drifted.repair(FindingKind.HALF_COLD).left[DAY]
    assert "entries for the partition wait" in left.reason
    assert drifted.done == []


def test_what_no_run_may_bring_back_is_left_with_its_gate(drifted: Drifted) -> None:
    drifted.bench.move()
    create(R1, drifted.bench.cold.get(f"{PATH}/{R1}")[0])(drifted.bench)
    write(STATE, b"HOT")(drifted.bench)
    drifted.bench.servers.stop("r2")
    left = drifted.repair(FindingKind.HALF_COLD).left[DAY]
    assert "replica r2 is not active" in left.reason


def test_a_cold_ensemble_that_is_lost_does_not_keep_state(drifted: Drifted) -> None:
    """The data came back by ATTACH, or was dropped, and the ensemble is gone."""
    drifted.bench.move()
    drifted.bench.cold.delete(PATH, recursive=True)
    for replica in ("r1", "r2"):
        create(f"replicas/{replica}/parts/{PART}", MINIMALISTIC)(drifted.bench)
    assert set(drifted.kinds().values()) == {FindingKind.HOT_MARKED_COLD}
    assert drifted.repair(FindingKind.HOT_MARKED_COLD).left == {}
    assert drifted.bench.move().moved.keys() == {DAY}


def test_a_partition_that_is_cold_is_not_marked_again(drifted: Drifted) -> None:
    drifted.bench.move()
    create(R1, drifted.bench.cold.get(f"{PATH}/{R1}")[0])(drifted.bench)
    version = drifted.bench.hot.get(f"{PATH}/{STATE}")[1].version

    assert drifted.repair(FindingKind.HALF_COLD).left == {}

    data, stat = drifted.bench.hot.get(f"{PATH}/{STATE}")
    assert (data[:3], stat.version) == (b"HOT", version + 1)
