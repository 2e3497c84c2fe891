# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A repair writes nothing to hot once a server changed the table after the evidence was read."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.payload import parse_payload
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.run import RepairReport
from support.memory.arrange import create, delete, write
from support.memory.bench import DAY, OTHER, PART, PATH, Bench
from support.memory.drifted import Drifted

STATE = f"block_numbers/{DAY}/State"
R1 = f"replicas/r1/parts/{PART}"

Act = Callable[[Bench], object]

ACTS: dict[str, Act] = {
    "a drop": lambda bench: bench.servers.assign_drop(DAY),
    "a drop of another partition": lambda bench: bench.servers.assign_drop(OTHER),
    "a mutation": lambda bench: bench.servers.mutate(DAY),
    "a server starts": lambda bench: bench.servers.restart(),
    "one more replica": lambda bench: bench.servers.add_replica(),
}


def repair_with(drifted: Drifted, kind: FindingKind, path: str, act: Act) -> RepairReport | None:
    """Repair, and act right before the first multi with the path; None if the repair fails."""
    bench, left = drifted.bench, [act]
    bench.hot_store.before = lambda multi: (
        left.pop()(bench) if left and any(op.path == f"{PATH}/{path}" for op in multi[2:]) else None
    )
    try:
        report = drifted.repair(kind)
    except PartMoveError:
        report = None
    assert not left, "the repair did not come to its multi"
    return report


@pytest.fixture
def unregistered() -> Drifted:
    """A part on the disk of r1 is registered for r2 alone."""
    drifted = Drifted()
    data = drifted.bench.hot.get(f"{PATH}/{R1}")[0]
    checksums = parse_payload(data, {}, R1).checksums
    assert checksums is not None
    drifted.disks.hashes[PART] = checksums.hash_of_all_files
    delete(R1)(drifted.bench)
    return drifted


@pytest.fixture
def half_cold() -> Drifted:
    """A cold partition of which hot registers one part again, with State HOT."""
    drifted = Drifted()
    drifted.bench.move()
    create(R1, drifted.bench.cold.get(f"{PATH}/{R1}")[0])(drifted.bench)
    write(STATE, b"HOT")(drifted.bench)
    return drifted


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
def test_no_part_is_registered_after_a_change(unregistered: Drifted, act: Act) -> None:
    report = repair_with(unregistered, FindingKind.REGISTERED_FOR_ANOTHER, R1, act)

    assert report is None or not report.repaired
    assert unregistered.bench.hot.exists(f"{PATH}/{R1}") is None


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
def test_state_is_not_set_to_cold_after_a_change(half_cold: Drifted, act: Act) -> None:
    report = repair_with(half_cold, FindingKind.HALF_COLD, STATE, act)

    assert report is None or not report.repaired
    assert half_cold.bench.hot.get(f"{PATH}/{STATE}")[0] == b"HOT"


def test_without_a_change_both_are_done(unregistered: Drifted, half_cold: Drifted) -> None:
    """What the acts above keep a repair from."""
    done = repair_with(unregistered, FindingKind.REGISTERED_FOR_ANOTHER, R1, lambda _bench: None)
    assert done is not None
    assert {row.replica for row in done.repaired} == {"r1"}

    done = repair_with(half_cold, FindingKind.HALF_COLD, STATE, lambda _bench: None)
    assert done is not None
    assert not done.left
