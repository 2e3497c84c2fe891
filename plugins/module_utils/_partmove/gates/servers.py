# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The gate that asks the servers whether the registered parts are active on their disks."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Protocol

from ..concurrent import map_concurrently
from ..errors import PartMoveError
from ..formats.names import is_covered, parse_part_name
from ..formats.payload import hash_matches, parse_payload
from ..shard.facts import PartitionFacts, RegisteredPart, ReplicaFacts, ShardFacts
from ..zip_strict import zip_strict
from .gate import Refusal
from .names import GateName
from .probe import ActivePart, ReplicaProbe

ActiveNames = Mapping[str, Mapping[str, tuple[str, ...]]]
"""Partition id → replica → names of its active parts; a replica without active parts is no key."""


class ServerCheck(Protocol):
    """Compares the registered parts with the disks of the servers."""

    @property
    def asks(self) -> bool:
        """Whether the answers come from the servers. Only then may they cost a part its znode."""

    def refusals(self, shard: ShardFacts, partitions: Sequence[PartitionFacts]) -> Mapping[str, Refusal]:
        """Return partition id → refusal, where a disk differs from the parts registered in hot."""

    def lacking(self, shard: ShardFacts, parts: Sequence[RegisteredPart]) -> list[str]:
        """Return the paths of parts lacking on the servers of their replicas; a silent server adds none."""

    def active(self, shard: ShardFacts, partition_ids: Sequence[str]) -> ActiveNames:
        """Return the active parts of the partitions. Raises PartMoveError if a server does not answer."""

    def detached(self, shard: ShardFacts) -> Mapping[str, frozenset[str]]:
        """Return replica → names in its ``detached`` folder; a server unable to list the folder is no key."""


class _NoServerAsked:
    """The answers without a server to ask."""

    asks = False

    def lacking(self, shard: ShardFacts, parts: Sequence[RegisteredPart]) -> list[str]:
        """Return [], as no server is asked."""
        return []

    def active(self, shard: ShardFacts, partition_ids: Sequence[str]) -> ActiveNames:
        """Return {}, as no server is asked."""
        return {}

    def detached(self, shard: ShardFacts) -> Mapping[str, frozenset[str]]:
        """Return {}, as no server is asked."""
        return {}


class AssumeActive(_NoServerAsked):
    """Trusts the operator, who vouches for the disks; no server is asked."""

    def refusals(self, shard: ShardFacts, partitions: Sequence[PartitionFacts]) -> Mapping[str, Refusal]:
        """Return {}: the operator vouches for every partition."""
        return {}


class NoServers(_NoServerAsked):
    """Refuses every partition: no server can be asked, and the operator vouches for none."""

    def refusals(self, shard: ShardFacts, partitions: Sequence[PartitionFacts]) -> Mapping[str, Refusal]:
        """Return a refusal for every partition."""
        refusal = Refusal(
            GateName.ACTIVE_ON_DISK,
            "no server was asked whether the replicas have the registered parts on disk",
            "Run again with the option clickhouse, so that the servers are asked, or with assume_active",
        )
        return {partition.partition_id: refusal for partition in partitions}


class AskServers:
    """Asks the server of each replica by SQL, at most ``at_once`` servers at the same time."""

    asks = True

    def __init__(self, probe: ReplicaProbe, at_once: int = 1) -> None:
        self._probe = probe
        self._at_once = at_once

    def refusals(self, shard: ShardFacts, partitions: Sequence[PartitionFacts]) -> Mapping[str, Refusal]:
        """Refuse partitions with other active parts, other hashes, or parts without rows.

        If a server does not answer, every partition is refused.
        """
        refused: dict[str, Refusal] = {}
        ids = [partition.partition_id for partition in partitions]
        try:
            answers = self._active_parts(shard, ids)
        except PartMoveError as error:
            return dict.fromkeys(ids, server_silent(error))
        for replica, active in zip_strict(shard.replicas, answers):
            for partition in partitions:
                # A replica that was added after the facts were read has no registered part of the partition.
                registered = partition.hot.get(replica.name, ())
                reason = _difference(partition, registered, active[partition.partition_id])
                if reason is not None:
                    on_disk = active[partition.partition_id]
                    remedy = _remedy(replica, partition, on_disk, shard.metadata.format_version)
                    refused.setdefault(partition.partition_id, _mismatch(replica, reason, remedy))
        return refused

    def lacking(self, shard: ShardFacts, parts: Sequence[RegisteredPart]) -> list[str]:
        """Return the paths of parts that are not among the active parts of their replica."""

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
        """Return the active parts of the partitions. Raises PartMoveError if a server does not answer."""
        by_partition: dict[str, dict[str, tuple[str, ...]]] = {}
        for replica, active in zip_strict(shard.replicas, self._active_parts(shard, partition_ids)):
            for each, parts in active.items():
                if parts:
                    by_partition.setdefault(each, {})[replica.name] = tuple(part.name for part in parts)
        return by_partition

    def detached(self, shard: ShardFacts) -> Mapping[str, frozenset[str]]:
        """Return the names in each ``detached`` folder. Raises PartMoveError if a server does not answer."""

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
        """Return partition id → active parts for each replica, in the order of the replicas."""

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
    """Add the name of the replica to an error of its server."""
    try:
        yield
    except PartMoveError as error:
        remedy = error.remedy or "Start the server and run again"
        raise PartMoveError(f"replica {replica.name}: {error.message}", remedy=remedy) from error


def server_silent(error: PartMoveError) -> Refusal:
    """Return the refusal of a partition whose server did not answer."""
    return Refusal(GateName.ACTIVE_ON_DISK, error.message, error.remedy)


def _mismatch(replica: ReplicaFacts, reason: str, remedy: str) -> Refusal:
    return Refusal(
        GateName.ACTIVE_ON_DISK,
        f"replica {replica.name} {reason}",
        f"Run again; if the reason stays the same, {remedy}",
    )


def _remedy(
    replica: ReplicaFacts, partition: PartitionFacts, active: Sequence[ActivePart], format_version: int
) -> str:
    ensembles = (partition.hot, partition.cold)
    registered = [part.name for parts in ensembles for part in parts.get(replica.name, ())]
    names = [parse_part_name(part.name, format_version, "system.parts") for part in active]
    # A restart or CHECK TABLE would detach an unregistered part, so this remedy comes before all others.
    if not all(is_covered(name, registered) for name in names):
        return (
            "do not restart the server nor CHECK the table: part_audit_info lists the unregistered parts, and"
            " part_repair registers them"
        )
    # CHECK TABLE would detach a cold part, and no server can fetch a cold part. A folder from another replica
    # would double rows that were attached as a part of another name.
    if partition.is_cold:
        return (
            "run part_audit_info and follow its remedy (ghost: no disk has the part, and part_repair removes"
            " its znodes); where no server has the partition because it was dropped, set State to HOT with"
            " partition_state"
        )
    if partition.only_in_cold:
        return (
            "do not restart the server nor CHECK the table: set State to COLD with partition_state, then"
            " bring the partition back with part_move and state: hot"
        )
    return "let ClickHouse repair the part while the partition is hot (CHECK TABLE)"


def _difference(
    partition: PartitionFacts, registered: Sequence[RegisteredPart], active: Sequence[ActivePart]
) -> str | None:
    expected = {part.name.text: part for part in registered}
    names = {part.name for part in active}
    if names != expected.keys():
        return f"has the active parts {sorted(names)}, but {sorted(expected)} are registered"
    for part in active:
        if not part.rows:
            return f"has no rows in part {part.name}"
        if part.hash_of_all_files is not None:
            known = expected[part.name]
            reason = _hash_difference(known, partition.place_of(known), part.hash_of_all_files)
            if reason is not None:
                return reason
    return None


def _hash_difference(registered: RegisteredPart, place: str, shown: str) -> str | None:
    data, children = registered.payload
    checksums = parse_payload(data, dict(children), place).checksums
    if checksums is None or hash_matches(checksums.hash_of_all_files, shown):
        return None
    return f"has another part {registered.name.text} on disk than the registered one (the hashes differ)"
