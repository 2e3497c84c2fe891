# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The task of replica_ledger: enters the replicas of a server in the ledger, or withdraws them."""

from __future__ import annotations

import socket
from collections.abc import Collection, Mapping
from typing import Any

from .._clickhouse.server_probe import HttpServerProbe
from .._partmove.errors import PartMoveError
from .._partmove.formats.layout import ShardLayout
from .._partmove.lease.two_ensembles import check_different_history
from .._partmove.patched.ledger.enter import Admission, Requirements, look_up_replicas
from .._partmove.patched.ledger.entry import ColdEnsemble
from .._partmove.patched.ledger.ledger import EntryChange, Ledger, ReplicaKey, not_ready
from .._partmove.patched.ledger.live_replica import LiveReplica, ServerName, read_live_replicas
from .._partmove.patched.ledger.withdraw import DowngradeGuard, Withdrawal, withdraw_replicas
from .._partmove.tree.ports import ZnodeStore
from .._partmove.tree.znodes import Znode
from .resources import Resources, client_of, coordination_root
from .shard_paths import shard_paths_below

ABSENT, READY, STALE = "absent", "ready", "stale"


class ChangeLedger:
    """Implements Task for replica_ledger."""

    failure = ""

    def __init__(self, params: Mapping[str, Any]) -> None:
        """Take the options of the module; raises PartMoveError for those that cannot be."""
        self._params = params
        self._root = coordination_root(params)
        given = params["replicas"]
        self._given = None if given is None else [_key(each) for each in given]
        self._server = server_name_of(params)
        self._is_present = params["state"] == "present"
        if self._is_present and self._server is not None:
            raise PartMoveError(
                "host says which replicas to withdraw, and state is present",
                remedy="Leave host out: the server that clickhouse names is asked for its replicas",
            )
        if params["renew"] and not self._is_present:
            raise PartMoveError(
                "renew says which replicas to enter, and state is absent", remedy="Leave one of the two out"
            )
        self._withdrawal = Withdrawal()
        self._replicas: Mapping[ReplicaKey, LiveReplica] = {}
        self._cold: ColdEnsemble | None = None

    def result(self) -> dict[str, Any]:
        """What was done so far."""
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
            "msg": f"{changed} of {len(rows)} replicas {verb}",
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
            self._note(hot, cold, keys)
            guard = DowngradeGuard(hot, cold, self._root)
            vouched = self._params["never_entered"]
            withdraw_replicas(guard, ledger, keys, self._withdrawal, never_entered=vouched)
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
        self._note(hot, cold, [each.key for each in probe.replicas()])
        admission = Admission(hot, cold, ledger, probe, resources.clock)
        admission.enter(requirements, self._withdrawal.changes)

    def _probe(self) -> HttpServerProbe:
        return HttpServerProbe(client_of(self._params["clickhouse"]))

    def _note(self, hot: ZnodeStore, cold: ZnodeStore, keys: Collection[ReplicaKey]) -> None:
        self._replicas = look_up_replicas(hot, keys)
        if keys:
            check_different_history(hot, cold, min(keys).shard_path)

    def _to_withdraw(self, hot: ZnodeStore) -> Collection[ReplicaKey]:
        if self._given is not None:
            return self._given
        if self._server is None:
            return [each.key for each in self._probe().replicas()]
        # A replica that this session does not know yet would keep its entry, and its server be replaced.
        hot.sync("/")
        found = [
            ReplicaKey(shard_path, replica.name)
            for shard_path in shard_paths_below(hot, self._params["root"], self._root)
            for replica in read_live_replicas(hot, ShardLayout(shard_path))
            if self._server.is_of(replica)
        ]
        if not found:
            raise self._server.unknown(f"below {self._params['root']}")
        return found

    def _row(self, key: ReplicaKey, change: EntryChange) -> dict[str, str]:
        # The replica of a table that was made after the replicas were listed is entered as well.
        replica = self._replicas.get(key, LiveReplica(key.replica, None, None))
        address = replica.address
        before = _standing(change.before, replica, self._cold)
        return {
            "shard_path": key.shard_path,
            "replica": key.replica,
            "table": "" if address is None else address.table or "",
            "before": before,
            "after": ABSENT if change.after is None else READY,
        }


def server_name_of(params: Mapping[str, Any]) -> ServerName | None:
    """The options ``host`` and ``interserver_port``; None without a host."""
    return None if params["host"] is None else ServerName(params["host"], params["interserver_port"])


def _key(given: Mapping[str, str]) -> ReplicaKey:
    """The replica that an item of the option ``replicas`` names; raises FormatError."""
    ShardLayout(given["shard_path"]).replica(given["replica"])
    return ReplicaKey(given["shard_path"], given["replica"])


def _standing(entry: Znode | None, replica: LiveReplica, cold: ColdEnsemble | None) -> str:
    if entry is None or cold is None:
        return ABSENT
    return READY if not_ready(entry, replica, cold) is None else STALE
