# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Verifies one ClickHouse server and enters its replicas in the ledger.

The order makes it safe:

1. Read ``host`` and ``is_active`` of each replica.
2. Ask the server.
3. Write the entry only if ``host`` has not been written since step 1.

So the answers of the server hold for the activation named in the entry. The server proves to hold the
replicas, in this very ensemble, by the transactions and the session in its own ZooKeeper. A replica is
refused if its disk lacks parts registered in cold: the replica was added under the name of a former one, or
has lost the parts.
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
    """A replica as its server lists it; ``table`` is ``database.table``."""

    key: ReplicaKey
    table: str
    read_only: bool
    session_expired: bool


class SeenActivation(NamedTuple):
    """The activation of a replica in the server's own ZooKeeper, by its transactions."""

    host_mzxid: int | None
    """The last transaction of ``host``; None if the server sees no such znode."""
    active_czxid: int | None
    """The transaction of the creation of ``is_active``; None if the server sees no such znode."""


class ServerProbe(Protocol):
    """Asks one ClickHouse server whether it may be entered. Raises PartMoveError without an answer."""

    @property
    def label(self) -> str:
        """The name of the server in messages."""

    def replicas(self) -> Collection[ServedReplica]:
        """Return all replicas of the server."""

    def version(self) -> str:
        """Return the version of the server."""

    def started(self) -> int:
        """Return when the process started, in seconds since 1970 by its own clock."""

    def shows(self, sign: str) -> bool:
        """Return whether the server answers the query ``sign``, the sign of the patch, with 1."""

    def activation(self, key: ReplicaKey) -> SeenActivation:
        """Return the activation of a replica as the server sees it in its own ZooKeeper."""

    def parts(self, key: ReplicaKey) -> Collection[str]:
        """Return the names of the active parts of a replica."""


class Requirements(NamedTuple):
    """The conditions of an entry, and who enters it."""

    patched_sign: str
    config_changed_at: float | None
    """When the configuration of the server changed, in seconds since 1970; the process has to be younger.

    None if the caller has ensured this otherwise.
    """
    cold: ColdEnsemble
    verified_by: str
    only: Collection[ReplicaKey] | None
    """The replicas to enter; None for all replicas of the server."""
    renew: bool = False
    """Whether to leave out replicas without an entry: they were withdrawn, or never entered."""


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
        """Enter all required replicas, or raise NotReady with nothing written.

        Fills ``changes`` also if a replica is activated anew on the way (ServerChanged). Raises
        NoSuchReplica, EnsembleError and kin, and PartMoveError if the server does not answer.
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
        requested = served if requirements.only is None else set(requirements.only)
        foreign = sorted(requested - served)
        if foreign:
            raise NoSuchReplica(
                f"{self._probe.label} does not have {first_few(map(str, foreign))}",
                remedy="Compare with system.replicas of the server, and check that it is the right server",
            )
        if requirements.renew:
            requested = {
                key for key in requested if self._ledger.read(key.shard_path, [key.replica])[key.replica]
            }
        return sorted(requested)

    def _verify_server(self, requirements: Requirements) -> tuple[str, int]:
        version, started = self._probe.version(), self._probe.started()
        if requirements.config_changed_at is not None and started < requirements.config_changed_at:
            raise NotReady(
                f"{self._probe.label} was started before its configuration was changed",
                remedy="Restart the server and run again",
            )
        if not self._probe.shows(requirements.patched_sign):
            raise NotReady(
                f"{self._probe.label} (version {version}) does not show the sign of the patch",
                remedy="Install the patched server, or correct patched_sign",
            )
        return version, started

    def _verify_replicas(self, live: Mapping[ReplicaKey, LiveReplica]) -> dict[ReplicaKey, Znode]:
        """Return the ``host`` znode of each replica. Raises NotReady if a replica may not be entered."""
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
                remedy="Wait until its tables are not read-only, check that hot is the server's"
                " <zookeeper> with its <root> as the chroot, and run again",
            )
        return hosts

    def _refuse_without_data(self, keys: Collection[ReplicaKey]) -> None:
        """Raise NotReady if cold registers parts for a replica whose disk lacks them."""
        lacking = parts_without_data(self._hot, self._cold, keys, self._probe.parts)
        if lacking:
            problems = [f"{key}: {first_few(names)}" for key, names in lacking.items()]
            raise NotReady(
                f"{self._probe.label} cannot be entered: the cold ensemble registers parts for it that are"
                f" neither in hot nor on its disk, {first_few(problems)}",
                remedy="Do not restart the server. Run part_audit_info. If no replica has the parts,"
                " part_repair with the kind of the finding removes their part znodes. If another replica"
                " has them (lacks_data): drop this replica, which may have been added under the name of a"
                " former one, run part_repair with the kind another_replica, bring the partitions back with"
                " part_move and state: hot, and add the replica again",
            )

    def _problem(self, key: ReplicaKey, replica: LiveReplica, served: ServedReplica | None) -> str | None:
        if served is None:
            return f"{key} is gone"
        if served.read_only or served.session_expired:
            return f"{key} is read-only, without a ZooKeeper session"
        if replica.host is None or replica.is_active is None:
            return f"{key} is not active in hot"
        here = SeenActivation(replica.host.stat.mzxid, replica.is_active.stat.czxid)
        if self._probe.activation(key) != here:
            return f"{key} is another replica in the ZooKeeper of the server, or was activated just now"
        return None


def look_up_replicas(hot: ZnodeReader, keys: Iterable[ReplicaKey]) -> dict[ReplicaKey, LiveReplica]:
    """Return the replicas as in hot; a replica unknown to hot has no znodes."""
    layouts = {key: ShardLayout(key.shard_path).replica(key.replica) for key in keys}
    hot.sync("/")
    return dict(zip_strict([*layouts], live_replicas(hot, [*layouts.values()])))
