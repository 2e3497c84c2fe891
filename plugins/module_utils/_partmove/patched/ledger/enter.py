# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Verifies one ClickHouse server and enters its replicas in the ledger.

The order makes it safe: ``host`` and ``is_active`` of each replica are read first, then the server is
asked, and an entry is written only if ``host`` has not been written since. So what the server said holds for
the activation that the entry names. That it is this very server which holds the replicas, in this very
ensemble, follows from what it sees there itself: the same transactions, and a session of its own. A replica
is refused that cold has parts for and whose disk does not have them: it was added under the name of a former
one, or has lost them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple, Protocol

from ...errors import NoSuchReplica, PartMoveError
from ...formats.layout import ShardLayout
from ...text import first_few, format_time
from ...tree.ports import Clock, ZnodeReader
from ...tree.znodes import Znode
from ...zip_strict import zip_strict
from .entry import ColdEnsemble, LedgerEntry
from .ledger import EntryChange, Ledger, ReplicaKey
from .live_replica import LiveReplica, live_replicas, parse_address
from .without_data import parts_without_data


class NotReady(PartMoveError):
    """A server, or one of its replicas, may not be entered in the ledger."""


class ServedReplica(NamedTuple):
    """A replica as its server tells of it; ``table`` is ``database.table``."""

    key: ReplicaKey
    table: str
    read_only: bool
    session_expired: bool


class SeenActivation(NamedTuple):
    """The activation of a replica, by its transactions, as a server sees it in its ZooKeeper."""

    host_mzxid: int | None
    """The one that wrote ``host`` last; None where the server sees no such znode."""
    active_czxid: int | None
    """The one that created ``is_active``; None where the server sees no such znode."""


class ServerProbe(Protocol):
    """Asks one ClickHouse server whether it may be entered; raises PartMoveError when it cannot be asked."""

    @property
    def label(self) -> str:
        """What messages call the server."""

    def replicas(self) -> Collection[ServedReplica]:
        """All replicas that the server has."""

    def version(self) -> str:
        """The version that the server says it has."""

    def started(self) -> int:
        """When the process started, in seconds since 1970 by its own clock."""

    def shows(self, sign: str) -> bool:
        """Whether the server answers the query, which is the sign of the patch, with 1."""

    def activation(self, key: ReplicaKey) -> SeenActivation:
        """What the server sees of a replica in its own ZooKeeper."""

    def parts(self, key: ReplicaKey) -> Collection[str]:
        """Names of the active parts of a replica."""


class Requirements(NamedTuple):
    """What has to be so for an entry, and who enters it."""

    patched_sign: str
    config_changed_at: float | None
    """When its configuration was changed, in seconds since 1970; the process has to be younger.

    None where that is known otherwise.
    """
    cold: ColdEnsemble
    verified_by: str
    only: Collection[ReplicaKey] | None
    """The replicas to enter; None for all that the server has."""
    renew: bool = False
    """Whether to leave out those that have no entry: they were withdrawn, or never entered."""


class Admission:
    """Verifies one server, and enters its replicas in the ledger."""

    def __init__(
        self, hot: ZnodeReader, cold: ZnodeReader, ledger: Ledger, probe: ServerProbe, clock: Clock
    ) -> None:
        self._hot = hot
        self._cold = cold
        self._ledger = ledger
        self._probe = probe
        self._clock = clock

    def enter(self, requirements: Requirements, changes: dict[ReplicaKey, EntryChange]) -> None:
        """Enter all of the replicas that are required, or raise NotReady with nothing written.

        Fills ``changes`` also when a replica is activated anew on the way (ServerChanged). Raises
        NoSuchReplica, EnsembleError and kin, and PartMoveError when the server cannot be asked.
        """
        keys = self._keys(requirements)
        live = look_up_replicas(self._hot, keys)
        version, started = self._verify_server(requirements)
        hosts = self._verify_replicas(live)
        self._refuse_without_data(keys)
        verified_at = format_time(int(self._clock.now() * 1000))
        for key, host in hosts.items():
            address = parse_address(host)
            entry = LedgerEntry(
                host=address.host,
                interserver_port=address.interserver_port,
                host_version=host.stat.version,
                host_mzxid=host.stat.mzxid,
                server_version=version,
                patched_sign=requirements.patched_sign,
                started_at=format_time(started * 1000),
                cold=requirements.cold,
                verified_by=requirements.verified_by,
                verified_at=verified_at,
            )
            changes[key] = self._ledger.enter(key, entry, renew=requirements.renew)

    def _keys(self, requirements: Requirements) -> list[ReplicaKey]:
        served = {each.key for each in self._probe.replicas()}
        wanted = served if requirements.only is None else set(requirements.only)
        foreign = sorted(wanted - served)
        if foreign:
            raise NoSuchReplica(
                f"{self._probe.label} does not have {first_few(map(str, foreign))}",
                remedy="See system.replicas of the server, and that it is the one that you mean",
            )
        if requirements.renew:
            wanted = {key for key in wanted if self._ledger.read(key.shard_path, [key.replica])[key.replica]}
        return sorted(wanted)

    def _verify_server(self, requirements: Requirements) -> tuple[str, int]:
        version, started = self._probe.version(), self._probe.started()
        if requirements.config_changed_at is not None and started < requirements.config_changed_at:
            raise NotReady(
                f"{self._probe.label} was started before its configuration was changed",
                remedy="Restart it and run again",
            )
        if not self._probe.shows(requirements.patched_sign):
            raise NotReady(
                f"{self._probe.label} (version {version}) does not show the sign of the patch",
                remedy="Install the patched server, or correct patched_sign",
            )
        return version, started

    def _verify_replicas(self, live: Mapping[ReplicaKey, LiveReplica]) -> dict[ReplicaKey, Znode]:
        """The ``host`` znode of each replica; raises NotReady where one may not be entered."""
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
                f"{self._probe.label} cannot be entered: {first_few(problems)}",
                remedy="Wait until its tables are not read-only, see that hot is what the server has as"
                " <zookeeper>, the <root> as the chroot, and run again",
            )
        return hosts

    def _refuse_without_data(self, keys: Collection[ReplicaKey]) -> None:
        """Raise NotReady where a replica would count on parts in cold that it does not have."""
        found = parts_without_data(self._hot, self._cold, keys, self._probe.parts)
        if found:
            problems = [f"{key}: {first_few(names)}" for key, names in found.items()]
            raise NotReady(
                f"{self._probe.label} cannot be entered: the cold ensemble has parts registered for it that"
                f" are neither in hot nor on its disk, {first_few(problems)}",
                remedy="Do not restart it. part_audit_info tells what they are: part_repair removes what"
                " no replica has; where another one has them (lacks_data), drop this replica, which may have"
                " been added under the name of a former one, part_repair the kind another_replica, bring the"
                " partitions back with part_move and the state hot, and add it again",
            )

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


def look_up_replicas(hot: ZnodeReader, keys: Iterable[ReplicaKey]) -> dict[ReplicaKey, LiveReplica]:
    """What hot has of the replicas; of one that it does not know, no znode."""
    layouts = {key: ShardLayout(key.shard_path).replica(key.replica) for key in keys}
    hot.sync("/")
    return dict(zip_strict([*layouts], live_replicas(hot, [*layouts.values()])))
