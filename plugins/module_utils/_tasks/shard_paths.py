# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Find the shard paths that a task works on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from .._partmove.errors import AccessDenied, NoSuchTable, PartMoveError
from .._partmove.formats.layout import ShardLayout
from .._partmove.lease.two_ensembles import check_different_history
from .._partmove.shard.inventory import find_paths_in_cold, find_shard_paths
from .._partmove.tree.ports import ZnodeReader, ZnodeStore
from .._partmove.tree.skip_denied import OnDenied


def shard_paths_below(
    hot: ZnodeReader, root: str, coordination_root: str, denied: OnDenied | None = None
) -> Iterator[str]:
    """Yield every shard path below a znode of hot, except below /zookeeper and the coordination root.

    Without ``denied`` an unreadable znode raises AccessDenied: for tasks that must not miss a table. Such a
    task also ends with NoSuchTable if there is no table at all. ``denied`` receives these errors instead, and
    its owner has to notice that there is none.
    """
    is_empty = True
    for path in find_shard_paths(hot, root, without={"/zookeeper", coordination_root}, denied=denied):
        is_empty = False
        yield path
    if is_empty and denied is None:
        raise no_table(root)


def no_table(root: str) -> NoSuchTable:
    """Return the error of a task that found no table: its success would be an answer about nothing."""
    return NoSuchTable(
        f"There is no replicated table at or below {root} in the hot ensemble",
        remedy="Correct the root, or the chroot of hot",
    )


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


def given_shard_paths(given: Sequence[str] | None) -> list[str]:
    """Return the option ``shard_paths``, sorted. Raises PartMoveError for an empty list or a wrong path.

    An empty list, such as of a wrong variable, would be a run of success that inspected nothing.
    """
    if given is not None and not given:
        raise PartMoveError(
            "shard_paths is empty, so no table would be inspected",
            remedy="Give the shard paths of tables",
        )
    return sorted({ShardLayout(path).path for path in given or ()})


class UnreadPath(NamedTuple):
    """A path without an inspected table, and the reason."""

    path: str
    reason: str
    remedy: str


def no_table_below(root: str) -> UnreadPath:
    """Return the entry for a root without any table in hot: the root or the chroot may be wrong."""
    return UnreadPath(
        root,
        "There is no replicated table at or below it in the hot ensemble, so the audit checked no table of"
        " hot",
        "Correct the root, or the chroot of hot",
    )


def no_table_at(shard_path: str) -> UnreadPath:
    """Return the entry for a shard path without a table."""
    return UnreadPath(
        shard_path,
        "There is no replicated table at this path, nor parts of one in cold, so the audit checked no table",
        "Correct the path or the chroot, unless the table was dropped",
    )


class DeniedZnodes:
    """Collects the unreadable znodes of a search for tables."""

    def __init__(self) -> None:
        self._errors: dict[str, AccessDenied] = {}

    def add(self, path: str, error: AccessDenied) -> None:
        """Add an unreadable znode; implements OnDenied."""
        self._errors.setdefault(path, error)

    def outside(self, shard_paths: Iterable[str]) -> list[UnreadPath]:
        """Return the znodes, sorted, except at or below the shard paths: their readers report such errors."""
        reported = {PurePosixPath(each) for each in shard_paths}
        return [
            UnreadPath(path, f"{error.message}, so tables below it are unknown", error.remedy)
            for path, error in sorted(self._errors.items())
            if reported.isdisjoint((PurePosixPath(path), *PurePosixPath(path).parents))
        ]
