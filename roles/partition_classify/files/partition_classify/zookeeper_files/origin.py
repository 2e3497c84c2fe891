# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Identifies the hot ensembles of copied files by their topmost znodes, for plan headers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from olap_partmove._partmove.plan.origin import OriginZnode, missing_origin

from .folders import DataFolder
from .member import choose_member
from .nodes import StoredStat
from .replay import LogReplay
from .snapshot import SnapshotScan


def origin_of_files(
    folders: Iterable[DataFolder], paths: Sequence[str], *, older_snapshot: bool = False
) -> list[OriginZnode]:
    """Return the znodes at ``paths``, below the chroot of each folder that has them.

    Replays the logs again and reads each snapshot up to the last searched znode. ``older_snapshot``: see
    `choose_member`; skipped snapshots are not logged, the inventory logs them. Raises EnsembleError for
    unusable files, PlanError for a znode missing in all folders.
    """
    origins: list[OriginZnode] = []
    for folder in folders:
        paths_by_znode = {f"{folder.chroot}{path}".encode(): path for path in paths}
        _member, in_folder = choose_member(
            folder,
            paths_by_znode.__contains__,
            partial(_find_znodes, paths_by_znode=paths_by_znode),
            on_skipped=lambda _error: None,
            older_snapshot=older_snapshot,
        )
        origins += in_folder
    for path in sorted({*paths} - {each.path for each in origins}):
        raise missing_origin(path)
    return origins


def _find_znodes(
    scan: SnapshotScan, log: LogReplay, paths_by_znode: Mapping[bytes, str]
) -> list[OriginZnode]:
    """Return the last creation of each znode: by the log, else as in the snapshot."""
    # If snapshot and log both have the creation of a znode, it is the same transaction.
    created = {path: change.created for path, change in log.changes.items()}
    stats = {path: node.stored for path, node in created.items() if node is not None}
    searched = {
        path for path in paths_by_znode if path not in log.changes or not log.changes[path].replaced
    } - stats.keys()
    # The survey has verified the whole files: reading may stop after the last searched znode.
    for _offset, path, _data, stored in scan.records() if searched else ():
        if path in searched:
            stats[path] = stored
            searched.remove(path)
            if not searched:
                break
    return [_znode(paths_by_znode[path], StoredStat.unpacked(stored)) for path, stored in stats.items()]


def _znode(path: str, stored: StoredStat) -> OriginZnode:
    return OriginZnode(path, stored.czxid, stored.ctime)
