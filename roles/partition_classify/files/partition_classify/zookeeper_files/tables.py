# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Finds the shard paths in a snapshot, and where in it their znodes are."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from olap_partmove._partmove.errors import SameEnsemble
from olap_partmove._partmove.formats.layout import MARKS_OF_A_SHARD, is_shard_path
from olap_partmove._partmove.formats.znode_text import decoded
from olap_partmove._partmove.shard.inventory import NO_TABLES

from .folders import DataFolder
from .member import NOT_THERE
from .nodes import Stored
from .pieces import Piece, Splits
from .replay import Change, Replay
from .snapshot import SnapshotScan

_METADATA = b"/metadata"
_REPLICAS = b"/replicas"
_MARKS = tuple(f"/{name}".encode() for name in sorted(MARKS_OF_A_SHARD))


class Origin(NamedTuple):
    """When a znode was created, by transaction and by clock; no two ensembles agree in both on one path."""

    czxid: int
    ctime: int

    @classmethod
    def of(cls, stored: bytes) -> Origin:
        """The origin of a znode, from what is stored of it."""
        znode = Stored.unpacked(stored)
        return cls(znode.czxid, znode.ctime)


@dataclass(frozen=True)
class Place:
    """Where in a snapshot the records of a shard path begin, or NOT_THERE, and where they end."""

    metadata: int = NOT_THERE
    block_numbers: int = NOT_THERE
    replicas: int = NOT_THERE
    end: int = NOT_THERE
    splits: tuple[int, ...] = ()
    """Where between its replicas and its end the records of some part begin, many MiB from each other."""

    @property
    def range(self) -> tuple[int, int]:
        """Where the first of the records begins, and where all end; the same twice when none is there."""
        there = [each for each in (self.metadata, self.block_numbers, self.replicas) if each != NOT_THERE]
        return min(there, default=self.end), self.end

    @property
    def parts(self) -> Piece:
        """The records of the replicas, with all of their parts."""
        return Piece(self.replicas, self.until(self.replicas))

    def until(self, start: int) -> int:
        """Where the records end that begin at one of the places."""
        later = [each for each in (self.metadata, self.block_numbers, self.replicas) if each > start]
        return min(later, default=self.end)


@dataclass(frozen=True)
class FoundTable:
    """A shard path of a hot ensemble, below the chroot, with the origin of its definition."""

    shard_path: str
    place: Place
    origin: Origin


@dataclass
class _Candidate:
    """A znode with at least one child that a shard path has."""

    path: bytes
    starts: dict[bytes, int] = field(default_factory=dict)
    end: int = NOT_THERE
    origin: Origin | None = None

    def place(self, splits: Splits) -> Place:
        metadata, block_numbers, replicas = (
            self.starts.get(mark, NOT_THERE) for mark in (_METADATA, b"/block_numbers", _REPLICAS)
        )
        within = splits.within(self.path + _REPLICAS, replicas, self.end) if replicas != NOT_THERE else ()
        return Place(metadata, block_numbers, replicas, self.end, within)


def marks_a_shard(path: bytes) -> bool:
    """Whether the last name of the path is one that the children of a shard path have."""
    return path.endswith(_MARKS)


def find_tables(scan: SnapshotScan, log: Replay, folder: DataFolder, root: str) -> tuple[FoundTable, ...]:
    """The shard paths at and below ``root``, in the order of the snapshot; goes over all of ``scan``.

    ``log`` is what happened to the znodes that `marks_a_shard` is true of. As for a live ensemble nothing
    is looked for below a shard path, or in NO_TABLES. Memory is bounded by the number of shard paths.
    """
    splits = Splits()
    found = {each.path: each for each in _candidates(scan, splits) if _is_interesting(each, log.changes)}
    for path in {path.rpartition(b"/")[0] for path in log.changes} - found.keys():
        found[path] = _Candidate(path)
    tables = {}
    for candidate in found.values():
        origin = _origin(candidate, log.changes)
        shard_path = _below(_text(candidate.path), folder.chroot, root)
        if origin is not None and shard_path and is_shard_path(_children(candidate, log.changes)):
            tables[shard_path] = FoundTable(shard_path, candidate.place(splits), origin)
    return tuple(table for path, table in tables.items() if not _ancestors(path) & tables.keys())


def find_in_cold(
    scan: SnapshotScan,
    log: Replay,
    folder: DataFolder,
    shard_paths: Collection[str],
    definitions: Mapping[bytes, Origin],
) -> dict[str, Place]:
    """Where in a cold ensemble those of the shard paths are that it has; goes over all of ``scan``.

    ``log`` is what happened to the znodes that `marks_a_shard` is true of. ``definitions`` are the origins of
    the definitions in hot, by their paths with the chroot: raises SameEnsemble when one of them is here too.
    """
    wanted = {f"{folder.chroot}{path}".encode() + _REPLICAS: path for path in shard_paths}
    starts: dict[str, int] = {}
    ends: dict[str, int] = {}
    latest = ""
    splits = Splits()
    for offset, path, _data, stored in scan.records():
        if offset >= splits.next:
            splits.note(offset, path)
        if path in wanted:
            ends[latest] = offset
            latest = wanted[path]
            starts[latest] = offset
        elif path in definitions:
            _check_unlike(path, stored, definitions[path])
    ends[latest] = scan.end_of_records
    created = {path: change.created for path, change in log.changes.items() if change.created}
    for path in created.keys() & definitions.keys():
        _check_unlike(path, created[path].stored, definitions[path])
    places = {}
    for shard_path, start in starts.items():
        end = ends[shard_path]
        within = splits.within(f"{folder.chroot}{shard_path}".encode() + _REPLICAS, start, end)
        places[shard_path] = Place(replicas=start, end=end, splits=within)
    return {wanted[path]: Place() for path in created.keys() & wanted.keys()} | places


def _check_unlike(path: bytes, stored: bytes, origin: Origin) -> None:
    if Origin.of(stored) == origin:
        raise SameEnsemble(
            f"Hot and cold are one ensemble: {path.decode()} was created by the same transaction in both",
            remedy="Give the files of a second ensemble as cold",
        )


def _candidates(scan: SnapshotScan, splits: Splits) -> Iterator[_Candidate]:
    # What is below a znode follows it directly, so those that are still open are each other's ancestors.
    open_ones: list[_Candidate] = []
    for offset, path, _data, stored in scan.records():
        if offset >= splits.next:
            splits.note(offset, path)
        if not path.endswith(_MARKS):
            continue
        parent, slash, name = path.rpartition(b"/")
        while open_ones and not path.startswith(open_ones[-1].path + slash):
            open_ones[-1].end = offset
            yield open_ones.pop()
        if not open_ones or open_ones[-1].path != parent:
            open_ones.append(_Candidate(parent))
        open_ones[-1].starts[slash + name] = offset
        if slash + name == _METADATA:
            open_ones[-1].origin = Origin.of(stored)
    while open_ones:
        open_ones[-1].end = scan.end_of_records
        yield open_ones.pop()


def _is_interesting(candidate: _Candidate, changes: Mapping[bytes, Change]) -> bool:
    """Whether a candidate may be a shard path once the log is applied.

    Most are none: replicas and parts have some of the children that a shard path has.
    """
    return len(candidate.starts) == len(_MARKS) or any(candidate.path + mark in changes for mark in _MARKS)


def _children(candidate: _Candidate, changes: Mapping[bytes, Change]) -> set[str]:
    """Which marks of a shard path the candidate has once the log is applied."""
    names = set()
    for mark in _MARKS:
        change = changes.get(candidate.path + mark)
        was_there = mark in candidate.starts and not (change and change.replaced)
        if was_there or (change and change.created):
            names.add(mark[1:].decode())
    return names


def _text(path: bytes) -> str:
    return decoded(path, f"The path {path!r}")


def _origin(candidate: _Candidate, changes: Mapping[bytes, Change]) -> Origin | None:
    change = changes.get(candidate.path + _METADATA)
    if change and change.created and (change.replaced or candidate.origin is None):
        return Origin.of(change.created.stored)
    return candidate.origin


def _below(path: str, chroot: str, root: str) -> str:
    """The path without the chroot; empty when it is not to be looked at."""
    if not _is_in(path, chroot):
        return ""
    path = path.removeprefix(chroot) or "/"
    if not _is_in(path, root):
        return ""
    excluded = [each for each in NO_TABLES if each != root and _is_in(each, root)]
    return "" if any(_is_in(path, each) for each in excluded) else path


def _is_in(path: str, top: str) -> bool:
    top = top.rstrip("/")
    return path == top or path.startswith(f"{top}/")


def _ancestors(path: str) -> set[str]:
    return {path[:at] for at, character in enumerate(path) if character == "/" and at} | {"/"} - {path}
