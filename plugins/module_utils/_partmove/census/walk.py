# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Takes the census of a running ensemble through one session."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ..errors import AccessDenied
from ..shard.inventory import NO_TABLES, find_shard_paths
from ..tree.ports import ZnodeReader
from ..tree.skip_denied import SkipDeniedReader
from ..tree.znodes import Znode
from ..zip_strict import zip_strict
from .census import Census, Places

_CHILDREN_PER_REQUEST = 5_000
_ROOT = "/"


def take_census(reader: ZnodeReader, places: Places) -> Census:
    """Read and count every znode of the ensemble, table by table.

    - Znodes created or deleted meanwhile may or may not be counted. A table created meanwhile counts as
      OTHER.
    - Unreadable znodes are reported to the census; these and their descendants are not counted.
    - Besides the census, memory holds the children of one znode and, outside of tables, the paths of one
      depth.

    Raises as `ZnodeReader.read` does, AccessDenied only for the root.
    """
    without = {*NO_TABLES, places.coordination_root, places.ddl_path}
    shard_paths = find_shard_paths(reader, _ROOT, without=without, denied=_only_below_the_root)
    census = Census(tuple(shard_paths), places)
    permitted = SkipDeniedReader(reader, lambda path, _error: census.deny(path))
    for top in (_ROOT, *census.tables):
        for znode in _walk(permitted, top, without=census.tables.keys() - {top}):
            stat = znode.stat
            census.take(znode.path, znode.data, (stat.ctime, stat.mtime), stat.ephemeral_owner)
    return census


def _only_below_the_root(path: str, error: AccessDenied) -> None:
    """Implements OnDenied: raises for the root only; the walk reports the other unreadable znodes."""
    if path == _ROOT:
        raise error


def _walk(reader: ZnodeReader, top: str, without: Collection[str]) -> Iterator[Znode]:
    """Yield every znode at and below ``top``, parents first, without the subtrees in ``without``."""
    waiting: list[Znode] = []
    paths = [top]
    while paths:
        for znode in reader.read(paths):
            if znode is not None:
                yield znode
                if znode.stat.num_children:
                    waiting.append(znode)
        paths = []
        # Depth first: only the siblings along one path are then waiting.
        while waiting and not paths:
            parents = _taken_from(waiting)
            for parent, names in zip_strict(parents, reader.children(parents)):
                prefix = parent.rstrip("/")
                paths += [path for name in names or () if (path := f"{prefix}/{name}") not in without]


def _taken_from(waiting: list[Znode]) -> list[str]:
    """Remove the last waiting parents, up to a limit of children but at least one; return their paths."""
    taken = [waiting.pop()]
    children = taken[0].stat.num_children
    while waiting and children + waiting[-1].stat.num_children <= _CHILDREN_PER_REQUEST:
        children += waiting[-1].stat.num_children
        taken.append(waiting.pop())
    return [znode.path for znode in taken]
