# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The tree in the files of a member, all of it, for tests of small ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from partition_classify.zookeeper_files.damage import DamagedFile
from partition_classify.zookeeper_files.folders import DataFolder
from partition_classify.zookeeper_files.member import MemberFiles, TreeReader, choose_member
from partition_classify.zookeeper_files.nodes import StoredStat
from partition_classify.zookeeper_files.replay import LogReplay
from partition_classify.zookeeper_files.snapshot import SnapshotScan
from support.servers.busy_znodes import SeenZnode

_ALL = b"all"


def tree_of(
    data_dir: Path,
    top: str,
    *,
    data_log_dir: Path | None = None,
    older_snapshot: bool = False,
    on_skipped: Callable[[DamagedFile], None] = lambda _error: None,
) -> Mapping[str, SeenZnode]:
    """Every znode at and below ``top``, which is not the root, by its path."""
    folder = DataFolder("hot", str(data_dir), str(data_log_dir or ""))
    _member, found = read_all(folder, older_snapshot=older_snapshot, on_skipped=on_skipped)
    # A server does not show the owner that stands for a container or for a time to live.
    return {
        path: znode._replace(ephemeral_owner=max(znode.ephemeral_owner, 0))
        for path, znode in found.items()
        if path == top or path.startswith(f"{top}/")
    }


def read_all(
    folder: DataFolder,
    *,
    older_snapshot: bool = False,
    on_skipped: Callable[[DamagedFile], None] = lambda _error: None,
) -> tuple[MemberFiles, Mapping[str, SeenZnode]]:
    """The files that were chosen, and every znode by its path. Raises EnsembleError."""
    member, place = choose_member(
        folder,
        lambda _path: True,
        _place_of_all,
        on_skipped=on_skipped,
        older_snapshot=older_snapshot,
    )
    with TreeReader(member, [place], lambda _path: _ALL) as tree:
        znodes = list(tree.subtree(b"", *place, _ALL))
    found = {path.decode(): seen_znode(data, stored) for path, data, stored in znodes}
    assert len(found) == len(znodes)
    return member, found


def seen_znode(data: bytes, stored: bytes) -> SeenZnode:
    """The znode of a record."""
    znode = StoredStat.unpacked(stored)
    return SeenZnode(
        data,
        znode.czxid,
        znode.mzxid,
        znode.ctime,
        znode.mtime,
        znode.version,
        znode.aversion,
        znode.ephemeral_owner,
    )


def _place_of_all(scan: SnapshotScan, _log: LogReplay) -> tuple[int, int]:
    records = scan.records()
    first = next(records)
    for _record in records:
        pass
    return first[0], scan.end_of_records
