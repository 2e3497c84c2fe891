# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Writes the rows of a restore: cold, then the parts in hot, then State."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...shard.reader import ShardRead
from ...tree.paths import parent_of
from ...tree.znodes import Check, Op
from ..parts.leased_shard import LeasedEnsemble, LeasedShard
from .backup import SavedZnode
from .case import NotRepaired
from .restore_report import RestoreReport
from .restore_rows import Action, PartitionRows, Row

_AGAIN = NotRepaired(
    "a znode changed while the partition was restored, or the ensemble did not answer",
    "Run part_restore again",
)

_Rows = Callable[[PartitionRows], Sequence[Row]]


class RestoreWriter:
    """Writes partitions that may be restored. State comes last: it says where the parts are by then."""

    def __init__(self, leased: LeasedShard, read: ShardRead, report: RestoreReport) -> None:
        """``read``: the facts under the lease; their fence is checked by every multi to hot."""
        self._leased = leased
        self._read = read
        self._report = report
        self._written: set[SavedZnode] = set()

    def write(self, partitions: Sequence[PartitionRows]) -> None:
        """Write the rows, each conditional on the version read. A rejected row ends its partition.

        Raises LeaseLost, AccessDenied or EnsembleError if a retry cannot help.
        """
        leased, fence = self._leased, self._read.shard.fence
        for each in partitions:
            self._report.add([row for row in each.rows if row.action is Action.UNCHANGED])
        in_cold = [row.saved.path for each in partitions for row in each.of("cold")]
        leased.cold.ensure(sorted({parent_of(path) for path in in_cold} - {*in_cold}))
        remaining = self._commit(leased.cold, partitions, lambda each: each.of("cold"), ())
        remaining = self._commit(leased.hot, remaining, lambda each: each.of("hot"), fence)
        self._commit(leased.hot, remaining, _state, fence)
        for each in partitions:
            self._report.add([row for row in each.pending if row.saved not in self._written], _AGAIN)

    def _commit(
        self,
        ensemble: LeasedEnsemble,
        partitions: Sequence[PartitionRows],
        rows_of: _Rows,
        checks: Sequence[Op],
    ) -> list[PartitionRows]:
        """Write some rows of each partition, and return the partitions whose rows are all written."""
        groups: dict[str, list[Row]] = {}
        owners: dict[str, str] = {}
        for each in partitions:
            for row in rows_of(each):
                groups.setdefault(row.part_path, []).append(row)
                owners[row.part_path] = each.partition_id
        ops = [(key, self._ops(owners[key], rows, checks)) for key, rows in groups.items()]
        written = ensemble.commit(ops, checks)
        for key in written.committed:
            self._report.add(groups[key])
            self._written.update(row.saved for row in groups[key])
        written.raise_problem()
        stopped = {owners[key] for key in (*written.rejected, *written.unknown)}
        return [each for each in partitions if each.partition_id not in stopped]

    def _ops(self, partition_id: str, rows: Sequence[Row], checks: Sequence[Op]) -> list[Op]:
        """Return the writes of one part; in hot, with a check that State is as it was judged."""
        state = self._read.partitions[partition_id].state
        ops = [row.op for row in rows]
        if not checks or state is None or any(op.path == state.path for op in ops):
            return ops
        return [Check(state.path, state.stat.version), *ops]


def _state(partition: PartitionRows) -> Sequence[Row]:
    return () if partition.state is None else (partition.state,)
