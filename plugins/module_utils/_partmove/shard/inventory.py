# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The inventory: the shard paths below a root, and their parts in each ensemble.

Reads only, with limited memory. Servers may change the tree meanwhile: a part merged away during the walk is
left out, and a new part may or may not be included.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import NamedTuple, TypeVar

from ..errors import EnsembleError, NoSuchTable
from ..formats.layout import ReplicaLayout, ShardLayout, is_shard_path
from ..formats.names import PartName
from ..formats.table_metadata import parse_table_metadata
from ..text import first_few
from ..tree.paths import DEFAULT_ROOT
from ..tree.ports import ZnodeReader
from ..tree.skip_denied import OnDenied, SkipDeniedReader
from ..zip_strict import zip_strict
from .facts import state_text
from .parts import parse_name_in, read_parts
from .worker_share import EVERYTHING, WorkerShare

HOT = "hot"
COLD = "cold"
NO_TABLES = frozenset({"/zookeeper", DEFAULT_ROOT})
"""Subtrees without tables: ZooKeeper's own znodes and the znodes of this collection."""

# Large enough to keep a connection busy. Small enough for memory, even if every part has the legacy columns
# and checksums.
_PATHS_PER_REQUEST = 2000

_T = TypeVar("_T")


class InventoryRow(NamedTuple):
    """One part of one replica in one ensemble."""

    shard_path: str
    replica: str
    part: str
    partition_id: str
    mtime: int
    """Time of the last write of the part znode, in milliseconds since 1970."""
    bytes: int
    """Bytes of data in the part znode and its children."""
    znodes: int
    """Number of znodes: the part znode and its children."""
    ensemble: str
    """`hot` or `cold`."""
    state: str | None
    """Data of the partition's State znode, unchanged; empty without such a znode.

    None if the identity may not read the State znode or the part znode. The time and bytes of an unreadable
    part are 0.
    """


def find_shard_paths(
    hot: ZnodeReader, root: str, *, without: Collection[str] = NO_TABLES, denied: OnDenied | None = None
) -> Iterator[str]:
    """Yield the shard paths at and below ``root``, by depth and sorted within a depth.

    Does not descend into shard paths and into the subtrees of ``without``. Holds the paths of one depth in
    memory.

    Raises EnsembleError if the root does not exist. An unreadable znode is passed to ``denied``; without
    ``denied``, AccessDenied is raised.
    """
    return _walk(_past_denied(hot, denied), root, without, _are_shard_paths)


def find_paths_in_cold(
    cold: ZnodeReader, root: str, *, without: Collection[str] = NO_TABLES, denied: OnDenied | None = None
) -> Iterator[str]:
    """Yield the shard paths at and below ``root`` in cold, in the order of `find_shard_paths`.

    A shard path in cold has only the children ``replicas/<replica>/parts``. Yields no paths if cold lacks the
    root.

    Handles unreadable znodes as `find_shard_paths` does.
    """
    reader = _past_denied(cold, denied)
    if reader.children([root])[0] is None:
        return iter(())
    return _walk(reader, root, without, _are_paths_in_cold)


_Listed = tuple[str, tuple[str, ...]]
"""A path and the names of its children."""


def _past_denied(reader: ZnodeReader, denied: OnDenied | None) -> ZnodeReader:
    return reader if denied is None else SkipDeniedReader(reader, denied)


_AreTables = Callable[[ZnodeReader, Sequence[_Listed]], Sequence[bool]]
"""Maps paths to booleans: is it the path of a table?"""


def _walk(reader: ZnodeReader, root: str, without: Collection[str], are_tables: _AreTables) -> Iterator[str]:
    level = [root]
    while level:
        below: list[str] = []
        for paths in _chunks(level):
            existing = [each for each in zip_strict(paths, reader.children(paths)) if each[1] is not None]
            if not existing and paths == [root]:
                raise _no_root(reader, root)
            listed = [(path, names or ()) for path, names in existing]
            for (path, names), is_table in zip_strict(listed, are_tables(reader, listed)):
                if is_table:
                    yield path
                else:
                    prefix = path.rstrip("/")
                    below.extend(f"{prefix}/{name}" for name in names)
        level = sorted(path for path in below if path not in without)


def _are_shard_paths(_reader: ZnodeReader, listed: Sequence[_Listed]) -> Sequence[bool]:
    return [is_shard_path(names) for _path, names in listed]


def _are_paths_in_cold(cold: ZnodeReader, listed: Sequence[_Listed]) -> Sequence[bool]:
    folders = [f"{path}/replicas" for path, names in listed if "replicas" in names and path != "/"]
    replicas = zip_strict(folders, cold.children(folders))
    each_replica = [f"{folder}/{name}" for folder, names in replicas for name in names or ()]
    with_parts = {
        path.rpartition("/replicas/")[0]
        for path, names in zip_strict(each_replica, cold.children(each_replica))
        if "parts" in (names or ())
    }
    return [path in with_parts for path, _names in listed]


def count_parts(reader: ZnodeReader, shard_paths: Sequence[str]) -> list[dict[str, int]]:
    """Count the parts of each replica: a mapping replica → parts for each shard path, in order.

    The mapping of a path without a table is empty.
    """
    layouts = [ShardLayout(path) for path in shard_paths]
    replicas = reader.children([layout.replicas for layout in layouts])
    parts = [
        layout.replica(name).parts for layout, names in zip_strict(layouts, replicas) for name in names or ()
    ]
    znodes = iter(reader.read(parts))
    return [
        {name: 0 if znode is None else znode.stat.num_children for name, znode in zip(names or (), znodes)}
        for names in replicas
    ]


def read_inventory(
    hot: ZnodeReader,
    shard_path: str,
    *,
    cold: ZnodeReader | None = None,
    share: WorkerShare = EVERYTHING,
    past_denied: bool = False,
) -> Iterator[InventoryRow]:
    """Yield a row for every part of the share: first the parts in hot, then the parts in ``cold``.

    Within an ensemble, rows are sorted by replica and part. Hot is read first, because a move takes parts
    from hot to cold. So a part on its way yields one or two rows, never none. Memory is limited by the part
    names of one replica and the states of the shard path's partitions.

    past_denied: whether unreadable part znodes and State znodes yield rows without a state.

    Raises:
        NoSuchTable: hot lacks the table. FormatError: a name or the table's definition is unknown.
        AccessDenied: a znode is unreadable. With ``past_denied`` only for znodes that concern all parts of a
        replica.
    """
    layout = ShardLayout(shard_path)
    metadata = hot.read([layout.metadata])[0]
    if metadata is None:
        raise NoSuchTable(
            f"There is no replicated table at {shard_path} in the {hot.name} ensemble",
            remedy="The table may have been dropped just now; otherwise check the path",
        )
    format_version = parse_table_metadata(metadata.data, layout.metadata).format_version
    walk = _ShardWalk(hot, layout, format_version, share, past_denied=past_denied)
    yield from walk.rows(hot, HOT)
    if cold is not None:
        yield from walk.rows(cold, COLD)


class _ShardWalk:
    """One walk over a shard path; caches the states of partitions."""

    def __init__(
        self,
        hot: ZnodeReader,
        layout: ShardLayout,
        format_version: int,
        share: WorkerShare,
        *,
        past_denied: bool,
    ) -> None:
        self._hot = hot
        self._share = share
        self._layout = layout
        self._format_version = format_version
        self._past_denied = past_denied
        self._states: dict[str, str | None] = {}

    def rows(self, reader: ZnodeReader, ensemble: str) -> Iterator[InventoryRow]:
        replicas = reader.children([self._layout.replicas])[0] or ()
        for replica in map(self._layout.replica, filter(self._share.has_replica, replicas)):
            listed = reader.children([replica.parts])[0] or ()
            for names in _chunks(tuple(filter(self._share.has_part, listed))):
                yield from self._rows_of(reader, ensemble, replica, names)

    def _rows_of(
        self, reader: ZnodeReader, ensemble: str, replica: ReplicaLayout, names: Sequence[str]
    ) -> Sequence[InventoryRow]:
        parts = [self._named(reader, replica.part(name), name) for name in names]
        self._read_states(name.partition_id for _path, name in parts)
        denied: set[str] = set()
        rows = [
            InventoryRow(
                shard_path=self._layout.path,
                replica=replica.name,
                part=part.name.text,
                partition_id=part.name.partition_id,
                mtime=part.znode.stat.mtime,
                bytes=part.data_bytes,
                znodes=part.znodes,
                ensemble=ensemble,
                state=self._states[part.name.partition_id],
            )
            for part in read_parts(self._reader(reader, denied), parts)
        ]
        if denied:
            # The unreadable znode may be a child of the part znode.
            denied_parts = {path.removeprefix(f"{replica.parts}/").partition("/")[0] for path in denied}
            unread = [name for _path, name in parts if name.text in denied_parts]
            rows += [self._unread(replica, ensemble, name) for name in unread]
            rows.sort(key=attrgetter("part"))
        return rows

    def _unread(self, replica: ReplicaLayout, ensemble: str, name: PartName) -> InventoryRow:
        return InventoryRow(
            self._layout.path, replica.name, name.text, name.partition_id, 0, 0, 1, ensemble, None
        )

    def _reader(self, reader: ZnodeReader, denied: set[str]) -> ZnodeReader:
        """Return the reader, with ``past_denied`` one that adds unreadable znodes to ``denied``."""
        return (
            SkipDeniedReader(reader, lambda path, _error: denied.add(path)) if self._past_denied else reader
        )

    def _named(self, reader: ZnodeReader, path: str, name: str) -> tuple[str, PartName]:
        return path, parse_name_in(reader, path, name, self._format_version)

    def _read_states(self, partition_ids: Iterable[str]) -> None:
        new = sorted(set(partition_ids) - self._states.keys())
        denied: set[str] = set()
        paths = [self._layout.state(each) for each in new]
        znodes = self._reader(self._hot, denied).read(paths) if new else []
        for partition_id, znode in zip_strict(new, znodes):
            is_denied = self._layout.state(partition_id) in denied
            self._states[partition_id] = None if is_denied else state_text(znode)


def _chunks(items: Sequence[_T]) -> Iterator[Sequence[_T]]:
    for start in range(0, len(items), _PATHS_PER_REQUEST):
        yield items[start : start + _PATHS_PER_REQUEST]


def _no_root(reader: ZnodeReader, root: str) -> EnsembleError:
    return EnsembleError(
        f"There is no znode {root} in the {reader.name} ensemble",
        remedy="Give a path above all tables, without the chroot of the connection",
    )


def check_tables(hot: ZnodeReader, shard_paths: Sequence[str], *, required: Collection[str] = ()) -> None:
    """Check that hot has the tables of a run.

    Raises NoSuchTable if hot lacks a ``required`` shard path, or all shard paths. In the second case the root
    or chroot is wrong, and a run would only defer every partition.
    """
    missing: list[str] = []
    for paths in _chunks(shard_paths):
        definitions = hot.read([ShardLayout(path).metadata for path in paths])
        missing += [path for path, znode in zip_strict(paths, definitions) if znode is None]
    refused = (
        missing if len(missing) == len(shard_paths) else [path for path in missing if path in set(required)]
    )
    if refused:
        raise NoSuchTable(
            f"There is no replicated table at {first_few(refused)} in the {hot.name} ensemble",
            remedy="Correct the path or the chroot, or classify again if the table was dropped",
        )
