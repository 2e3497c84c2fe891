# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Finds the shard paths in a snapshot and the content ranges of their records."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from olap_partmove._partmove.errors import SameEnsemble
from olap_partmove._partmove.formats.layout import MARKS_OF_A_SHARD, is_shard_path
from olap_partmove._partmove.formats.znode_text import decoded
from olap_partmove._partmove.shard.inventory import NO_TABLES

from .folders import DataFolder
from .member import NOT_IN_SNAPSHOT
from .nodes import StoredStat
from .part_ranges import PartRange, SplitPoints
from .replay import LogReplay, ZnodeChange
from .snapshot import SnapshotScan

_METADATA = b"/metadata"
_REPLICAS = b"/replicas"
_MARKS = tuple(f"/{name}".encode() for name in sorted(MARKS_OF_A_SHARD))


class CreationStamp(NamedTuple):
    """zxid and time of a znode's creation; for one path, never equal in two ensembles."""

    czxid: int
    ctime: int

    @classmethod
    def of(cls, stored: bytes) -> CreationStamp:
        """Return the creation of a znode from its packed ACL id and stat."""
        znode = StoredStat.unpacked(stored)
        return cls(znode.czxid, znode.ctime)


@dataclass(frozen=True)
class TableRecords:
    """Content offsets of a shard path's records: starts (or NOT_IN_SNAPSHOT), and the end."""

    metadata: int = NOT_IN_SNAPSHOT
    block_numbers: int = NOT_IN_SNAPSHOT
    replicas: int = NOT_IN_SNAPSHOT
    end: int = NOT_IN_SNAPSHOT
    splits: tuple[int, ...] = ()
    """Offsets of some part records between replicas and end, many MiB apart."""

    @property
    def range(self) -> tuple[int, int]:
        """Start of the first and end of the last record; equal when the snapshot has no record."""
        starts = [
            each for each in (self.metadata, self.block_numbers, self.replicas) if each != NOT_IN_SNAPSHOT
        ]
        return min(starts, default=self.end), self.end

    @property
    def parts(self) -> PartRange:
        """Range of the replicas' records, with all parts."""
        return PartRange(self.replicas, self.until(self.replicas))

    def until(self, start: int) -> int:
        """Return the end of the records that begin at ``start``, a start of this object."""
        later = [each for each in (self.metadata, self.block_numbers, self.replicas) if each > start]
        return min(later, default=self.end)


@dataclass(frozen=True)
class FoundTable:
    """A shard path of a hot ensemble below the chroot, with the creation of its metadata znode."""

    shard_path: str
    records: TableRecords
    origin: CreationStamp


@dataclass
class _Candidate:
    """A znode with at least one child name typical of a shard path."""

    path: bytes
    starts: dict[bytes, int] = field(default_factory=dict)
    end: int = NOT_IN_SNAPSHOT
    origin: CreationStamp | None = None

    def records(self, splits: SplitPoints) -> TableRecords:
        metadata, block_numbers, replicas = (
            self.starts.get(mark, NOT_IN_SNAPSHOT) for mark in (_METADATA, b"/block_numbers", _REPLICAS)
        )
        within = (
            splits.within(self.path + _REPLICAS, replicas, self.end) if replicas != NOT_IN_SNAPSHOT else ()
        )
        return TableRecords(metadata, block_numbers, replicas, self.end, within)


def marks_a_shard(path: bytes) -> bool:
    """Return whether the last name of the path is a typical child name of a shard path."""
    return path.endswith(_MARKS)


def find_tables(
    scan: SnapshotScan, log: LogReplay, folder: DataFolder, root: str, *, processes: int = 1
) -> tuple[FoundTable, ...]:
    """Return the shard paths at and below ``root``, in snapshot order. Consumes all of ``scan``.

    log: changes of the znodes selected by `marks_a_shard`. As for live ensembles, skips NO_TABLES and
        everything below a shard path. Memory grows with the number of shard paths.
    processes: see `SnapshotScan.selected`.
    """
    splits = SplitPoints()
    candidates = {
        each.path: each for each in _candidates(scan, splits, processes) if _may_be_table(each, log.changes)
    }
    for path in {path.rpartition(b"/")[0] for path in log.changes} - candidates.keys():
        candidates[path] = _Candidate(path)
    tables = {}
    for candidate in candidates.values():
        origin = _origin(candidate, log.changes)
        shard_path = _shard_path_of(_text(candidate.path), folder.chroot, root)
        if origin is not None and shard_path and is_shard_path(_children(candidate, log.changes)):
            tables[shard_path] = FoundTable(shard_path, candidate.records(splits), origin)
    return tuple(table for path, table in tables.items() if not _ancestors(path) & tables.keys())


def find_in_cold(
    scan: SnapshotScan,
    log: LogReplay,
    folder: DataFolder,
    shard_paths: Collection[str],
    definitions: Mapping[bytes, CreationStamp],
    *,
    processes: int = 1,
) -> dict[str, TableRecords]:
    """Return the record locations of the shard paths present in a cold ensemble. Consumes all of ``scan``.

    log: changes of the znodes selected by `marks_a_shard`.
    definitions: creation of each metadata znode in hot, by path with chroot.
    processes: see `SnapshotScan.selected`.

    Raises SameEnsemble when the ensemble has a metadata znode of hot.
    """
    replicas_paths = {f"{folder.chroot}{path}".encode() + _REPLICAS: path for path in shard_paths}
    starts: dict[str, int] = {}
    ends: dict[str, int] = {}
    latest = ""
    splits = SplitPoints()
    for offset, path, _data, stored in scan.selected((_REPLICAS, _METADATA), splits.every, processes):
        if offset >= splits.next:
            splits.note(offset, path)
        if path in replicas_paths:
            ends[latest] = offset
            latest = replicas_paths[path]
            starts[latest] = offset
        elif path in definitions:
            _check_unlike(path, stored, definitions[path])
    ends[latest] = scan.end_of_records
    created = {path: change.created for path, change in log.changes.items() if change.created}
    for path in created.keys() & definitions.keys():
        _check_unlike(path, created[path].stored, definitions[path])
    records_by_path = {}
    for shard_path, start in starts.items():
        end = ends[shard_path]
        within = splits.within(f"{folder.chroot}{shard_path}".encode() + _REPLICAS, start, end)
        records_by_path[shard_path] = TableRecords(replicas=start, end=end, splits=within)
    return {
        replicas_paths[path]: TableRecords() for path in created.keys() & replicas_paths.keys()
    } | records_by_path


def _check_unlike(path: bytes, stored: bytes, origin: CreationStamp) -> None:
    if CreationStamp.of(stored) == origin:
        raise SameEnsemble(
            f"Hot and cold are one ensemble: {path.decode()} was created by the same transaction in both",
            remedy="Give the files of a second ensemble as cold",
        )


def _candidates(scan: SnapshotScan, splits: SplitPoints, processes: int) -> Iterator[_Candidate]:
    # Descendants directly follow a znode: open candidates are ancestors of each other.
    open_candidates: list[_Candidate] = []
    for offset, path, _data, stored in scan.selected(_MARKS, splits.every, processes):
        if offset >= splits.next:
            splits.note(offset, path)
        if not path.endswith(_MARKS):
            continue
        parent, slash, name = path.rpartition(b"/")
        while open_candidates and not path.startswith(open_candidates[-1].path + slash):
            open_candidates[-1].end = offset
            yield open_candidates.pop()
        if not open_candidates or open_candidates[-1].path != parent:
            open_candidates.append(_Candidate(parent))
        open_candidates[-1].starts[slash + name] = offset
        if slash + name == _METADATA:
            open_candidates[-1].origin = CreationStamp.of(stored)
    while open_candidates:
        open_candidates[-1].end = scan.end_of_records
        yield open_candidates.pop()


def _may_be_table(candidate: _Candidate, changes: Mapping[bytes, ZnodeChange]) -> bool:
    """Return whether the candidate may be a shard path after the log is applied.

    Most candidates are not: replicas and parts share some child names with shard paths.
    """
    return len(candidate.starts) == len(_MARKS) or any(candidate.path + mark in changes for mark in _MARKS)


def _children(candidate: _Candidate, changes: Mapping[bytes, ZnodeChange]) -> set[str]:
    """Return the typical child names of a shard path present after the log is applied."""
    names = set()
    for mark in _MARKS:
        change = changes.get(candidate.path + mark)
        was_there = mark in candidate.starts and not (change and change.replaced)
        if was_there or (change and change.created):
            names.add(mark[1:].decode())
    return names


def _text(path: bytes) -> str:
    return decoded(path, f"The path {path!r}")


def _origin(candidate: _Candidate, changes: Mapping[bytes, ZnodeChange]) -> CreationStamp | None:
    change = changes.get(candidate.path + _METADATA)
    if change and change.created and (change.replaced or candidate.origin is None):
        return CreationStamp.of(change.created.stored)
    return candidate.origin


def _shard_path_of(path: str, chroot: str, root: str) -> str:
    """Return the path without the chroot; ``""`` if outside of chroot or root, or excluded."""
    if not _is_at_or_below(path, chroot):
        return ""
    path = path.removeprefix(chroot) or "/"
    if not _is_at_or_below(path, root):
        return ""
    excluded = [each for each in NO_TABLES if each != root and _is_at_or_below(each, root)]
    return "" if any(_is_at_or_below(path, each) for each in excluded) else path


def _is_at_or_below(path: str, top: str) -> bool:
    top = top.rstrip("/")
    return path == top or path.startswith(f"{top}/")


def _ancestors(path: str) -> set[str]:
    return {path[:at] for at, character in enumerate(path) if character == "/" and at} | {"/"} - {path}
