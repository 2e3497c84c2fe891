# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Sets a wrong State marker of a partition right, without moving anything.

The marker decides where a server's DROP PARTITION searches for the parts: exactly the bytes ``COLD`` mean the
cold ensemble, all other bytes, or no marker, the hot one. So the marker must always be true.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from ...errors import EnsembleError, PartMoveError
from ...formats.layout import ShardLayout
from ...formats.state import State
from ...gates.judge import STATE_GATES, refuse_partitions
from ...gates.servers import ServerCheck
from ...lease.held_lease import Leases
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
    """The marker would contradict the location of the parts."""


class StateChange(NamedTuple):
    """The marker before and after, in readable form; empty without a marker."""

    before: str
    after: str

    @property
    def changed(self) -> bool:
        """Whether the marker was written."""
        return self.before != self.after


class StateSetter:
    """Sets the markers of one shard path.

    States of a marker: absent → created, once, because creating uses up a block number → set, any number of
    times. A marker is never deleted.
    """

    def __init__(
        self,
        hot: ZnodeStore,
        cold: ZnodeStore,
        leases: Leases,
        servers: ServerCheck,
        layout: ShardLayout,
    ) -> None:
        self._servers = servers
        self._hot = hot
        self._cold = cold
        self._leases = leases
        self._layout = layout

    def set(self, partition_id: str, desired: State) -> StateChange:
        """Set the marker to the desired State; a marker with this State is not written.

        Raises NoSuchTable, NoSuchPartition, StateRefused, LeaseHeld, LeaseLost, EnsembleError and kin.
        """
        # If hot and the disks prove that no part is cold, any cold ensemble will do.
        any_cold = desired is State.HOT and self._servers.asks
        reader = ShardReader(self._hot, self._cold, self._layout, self._leases.root, any_cold=any_cold)
        read = reader.read([partition_id])
        before = self._checked(read, partition_id, desired)
        if _has_state(before, desired):
            return StateChange(state_text(before.state), state_text(before.state))
        self._refuse_waiting(read, before, desired)
        self._refuse_disks(read, before, desired)
        lease = self._leases.acquire(self._layout.path)
        try:
            leased = LeasedShard(self._hot, self._cold, reader, self._layout, lease)
            after = self._write(leased, partition_id, desired)
        finally:
            self._leases.release(lease)
        return StateChange(state_text(before.state), state_text(after.state))

    def _write(self, leased: LeasedShard, partition_id: str, desired: State) -> PartitionFacts:
        """Write until a read shows the desired marker, and the marker is still true."""
        for _attempt in range(_ATTEMPTS):
            read = leased.read([partition_id])
            partition = self._checked(read, partition_id, desired)
            if _has_state(partition, desired):
                return partition
            self._refuse_waiting(read, partition, desired)
            self._refuse_disks(read, partition, desired)
            path = self._layout.state(partition_id)
            op: Op = (
                Create(path, desired.data)
                if partition.state is None
                else SetData(path, desired.data, partition.state.stat.version)
            )
            leased.hot.commit([(partition_id, [op])], read.shard.fence).raise_problem()
        raise EnsembleError(
            f"The table at {self._layout.path} changed {_ATTEMPTS} times while State was to be set",
            remedy="Run again at a quieter time",
        )

    def _checked(self, read: ShardRead, partition_id: str, desired: State) -> PartitionFacts:
        """Return the partition as read. Raises StateRefused if the desired marker would not be true."""
        partition = read.partitions[partition_id]
        if not partition.exists:
            raise NoSuchPartition(
                f"The table at {self._layout.path} has no partition {partition_id}",
                remedy="Give the id as in system.parts, column partition_id",
            )
        if desired is State.COLD:
            self._refuse_cold(partition_id, partition.names)
        else:
            self._refuse_hot(read, partition_id)
        return partition

    def _refuse_waiting(self, read: ShardRead, partition: PartitionFacts, desired: State) -> None:
        """Raise StateRefused if an entry for the partition waits: a drop reads State when it is executed."""
        waiting = refuse_partitions(read.shard, [partition], 0.0, gates=STATE_GATES)
        for partition_id, refusal in waiting.items():
            raise self._refused(partition_id, desired, refusal.reason, refusal.remedy)

    def _refuse_disks(self, read: ShardRead, partition: PartitionFacts, desired: State) -> None:
        """Raise StateRefused unless the disks have the parts of the ensemble named by the desired State."""
        expected = replace(partition, hot=partition.cold) if desired is State.COLD else partition
        refusal = self._servers.refusals(read.shard, [expected]).get(partition.partition_id)
        if refusal is not None:
            raise self._refused(partition.partition_id, desired, refusal.reason, refusal.remedy)

    def _refuse_cold(self, partition_id: str, names: RegisteredNames) -> None:
        in_hot = [f"{replica}: {first_few(parts)}" for replica, parts in sorted(names.hot.items()) if parts]
        if in_hot:
            raise self._refused(
                partition_id,
                State.COLD,
                f"some of its parts are registered in hot ({first_few(in_hot)})",
                "Move the partition with part_move and state: cold, which sets State at the same instant",
            )
        if locate(names) is Location.ABSENT:
            raise self._refused(
                partition_id,
                State.COLD,
                "none of its parts is registered in cold",
                "Check that cold is the ensemble to which its parts were moved",
            )
        if not names.are_even_in_cold:
            raise self._refused(
                partition_id,
                State.COLD,
                "the replicas have different parts in cold",
                "Run part_audit_info, then part_repair with the kind of its finding",
            )

    def _refuse_hot(self, read: ShardRead, partition_id: str) -> None:
        """Raise StateRefused if hot lacks parts, unless servers are asked: their disks show dropped parts."""
        if self._servers.asks:
            return
        names = read.partitions[partition_id].names
        only_cold = [
            f"{replica}: {first_few(sorted(missing))}"
            for replica, parts in sorted(names.cold.items())
            if (missing := set(parts) - set(names.hot[replica]))
        ]
        if only_cold:
            raise self._refused(
                partition_id,
                State.HOT,
                f"some of its parts are registered in cold only ({first_few(only_cold)})",
                "Bring the partition back with part_move and state: hot; if it was dropped, run"
                " partition_state again with the option clickhouse, so that the servers confirm that they"
                " have none of the parts",
            )
        if names.is_cold and not read.shard.binding.is_proven:
            # With the wrong ensemble for cold, every cold partition would be taken for an empty one.
            raise self._refused(
                partition_id,
                State.HOT,
                "State is COLD, and nothing proves that the ensemble given as cold is the one of the table",
                "Check the hosts and the chroot of cold, or run again with the option clickhouse, so that the"
                " servers are asked",
            )

    def _refused(self, partition_id: str, state: State, reason: str, remedy: str) -> StateRefused:
        return StateRefused(
            f"State of partition {partition_id} of {self._layout.path} cannot be {state.value}: {reason}",
            remedy=remedy,
        )


def _has_state(partition: PartitionFacts, state: State) -> bool:
    return partition.state is not None and partition.state.data == state.data
