# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The gate that asks the servers: whether they have on disk what is registered."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol

from ..concurrent import map_concurrently
from ..errors import PartMoveError
from ..formats.names import is_covered, parse_part_name
from ..formats.payload import hash_is, parse_payload
from ..shard.facts import PartitionFacts, RegisteredPart, ReplicaFacts, ShardFacts
from ..zip_strict import zip_strict
from .gate import Refusal
from .names import GateName
from .probe import ActivePart, ReplicaProbe

ActiveNames = Mapping[str, Mapping[str, tuple[str, ...]]]
"""Partition id → replica → names of its active parts; what a server has none of is no key."""


class ServerCheck(Protocol):
    """Whether the servers have on disk what is registered."""

    @property
    def asks(self) -> bool:
        """Whether what it says was seen on the servers; only then may something be given up for it."""

    def refusals(self, shard: ShardFacts, partitions: Sequence[PartitionFacts]) -> Mapping[str, Refusal]:
        """Partition id → why not; the parts expected are those registered in hot."""

    def lacking(self, shard: ShardFacts, parts: Sequence[RegisteredPart]) -> list[str]:
        """Paths of parts that the servers of their replicas say they do not have; the silent say nothing."""

    def active(self, shard: ShardFacts, partition_ids: Sequence[str]) -> ActiveNames:
        """The active parts of the partitions; raises PartMoveError when a server does not answer."""

    def detached(self, shard: ShardFacts) -> Mapping[str, frozenset[str]]:
        """Replica → names in its ``detached`` folder; a replica that cannot tell them is no key."""


class _NobodyAsked:
    """What is known without asking a server."""

    asks = False

    def lacking(self, shard: ShardFacts, parts: Sequence[RegisteredPart]) -> list[str]:
        """None, as no server is asked."""
        return []

    def active(self, shard: ShardFacts, partition_ids: Sequence[str]) -> ActiveNames:
        """No partition is a key, as no server is asked."""
        return {}

    def detached(self, shard: ShardFacts) -> Mapping[str, frozenset[str]]:
        """No replica is a key, as no server is asked."""
        return {}


class AssumeActive(_NobodyAsked):
    """The operator vouches for what is on disk; no server is asked."""

    def refusals(self, shard: ShardFacts, partitions: Sequence[PartitionFacts]) -> Mapping[str, Refusal]:
        """No partition is refused, as the operator vouches for all of them."""
        return {}


class NoServers(_NobodyAsked):
    """No server can be asked and nobody vouches, so nothing may become cold."""

    def refusals(self, shard: ShardFacts, partitions: Sequence[PartitionFacts]) -> Mapping[str, Refusal]:
        """A refusal for every partition."""
        refusal = Refusal(
            GateName.ACTIVE_ON_DISK,
            "it is not known whether the replicas have the registered parts on disk",
            "Give the option clickhouse, so that the servers are asked, or assume_active",
        )
        return {partition.partition_id: refusal for partition in partitions}


class AskServers:
    """Asks the server of each replica by SQL, ``at_once`` of them at the same time."""

    asks = True

    def __init__(self, probe: ReplicaProbe, at_once: int = 1) -> None:
        self._probe = probe
        self._at_once = at_once

    def refusals(self, shard: ShardFacts, partitions: Sequence[PartitionFacts]) -> Mapping[str, Refusal]:
        """Partitions with other active parts, other hashes, or parts without rows."""
        found: dict[str, Refusal] = {}
        ids = [partition.partition_id for partition in partitions]
        try:
            answers = self._active_parts(shard, ids)
        except PartMoveError as error:
            return dict.fromkeys(ids, server_silent(error))
        for replica, active in zip_strict(shard.replicas, answers):
            for partition in partitions:
                # A replica that was added since has nothing registered of it.
                registered = partition.hot.get(replica.name, ())
                reason = _difference(partition, registered, active[partition.partition_id])
                if reason is not None:
                    on_disk = active[partition.partition_id]
                    remedy = _remedy(replica, partition, on_disk, shard.metadata.format_version)
                    found.setdefault(partition.partition_id, _mismatch(replica, reason, remedy))
        return found

    def lacking(self, shard: ShardFacts, parts: Sequence[RegisteredPart]) -> list[str]:
        """Paths of parts that are not among the active ones of their replica."""

        def ask(replica: ReplicaFacts) -> list[str]:
            expected = [part for part in parts if part.replica == replica.name]
            if not expected:
                return []
            ids = sorted({part.name.partition_id for part in expected})
            try:
                active = self._probe.active_parts(shard.layout.path, replica.name, _host(replica), ids)
            except PartMoveError:
                return []
            names = {part.name for partition in active.values() for part in partition}
            return [part.znode.path for part in expected if part.name.text not in names]

        return [path for paths in map_concurrently(ask, shard.replicas, self._at_once) for path in paths]

    def active(self, shard: ShardFacts, partition_ids: Sequence[str]) -> ActiveNames:
        """Raises PartMoveError when a server does not answer."""
        found: dict[str, dict[str, tuple[str, ...]]] = {}
        for replica, active in zip_strict(shard.replicas, self._active_parts(shard, partition_ids)):
            for each, parts in active.items():
                if parts:
                    found.setdefault(each, {})[replica.name] = tuple(part.name for part in parts)
        return found

    def detached(self, shard: ShardFacts) -> Mapping[str, frozenset[str]]:
        """Raises PartMoveError when a server does not answer."""

        def ask(replica: ReplicaFacts) -> frozenset[str] | None:
            with _naming(replica):
                return self._probe.detached_parts(shard.layout.path, replica.name, _host(replica))

        answers = map_concurrently(ask, shard.replicas, self._at_once)
        return {
            replica.name: names for replica, names in zip_strict(shard.replicas, answers) if names is not None
        }

    def _active_parts(
        self, shard: ShardFacts, partition_ids: Collection[str]
    ) -> list[Mapping[str, tuple[ActivePart, ...]]]:
        """What each replica has active of the partitions, in the order of the replicas."""

        def ask(replica: ReplicaFacts) -> Mapping[str, tuple[ActivePart, ...]]:
            with _naming(replica):
                return self._probe.active_parts(
                    shard.layout.path, replica.name, _host(replica), partition_ids
                )

        return map_concurrently(ask, shard.replicas, self._at_once)


def _host(replica: ReplicaFacts) -> str:
    return "" if replica.host is None else replica.host.data.decode(errors="replace")


@contextmanager
def _naming(replica: ReplicaFacts) -> Iterator[None]:
    """Let an error say which replica's server did not answer as it should."""
    try:
        yield
    except PartMoveError as error:
        remedy = error.remedy or "Start the server and run again"
        raise PartMoveError(f"replica {replica.name}: {error.message}", remedy=remedy) from error


def server_silent(error: PartMoveError) -> Refusal:
    """What to say of a partition when a server cannot be asked."""
    return Refusal(GateName.ACTIVE_ON_DISK, error.message, error.remedy)


def _mismatch(replica: ReplicaFacts, reason: str, remedy: str) -> Refusal:
    return Refusal(
        GateName.ACTIVE_ON_DISK, f"replica {replica.name} {reason}", f"Run again; if it stays so, {remedy}"
    )


def _remedy(
    replica: ReplicaFacts, partition: PartitionFacts, active: Sequence[ActivePart], format_version: int
) -> str:
    ensembles = (partition.hot, partition.cold)
    registered = [part.name for found in ensembles for part in found.get(replica.name, ())]
    names = [parse_part_name(part.name, format_version, "system.parts") for part in active]
    # A restart or CHECK TABLE would set aside what is not registered, so this comes before any other way.
    if not all(is_covered(name, registered) for name in names):
        return (
            "do not restart the server nor CHECK the table: part_audit_info tells what of it is not"
            " registered, and part_repair registers it"
        )
    # CHECK TABLE would detach a cold part, and no server can fetch one.
    if partition.is_cold:
        return (
            "stop the server, copy the folder of the part from another replica to its own, and start it;"
            " where no server has the partition, as it was dropped, set State to HOT with partition_state"
        )
    if partition.only_in_cold:
        return "do not CHECK or restart it: set State to COLD with partition_state, and bring it back"
    return "let ClickHouse put the part right while the partition is hot (CHECK TABLE)"


def _difference(
    partition: PartitionFacts, registered: Sequence[RegisteredPart], active: Sequence[ActivePart]
) -> str | None:
    expected = {part.name.text: part for part in registered}
    names = {part.name for part in active}
    if names != expected.keys():
        return f"has {sorted(names)} active while {sorted(expected)} is registered"
    for part in active:
        if not part.rows:
            return f"has no rows in part {part.name}"
        if part.hash_of_all_files is not None:
            part_of_it = expected[part.name]
            reason = _hash_difference(part_of_it, partition.place_of(part_of_it), part.hash_of_all_files)
            if reason is not None:
                return reason
    return None


def _hash_difference(registered: RegisteredPart, place: str, shown: str) -> str | None:
    data, children = registered.payload
    checksums = parse_payload(data, dict(children), place).checksums
    if checksums is None or hash_is(checksums.hash_of_all_files, shown):
        return None
    return f"has a part {registered.name.text} on disk that is not the one registered"
