# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Sets the State marker of a partition without moving anything, where the marker is what is wrong.

For a server the marker says where DROP PARTITION has to look for the parts: exactly the bytes ``COLD``
mean the cold ensemble, anything else, or no marker, the hot one. So the marker may only say what is true.
"""

from __future__ import annotations

from typing import NamedTuple

from ..errors import EnsembleError, PartMoveError
from ..formats.layout import ShardLayout
from ..lease.lease import Lease, LeaseKeeper, raise_if_lease_lost
from ..shard.facts import COLD, PartitionFacts, ShardFacts, Whereabouts
from ..shard.reader import ShardReader
from ..text import few
from ..tree.paths import refuse_unwritable
from ..tree.ports import ZnodeStore
from ..tree.znodes import Create, Op, Rejected, SetData

_ATTEMPTS = 10


class NoSuchPartition(PartMoveError):
    """The table has never had the partition."""


class StateRefused(PartMoveError):
    """The marker would not say where the parts are registered."""


class StateChange(NamedTuple):
    """The marker before and after, as people read it; empty where there was none."""

    before: str
    after: str

    @property
    def changed(self) -> bool:
        """Whether the marker was written."""
        return self.before != self.after


class StateSetter:
    """Sets the markers of one shard path.

    States of a marker: absent → created, once, because creating it uses up a block number → set, any
    number of times. It is never deleted.
    """

    def __init__(self, hot: ZnodeStore, cold: ZnodeStore, leases: LeaseKeeper, layout: ShardLayout) -> None:
        self._hot = hot
        self._cold = cold
        self._leases = leases
        self._layout = layout
        self._reader = ShardReader(hot, cold, layout)

    def set(self, partition_id: str, wanted: bytes) -> StateChange:
        """Make the marker say ``COLD`` or ``HOT``; nothing is written when it does already.

        Raises NoSuchTable, NoSuchPartition, StateRefused, LeaseHeld, LeaseLost, EnsembleError and kin.
        """
        _shard, before = self._look(partition_id, wanted)
        if _says(before, wanted):
            return StateChange(before.state_text, before.state_text)
        lease = self._leases.acquire(self._layout.path)
        try:
            after = self._write(partition_id, wanted, lease)
        finally:
            self._leases.release(lease)
        return StateChange(before.state_text, after.state_text)

    def _write(self, partition_id: str, wanted: bytes, lease: Lease) -> PartitionFacts:
        """Write until a look shows that the marker is as wanted, and that it is still true."""
        for _attempt in range(_ATTEMPTS):
            shard, partition = self._look(partition_id, wanted)
            if _says(partition, wanted):
                return partition
            path = self._layout.state(partition_id)
            op: Op = (
                Create(path, wanted)
                if partition.state is None
                else SetData(path, wanted, partition.state.stat.version)
            )
            checks = lease.hot_checks
            multi = (*checks, *shard.fence, op)
            outcome = self._hot.commit([multi])[0]
            if isinstance(outcome, Rejected):
                raise_if_lease_lost(outcome, len(checks), self._layout.path)
                refuse_unwritable(self._hot, multi[outcome.op_index].path, outcome)
        raise EnsembleError(
            f"The table at {self._layout.path} changed {_ATTEMPTS} times while State was to be set",
            remedy="Run again at a quieter time",
        )

    def _look(self, partition_id: str, wanted: bytes) -> tuple[ShardFacts, PartitionFacts]:
        """What is so now. Raises StateRefused when the marker wanted would not be true."""
        self._hot.sync(self._layout.path)
        self._cold.sync(self._layout.path)
        shard = self._reader.shard()
        partition = self._reader.partitions(shard, [partition_id])[partition_id]
        if not partition.exists:
            raise NoSuchPartition(
                f"The table at {self._layout.path} has no partition {partition_id}",
                remedy="Give the id as system.parts has it in partition_id",
            )
        if wanted == COLD:
            self._refuse_cold(partition_id, partition.whereabouts)
        else:
            self._refuse_hot(partition_id, partition.whereabouts)
        return shard, partition

    def _refuse_cold(self, partition_id: str, where: Whereabouts) -> None:
        in_hot = [f"{replica}: {few(names)}" for replica, names in sorted(where.hot.items()) if names]
        if in_hot:
            raise self._refused(
                partition_id,
                "COLD",
                f"parts of it are registered in hot ({few(in_hot)})",
                "Move it with part_move, which sets State at the same instant",
            )
        names_of_replicas = {frozenset(names) for names in where.cold.values()}
        if names_of_replicas == {frozenset()}:
            raise self._refused(
                partition_id,
                "COLD",
                "no part of it is registered in cold",
                "Check that cold is the ensemble that its parts were moved to",
            )
        if len(names_of_replicas) > 1:
            raise self._refused(
                partition_id,
                "COLD",
                "the replicas have different parts of it in cold",
                "Audit the partition and repair it first",
            )

    def _refuse_hot(self, partition_id: str, where: Whereabouts) -> None:
        only_cold = [
            f"{replica}: {few(sorted(missing))}"
            for replica, names in sorted(where.cold.items())
            if (missing := set(names) - set(where.hot[replica]))
        ]
        if only_cold:
            raise self._refused(
                partition_id,
                "HOT",
                f"parts of it are registered in cold only ({few(only_cold)})",
                "Register them in hot again first",
            )
        if where.is_cold and self._cold.read([self._layout.path])[0] is None:
            # With the wrong ensemble for cold, every cold partition would look like an empty one.
            raise self._refused(
                partition_id,
                "HOT",
                "it is COLD, and the ensemble given as cold knows nothing of the table",
                "Check the hosts and the chroot of cold",
            )

    def _refused(self, partition_id: str, state: str, reason: str, remedy: str) -> StateRefused:
        return StateRefused(
            f"State of partition {partition_id} of {self._layout.path} cannot be {state}: {reason}",
            remedy=remedy,
        )


def _says(partition: PartitionFacts, wanted: bytes) -> bool:
    return partition.state is not None and partition.state.data == wanted
