# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The tree in the files of a member, all of it, for tests of small ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from partition_classify.zookeeper_files.damage import DamagedFile
from partition_classify.zookeeper_files.folders import DataFolder
from partition_classify.zookeeper_files.member import TreeReader, choose_member
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
    member, place = choose_member(
        folder,
        lambda _path: True,
        _place_of_all,
        on_skipped=on_skipped,
        older_snapshot=older_snapshot,
    )
    with_tree = TreeReader(member, [place], lambda _path: _ALL)
    with with_tree as tree:
        znodes = list(tree.subtree(b"", *place, _ALL))
    found = {path.decode(): _seen(data, stored) for path, data, stored in znodes}
    assert len(found) == len(znodes)
    return {path: znode for path, znode in found.items() if path == top or path.startswith(f"{top}/")}


def _place_of_all(scan: SnapshotScan, _log: LogReplay) -> tuple[int, int]:
    records = scan.records()
    first = next(records)
    for _record in records:
        pass
    return first[0], scan.end_of_records


def _seen(data: bytes, stored: bytes) -> SeenZnode:
    znode = StoredStat.unpacked(stored)
    return SeenZnode(
        data,
        znode.czxid,
        znode.mzxid,
        znode.ctime,
        znode.mtime,
        znode.version,
        znode.aversion,
        # A server does not show the owner that stands for a container or for a time to live.
        max(znode.ephemeral_owner, 0),
    )
