# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A move of a whole table neither ends a record nor exchanges names while a policy of twin_move is left."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import NotPermitted
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.readers.prepare import (
    ReadersOptions,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.readers.recorded_readers import (
    OpenRecordedReaders,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.table.table_refused import (
    TableRefused,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.table.table_switch import (
    TableSwitch,
)
from support.memory.interleaving import Died, Script
from support.memory.pairs import PairBench
from support.memory.readers import MemoryReaderServers
from support.memory.twins import DAY, PATH, REPLICAS

POLICY = f"partmove_moving_{PATH}"


class DyingAt(Script):
    """Kills a run at a step."""

    def __init__(self, last: str) -> None:
        super().__init__()
        self._last = last

    def step(self, operation: str) -> int:
        """Take the step, or die."""
        if operation == self._last:
            raise Died
        return super().step(operation)


@pytest.fixture
def bench() -> PairBench:
    return PairBench(("a", "b"), ("c",))


@pytest.fixture
def readers(bench: PairBench) -> MemoryReaderServers:
    """The reading table of each server, whose policies both modules see."""
    servers = MemoryReaderServers()
    bench.readers = OpenRecordedReaders(servers, ReadersOptions())
    bench.pairs.policies = servers.policies
    return servers


def killed(bench: PairBench, step: str = "servers drop hot") -> None:
    """Kill twin_move at a step that comes after its policies."""
    with pytest.raises(Died):
        bench.run(Side.COLD, DyingAt(step))
    bench.servers.script = Script()
    assert bench.records


@pytest.mark.parametrize("step", ["servers drop hot", "servers attach"])
def test_the_record_of_a_killed_twin_move_stays_until_twin_move_ends_it(
    bench: PairBench, readers: MemoryReaderServers, step: str
) -> None:
    killed(bench, step)
    before = (dict(bench.records), dict(readers.policies))
    assert set(readers.policies) == set(REPLICAS)
    with pytest.raises(TableRefused, match=f"server of r1: a row policy of twin_move.*{POLICY}") as refused:
        bench.move(Side.COLD)
    assert refused.value.refusal.gate is GateName.READERS_READY
    assert refused.value.remedy == (
        f"Run twin_move for partition {DAY} of {PATH}, which ends its move and removes the policy, and run"
        " again"
    )
    assert (bench.records, readers.policies) == before
    bench.run(Side.COLD)
    assert (bench.records, readers.policies) == ({}, {})
    assert bench.move(Side.COLD).is_finished
    assert bench.is_at(Side.COLD)


def found(bench: PairBench, desired: Side = Side.COLD) -> TableSwitch:
    """A run that found no policy before its first step."""
    whole = bench.whole(desired)
    assert whole.find_tables()
    return whole


def test_no_record_is_ended_if_twin_move_was_killed_after_the_first_look(
    bench: PairBench, readers: MemoryReaderServers
) -> None:
    whole = found(bench)
    killed(bench)
    with pytest.raises(TableRefused, match=POLICY):
        whole.move_before()
    assert bench.records
    assert readers.policies


def test_no_name_is_exchanged_if_a_policy_is_left_right_before(bench: PairBench) -> None:
    whole = found(bench)
    whole.move_before()
    bench.pairs.policies = {"r2": "NOT (…)"}
    with pytest.raises(
        TableRefused, match="server of r2: a row policy of twin_move may hide rows of db.hits"
    ):
        whole.exchange()
    assert set(bench.pairs.at.values()) == {Side.HOT}


@pytest.mark.parametrize("is_exchanged", [False, True])
def test_a_policy_that_no_move_needs_is_named_with_its_statement(
    bench: PairBench, *, is_exchanged: bool
) -> None:
    """Also after an exchange: the policy hides rows of the name, so the move is not finished."""
    if is_exchanged:
        assert bench.move(Side.COLD).is_finished
    bench.pairs.policies = {"r2": "NOT (…)"}
    with pytest.raises(TableRefused) as refused:
        bench.whole(Side.COLD).find_tables()
    assert refused.value.remedy == (
        f"No move needs the policy any more: execute DROP ROW POLICY IF EXISTS `{POLICY}` ON db.hits_all"
        " on server of r2, and run again"
    )


@pytest.mark.parametrize("lacking", [set(), set(REPLICAS)])
def test_policies_that_the_user_may_not_see_are_not_taken_for_none(
    bench: PairBench, lacking: set[str]
) -> None:
    bench.pairs.blind = {"r2"}
    bench.pairs.lacking = lacking
    with pytest.raises(NotPermitted, match="server of r2 does not show row policies"):
        bench.whole(Side.COLD).find_tables()
    bench.pairs.blind = set()
    bench.pairs.lacking = set()
    whole = found(bench)
    bench.pairs.blind = {"r2"}
    with pytest.raises(NotPermitted):
        whole.move_before()
    assert bench.servers.statements == []
