# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The task of part_info: report which ensemble registers which parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import itemgetter
from typing import Any

from .._partmove.binding.binding import read_binding
from .._partmove.errors import AccessDenied, BindingConflict, FormatError, NoSuchTable
from .._partmove.formats.layout import ShardLayout
from .._partmove.formats.names import check_partition_id
from .._partmove.shard.facts import state_text
from .._partmove.shard.inventory import COLD, HOT, InventoryRow
from .._partmove.shard.overview import PartitionOverview, Registered, read_overview
from .._partmove.text import format_time
from .._partmove.tree.ports import ZnodeStore
from .resources import Resources, coordination_root
from .shard_paths import (
    DeniedZnodes,
    given_shard_paths,
    no_table,
    shard_paths_below,
    with_ensembles_checked,
)


class PartInfo:
    """Implements Task for part_info."""

    failure = ""

    def __init__(self, params: Mapping[str, Any]) -> None:
        """Read the options of the module. Raises PartMoveError for invalid values."""
        self._root: str | None = params["root"]
        self._shard_paths = given_shard_paths(params["shard_paths"])
        self._only = _partition_ids(params["partitions"])
        self._with_parts = params["details"] == "parts"
        self._has_cold = params["cold"] is not None
        self._coordination_root = coordination_root(params)
        self._partitions: list[dict[str, Any]] = []
        self._unreadable: list[dict[str, str]] = []
        self._denied = DeniedZnodes()
        ensembles = (HOT, COLD) if self._has_cold else (HOT,)
        self._totals = dict.fromkeys(ensembles, _NOTHING)

    def result(self) -> dict[str, Any]:
        """Return the findings so far."""
        return {
            "changed": False,
            "partitions": sorted(self._partitions, key=itemgetter("shard_path", "partition")),
            "totals": self._totals,
            "unreadable": sorted(self._unreadable, key=itemgetter("shard_path")),
        }

    def run(self, resources: Resources) -> None:
        """Read one shard path after the other."""
        hot, cold = resources.open_hot_or_pair()
        # The members of these sessions may not know the latest move yet.
        hot.sync("/")
        if cold is not None:
            cold.sync("/")
        paths = 0
        for shard_path in with_ensembles_checked(hot, cold, self._paths(hot)):
            self._inspect(hot, cold, shard_path)
            paths += 1
        for each in self._denied.outside(()):
            self._unreadable.append({"shard_path": each.path, "reason": each.reason, "remedy": each.remedy})
        if self._root is not None and not paths and not self._unreadable:
            raise no_table(self._root)

    def _paths(self, hot: ZnodeStore) -> Iterator[str]:
        if self._root is None:
            return iter(self._shard_paths)
        return shard_paths_below(hot, self._root, self._coordination_root, self._denied.add)

    def _inspect(self, hot: ZnodeStore, cold: ZnodeStore | None, shard_path: str) -> None:
        try:
            if cold is not None:
                # Another cold ensemble would show that nothing is cold.
                read_binding(hot, cold, self._coordination_root, ShardLayout(shard_path))
            overviews = read_overview(hot, cold, shard_path, self._only)
        except NoSuchTable:
            if self._root is None:
                raise
            # The table was dropped after the search below the root found it.
            return
        except (AccessDenied, BindingConflict, FormatError) as error:
            self._unreadable.append(
                {"shard_path": shard_path, "reason": error.message, "remedy": error.remedy}
            )
            return
        for overview in overviews:
            self._add(shard_path, overview)

    def _add(self, shard_path: str, overview: PartitionOverview) -> None:
        modified = overview.last_modified
        entry: dict[str, Any] = {
            "shard_path": shard_path,
            "partition": overview.partition_id,
            "state": state_text(overview.state),
            "location": overview.location.summary if self._has_cold else None,
            "replicas": sorted({row.replica for row in overview.rows}),
            "former_replicas": overview.former_replicas,
            "last_modified": None if modified is None else format_time(modified),
        }
        for ensemble, total in self._totals.items():
            registered = overview.registered(ensemble)
            entry[ensemble] = _counts(registered)
            self._totals[ensemble] = _sum(total, registered)
        if self._with_parts:
            entry["parts"] = [_part(row) for row in overview.rows]
        self._partitions.append(entry)


_NOTHING = {"partitions": 0, "parts": 0, "znodes": 0, "bytes": 0}


def _partition_ids(given: list[str] | None) -> frozenset[str] | None:
    return None if given is None else frozenset(check_partition_id(each, "partitions") for each in given)


def _counts(registered: Registered) -> dict[str, int]:
    return {"parts": registered.parts, "znodes": registered.znodes, "bytes": registered.data_bytes}


def _sum(total: Mapping[str, int], registered: Registered) -> dict[str, int]:
    counts = {"partitions": min(1, registered.parts), **_counts(registered)}
    return {name: total[name] + count for name, count in counts.items()}


def _part(row: InventoryRow) -> dict[str, Any]:
    return {
        "ensemble": row.ensemble,
        "replica": row.replica,
        "part": row.part,
        "last_modified": format_time(row.mtime),
        "znodes": row.znodes,
        "bytes": row.bytes,
    }
