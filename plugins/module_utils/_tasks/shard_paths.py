# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find the shard paths that a task works on."""

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
    """Yield every shard path below a znode of hot, except below /zookeeper and the coordination root.

    Without ``denied`` an unreadable znode raises AccessDenied: for tasks that must not miss a table.
    ``denied`` receives these errors instead.
    """
    return find_shard_paths(hot, root, without={"/zookeeper", coordination_root}, denied=denied)


def cold_paths_below(
    cold: ZnodeReader, root: str, coordination_root: str, denied: OnDenied | None = None
) -> Iterator[str]:
    """Yield every path below a znode of cold where parts are registered, also of tables missing in hot."""
    return find_paths_in_cold(cold, root, without={"/zookeeper", coordination_root}, denied=denied)


def with_ensembles_checked(
    hot: ZnodeStore, cold: ZnodeStore | None, shard_paths: Iterable[str]
) -> Iterator[str]:
    """Yield the shard paths. Raises SameEnsemble before the first path if hot and cold are one ensemble.

    The check compares the first shard path that is readable in both ensembles, unless ``cold`` is None.
    """
    checked = cold is None
    for shard_path in shard_paths:
        if cold is not None and not checked:
            try:
                check_different_history(hot, cold, shard_path)
                checked = True
            except AccessDenied:
                # The caller is about to read the shard path, and reports the error.
                pass
        yield shard_path


class DeniedZnode(NamedTuple):
    """A znode that may not be read: tables below this znode remain unknown."""

    path: str
    reason: str
    remedy: str


class DeniedZnodes:
    """Collects the unreadable znodes of a search for tables."""

    def __init__(self) -> None:
        self._errors: dict[str, AccessDenied] = {}

    def add(self, path: str, error: AccessDenied) -> None:
        """Add an unreadable znode; implements OnDenied."""
        self._errors.setdefault(path, error)

    def outside(self, shard_paths: Iterable[str]) -> list[DeniedZnode]:
        """Return the znodes, sorted, except at or below the shard paths: their readers report such errors."""
        reported = {PurePosixPath(each) for each in shard_paths}
        return [
            DeniedZnode(path, f"{error.message}, so tables below it are unknown", error.remedy)
            for path, error in sorted(self._errors.items())
            if reported.isdisjoint((PurePosixPath(path), *PurePosixPath(path).parents))
        ]
