# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The task of replica_ledger: enter the replicas of a server in the ledger, or withdraw them."""

from __future__ import annotations

import socket
from collections.abc import Collection, Mapping
from typing import Any

from .._clickhouse.server_probe import HttpServerProbe
from .._partmove.errors import PartMoveError
from .._partmove.formats.layout import ShardLayout
from .._partmove.lease.two_ensembles import check_different_history
from .._partmove.patched.ledger.enter import Admission, Requirements, ServedReplica, look_up_replicas
from .._partmove.patched.ledger.entry import ColdEnsemble
from .._partmove.patched.ledger.ledger import EntryChange, Ledger, ReplicaKey, not_ready
from .._partmove.patched.ledger.live_replica import LiveReplica, ServerName, read_live_replicas
from .._partmove.patched.ledger.withdraw import DowngradeGuard, Withdrawal, withdraw_replicas
from .._partmove.text import count_of
from .._partmove.tree.ports import ZnodeStore
from .._partmove.tree.znodes import Znode
from .resources import Resources, client_of, coordination_root
from .shard_paths import shard_paths_below

ABSENT, READY, STALE = "absent", "ready", "stale"


class ReplicaLedger:
    """Implements Task for replica_ledger."""

    failure = ""

    def __init__(self, params: Mapping[str, Any]) -> None:
        """Read the options of the module. Raises PartMoveError for invalid values."""
        self._params = params
        self._root = coordination_root(params)
        given = params["replicas"]
        self._given = None if given is None else [_key(each) for each in given]
        self._server = server_name_of(params)
        self._is_present = params["state"] == "present"
        if self._is_present and self._server is not None:
            raise PartMoveError(
                "host selects the replicas to withdraw, but state is present",
                remedy="Leave host out: the replicas of the server in clickhouse are entered",
            )
        if params["renew"] and not self._is_present:
            raise PartMoveError(
                "renew selects the replicas to enter, but state is absent", remedy="Leave one of the two out"
            )
        self._withdrawal = Withdrawal()
        self._replicas: Mapping[ReplicaKey, LiveReplica] = {}
        self._cold: ColdEnsemble | None = None

    def result(self) -> dict[str, Any]:
        """Return the result so far."""
        changes = sorted(self._withdrawal.changes.items())
        rows = [self._row(key, change) for key, change in changes]
        lines = [
            f"{row['shard_path']} {row['replica']}: {{{word}}}\n".format(**row)
            for word in ("before", "after")
            for row in rows
        ]
        changed = sum(change.changed for _key, change in changes)
        verb = "entered" if self._is_present else "withdrawn"
        return {
            "changed": changed > 0,
            "msg": f"{changed} of {count_of(len(rows), 'replica')} {verb}",
            "replicas": rows,
            "cold_partitions": [each._asdict() for each in self._withdrawal.cold_partitions],
            "diff": {
                "before": "".join(lines[: len(rows)]),
                "after": "".join(lines[len(rows) :]),
            },
        }

    def run(self, resources: Resources) -> None:
        """Enter the replicas or withdraw them, as the option ``state`` says."""
        hot, cold = resources.open_pair()
        self._cold = ColdEnsemble.of(cold)
        ledger = Ledger(hot, self._root)
        if not self._is_present:
            keys = self._to_withdraw(hot)
            self._read_replicas(hot, cold, keys)
            guard = DowngradeGuard(hot, cold, self._root)
            never_entered = self._params["never_entered"]
            withdraw_replicas(guard, ledger, keys, self._withdrawal, never_entered=never_entered)
            return
        probe = self._probe()
        requirements = Requirements(
            self._params["patched_sign"],
            self._params["config_changed_at"],
            self._cold,
            f"replica_ledger on {socket.gethostname()}",
            self._given,
            self._params["renew"],
        )
        self._read_replicas(hot, cold, [each.key for each in _served(probe)])
        admission = Admission(hot, cold, ledger, probe, resources.clock)
        admission.enter(requirements, self._withdrawal.changes)

    def _probe(self) -> HttpServerProbe:
        return HttpServerProbe(client_of(self._params["clickhouse"]))

    def _read_replicas(self, hot: ZnodeStore, cold: ZnodeStore, keys: Collection[ReplicaKey]) -> None:
        self._replicas = look_up_replicas(hot, keys)
        if keys:
            check_different_history(hot, cold, min(keys).shard_path)

    def _to_withdraw(self, hot: ZnodeStore) -> Collection[ReplicaKey]:
        if self._given is not None:
            return self._given
        if self._server is None:
            return [each.key for each in _served(self._probe())]
        # Without the sync a new replica could be missed, and keep its entry when its server is replaced.
        hot.sync("/")
        keys = [
            ReplicaKey(shard_path, replica.name)
            for shard_path in shard_paths_below(hot, self._params["root"], self._root)
            for replica in read_live_replicas(hot, ShardLayout(shard_path))
            if self._server.is_of(replica)
        ]
        if not keys:
            raise self._server.unknown(f"below {self._params['root']}")
        return keys

    def _row(self, key: ReplicaKey, change: EntryChange) -> dict[str, str]:
        # Replicas of tables created after this listing are entered as well.
        replica = self._replicas.get(key, LiveReplica(key.replica, None, None))
        address = replica.address
        before = _entry_status(change.before, replica, self._cold)
        return {
            "shard_path": key.shard_path,
            "replica": key.replica,
            "table": "" if address is None else address.table or "",
            "before": before,
            "after": ABSENT if change.after is None else READY,
        }


def _served(probe: HttpServerProbe) -> Collection[ServedReplica]:
    """Return the replicas of the server. Raises PartMoveError if the user may see no table at all."""
    replicas = probe.replicas()
    hidden = "" if replicas else probe.hidden()
    if hidden:
        # Its last sentence is the remedy.
        raise PartMoveError(f"No replica of the server could be read: {hidden}")
    return replicas


def server_name_of(params: Mapping[str, Any]) -> ServerName | None:
    """Return the options ``host`` and ``interserver_port``; None without a host."""
    return None if params["host"] is None else ServerName(params["host"], params["interserver_port"])


def _key(given: Mapping[str, str]) -> ReplicaKey:
    """Return the replica that an item of the option ``replicas`` names. Raises FormatError."""
    ShardLayout(given["shard_path"]).replica(given["replica"])
    return ReplicaKey(given["shard_path"], given["replica"])


def _entry_status(entry: Znode | None, replica: LiveReplica, cold: ColdEnsemble | None) -> str:
    if entry is None or cold is None:
        return ABSENT
    return READY if not_ready(entry, replica, cold) is None else STALE
