# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The task of replica_ledger_info: report ready shard paths, and cold partitions that block a downgrade."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from .._partmove.errors import FormatError
from .._partmove.formats.layout import ShardLayout
from .._partmove.patched.ledger.entry import ColdEnsemble, parse_entry
from .._partmove.patched.ledger.ledger import Ledger, not_ready
from .._partmove.patched.ledger.live_replica import LiveReplica, read_live_replicas, table_of
from .._partmove.patched.ledger.withdraw import DowngradeGuard
from .._partmove.text import count_of
from .._partmove.tree.ports import ZnodeStore
from .._partmove.tree.znodes import Znode
from .replica_ledger import server_name_of
from .resources import Resources, coordination_root
from .shard_paths import given_shard_paths, shard_paths_below, with_ensembles_checked


class ReplicaLedgerInfo:
    """Implements Task for replica_ledger_info."""

    failure = ""

    def __init__(self, params: Mapping[str, Any]) -> None:
        """Read the options of the module. Raises FormatError for invalid values."""
        self._params = params
        self._coordination_root = coordination_root(params)
        self._shard_paths = given_shard_paths(params["shard_paths"])
        self._server = server_name_of(params)
        self._shards: list[dict[str, Any]] = []

    def result(self) -> dict[str, Any]:
        """Return the findings so far."""
        ready = sum(shard["ready"] for shard in self._shards)
        cold = sum(len(shard["cold_partitions"]) for shard in self._shards)
        return {
            "changed": False,
            "msg": (
                f"{ready} of {count_of(len(self._shards), 'shard path')} ready,"
                f" {count_of(cold, 'partition')} cold"
            ),
            "shards": self._shards,
            "ready": ready == len(self._shards),
            "downgrade_allowed": cold == 0,
        }

    def run(self, resources: Resources) -> None:
        """Read one shard path after the other."""
        hot, cold = resources.open_pair()
        hot.sync("/")
        ledger = Ledger(hot, self._coordination_root)
        guard = DowngradeGuard(hot, cold, self._coordination_root)
        for layout in map(ShardLayout, with_ensembles_checked(hot, cold, self._paths(hot))):
            replicas = read_live_replicas(hot, layout)
            if self._server is None or any(map(self._server.is_of, replicas)):
                self._inspect(layout, replicas, ledger, guard, ColdEnsemble.of(cold))
        if self._server is not None and not self._shards:
            raise self._server.unknown("of these tables")

    def _paths(self, hot: ZnodeStore) -> Iterator[str]:
        root = self._params["root"]
        if root is None:
            return iter(self._shard_paths)
        return shard_paths_below(hot, root, self._coordination_root)

    def _inspect(
        self,
        layout: ShardLayout,
        replicas: tuple[LiveReplica, ...],
        ledger: Ledger,
        guard: DowngradeGuard,
        cold: ColdEnsemble,
    ) -> None:
        # An entry may outlive its replica. Such an entry does no harm, but is listed.
        gone = set(ledger.replicas(layout.path)) - {each.name for each in replicas}
        listed = [*replicas, *(LiveReplica(name, None, None) for name in sorted(gone))]
        entries = ledger.read(layout.path, (each.name for each in listed))
        rows = [_row(each, entries[each.name], cold) for each in listed]
        for row in rows[len(replicas) :]:
            row["reason"] = f"replica {row['replica']} is in the ledger but not in the table"
        reasons = [row["reason"] for row in rows[: len(replicas)] if row["reason"]]
        if not replicas:
            reasons = [f"there is no replica at {layout.path} in hot"]
        self._shards.append(
            {
                "shard_path": layout.path,
                "table": table_of(replicas),
                "ready": not reasons,
                "reason": ", ".join(reasons),
                "replicas": rows,
                "cold_partitions": [each.partition for each in guard.cold_partitions(layout.path)],
            }
        )


def _row(replica: LiveReplica, entry: Znode | None, cold: ColdEnsemble) -> dict[str, Any]:
    reason = not_ready(entry, replica, cold)
    address = replica.address
    return {
        "replica": replica.name,
        "host": "" if address is None else address.host,
        "ready": reason is None,
        "reason": reason or "",
        "entry": None if entry is None else _entry(entry),
    }


def _entry(entry: Znode) -> dict[str, Any] | None:
    """Return the fields of an entry; None for an unreadable entry, which the reason explains."""
    try:
        known = parse_entry(entry)
    except FormatError:
        return None
    return asdict(known) | {"cold": known.cold._asdict()}
