# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Census of an ensemble from the files of one member: ``python census.py SETTINGS``, without Spark.

The member is one of ZooKeeper or of ClickHouse Keeper.

SETTINGS is a file with a JSON object: ``files``, as for the classification, and the options of the module
census_info, including ``clickhouse``.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

from olap_partmove._clickhouse.census_servers import query_servers
from olap_partmove._clickhouse.settings import clients_of
from olap_partmove._partmove.census.census import Census, Places
from olap_partmove._partmove.census.outside import DDL_PATH
from olap_partmove._partmove.census.report import result_of
from olap_partmove._partmove.census.settings import CensusLimits, limits_of
from olap_partmove._partmove.errors import EnsembleError
from olap_partmove._partmove.formats.layout import check_shard_path
from olap_partmove._partmove.tree.paths import DEFAULT_ROOT

from .keeper_files.readable import readable_folders
from .programs import folder_of, log_message, log_skipped_snapshot, run
from .zookeeper_files.folders import DataFolder
from .zookeeper_files.member import NOT_IN_SNAPSHOT, MemberFiles, TreeReader, choose_member
from .zookeeper_files.replay import LogReplay
from .zookeeper_files.snapshot import SnapshotScan, open_snapshot
from .zookeeper_files.tables import find_tables, marks_a_shard

# ctime, mtime and ephemeralOwner of a packed StoredStat.
_TIMES_AND_OWNER = struct.Struct(">24xqq12xq8x")
_ALL = b"all"
# Searching the tables of a large snapshot takes a tenth of the time of a census: a second process is enough.
_PROCESSES = 2
_SETTINGS = frozenset({"files", "clickhouse", "coordination_root", "ddl_path", *CensusLimits._fields})


def take_census(folder: DataFolder, places: Places) -> Census:
    """Count every znode below the chroot, as of the last logged transaction, or of a snapshot of Keeper.

    Reads snapshot and log twice each. Memory: the census, the log changes, and what `sorted_entries` needs.
    Raises EnsembleError for unusable files.
    """
    with readable_folders([folder], log_message) as (readable,):
        return _count(readable, places)


def _count(folder: DataFolder, places: Places) -> Census:

    def scan_tables(scan: SnapshotScan, log: LogReplay) -> tuple[tuple[str, ...], int]:
        tables = find_tables(scan, log, folder, "/", processes=_PROCESSES)
        return tuple(table.shard_path for table in tables), scan.end_of_records

    member, (shard_paths, end) = choose_member(
        folder, marks_a_shard, scan_tables, on_skipped=log_skipped_snapshot
    )
    census = Census(shard_paths, places)
    start, cut = _start(member), len(folder.chroot.encode())
    unpack = _TIMES_AND_OWNER.unpack
    with TreeReader(member, [] if start == NOT_IN_SNAPSHOT else [(start, end)], lambda _path: _ALL) as tree:
        for path, data, stored in tree.subtree(folder.chroot.encode(), start, end, _ALL):
            ctime, mtime, owner = unpack(stored)
            below = path[cut:].decode(errors="backslashreplace") or "/"
            census.take(below, data, (ctime, mtime), owner)
    if not census.total.znodes:
        raise EnsembleError(
            f"There is no znode {folder.chroot} in {folder.place}", remedy="Correct the chroot"
        )
    return census


def main(argv: Sequence[str]) -> int:
    """Print the result as JSON; return the exit status of `run`."""
    return run(census_of, argv, "Show what fills a ZooKeeper ensemble.")


def census_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Take a census with these settings. Its time is the latest change in the files.

    Raises PartMoveError for invalid settings and unusable files.
    """
    unknown = sorted(settings.keys() - _SETTINGS)
    if unknown:
        raise EnsembleError(f"The setting {unknown[0]} is unknown", remedy="Remove the setting")
    folder = folder_of(settings.get("files"))
    places = Places(
        check_shard_path(settings.get("coordination_root") or DEFAULT_ROOT),
        check_shard_path(settings.get("ddl_path") or DDL_PATH),
    )
    limits = limits_of(settings)
    clients = None if settings.get("clickhouse") is None else clients_of(settings["clickhouse"])
    census = take_census(folder, places)
    answers = None if clients is None else query_servers(clients)
    return result_of(census, limits, census.newest, answers)


def _start(member: MemberFiles) -> int:
    """Return the offset of the chroot's record in the snapshot, or NOT_IN_SNAPSHOT."""
    top = member.folder.chroot.encode()
    with open_snapshot(member.snapshot) as scan:
        offsets = (offset for offset, path, _data, _stored in scan.records() if path == top)
        return next(offsets, NOT_IN_SNAPSHOT)
