# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Sets the State marker of a partition without moving anything, where the marker is what is wrong.

For a server the marker says where DROP PARTITION has to look for the parts: exactly the bytes ``COLD``
mean the cold ensemble, anything else, or no marker, the hot one. So the marker may only say what is true.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from ...errors import EnsembleError, PartMoveError
from ...formats.layout import ShardLayout
from ...formats.state import State
from ...gates.servers import ServerCheck
from ...lease.lease import LeaseKeeper
from ...shard.facts import PartitionFacts, RegisteredNames, state_text
from ...shard.location import Location, locate
from ...shard.reader import ShardRead, ShardReader
from ...text import first_few
from ...tree.ports import ZnodeStore
from ...tree.znodes import Create, Op, SetData
from ..parts.leased_shard import LeasedShard

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

    def __init__(
        self,
        hot: ZnodeStore,
        cold: ZnodeStore,
        leases: LeaseKeeper,
        servers: ServerCheck,
        layout: ShardLayout,
    ) -> None:
        self._servers = servers
        self._hot = hot
        self._cold = cold
        self._leases = leases
        self._layout = layout

    def set(self, partition_id: str, wanted: State) -> StateChange:
        """Make the marker say what is wanted; nothing is written when it does already.

        Raises NoSuchTable, NoSuchPartition, StateRefused, LeaseHeld, LeaseLost, EnsembleError and kin.
        """
        # Where hot and the disks tell that nothing is cold, it does not matter which ensemble cold is.
        any_cold = wanted is State.HOT and self._servers.asks
        reader = ShardReader(self._hot, self._cold, self._layout, self._leases.root, any_cold=any_cold)
        look = reader.read([partition_id])
        before = self._checked(look, partition_id, wanted)
        if _says(before, wanted):
            return StateChange(state_text(before.state), state_text(before.state))
        self._refuse_disks(look, before, wanted)
        lease = self._leases.acquire(self._layout.path)
        try:
            leased = LeasedShard(self._hot, self._cold, reader, self._layout, lease)
            after = self._write(leased, partition_id, wanted)
        finally:
            self._leases.release(lease)
        return StateChange(state_text(before.state), state_text(after.state))

    def _write(self, leased: LeasedShard, partition_id: str, wanted: State) -> PartitionFacts:
        """Write until a look shows that the marker is as wanted, and that it is still true."""
        for _attempt in range(_ATTEMPTS):
            look = leased.read([partition_id])
            partition = self._checked(look, partition_id, wanted)
            if _says(partition, wanted):
                return partition
            self._refuse_disks(look, partition, wanted)
            path = self._layout.state(partition_id)
            op: Op = (
                Create(path, wanted.data)
                if partition.state is None
                else SetData(path, wanted.data, partition.state.stat.version)
            )
            leased.hot.commit([(partition_id, [op])], look.shard.fence).raise_problem()
        raise EnsembleError(
            f"The table at {self._layout.path} changed {_ATTEMPTS} times while State was to be set",
            remedy="Run again at a quieter time",
        )

    def _checked(self, look: ShardRead, partition_id: str, wanted: State) -> PartitionFacts:
        """The partition as it is now. Raises StateRefused when the marker wanted would not be true."""
        partition = look.partitions[partition_id]
        if not partition.exists:
            raise NoSuchPartition(
                f"The table at {self._layout.path} has no partition {partition_id}",
                remedy="Give the id as system.parts has it in partition_id",
            )
        if wanted is State.COLD:
            self._refuse_cold(partition_id, partition.names)
        else:
            self._refuse_hot(look, partition_id)
        return partition

    def _refuse_disks(self, look: ShardRead, partition: PartitionFacts, wanted: State) -> None:
        """Raise StateRefused unless the servers have on disk what is registered where State would say."""
        expected = replace(partition, hot=partition.cold) if wanted is State.COLD else partition
        refusal = self._servers.refusals(look.shard, [expected]).get(partition.partition_id)
        if refusal is not None:
            raise self._refused(partition.partition_id, wanted, refusal.reason, refusal.remedy)

    def _refuse_cold(self, partition_id: str, names: RegisteredNames) -> None:
        in_hot = [f"{replica}: {first_few(parts)}" for replica, parts in sorted(names.hot.items()) if parts]
        if in_hot:
            raise self._refused(
                partition_id,
                State.COLD,
                f"parts of it are registered in hot ({first_few(in_hot)})",
                "Move it with part_move, which sets State at the same instant",
            )
        if locate(names) is Location.ABSENT:
            raise self._refused(
                partition_id,
                State.COLD,
                "no part of it is registered in cold",
                "Check that cold is the ensemble that its parts were moved to",
            )
        if not names.are_even_in_cold:
            raise self._refused(
                partition_id,
                State.COLD,
                "the replicas have different parts of it in cold",
                "See with part_audit_info what each of them has, and repair it with part_repair",
            )

    def _refuse_hot(self, look: ShardRead, partition_id: str) -> None:
        """Raise StateRefused where hot lacks parts, unless servers are asked: they tell what was dropped."""
        if self._servers.asks:
            return
        names = look.partitions[partition_id].names
        only_cold = [
            f"{replica}: {first_few(sorted(missing))}"
            for replica, parts in sorted(names.cold.items())
            if (missing := set(parts) - set(names.hot[replica]))
        ]
        if only_cold:
            raise self._refused(
                partition_id,
                State.HOT,
                f"parts of it are registered in cold only ({first_few(only_cold)})",
                "Bring it back with part_move and the state hot; if it was dropped, give clickhouse, so that"
                " the servers tell that they have none of them",
            )
        if names.is_cold and not look.shard.binding.is_proven:
            # With the wrong ensemble for cold, every cold partition would look like an empty one.
            raise self._refused(
                partition_id,
                State.HOT,
                "it is COLD, and the ensemble given as cold does not say that it is the one of the table",
                "Check the hosts and the chroot of cold, or give clickhouse, so that the servers are asked",
            )

    def _refused(self, partition_id: str, state: State, reason: str, remedy: str) -> StateRefused:
        return StateRefused(
            f"State of partition {partition_id} of {self._layout.path} cannot be {state.value}: {reason}",
            remedy=remedy,
        )


def _says(partition: PartitionFacts, wanted: State) -> bool:
    return partition.state is not None and partition.state.data == wanted.data
