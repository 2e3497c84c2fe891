# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Repairs that the moves and the State marker have the means for."""

from __future__ import annotations

from collections.abc import Iterable

from ...errors import PartMoveError
from ...formats.state import State, is_cold
from ...gates.judge import REHEAT_GATES, refuse_partitions
from ...tree.znodes import Create, Op, SetData
from ..move.report import ShardReport
from ..move.set_state import StateSetter
from ..move.to_hot import reheat_shard
from .case import NotRepaired, RepairCase


def set_hot(case: RepairCase) -> dict[str, NotRepaired]:
    """Let State say HOT, where hot registers all that is on disk, or nothing is."""
    return set_states(case, case.partition_ids, State.HOT)


def set_cold(case: RepairCase) -> dict[str, NotRepaired]:
    """Let State say COLD, where cold alone registers all that is on disk."""
    return set_states(case, case.partition_ids, State.COLD)


def clean(case: RepairCase) -> dict[str, NotRepaired]:
    """Remove copies of partitions that are hot, once no server can need them."""
    return _back_in_hot(case, case.partition_ids)


def bring_back(case: RepairCase) -> dict[str, NotRepaired]:
    """Register in hot what cold alone has, of partitions that both ensembles have parts of.

    A run goes by State: a partition is marked COLD first, where it is not, as parts of it are.
    """
    left: dict[str, NotRepaired] = {}
    with case.leased() as leased:
        shard, facts = leased.shard.look(case.partition_ids)
        # What waits looks at State once it is carried out.
        refused = refuse_partitions(shard, list(facts.values()), leased.shard.taken_at, gates=REHEAT_GATES)
        for partition, _found in leased.look().still(left):
            state = partition.state
            if state is not None and is_cold(state.data):
                continue
            refusal = refused.get(partition.partition_id)
            if refusal is not None:
                left[partition.partition_id] = NotRepaired(refusal.reason, refusal.remedy)
                continue
            path = case.layout.state(partition.partition_id)
            op: Op = (
                Create(path, State.COLD.data)
                if state is None
                else SetData(path, State.COLD.data, state.stat.version)
            )
            leased.shard.hot.commit([(path, [op])], shard.fence).raise_problem()
    return {**left, **_back_in_hot(case, [each for each in case.partition_ids if each not in left])}


def set_states(case: RepairCase, partition_ids: Iterable[str], state: State) -> dict[str, NotRepaired]:
    """Set the State of partitions where the servers say that it is true."""
    context = case.context
    setter = StateSetter(context.hot, context.cold, context.leases, context.servers, case.layout)
    left = {}
    for each in partition_ids:
        try:
            setter.set(each, state)
        except PartMoveError as error:
            left[each] = NotRepaired.by(error)
    return left


def _back_in_hot(case: RepairCase, partition_ids: Iterable[str]) -> dict[str, NotRepaired]:
    report = ShardReport(case.layout.path)
    wanted = list(partition_ids)
    if wanted:
        reheat_shard(case.context.for_moves(), case.layout.path, wanted, report)
    refused = {**report.deferred, **report.failed}
    return {each: NotRepaired(refusal.reason, refusal.remedy) for each, refusal in refused.items()}
