# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Repairs with the means of moves and of the State marker."""

from __future__ import annotations

from collections.abc import Iterable

from ...errors import PartMoveError
from ...formats.state import State, is_cold
from ...gates.judge import REHEAT_GATES, refuse_partitions
from ...tree.znodes import Create, Op, SetData
from ..move.report import PatchedReport
from ..move.set_state import StateSetter
from ..move.to_hot import reheat_shard
from .case import NotRepaired, RepairCase


def set_hot(case: RepairCase) -> dict[str, NotRepaired]:
    """Set State to HOT, where hot registers all parts on disk, or no part is on disk."""
    return set_states(case, case.partition_ids, State.HOT)


def set_cold(case: RepairCase) -> dict[str, NotRepaired]:
    """Set State to COLD, where cold alone registers all parts on disk."""
    return set_states(case, case.partition_ids, State.COLD)


def clean(case: RepairCase) -> dict[str, NotRepaired]:
    """Remove copies of hot partitions, once no server can need them."""
    return _back_in_hot(case, case.partition_ids)


def bring_back(case: RepairCase) -> dict[str, NotRepaired]:
    """Register cold parts in hot again, for partitions with parts in both ensembles.

    A run goes by State, so a partition is marked COLD first, as some of its parts are cold.
    """
    left: dict[str, NotRepaired] = {}
    with case.leased() as leased:
        shard, facts = leased.shard.read(case.partition_ids)
        # A queue entry that waits now reads State when the server executes it.
        refused = refuse_partitions(shard, list(facts.values()), leased.shard.taken_at, gates=REHEAT_GATES)
        for partition, _verdicts in leased.read().remaining(left):
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
    """Set the State of partitions, if the servers confirm it."""
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
    report = PatchedReport(case.layout.path)
    ids = list(partition_ids)
    if ids:
        reheat_shard(case.context.for_moves(), case.layout.path, ids, report)
    refused = {**report.deferred, **report.failed}
    return {each: NotRepaired(refusal.reason, refusal.remedy) for each, refusal in refused.items()}
