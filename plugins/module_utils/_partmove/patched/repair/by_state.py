# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Repairs with the means of moves and of the State marker, under the lease that judged the partitions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...errors import PartMoveError
from ...formats.state import State
from ...gates.judge import REHEAT_GATES, refuse_partitions
from ...run.batches import memory_batches
from ...tree.znodes import Create, Op, SetData
from ..audit.evidence import PartitionEvidence
from ..move.report import PatchedReport
from ..move.set_state import StateSetter
from ..move.to_hot import reheat_shard
from .case import LeasedCase, NotRepaired
from .judged import JudgedPartition


def set_hot(leased: LeasedCase, judged: Sequence[JudgedPartition]) -> dict[str, NotRepaired]:
    """Set State to HOT, where hot registers all parts on disk, or no part is on disk."""
    return set_states(leased, _ids(judged), State.HOT)


def set_cold(leased: LeasedCase, judged: Sequence[JudgedPartition]) -> dict[str, NotRepaired]:
    """Set State to COLD, where cold alone registers all parts on disk."""
    return set_states(leased, _ids(judged), State.COLD)


def clean(leased: LeasedCase, judged: Sequence[JudgedPartition]) -> dict[str, NotRepaired]:
    """Remove copies of hot partitions, once no server can need them."""
    return _back_in_hot(leased, _ids(judged))


def bring_back(leased: LeasedCase, judged: Sequence[JudgedPartition]) -> dict[str, NotRepaired]:
    """Register cold parts in hot again, for partitions with parts in both ensembles.

    A run goes by State, so a partition is marked COLD first, as some of its parts are cold.
    """
    unmarked = [each.evidence for each in judged if not each.evidence.is_cold]
    left = _mark_cold(leased, unmarked)
    return {**left, **_back_in_hot(leased, [each for each in _ids(judged) if each not in left])}


def _mark_cold(leased: LeasedCase, partitions: Sequence[PartitionEvidence]) -> dict[str, NotRepaired]:
    """Mark the partitions COLD, provided that State and the parts are as judged."""
    if not partitions:
        return {}
    shard, facts = leased.shard.read([each.partition_id for each in partitions])
    # A queue entry that waits now reads State when the server executes it.
    refused = refuse_partitions(shard, list(facts.values()), leased.shard.taken_at, gates=REHEAT_GATES)
    for partition in partitions:
        if partition.partition_id in refused:
            continue
        path, state = leased.case.layout.state(partition.partition_id), partition.state
        op: Op = (
            Create(path, State.COLD.data)
            if state is None
            else SetData(path, State.COLD.data, state.stat.version)
        )
        leased.shard.hot.commit([(path, [op])], leased.facts.fence).raise_problem()
    return {each: NotRepaired(refusal.reason, refusal.remedy) for each, refusal in refused.items()}


def set_states(leased: LeasedCase, partition_ids: Iterable[str], state: State) -> dict[str, NotRepaired]:
    """Set the State of partitions, if the servers confirm it."""
    context = leased.case.context
    left = {}
    for each in partition_ids:
        setter = StateSetter(context.hot, context.cold, leased.lend(), context.servers, leased.case.layout)
        try:
            setter.set(each, state)
        except PartMoveError as error:
            left[each] = NotRepaired.by(error)
    return left


def _back_in_hot(leased: LeasedCase, partition_ids: Iterable[str]) -> dict[str, NotRepaired]:
    path, context = leased.case.layout.path, leased.case.context
    report = PatchedReport(path)
    for batch in memory_batches(list(partition_ids)):
        reheat_shard(context.for_moves(leased.lend()), path, batch, report)
    refused = {**report.deferred, **report.failed}
    return {each: NotRepaired(refusal.reason, refusal.remedy) for each, refusal in refused.items()}


def _ids(judged: Iterable[JudgedPartition]) -> list[str]:
    return [each.partition_id for each in judged]
