# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Inventory rows of a shard path from files, equal to the rows of `read_inventory` from live ensembles."""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import TypeAlias

from olap_partmove._partmove.errors import FormatError
from olap_partmove._partmove.formats.layout import ShardLayout
from olap_partmove._partmove.formats.names import partition_id_of
from olap_partmove._partmove.formats.state import STATE, marker_text
from olap_partmove._partmove.formats.table_metadata import parse_table_metadata
from olap_partmove._partmove.shard.inventory import InventoryRow

from .member import RawZnode, TreeReader
from .part_ranges import PartRange
from .tables import TableRecords

_MTIME_AT = 32
# Size limit of the cache of part names, about 30 MB.
_REMEMBERED = 100_000
_LONG = struct.Struct(">q")
_METADATA_END = b"/metadata"
_STATE_END = f"/{STATE}".encode()
_PARTS_WITHIN = b"/parts/"
# Takes a third of the time of the constructor of a NamedTuple, once for each part.
_row = partial(tuple.__new__, InventoryRow)
# Matches no path.
_NO_FOLDER = b"\0"


_PartSums: TypeAlias = tuple[str, str, int, int, int]
"""Replica, part name, mtime, bytes of data of part and children, number of znodes."""


def table_rows(
    layout: ShardLayout,
    hot: TreeReader,
    records: TableRecords,
    part_ranges: Sequence[tuple[str, TreeReader, PartRange]],
) -> Iterator[InventoryRow]:
    """Yield a row for every part in ``part_ranges``: tuples of ensemble (hot or cold), its tree and a range.

    hot, records: the tree and records of the shard path in hot, for its metadata and States.

    Memory: States of its partitions, parts changed by the log, cached part names. Raises FormatError, as for
    live ensembles, for an invalid part name or table metadata.
    """
    try:
        yield from _rows(layout, hot, records, part_ranges)
    except UnicodeDecodeError as error:
        raise FormatError(
            f"The name {error.object!r} of a znode below {layout.path} is not UTF-8",
            remedy="Find out which client created the znode, or copy the folder again",
        ) from error


def _rows(
    layout: ShardLayout,
    hot: TreeReader,
    records: TableRecords,
    part_ranges: Sequence[tuple[str, TreeReader, PartRange]],
) -> Iterator[InventoryRow]:
    format_version = _format_version(layout, hot, records)
    path, states = layout.path, dict(_states(layout, hot, records))
    # Parsing part names is the most expensive step; replicas share the names, so cache the results.
    partition_by_name: dict[str, tuple[str, str]] = {}
    for ensemble, tree, part_range in part_ranges:
        latest, folder = "", ""
        for replica, name, mtime, size, znodes in _parts(layout, tree, part_range):
            if replica != latest:
                latest, folder = replica, layout.replica(replica).part("")
            partition = partition_by_name.get(name)
            if partition is None:
                partition_id = partition_id_of(name, format_version, folder + name)
                partition = partition_id, states.get(partition_id, "")
                if len(partition_by_name) < _REMEMBERED:
                    partition_by_name[name] = partition
            partition_id, state = partition
            yield _row((path, replica, name, partition_id, mtime, size, znodes, ensemble, state))


def group_of(path: bytes, shard_paths: Collection[bytes]) -> bytes | None:
    """Return the shard path above the znode; None for znodes that do not contribute to a row."""
    if not (_PARTS_WITHIN in path or path.endswith((_STATE_END, _METADATA_END))):
        return None
    at = len(path)
    while (at := path.rfind(b"/", 0, at)) > 0:
        if path[:at] in shard_paths:
            return path[:at]
    return None


def _format_version(layout: ShardLayout, hot: TreeReader, records: TableRecords) -> int:
    top, group = hot.path(layout.metadata), hot.path(layout.path)
    znodes = hot.subtree(top, records.metadata, records.until(records.metadata), group)
    return next(
        parse_table_metadata(data, layout.metadata).format_version
        for path, data, _stored in znodes
        if path == top
    )


def _states(layout: ShardLayout, hot: TreeReader, records: TableRecords) -> Iterator[tuple[str, str]]:
    """Yield partition id and State text of each partition with a State."""
    top, group = hot.path(layout.block_numbers), hot.path(layout.path)
    end = records.until(records.block_numbers)
    for path, data, _stored in hot.subtree(top, records.block_numbers, end, group):
        if path.endswith(_STATE_END):
            partition_id, _slash, rest = path[len(top) + 1 :].partition(b"/")
            if rest == STATE.encode():
                yield partition_id.decode(), marker_text(data)


def _parts(layout: ShardLayout, tree: TreeReader, part_range: PartRange) -> Iterator[_PartSums]:
    top, group = tree.path(layout.replicas), tree.path(layout.path)
    changes = tree.changes(group)
    changed = _parts_containing(changes, top)
    new = {path for path in changed if path in changes and changes[path].created is not None}
    deferred: list[RawZnode] = []
    yield from _contiguous(tree.subtree(top, part_range.start, part_range.end, group), top, changed, deferred)
    deferred.sort(key=lambda znode: znode[0].split(b"/"))
    yield from _contiguous(_in_range(deferred, changed, new, part_range), top, frozenset(), [])


def _in_range(
    znodes: Iterable[RawZnode], changed: Collection[bytes], new: Collection[bytes], part_range: PartRange
) -> Iterator[RawZnode]:
    """Yield the sorted znodes of changed parts that belong to parts of ``part_range``.

    - Parts in other ranges: only children created by the log arrive here, without their part; they are
      dropped.
    - Parts created by the log: yielded if the range has_created. The log has all of their znodes.
    """
    part, is_wanted = _NO_FOLDER, False
    for znode in znodes:
        path = znode[0]
        if path in changed:
            part, is_wanted = path + b"/", part_range.has_created or path not in new
        if is_wanted and (path in changed or path.startswith(part)):
            yield znode


def _contiguous(
    znodes: Iterable[RawZnode], top: bytes, changed: Collection[bytes], deferred: list[RawZnode]
) -> Iterator[_PartSums]:
    """Yield the parts of znodes in which children follow their parent.

    Snapshots have that order; log changes do not: znodes of ``changed`` parts are appended to ``deferred``.
    """
    folder, replica = _NO_FOLDER, ""
    name, mtime, size, count, owner = "", 0, 0, 0, ""
    for znode in znodes:
        path, data, stored = znode
        if not path.startswith(folder):
            folder = _parts_folder(path, top)
            if folder == _NO_FOLDER:
                continue
            replica = folder[len(top) + 1 : -len(_PARTS_WITHIN)].decode()
        own_name, slash, child = path[len(folder) :].partition(b"/")
        if changed and folder + own_name in changed:
            deferred.append(znode)
        elif not slash:
            if count:
                yield owner, name, mtime, size, count
            (mtime,) = _LONG.unpack_from(stored, _MTIME_AT)
            owner, name, size, count = replica, own_name.decode(), len(data), 1
        elif b"/" not in child:
            size += len(data)
            count += 1
    if count:
        yield owner, name, mtime, size, count


def _parts_folder(path: bytes, top: bytes) -> bytes:
    """Return the path up to ``/parts/``, in front of the part's name; _NO_FOLDER outside of parts."""
    replica, parts, _name = path[len(top) + 1 :].partition(_PARTS_WITHIN)
    if not parts or b"/" in replica:
        return _NO_FOLDER
    return top + b"/" + replica + parts


def _parts_containing(paths: Iterable[bytes], top: bytes) -> frozenset[bytes]:
    """Return the paths of the parts at or above the given paths."""
    folders = ((path, _parts_folder(path, top)) for path in paths if path.startswith(top + b"/"))
    return frozenset(
        folder + path[len(folder) :].partition(b"/")[0] for path, folder in folders if folder != _NO_FOLDER
    )
