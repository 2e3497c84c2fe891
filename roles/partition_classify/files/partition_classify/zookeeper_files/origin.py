# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which hot ensembles files are of: the topmost znodes that a plan names in its header."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from olap_partmove._partmove.plan.origin import OriginZnode, gone

from .folders import DataFolder
from .member import choose_member
from .nodes import Stored
from .replay import Replay
from .snapshot import SnapshotScan


def origin_of_files(
    folders: Iterable[DataFolder], paths: Sequence[str], *, older_snapshot: bool = False
) -> list[OriginZnode]:
    """The znodes at these paths below the chroot of each folder, of those that have them.

    Logs are read again, and a snapshot as far as the last of the znodes. ``older_snapshot`` is as for
    `choose_member`; which snapshot is read the inventory tells. Raises EnsembleError for files that cannot be
    used, and PlanError for a znode that no folder has.
    """
    found: list[OriginZnode] = []
    for folder in folders:
        wanted = {f"{folder.chroot}{path}".encode(): path for path in paths}
        _member, in_folder = choose_member(
            folder,
            wanted.__contains__,
            partial(_origin, wanted=wanted),
            passed_over=lambda _error: None,
            older_snapshot=older_snapshot,
        )
        found += in_folder
    for path in sorted({*paths} - {each.path for each in found}):
        raise gone(path)
    return found


def _origin(scan: SnapshotScan, log: Replay, wanted: Mapping[bytes, str]) -> list[OriginZnode]:
    """The znodes as the log created them last, or else as the snapshot has them."""
    # What the log created and the snapshot has too was created by the same transaction.
    created = {path: change.created for path, change in log.changes.items()}
    found = {path: node.stored for path, node in created.items() if node is not None}
    left = {
        path for path in wanted if path not in log.changes or not log.changes[path].replaced
    } - found.keys()
    # The survey has shown that the files are whole, so nothing has to be read after the last of them.
    for _offset, path, _data, stored in scan.records() if left else ():
        if path in left:
            found[path] = stored
            left.remove(path)
            if not left:
                break
    return [_znode(wanted[path], Stored.unpacked(stored)) for path, stored in found.items()]


def _znode(path: str, stored: Stored) -> OriginZnode:
    return OriginZnode(path, stored.czxid, stored.ctime)
