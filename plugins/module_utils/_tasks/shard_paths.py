# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The shard paths that a task goes through, one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import NamedTuple

from .._partmove.errors import AccessDenied
from .._partmove.lease.two_ensembles import check_different_history
from .._partmove.shard.inventory import find_paths_in_cold, find_shard_paths
from .._partmove.tree.ports import ZnodeReader, ZnodeStore
from .._partmove.tree.skip_denied import OnDenied


def shard_paths_below(
    hot: ZnodeReader, root: str, coordination_root: str, denied: OnDenied | None = None
) -> Iterator[str]:
    """Every shard path below a znode of hot, without a look at what ZooKeeper and this collection keep.

    Raises AccessDenied for a znode that may not be read, unless ``denied`` is there to be told. Whoever
    vouches that nothing was left out gives none.
    """
    return find_shard_paths(hot, root, without={"/zookeeper", coordination_root}, denied=denied)


def cold_paths_below(
    cold: ZnodeReader, root: str, coordination_root: str, denied: OnDenied | None = None
) -> Iterator[str]:
    """Every path below a znode of cold at which it registers parts, also of tables that hot has not."""
    return find_paths_in_cold(cold, root, without={"/zookeeper", coordination_root}, denied=denied)


def told_apart(hot: ZnodeStore, cold: ZnodeStore | None, shard_paths: Iterable[str]) -> Iterator[str]:
    """The shard paths; raises SameEnsemble before the first one if that shows hot and cold to be one.

    The first one, that is, which may be read in both.
    """
    told = cold is None
    for shard_path in shard_paths:
        if cold is not None and not told:
            try:
                check_different_history(hot, cold, shard_path)
                told = True
            except AccessDenied:
                # Whoever reads the shard path says so.
                pass
        yield shard_path


class DeniedZnode(NamedTuple):
    """A znode that may not be read, so that nobody knows whether tables are below it."""

    path: str
    reason: str
    remedy: str


class DeniedZnodes:
    """Those that a search for tables met."""

    def __init__(self) -> None:
        self._errors: dict[str, AccessDenied] = {}

    def tell(self, path: str, error: AccessDenied) -> None:
        """Count an unreadable znode; implements OnDenied."""
        self._errors.setdefault(path, error)

    def besides(self, shard_paths: Iterable[str]) -> list[DeniedZnode]:
        """Each, sorted, but for those at or below the shard paths, which were read or told by themselves."""
        told = {PurePosixPath(each) for each in shard_paths}
        return [
            DeniedZnode(path, f"{error.message}, so nobody knows what tables are below it", error.remedy)
            for path, error in sorted(self._errors.items())
            if told.isdisjoint((PurePosixPath(path), *PurePosixPath(path).parents))
        ]
