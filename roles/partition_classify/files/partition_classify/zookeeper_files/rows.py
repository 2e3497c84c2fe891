# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The rows of a shard path, read from files; the same that `read_inventory` reads from live ensembles."""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TypeAlias

from olap_partmove._partmove.errors import FormatError
from olap_partmove._partmove.formats.layout import ShardLayout
from olap_partmove._partmove.formats.names import partition_id_of
from olap_partmove._partmove.formats.state import STATE, marker_text
from olap_partmove._partmove.formats.table_metadata import parse_table_metadata
from olap_partmove._partmove.shard.inventory import InventoryRow

from .member import Tree, Znode
from .pieces import Piece
from .tables import Place

_MTIME_AT = 32
# How many names of parts are remembered, some 30 MB of them.
_REMEMBERED = 100_000
_LONG = struct.Struct(">q")
_METADATA_END = b"/metadata"
_STATE_END = f"/{STATE}".encode()
_PARTS_WITHIN = b"/parts/"
# No path begins with it.
_NO_FOLDER = b"\0"


_Part: TypeAlias = tuple[str, str, int, int, int]
"""Replica, name, mtime, bytes of its data and that of its children, and how many znodes these are."""


def table_rows(
    layout: ShardLayout, hot: Tree, place: Place, pieces: Sequence[tuple[str, Tree, Piece]]
) -> Iterator[InventoryRow]:
    """Every part of the shard path in the pieces, each of which is of an ensemble, hot or cold, and its tree.

    In memory are the states of its partitions, those of its parts that the log names, and the names of
    some more. Raises FormatError, as for live ensembles, for a name or a definition that is not understood.
    """
    try:
        yield from _rows(layout, hot, place, pieces)
    except UnicodeDecodeError as error:
        raise FormatError(
            f"A znode below {layout.path} has the name {error.object!r}, which is not UTF-8",
            remedy="Find out what created it, or copy the folder again",
        ) from error


def _rows(
    layout: ShardLayout, hot: Tree, place: Place, pieces: Sequence[tuple[str, Tree, Piece]]
) -> Iterator[InventoryRow]:
    format_version = _format_version(layout, hot, place)
    states = dict(_states(layout, hot, place))
    # Replicas have the same parts, and to take a name apart is most of the work for a row.
    known: dict[str, tuple[str, str]] = {}
    for ensemble, tree, piece in pieces:
        latest, folder = "", ""
        for replica, name, mtime, size, znodes in _parts(layout, tree, piece):
            if replica != latest:
                latest, folder = replica, layout.replica(replica).part("")
            found = known.get(name)
            if found is None:
                partition_id = partition_id_of(name, format_version, folder + name)
                found = partition_id, states.get(partition_id, "")
                if len(known) < _REMEMBERED:
                    known[name] = found
            partition_id, state = found
            yield InventoryRow(layout.path, replica, name, partition_id, mtime, size, znodes, ensemble, state)


def group_of(path: bytes, shard_paths: Collection[bytes]) -> bytes | None:
    """Which of the shard paths has the znode; None for one that no row is made of."""
    if not (_PARTS_WITHIN in path or path.endswith((_STATE_END, _METADATA_END))):
        return None
    at = len(path)
    while (at := path.rfind(b"/", 0, at)) > 0:
        if path[:at] in shard_paths:
            return path[:at]
    return None


def _format_version(layout: ShardLayout, hot: Tree, place: Place) -> int:
    top, group = hot.path(layout.metadata), hot.path(layout.path)
    znodes = hot.subtree(top, place.metadata, place.until(place.metadata), group)
    return next(
        parse_table_metadata(data, layout.metadata).format_version
        for path, data, _stored in znodes
        if path == top
    )


def _states(layout: ShardLayout, hot: Tree, place: Place) -> Iterator[tuple[str, str]]:
    """Partition id and text of each State that there is."""
    top, group = hot.path(layout.block_numbers), hot.path(layout.path)
    end = place.until(place.block_numbers)
    for path, data, _stored in hot.subtree(top, place.block_numbers, end, group):
        if path.endswith(_STATE_END):
            partition_id, _slash, rest = path[len(top) + 1 :].partition(b"/")
            if rest == STATE.encode():
                yield partition_id.decode(), marker_text(data)


def _parts(layout: ShardLayout, tree: Tree, piece: Piece) -> Iterator[_Part]:
    top, group = tree.path(layout.replicas), tree.path(layout.path)
    changes = tree.changes(group)
    changed = _parts_named(changes, top)
    new = {path for path in changed if path in changes and changes[path].created is not None}
    held: list[Znode] = []
    yield from _contiguous(tree.subtree(top, piece.start, piece.end, group), top, changed, held)
    held.sort(key=lambda znode: znode[0].split(b"/"))
    yield from _contiguous(_of_piece(held, changed, new, piece), top, frozenset(), [])


def _of_piece(
    znodes: Iterable[Znode], changed: Collection[bytes], new: Collection[bytes], piece: Piece
) -> Iterator[Znode]:
    """Those of the znodes of changed parts, sorted, that are of parts of the piece.

    Of a part that another piece has, only the children come that the log has created, without the part. A
    part that the log has created is in the log with all that became of it since, so it needs no records.
    """
    part, is_wanted = _NO_FOLDER, False
    for znode in znodes:
        path = znode[0]
        if path in changed:
            part, is_wanted = path + b"/", piece.has_new or path not in new
        if is_wanted and (path in changed or path.startswith(part)):
            yield znode


def _contiguous(
    znodes: Iterable[Znode], top: bytes, changed: Collection[bytes], held: list[Znode]
) -> Iterator[_Part]:
    """The parts among znodes of which children follow their parent.

    That is so in a snapshot, but not of what the log adds: znodes of ``changed`` parts go to ``held``.
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
            held.append(znode)
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
    """What comes in front of the name of the part; _NO_FOLDER where the path is not of a part."""
    replica, parts, _name = path[len(top) + 1 :].partition(_PARTS_WITHIN)
    if not parts or b"/" in replica:
        return _NO_FOLDER
    return top + b"/" + replica + parts


def _parts_named(paths: Iterable[bytes], top: bytes) -> frozenset[bytes]:
    """The parts that the paths are of, or are below."""
    folders = ((path, _parts_folder(path, top)) for path in paths if path.startswith(top + b"/"))
    return frozenset(
        folder + path[len(folder) :].partition(b"/")[0] for path, folder in folders if folder != _NO_FOLDER
    )
