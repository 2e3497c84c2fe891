# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Takes the registrations of parts from the files of a ZooKeeper member, for a repair, without Spark.

``python registrations.py SETTINGS``. The settings are a file with a JSON object: ``files`` of one member, as
for the classification; ``shard_paths``; and ``dest``, the file to write.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from olap_partmove._partmove.envelope import json_object
from olap_partmove._partmove.errors import EnsembleError, PartMoveError
from olap_partmove._partmove.formats.layout import ShardLayout
from olap_partmove._partmove.records import TEXT, Record, Value, list_of
from olap_partmove._partmove.repair.backup import SavedZnode
from olap_partmove._partmove.repair.registrations import encode_header

from .zookeeper_files.damage import DamagedFile
from .zookeeper_files.folders import DataFolder, folders_of
from .zookeeper_files.member import NOT_THERE, Tree, choose_member
from .zookeeper_files.nodes import Stored
from .zookeeper_files.replay import Replay
from .zookeeper_files.snapshot import SnapshotScan

_SETTINGS = Record(
    {
        "files": Value(lambda given: given, "the folder of a member"),
        "shard_paths": list_of(TEXT, "a list of paths"),
        "dest": TEXT,
    },
    error=EnsembleError,
)
_PARTS = "/parts/"


def registrations_in(folder: DataFolder, shard_paths: Sequence[str]) -> Iterator[SavedZnode]:
    """The znodes that register parts of the tables, as they were after the last transaction in the log.

    The snapshot is read twice, and the log once more for each table. Raises EnsembleError for files that
    cannot be used, FormatError for what is no shard path.
    """
    tops = {
        f"{folder.chroot}{ShardLayout(path).replicas}".encode(): path for path in sorted(set(shard_paths))
    }

    def look(scan: SnapshotScan, _log: Replay) -> tuple[dict[bytes, int], int]:
        starts = {path: offset for offset, path, _data, _stored in scan.records() if path in tops}
        return starts, scan.end_of_records

    member, (starts, end) = choose_member(folder, lambda _path: False, look, passed_over=_passed_over)
    cut = len(folder.chroot.encode())
    for top in tops:
        start = starts.get(top, NOT_THERE)
        ranges = [] if start == NOT_THERE else [(start, end)]
        with Tree(member, ranges, partial(_group, top)) as tree:
            for path, data, stored in tree.subtree(top, start, end, top):
                text = path[cut:].decode(errors="backslashreplace")
                if _PARTS in text:
                    yield SavedZnode(folder.name, text, data, Stored.unpacked(stored).version)


def main(argv: Sequence[str]) -> int:
    """Write the file; the exit status is 0, or 1 after one sentence on stderr."""
    parser = argparse.ArgumentParser(prog="registrations.py", description="Take registrations from files.")
    parser.add_argument("settings", type=Path, help="a file with the settings, a JSON object")
    path = parser.parse_args(argv).settings
    try:
        written = write_registrations(json_object(path.read_bytes()))
    except PartMoveError as error:
        _tell(str(error))
        return 1
    except (OSError, ValueError) as error:
        _tell(f"{error}.")
        return 1
    json.dump(written, sys.stdout)
    sys.stdout.write("\n")
    return 0


def write_registrations(settings: Mapping[str, Any]) -> dict[str, int]:
    """Write the file that the settings ask for, in one step, and count its znodes.

    Raises PartMoveError for settings that cannot be, and for files that cannot be used, and OSError.
    """
    given = _SETTINGS.read(settings, "The settings")
    folders = folders_of("hot", given["files"])
    if len(folders) != 1:
        raise EnsembleError("The files of several ensembles were given", remedy="Give those of one member")
    dest = Path(given["dest"])
    unfinished = dest.with_name(f".{dest.name}.new")
    znodes = 0
    try:
        descriptor = os.open(unfinished, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(encode_header(folders[0].label))
            for each in registrations_in(folders[0], given["shard_paths"]):
                file.write(each.encode())
                znodes += 1
        unfinished.replace(dest)
    finally:
        unfinished.unlink(missing_ok=True)
    return {"znodes": znodes}


def _group(top: bytes, path: bytes) -> bytes | None:
    return top if path == top or path.startswith(top + b"/") else None


def _passed_over(error: DamagedFile) -> None:
    _tell(f"{error.message}; an older snapshot is read instead")


def _tell(message: str) -> None:
    sys.stderr.write(f"registrations: {message}\n")
