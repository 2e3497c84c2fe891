# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Verifies one ClickHouse server and enters its replicas in the ledger.

The order makes it safe: ``host`` and ``is_active`` of each replica are read first, then the server is
asked, and an entry is written only if ``host`` has not been written since. So what the server said holds for
the activation that the entry names. That it is this very server which holds the replicas, in this very
ensemble, follows from what it sees there itself: the same transactions, and a session of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple, Protocol

from ..errors import NoSuchReplica, PartMoveError
from ..formats.layout import ShardLayout
from ..text import few, format_time
from ..tree.ports import Clock, ZnodeReader
from ..tree.znodes import Znode
from .entry import ColdEnsemble, LedgerEntry
from .ledger import EntryChange, Ledger, ReplicaKey
from .live_replica import LiveReplica, parse_address


class NotReady(PartMoveError):
    """The server, or one of its replicas, may not be entered."""


class ServedReplica(NamedTuple):
    """A replica as its server tells of it; ``table`` is ``database.table``."""

    key: ReplicaKey
    table: str
    read_only: bool
    session_expired: bool


class SeenActivation(NamedTuple):
    """Transactions that wrote ``host`` and created ``is_active``, as a server sees them."""

    host_mzxid: int | None
    """None where it sees no such znode."""
    active_czxid: int | None
    """The same."""


class ServerProbe(Protocol):
    """Asks one ClickHouse server by SQL; raises PartMoveError when it cannot."""

    @property
    def label(self) -> str:
        """What messages call the server."""

    def replicas(self) -> Collection[ServedReplica]:
        """All that it has."""

    def version(self) -> str:
        """Of the server."""

    def started(self) -> int:
        """When the process started, in seconds since 1970 by its own clock."""

    def shows(self, sign: str) -> bool:
        """Whether it answers the query with 1."""

    def activation(self, key: ReplicaKey) -> SeenActivation:
        """What it sees in ZooKeeper of a replica."""


class Wanted(NamedTuple):
    """What has to be so, and who says so."""

    patched_sign: str
    config_changed_at: float | None
    """Seconds since 1970; the process has to be younger. None where that is known otherwise."""
    cold: ColdEnsemble
    verified_by: str
    only: Collection[ReplicaKey] | None
    """The replicas to enter; None for all that the server has."""


class Verification:
    """Verifies one server."""

    def __init__(self, hot: ZnodeReader, ledger: Ledger, probe: ServerProbe, clock: Clock) -> None:
        self._hot = hot
        self._ledger = ledger
        self._probe = probe
        self._clock = clock

    def enter(self, wanted: Wanted, changes: dict[ReplicaKey, EntryChange]) -> None:
        """Enter all of the replicas, or raise NotReady with nothing written.

        Fills ``changes`` also when a replica is activated anew on the way (ServerChanged). Raises
        NoSuchReplica, EnsembleError and kin, and PartMoveError when the server cannot be asked.
        """
        keys = self._keys(wanted)
        live = read_replicas(self._hot, keys)
        version, started = self._verify_server(wanted)
        hosts = self._verify_replicas(live)
        verified_at = format_time(int(self._clock.now() * 1000))
        for key, host in hosts.items():
            address = parse_address(host)
            entry = LedgerEntry(
                host=address.host,
                interserver_port=address.interserver_port,
                host_version=host.stat.version,
                host_mzxid=host.stat.mzxid,
                server_version=version,
                patched_sign=wanted.patched_sign,
                started_at=format_time(started * 1000),
                cold=wanted.cold,
                verified_by=wanted.verified_by,
                verified_at=verified_at,
            )
            changes[key] = self._ledger.enter(key, entry)

    def _keys(self, wanted: Wanted) -> list[ReplicaKey]:
        served = {each.key for each in self._probe.replicas()}
        if wanted.only is None:
            return sorted(served)
        foreign = sorted(set(wanted.only) - served)
        if foreign:
            raise NoSuchReplica(
                f"{self._probe.label} does not have {few(map(str, foreign))}",
                remedy="See system.replicas of the server, and that it is the one that you mean",
            )
        return sorted(set(wanted.only))

    def _verify_server(self, wanted: Wanted) -> tuple[str, int]:
        version, started = self._probe.version(), self._probe.started()
        if wanted.config_changed_at is not None and started < wanted.config_changed_at:
            raise NotReady(
                f"{self._probe.label} was started before its configuration was changed",
                remedy="Restart it and run again",
            )
        if not self._probe.shows(wanted.patched_sign):
            raise NotReady(
                f"{self._probe.label} (version {version}) does not show the sign of the patch",
                remedy="Install the patched server, or correct patched_sign",
            )
        return version, started

    def _verify_replicas(self, live: Mapping[ReplicaKey, LiveReplica]) -> dict[ReplicaKey, Znode]:
        """The ``host`` znode of each replica."""
        served = {each.key: each for each in self._probe.replicas()}
        hosts: dict[ReplicaKey, Znode] = {}
        problems: list[str] = []
        for key, replica in live.items():
            problem = self._problem(key, replica, served.get(key))
            if replica.host is None or problem is not None:
                problems.append(problem or f"{key} was never active")
            else:
                hosts[key] = replica.host
        if problems:
            raise NotReady(
                f"{self._probe.label} cannot be entered: {few(problems)}",
                remedy="Wait until its tables are not read-only, see that hot is what the server has as"
                " <zookeeper>, the <root> as the chroot, and run again",
            )
        return hosts

    def _problem(self, key: ReplicaKey, replica: LiveReplica, served: ServedReplica | None) -> str | None:
        if served is None:
            return f"{key} is gone"
        if served.read_only or served.session_expired:
            return f"{key} is read-only, without a session with ZooKeeper"
        if replica.host is None or replica.is_active is None:
            return f"{key} is not active in hot"
        here = SeenActivation(replica.host.stat.mzxid, replica.is_active.stat.czxid)
        if self._probe.activation(key) != here:
            return f"{key} is another one in the ZooKeeper of the server, or was activated just now"
        return None


def read_replicas(hot: ZnodeReader, keys: Iterable[ReplicaKey]) -> dict[ReplicaKey, LiveReplica]:
    """The replicas as hot has them, also those that it has not."""
    layouts = {key: ShardLayout(key.shard_path).replica(key.replica) for key in keys}
    hot.sync("/")
    found = iter(hot.read([path for each in layouts.values() for path in (each.host, each.is_active)]))
    return {key: LiveReplica(key.replica, next(found), next(found)) for key in layouts}
