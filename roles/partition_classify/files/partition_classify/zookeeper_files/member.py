# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""State of one member's tree: a snapshot plus the transactions logged after the snapshot."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, TypeVar

from .content import RangeReader
from .damage import DamagedFile
from .evidence import Evidence, log_too_short
from .file_times import FileTimes
from .folders import DataFolder, FileListing, ZxidFile, list_files
from .nodes import RecordReader, ZnodeRecord
from .replay import LogReplay, ZnodeChange, ZnodeData
from .snapshot import SnapshotScan, open_snapshot
from .txn_log import LogSequence, log_files

NOT_IN_SNAPSHOT = -1
"""Start offset of znodes without a record in the snapshot."""

_ScanResult = TypeVar("_ScanResult")
_NO_CHANGES: Mapping[bytes, ZnodeChange] = {}
_MZXID = slice(16, 24)
_OWNER = slice(52, 60)


RawZnode: TypeAlias = tuple[bytes, bytes, bytes]
"""Path, data, and ACL id and stat (`nodes.StoredStat`) of a znode.

Log changes of cversion, pzxid and ACL ids are not applied."""


@dataclass(frozen=True)
class MemberFiles:
    """Files with the state of one tree.

    snapshot, zxid: the snapshot and the zxid of its name.
    logs: transaction logs that continue the snapshot.
    until: the last transaction.
    """

    folder: DataFolder
    snapshot: Path
    zxid: int
    logs: tuple[ZxidFile, ...]
    until: int

    def replay(self, is_relevant: Callable[[bytes], bool]) -> LogReplay:
        """Replay the log, limited to znodes for which ``is_relevant(path)`` is true."""
        replay = LogReplay(is_relevant)
        for path, txn in LogSequence(self.logs, self.zxid, self.until):
            replay.apply(path, txn)
        return replay


def choose_member(
    folder: DataFolder,
    is_relevant: Callable[[bytes], bool],
    scan_records: Callable[[SnapshotScan, LogReplay], _ScanResult],
    *,
    on_skipped: Callable[[DamagedFile], None],
    older_snapshot: bool = False,
) -> tuple[MemberFiles, _ScanResult]:
    """Read the newest usable snapshot once, completely, with its logs; return both and the scan result.

    scan_records: receives the snapshot and the replayed log, and has to consume all records of the snapshot.
    is_relevant: selects the paths to replay.
    on_skipped: receives the error of every skipped snapshot.
    older_snapshot: also skip snapshots with other damage than a cut-off end.

    A cut-off snapshot, such as a snapshot being written, is skipped: the next older snapshot is read, with
    more of the log. Raises DamagedFile when no usable snapshot is left, EnsembleError when the logs do not
    continue the snapshot.
    """
    listing = list_files(folder)
    for snapshot in listing.snapshots:
        try:
            return _read_snapshot(folder, snapshot, listing, is_relevant, scan_records)
        except DamagedFile as error:
            may_skip = error.path == snapshot.path and (error.is_cut_off or older_snapshot)
            if not may_skip or snapshot == listing.snapshots[-1]:
                raise
            on_skipped(error)
    raise AssertionError("list_files returns at least one snapshot")


def _read_snapshot(
    folder: DataFolder,
    snapshot: ZxidFile,
    listing: FileListing,
    is_relevant: Callable[[bytes], bool],
    scan_records: Callable[[SnapshotScan, LogReplay], _ScanResult],
) -> tuple[MemberFiles, _ScanResult]:
    logs = log_files(listing.logs, snapshot.zxid)
    # The snapshot must be finished, and the log current, before the log is read.
    times = FileTimes.of(snapshot.path, logs)
    evidence = Evidence(snapshot.path, snapshot.zxid)
    replay = LogReplay(is_relevant, evidence.parents)
    log = LogSequence(logs, snapshot.zxid, on_earlier=evidence.times.note)
    for path, txn in log:
        evidence.times.note(txn)
        replay.apply(path, txn)
    listing.check_reached(log.last)
    with open_snapshot(snapshot.path, evidence.comparison(log.last)) as scan:
        result = scan_records(scan, replay)
    if scan.is_finished:
        times.check_unchanged()
        evidence.check_end(listing.logs[: len(listing.logs) - len(logs)], scan.digest)
        if scan.newest_zxid > log.last:
            raise log_too_short(snapshot.path, scan.end_of_records, scan.newest_zxid, log.last)
        is_newest = snapshot.zxid == listing.snapshots[0].zxid
        # A server finishes a snapshot before it begins the next one.
        if scan.newest_zxid < snapshot.zxid and is_newest:
            times.check_covered(snapshot.zxid, logs, log)
    return MemberFiles(folder, snapshot.path, snapshot.zxid, logs, log.last), result


class TreeReader:
    """Reads subtrees of a member's tree. Context manager.

    ranges: content ranges of the snapshot to be read, as (start, end) in bytes.
    group: maps a path to its group of znodes, None for irrelevant paths.

    Memory: log changes of relevant znodes, and one chunk of the snapshot.
    """

    def __init__(
        self, member: MemberFiles, ranges: Sequence[tuple[int, int]], group: Callable[[bytes], bytes | None]
    ) -> None:
        self._member = member
        replay = member.replay(lambda path: group(path) is not None)
        self._closed = {session.to_bytes(8, "big", signed=True) for session in replay.closed_sessions}
        self._changes: dict[bytes | None, dict[bytes, ZnodeChange]] = {}
        for path, change in replay.changes.items():
            self._changes.setdefault(group(path), {})[path] = change
        self._newest = member.until.to_bytes(8, "big")
        self._content = RangeReader(member.snapshot, ranges)

    def __enter__(self) -> TreeReader:
        """Return self, ready for reading."""
        return self

    def __exit__(self, *_exception: object) -> None:
        """Close the snapshot."""
        self._content.close()

    def path(self, below_chroot: str) -> bytes:
        """Return the path in the files: the chroot plus ``below_chroot``."""
        return f"{self._member.folder.chroot}{below_chroot}".encode()

    def changes(self, group: bytes) -> Mapping[bytes, ZnodeChange]:
        """Return log changes of a group, by path."""
        return self._changes.get(group, _NO_CHANGES)

    def subtree(self, top: bytes, start: int, end: int, group: bytes) -> Iterator[RawZnode]:
        """Yield ``top`` and its descendants: znodes of the snapshot first, then created znodes.

        start: offset of the record of ``top``, or NOT_IN_SNAPSHOT.
        end: offset at or after the end of the subtree.
        group: the group of all these znodes.

        A narrower range (later ``start``, earlier ``end``) still yields every znode created by the log, but
        no znode of the snapshot outside of the range, even if the log changed the znode.
        """
        below, closed, newest = top + b"/", self._closed, self._newest
        changes = self.changes(group)
        unread = {path: change for path, change in changes.items() if path == top or path.startswith(below)}
        for offset, path, data, stored in self._records(start, end):
            if not path.startswith(below) and path != top:
                break
            if stored[_MZXID] > newest:
                raise self._log_too_short(offset, stored)
            change = unread.pop(path, None) if unread else None
            if stored[_OWNER] in closed:
                # The end of the session deleted the znode; a later znode of this path is in change.created.
                node = None if change is None else change.created
            elif change is None:
                yield path, data, stored
                continue
            else:
                node = change.applied_to(ZnodeData(data, stored))
            if node is not None:
                yield path, *node
        for path, change in unread.items():
            if change.created is not None:
                yield path, *change.created

    def _records(self, start: int, end: int) -> Iterator[ZnodeRecord]:
        if start == NOT_IN_SNAPSHOT:
            return iter(())
        return RecordReader(self._content.at(start), self._member.snapshot, start, end).records()

    def _log_too_short(self, offset: int, stored: bytes) -> DamagedFile:
        zxid = int.from_bytes(stored[_MZXID], "big")
        return log_too_short(self._member.snapshot, offset, zxid, self._member.until)
