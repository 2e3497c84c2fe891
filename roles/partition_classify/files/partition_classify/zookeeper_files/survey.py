# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Finds the shard paths in the files of all ensembles, with their location in each snapshot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from olap_partmove._partmove.errors import EnsembleError

from .damage import DamagedFile
from .folders import DataFolder
from .member import MemberFiles, choose_member
from .snapshot import open_snapshot
from .tables import FoundTable, TableRecords, find_in_cold, find_tables, marks_a_shard


class TableFiles(NamedTuple):
    """Files of a member, and the location of a shard path's records in its snapshot."""

    member: MemberFiles
    records: TableRecords


class SurveyedTable(NamedTuple):
    """A shard path below the chroot, with its files in hot, and in cold if present."""

    shard_path: str
    hot: TableFiles
    cold: TableFiles | None


def survey(
    hot: Sequence[DataFolder],
    cold: Sequence[DataFolder],
    root: str,
    *,
    on_skipped: Callable[[DamagedFile], None],
    older_snapshot: bool = False,
    processes: int = 1,
) -> list[SurveyedTable]:
    """Return the shard paths at and below ``root``. Reads each snapshot and log once.

    ``on_skipped``, ``older_snapshot``: see `choose_member`. ``processes``: see `SnapshotScan.selected`.

    Raises EnsembleError:

    - for unusable files;
    - for a shard path in two hot folders, or in two cold folders;
    - when a hot folder has no table.
    """
    choose = partial(choose_member, on_skipped=on_skipped, older_snapshot=older_snapshot)
    in_hot: dict[str, tuple[MemberFiles, FoundTable]] = {}
    for folder in hot:
        scan_hot = partial(find_tables, folder=folder, root=root, processes=processes)
        member, tables = choose(folder, marks_a_shard, scan_hot)
        for table in tables:
            if table.shard_path in in_hot:
                raise _duplicate_path(table.shard_path, in_hot[table.shard_path], (member, table))
            in_hot[table.shard_path] = (member, table)
        if not tables:
            raise _no_tables(member, root)
    definitions = {
        f"{member.folder.chroot}{path}/metadata".encode(): table.origin
        for path, (member, table) in in_hot.items()
    }
    in_cold: dict[str, TableFiles] = {}
    for folder in cold:
        scan_cold = partial(
            find_in_cold, folder=folder, shard_paths=in_hot, definitions=definitions, processes=processes
        )
        member, records_by_path = choose(folder, marks_a_shard, scan_cold)
        for path, records in records_by_path.items():
            if path in in_cold:
                raise _duplicate_in_cold(path, in_cold[path].member, member)
            in_cold[path] = TableFiles(member, records)
    return [
        SurveyedTable(path, TableFiles(member, table.records), in_cold.get(path))
        for path, (member, table) in in_hot.items()
    ]


def _duplicate_path(
    path: str, first: tuple[MemberFiles, FoundTable], second: tuple[MemberFiles, FoundTable]
) -> EnsembleError:
    folders = " and ".join(member.folder.place for member, _table in (first, second))
    if first[1].origin == second[1].origin:
        return EnsembleError(
            f"{folders} belong to members of one ensemble: the same transaction created {path} in both",
            remedy="Give one member of each ensemble",
        )
    return EnsembleError(
        f"The shard path {path} is in two ensembles, {folders}: a plan could not distinguish the two tables",
        remedy="Classify the ensembles one after the other, each with its own plan",
    )


def _duplicate_in_cold(path: str, first: MemberFiles, second: MemberFiles) -> EnsembleError:
    return EnsembleError(
        f"The shard path {path} is in two folders of cold, {first.folder.place} and {second.folder.place}",
        remedy="Give one member of each ensemble",
    )


def _no_tables(member: MemberFiles, root: str) -> EnsembleError:
    if root != "/" and not _exists(member, root):
        return EnsembleError(
            f"There is no znode {root} in the hot ensemble",
            remedy="Give a path above all tables, without the chroot of the connection",
        )
    return EnsembleError(
        f"There is no replicated table at or below {root} in the hot ensemble",
        remedy="Give a root that the shard paths of the tables begin with",
    )


def _exists(member: MemberFiles, path: str) -> bool:
    znode = f"{member.folder.chroot}{path}".encode()
    change = member.replay(lambda each: each == znode).changes.get(znode)
    with open_snapshot(member.snapshot) as scan:
        in_snapshot = any(path == znode for _offset, path, _data, _stored in scan.records())
    if change is None:
        return in_snapshot
    return change.created is not None or (in_snapshot and not change.replaced)
