# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The order of the check after a switch, and when it may undo the switch."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.probe import ActivePart
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.servers import AskServers
from support.memory.bench import DAY, OTHER, PATH, Bench
from support.memory.probe import SimulatedProbe

STATE = f"{PATH}/block_numbers/{DAY}/State"


@pytest.fixture
def bench() -> Bench:
    return Bench()


def state_of(bench: Bench) -> bytes:
    return bench.hot.get(STATE)[0]


class Asked(SimulatedProbe):
    """Runs an action when a server is asked for active parts of a cold partition."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench.servers)
        self._bench = bench
        self.left = [True]

    def active_parts(
        self, shard_path: str, replica: str, host: str, partitions: Collection[str]
    ) -> Mapping[str, tuple[ActivePart, ...]]:
        state = self._bench.hot.exists(STATE)
        if self.left and state is not None and state.data == b"COLD":
            self.left.pop()
            self._bench.servers.insert(DAY)
        return super().active_parts(shard_path, replica, host, partitions)


def test_an_insert_while_the_servers_are_asked_is_late(bench: Bench) -> None:
    """Hot is read after the servers were asked, so it has every part that they have made active."""
    probe = Asked(bench)
    bench.context = bench.context._replace(servers=AskServers(probe))

    report = bench.move()

    assert probe.left == []
    assert report.deferred[DAY].gate is GateName.LATE_INSERT
    assert state_of(bench) == b"HOT"


def test_a_switch_is_not_undone_where_a_drop_is_assigned_in_the_last_moment(bench: Bench) -> None:
    """The drop would search for the parts in an ensemble without them."""
    bench.before_undone(lambda: bench.servers.assign_drop(DAY))

    assert bench.move().failed[DAY].gate is GateName.LATE_INSERT
    assert state_of(bench) == b"COLD"


def test_a_switch_is_undone_although_the_table_is_busy(bench: Bench) -> None:
    bench.before_undone(lambda: bench.servers.mutate(OTHER))

    assert bench.move().deferred[DAY].gate is GateName.LATE_INSERT
    assert state_of(bench) == b"HOT"
    assert bench.hot.exists(bench.part()) is not None


def test_state_alone_does_not_make_a_switch_undone(bench: Bench) -> None:
    """Somebody set it, and hot still does not have the parts."""
    bench.before_undone(lambda: bench.hot.set(STATE, b"HOT"))

    report = bench.move()

    assert report.failed[DAY].gate is GateName.LATE_INSERT
    assert "could not be undone" in report.failed[DAY].reason
    assert bench.hot.exists(bench.part()) is None


def test_an_insert_that_ends_right_before_its_lock_is_read(bench: Bench) -> None:
    """Hot is read after the lock, so the part is found in place of the lock."""
    ends: list[Callable[[], None]] = []
    bench.before_switch(lambda: ends.append(bench.servers.begin_insert(DAY)))

    def end(paths: Sequence[str]) -> None:
        if ends and f"{PATH}/block_numbers/{DAY}" in paths:
            ends.pop()()
            # The member that the run reads from knows of it at once.
            bench.hot_store.sync(PATH)

    bench.after_switch(lambda: setattr(bench.hot_store, "listing", end))

    assert bench.move().deferred[DAY].gate is GateName.LATE_INSERT
    assert ends == []
    assert state_of(bench) == b"HOT"
