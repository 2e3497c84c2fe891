# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The common part of repairs: the lease, the fence, and the evidence read between them."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.binding.marker import (
    ColdMarker,
    HotSide,
    TableId,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    LeaseHeld,
    LeaseLost,
    NoSuchTable,
    PartMoveError,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.journal.events import Event
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.case import (
    NotRepaired,
    RepairCase,
    RepairOptions,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Create
from support.memory.arrange import create, create_cold, delete, write
from support.memory.bench import DAY, LOCK, OTHER, PART, PATH
from support.memory.drifted import Drifted
from support.memory.drifts import DRIFTS, R1, STATE
from support.memory.meanwhile import FIRST_UNDER_LEASE, before_answer, before_write, drifted_by
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


def test_state_stays_as_it_is_if_a_server_acts_after_the_judgement() -> None:
    """The fence was read before the evidence, so the multi of the repair fails."""
    drifted = drifted_by(PART, lambda drifted: drifted.bench.move())
    create(R1, drifted.bench.cold.get(f"{PATH}/{R1}")[0])(drifted.bench)
    write(STATE, b"HOT")(drifted.bench)
    before_write(drifted, STATE, lambda: drifted.bench.servers.mutate(DAY))
    report = drifted.repair(FindingKind.HALF_COLD)
    assert report.left.keys() == {DAY}
    assert drifted.done == []
    assert drifted.bench.hot.get(f"{PATH}/{STATE}")[0] == b"HOT"


def test_no_part_is_registered_if_a_server_acts_after_the_judgement() -> None:
    drifted = drifted_by(PART, lambda drifted: delete(R1)(drifted.bench))
    assert drifted.kinds()["r1"] is FindingKind.REGISTERED_FOR_ANOTHER
    before_write(drifted, R1, lambda: drifted.bench.servers.mutate(DAY))
    report = drifted.repair(FindingKind.REGISTERED_FOR_ANOTHER)
    assert report.left.keys() == {DAY}
    assert drifted.done == []
    assert drifted.bench.hot.exists(f"{PATH}/{R1}") is None


def test_the_fence_is_older_than_the_evidence() -> None:
    """A server that acts while the disks are asked is noticed, too."""
    drifted = drifted_by(PART, lambda drifted: delete(R1)(drifted.bench))
    before_answer(drifted, FIRST_UNDER_LEASE, lambda: drifted.bench.servers.mutate(DAY))
    report = drifted.repair(FindingKind.REGISTERED_FOR_ANOTHER)
    assert report.left.keys() == {DAY}
    assert drifted.bench.hot.exists(f"{PATH}/{R1}") is None


def test_a_lease_that_is_lost_while_the_evidence_is_read_ends_the_repair() -> None:
    drifted = drifted_by(PART, lambda drifted: create(STATE, b"COLD")(drifted.bench))

    def another_run_takes_over() -> None:
        drifted.bench.hot.delete(LOCK)
        leases = drifted.bench.beside().context.leases
        leases.release(leases.acquire(PATH))

    before_answer(drifted, FIRST_UNDER_LEASE, another_run_takes_over)
    with pytest.raises(LeaseLost):
        drifted.repair(FindingKind.HOT_MARKED_COLD)
    assert drifted.done == []
    assert drifted.bench.journal.of(Event.REPAIRING) == []


@pytest.mark.parametrize("name", DRIFTS)
def test_moves_and_states_work_under_the_lease_of_the_judgement(name: str) -> None:
    drifted = DRIFTS[name].made()
    taken: list[str] = []
    drifted.bench.hot_store.before = lambda multi: taken.extend(
        op.path for op in multi if isinstance(op, Create) and op.path == LOCK
    )
    assert not drifted.repair(DRIFTS[name].kind).left
    assert taken == [LOCK]


def test_state_stays_if_a_disk_has_more_than_it_was_judged_by() -> None:
    """Although cold is proven to be the ensemble of the table."""
    drifted = drifted_by(PART, lambda drifted: drifted.bench.move(OTHER))
    create(STATE, b"COLD")(drifted.bench)
    stray = f"{DAY}_5_5_0"
    before_answer(drifted, FIRST_UNDER_LEASE + 1, lambda: drifted.bench.servers.disk["r1"].add(stray))
    report = drifted.repair(FindingKind.HOT_MARKED_COLD)
    assert report.left.keys() == {DAY}
    assert drifted.done == []


def leased_case(drifted: Drifted) -> RepairCase:
    return RepairCase(
        drifted.context(), ShardLayout(PATH), FindingKind.ANOTHER_REPLICA, [DAY], RepairOptions()
    )


def test_without_a_table_there_are_no_facts(drifted: Drifted) -> None:
    drifted.bench.servers.drop_table()
    with leased_case(drifted).leased() as leased, pytest.raises(NoSuchTable):
        _ = leased.facts


@pytest.mark.parametrize("whole", [False, True])
def test_evidence_that_is_read_again_counts_under_the_lease_alone(drifted: Drifted, whole: bool) -> None:
    with leased_case(drifted).leased() as leased:
        assert leased.read_again(whole=whole).partitions.keys() >= {DAY}
        drifted.bench.hot.delete(LOCK)
        with pytest.raises(LeaseLost):
            leased.read_again(whole=whole)
