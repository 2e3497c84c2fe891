# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One member's tree at its last logged transaction: a snapshot, with what the log changed since."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from .content import RangedContent
from .damage import DamagedFile
from .folders import DataFolder, NamedFile, list_files
from .nodes import NodeReader, Record
from .replay import Change, NodeData, Replay
from .snapshot import SnapshotScan, open_snapshot
from .txn_log import log_files, read_logs

if TYPE_CHECKING:
    # Python 3.10 has none.
    from typing import Self

NOT_THERE = -1
"""Where a znode begins that the snapshot does not have."""

_Found = TypeVar("_Found")
_NO_CHANGES: Mapping[bytes, Change] = {}
_MZXID = slice(16, 24)
_OWNER = slice(52, 60)


Znode: TypeAlias = tuple[bytes, bytes, bytes]
"""Path, data and what is stored besides of a znode, see `nodes.Stored`.

Of what the log did to it, cversion, pzxid and the ACL are not followed.
"""


@dataclass(frozen=True)
class Member:
    """The files that make one tree: a snapshot, the logs that go on from it, and the last transaction."""

    folder: DataFolder
    snapshot: Path
    zxid: int
    logs: tuple[NamedFile, ...]
    until: int

    def replay(self, wanted: Callable[[bytes], bool]) -> Replay:
        """What the log did to the znodes that are wanted."""
        replay = Replay(wanted)
        for path, txn in read_logs(self.logs, self.zxid, self.until):
            replay.apply(path, txn)
        return replay


def choose_member(
    folder: DataFolder,
    wanted: Callable[[bytes], bool],
    look: Callable[[SnapshotScan, Replay], _Found],
    *,
    passed_over: Callable[[DamagedFile], None],
    older_snapshot: bool = False,
) -> tuple[Member, _Found]:
    """The newest snapshot in the folder and its logs, read once from end to end, and what ``look`` found.

    ``look`` is given the snapshot, whose records it has to go over, and what the log did to the znodes that
    are wanted. Instead of a snapshot that is cut off, as one is that a server is writing now, the next older
    one is read, with more of the log; with ``older_snapshot`` also instead of one that is damaged otherwise.
    ``passed_over`` is told so. Raises DamagedFile where there is none left, and EnsembleError when the logs
    do not go on where the snapshot ends.
    """
    listing = list_files(folder)
    for snapshot in listing.snapshots:
        logs = log_files(listing.logs, snapshot.zxid)
        try:
            return _read(folder, snapshot, logs, wanted, look)
        except DamagedFile as error:
            may_be_passed_over = error.path == snapshot.path and (error.is_cut_off or older_snapshot)
            if not may_be_passed_over or snapshot == listing.snapshots[-1]:
                raise
            passed_over(error)
    raise AssertionError("a listing has a snapshot")


def _read(
    folder: DataFolder,
    snapshot: NamedFile,
    logs: tuple[NamedFile, ...],
    wanted: Callable[[bytes], bool],
    look: Callable[[SnapshotScan, Replay], _Found],
) -> tuple[Member, _Found]:
    replay, until = Replay(wanted), snapshot.zxid
    for path, txn in read_logs(logs, snapshot.zxid):
        replay.apply(path, txn)
        until = txn.zxid
    with open_snapshot(snapshot.path) as scan:
        found = look(scan, replay)
    if scan.newest_zxid > until:
        raise _log_too_short(snapshot.path, scan.end_of_records, scan.newest_zxid, until)
    return Member(folder, snapshot.path, snapshot.zxid, logs, until), found


class Tree:
    """Reads parts of the tree of a member; a context manager.

    ``ranges`` are those parts of the snapshot's records that will be read. ``group`` tells of a path which
    group of znodes it is in, None for one that is not of interest. In memory are what the log did to the
    znodes of interest, and a piece of the snapshot.
    """

    def __init__(
        self, member: Member, ranges: Sequence[tuple[int, int]], group: Callable[[bytes], bytes | None]
    ) -> None:
        self._member = member
        replay = member.replay(lambda path: group(path) is not None)
        self._closed = {session.to_bytes(8, "big", signed=True) for session in replay.closed}
        self._changes: dict[bytes | None, dict[bytes, Change]] = {}
        for path, change in replay.changes.items():
            self._changes.setdefault(group(path), {})[path] = change
        self._newest = member.until.to_bytes(8, "big")
        self._content = RangedContent(member.snapshot, ranges)

    def __enter__(self) -> Self:
        """Give the tree, which can be read at once."""
        return self

    def __exit__(self, *_exception: object) -> None:
        """Close the snapshot."""
        self._content.close()

    def path(self, below_chroot: str) -> bytes:
        """The path of a znode as the files have it, with the chroot in front."""
        return f"{self._member.folder.chroot}{below_chroot}".encode()

    def changes(self, group: bytes) -> Mapping[bytes, Change]:
        """What the log did to the znodes of a group, by path."""
        return self._changes.get(group, _NO_CHANGES)

    def subtree(self, top: bytes, start: int, end: int, group: bytes) -> Iterator[Znode]:
        """The znode ``top`` and all below it; first those that the snapshot has, then those it has not.

        Its record begins at ``start``, which may be NOT_THERE, and its znodes end at ``end`` or before. All
        are in ``group``. From a later ``start`` or up to an earlier ``end``, what the log has created also
        comes, but of what the snapshot has outside of that, and the log has changed, nothing else does.
        """
        below, closed, newest = top + b"/", self._closed, self._newest
        changes = self.changes(group)
        left = {path: change for path, change in changes.items() if path == top or path.startswith(below)}
        for offset, path, data, stored in self._records(start, end):
            if not path.startswith(below) and path != top:
                break
            if stored[_MZXID] > newest:
                raise self._log_too_short(offset, stored)
            change = left.pop(path, None) if left else None
            if stored[_OWNER] in closed:
                # The session has ended, and with it the znode; one made later is nobody's or another's.
                node = None if change is None else change.created
            elif change is None:
                yield path, data, stored
                continue
            else:
                node = change.applied_to(NodeData(data, stored))
            if node is not None:
                yield path, *node
        for path, change in left.items():
            if change.created is not None:
                yield path, *change.created

    def _records(self, start: int, end: int) -> Iterator[Record]:
        if start == NOT_THERE:
            return iter(())
        return NodeReader(self._content.at(start), self._member.snapshot, start, end).records()

    def _log_too_short(self, offset: int, stored: bytes) -> DamagedFile:
        zxid = int.from_bytes(stored[_MZXID], "big")
        return _log_too_short(self._member.snapshot, offset, zxid, self._member.until)


def _log_too_short(snapshot: Path, offset: int, zxid: int, until: int) -> DamagedFile:
    """A snapshot that is taken while the server goes on can only be used with the log of that time."""
    return DamagedFile(
        snapshot,
        offset,
        f"the snapshot has transaction 0x{zxid:x}, but the log ends with 0x{until:x}:"
        " it has a znode that the log does not account for",
        remedy="Copy the log again, after the snapshot, also that of dataLogDir",
    )
