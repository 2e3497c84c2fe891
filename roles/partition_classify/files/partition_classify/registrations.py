# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Extracts part znodes from the files of a member of ZooKeeper or Keeper, for a repair, without Spark.

``python registrations.py SETTINGS``. SETTINGS is a file with a JSON object: ``files`` of one member, as for
the classification; ``shard_paths``; and ``dest``, the output file.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from olap_partmove._partmove.errors import EnsembleError
from olap_partmove._partmove.formats.layout import ShardLayout
from olap_partmove._partmove.patched.repair.backup import SavedZnode
from olap_partmove._partmove.patched.repair.registrations import encode_header
from olap_partmove._partmove.records import TEXT, FieldType, Record, list_of

from .keeper_files.readable import readable_folders
from .programs import folder_of, log_message, log_skipped_snapshot, run
from .zookeeper_files.folders import DataFolder
from .zookeeper_files.member import NOT_IN_SNAPSHOT, TreeReader, choose_member
from .zookeeper_files.nodes import StoredStat
from .zookeeper_files.replay import LogReplay
from .zookeeper_files.rows import group_of
from .zookeeper_files.snapshot import SnapshotScan

_SETTINGS = Record(
    {
        "files": FieldType(lambda given: given, "the folder of a member"),
        "shard_paths": list_of(TEXT, "a list of paths"),
        "dest": TEXT,
    },
    error=EnsembleError,
)
_REPLICAS = b"/replicas"
_PARTS = "/parts/"


def registrations_in(folder: DataFolder, shard_paths: Sequence[str]) -> Iterator[SavedZnode]:
    """Yield the part znodes of the tables, as of the last logged transaction, or of a snapshot of Keeper.

    Reads snapshot and log twice each, for any number of tables. Raises EnsembleError for unusable files,
    FormatError for an invalid shard path.
    """
    with readable_folders([folder], log_message) as (readable,):
        yield from _registrations_in(readable, shard_paths)


def _registrations_in(folder: DataFolder, shard_paths: Sequence[str]) -> Iterator[SavedZnode]:
    tables = {f"{folder.chroot}{ShardLayout(path).path}".encode() for path in shard_paths}
    replicas_of = {table + _REPLICAS: table for table in sorted(tables)}

    def scan_records(scan: SnapshotScan, _log: LogReplay) -> dict[bytes, tuple[int, int]]:
        return _record_ranges(scan, replicas_of)

    member, ranges = choose_member(folder, lambda _path: False, scan_records, on_skipped=log_skipped_snapshot)
    cut = len(folder.chroot.encode())
    with TreeReader(member, sorted(ranges.values()), lambda path: group_of(path, tables)) as tree:
        for top, table in replicas_of.items():
            for path, data, stored in tree.subtree(
                top, *ranges.get(top, (NOT_IN_SNAPSHOT, NOT_IN_SNAPSHOT)), table
            ):
                text = path[cut:].decode(errors="backslashreplace")
                if _PARTS in text:
                    yield SavedZnode(folder.name, text, data, StoredStat.unpacked(stored).version)


def _record_ranges(scan: SnapshotScan, replicas_of: Collection[bytes]) -> dict[bytes, tuple[int, int]]:
    """Return the content range of each of these subtrees in the snapshot; consumes the whole scan."""
    ranges: dict[bytes, tuple[int, int]] = {}
    top, below, start = b"", b"", NOT_IN_SNAPSHOT
    for offset, path, _data, _stored in scan.records():
        if top and not path.startswith(below):
            ranges[top] = start, offset
            top = b""
        if path in replicas_of:
            top, below, start = path, path + b"/", offset
    if top:
        ranges[top] = start, scan.end_of_records
    return ranges


def main(argv: Sequence[str]) -> int:
    """Print the result as JSON; return the exit status of `run`."""
    return run(write_registrations, argv, "Extract part znodes from files.")


def write_registrations(settings: Mapping[str, Any]) -> dict[str, int]:
    """Write the output file atomically; return its number of znodes.

    Raises PartMoveError for invalid settings and unusable files, and OSError.
    """
    given = _SETTINGS.read(settings, "The settings")
    folder = folder_of(given["files"])
    dest = Path(given["dest"])
    unfinished = dest.with_name(f".{dest.name}.new")
    znodes = 0
    try:
        descriptor = os.open(unfinished, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(encode_header(folder.label))
            for each in registrations_in(folder, given["shard_paths"]):
                file.write(each.encode())
                znodes += 1
        unfinished.replace(dest)
    finally:
        unfinished.unlink(missing_ok=True)
    return {"znodes": znodes}
