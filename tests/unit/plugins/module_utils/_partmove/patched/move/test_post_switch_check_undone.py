# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A switch is called undone only if hot registers every part of every replica again."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move import post_switch_check
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree import multi_batches
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Multi, SetData
from support.memory.bench import DAY, OTHER, PART, PATH, Bench

STATE = f"{PATH}/block_numbers/{DAY}/State"


def bring_back(bench: Bench, *replicas: str) -> None:
    for replica in replicas:
        bench.hot.create(bench.part(replica), bench.cold.get(bench.part(replica))[0])
    bench.hot.set(STATE, b"HOT")


def test_a_partition_that_another_program_brought_back_in_part_is_not_undone() -> None:
    bench = Bench()
    bench.before_undone(lambda: bring_back(bench, "r1"))

    assert bench.move().failed[DAY].gate is GateName.LATE_INSERT


def test_a_partition_that_another_program_brought_back_is_undone() -> None:
    bench = Bench()
    bench.before_undone(lambda: bring_back(bench, "r1", "r2"))

    assert bench.move().deferred[DAY].gate is GateName.LATE_INSERT


def test_parts_of_a_replica_that_is_dropped_meanwhile_do_not_come_back() -> None:
    bench = Bench()
    bench.before_switch(lambda: bench.servers.insert(DAY))
    bench.after_switch(lambda: bench.servers.remove_replica("r2"))

    assert bench.move().deferred[DAY].gate is GateName.LATE_INSERT

    assert bench.hot.exists(bench.part("r1")) is not None
    assert bench.hot.exists(f"{PATH}/replicas/r2") is None


def test_parts_that_do_not_fit_one_multi_are_not_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench()
    bench.before_switch(lambda: bench.servers.insert(DAY))
    bench.after_switch(lambda: monkeypatch.setattr(multi_batches, "MAX_BYTES", 10))

    report = bench.move(DAY)

    assert report.failed[DAY].gate is GateName.LATE_INSERT
    assert bench.hot.get(STATE)[0] == b"COLD"


def test_copies_that_another_program_deletes_after_the_switch_are_a_failure() -> None:
    bench = Bench()
    bench.after_switch(
        lambda: bench.cold.delete(bench.part("r2")) if bench.cold.exists(bench.part("r2")) else None
    )

    report = bench.move(DAY, OTHER)

    assert report.failed[DAY].gate is GateName.COPIES_KEPT
    assert report.moved.keys() == {OTHER}


def test_an_entry_that_waits_after_the_switch_is_late() -> None:
    """It is executed with the State that the server reads then."""
    bench = Bench()
    bench.after_switch(lambda: bench.servers.assign_drop(DAY))

    report = bench.move(DAY)

    assert report.failed[DAY].gate is GateName.LATE_INSERT
    assert PART in bench.servers.disk["r1"]


def test_a_switch_that_no_attempt_undoes_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(post_switch_check, "_ATTEMPTS", 3)
    bench = Bench()
    bench.before_switch(lambda: bench.servers.insert(DAY))
    lost: list[Multi] = []

    def loses(multi: Multi) -> bool:
        if any(isinstance(op, SetData) and op.path == STATE and op.data == b"HOT" for op in multi):
            lost.append(multi)
            return True
        return False

    bench.hot_store.loses = loses

    assert bench.move().failed[DAY].gate is GateName.LATE_INSERT

    assert bench.hot.get(STATE)[0] == b"COLD"
    assert len(lost) == 3
