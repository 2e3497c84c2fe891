# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The shard paths that a task goes through, one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from .._partmove.lease.two_ensembles import check_unlike
from .._partmove.shard.inventory import find_paths_in_cold, find_shard_paths
from .._partmove.tree.ports import ZnodeReader, ZnodeStore


def shard_paths_below(hot: ZnodeReader, root: str, coordination_root: str) -> Iterator[str]:
    """Every shard path below a znode of hot, without a look at what ZooKeeper and this collection keep."""
    return find_shard_paths(hot, root, without={"/zookeeper", coordination_root})


def cold_paths_below(cold: ZnodeReader, root: str, coordination_root: str) -> Iterator[str]:
    """Every path below a znode of cold at which it registers parts, also of tables that hot has not."""
    return find_paths_in_cold(cold, root, without={"/zookeeper", coordination_root})


def told_apart(hot: ZnodeStore, cold: ZnodeStore | None, shard_paths: Iterable[str]) -> Iterator[str]:
    """The shard paths; raises SameEnsemble before the first one if that shows hot and cold to be one."""
    for number, shard_path in enumerate(shard_paths):
        if number == 0 and cold is not None:
            check_unlike(hot, cold, shard_path)
        yield shard_path
