# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the files of all ensembles have between them: which shard paths, and where in which file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from olap_partmove._partmove.errors import EnsembleError

from .damage import DamagedFile
from .folders import DataFolder
from .member import Member, choose_member
from .snapshot import open_snapshot
from .tables import FoundTable, Place, find_in_cold, find_tables, marks_a_shard


class Files(NamedTuple):
    """The files of a member, and where in its snapshot a shard path is."""

    member: Member
    place: Place


class Table(NamedTuple):
    """A shard path, below the chroot, and where it is in hot, and in cold if it is there."""

    shard_path: str
    hot: Files
    cold: Files | None


def survey(
    hot: Sequence[DataFolder],
    cold: Sequence[DataFolder],
    root: str,
    *,
    passed_over: Callable[[DamagedFile], None],
    older_snapshot: bool = False,
) -> list[Table]:
    """The shard paths at and below ``root``; each snapshot and log is gone over once.

    ``passed_over`` and ``older_snapshot`` are as for `choose_member`. Raises EnsembleError for files that
    cannot be used, for a shard path that is in two folders of hot or of cold, or when there is none.
    """
    choose = partial(choose_member, passed_over=passed_over, older_snapshot=older_snapshot)
    found: dict[str, tuple[Member, FoundTable]] = {}
    for folder in hot:
        look = partial(find_tables, folder=folder, root=root)
        member, tables = choose(folder, marks_a_shard, look)
        for table in tables:
            if table.shard_path in found:
                raise _twice(table.shard_path, found[table.shard_path], (member, table))
            found[table.shard_path] = (member, table)
        if not tables:
            raise _no_tables(member, root)
    definitions = {
        f"{member.folder.chroot}{path}/metadata".encode(): table.origin
        for path, (member, table) in found.items()
    }
    in_cold: dict[str, Files] = {}
    for folder in cold:
        look_in_cold = partial(find_in_cold, folder=folder, shard_paths=found, definitions=definitions)
        member, places = choose(folder, marks_a_shard, look_in_cold)
        for path, place in places.items():
            if path in in_cold:
                raise _twice_in_cold(path, in_cold[path].member, member)
            in_cold[path] = Files(member, place)
    return [
        Table(path, Files(member, table.place), in_cold.get(path)) for path, (member, table) in found.items()
    ]


def _twice(path: str, first: tuple[Member, FoundTable], second: tuple[Member, FoundTable]) -> EnsembleError:
    folders = " and ".join(member.folder.data_dir for member, _table in (first, second))
    if first[1].origin == second[1].origin:
        return EnsembleError(
            f"{folders} are of members of one ensemble: {path} is in both, created by the same transaction",
            remedy="Give one member of each ensemble",
        )
    return EnsembleError(
        f"The shard path {path} is in two ensembles, {folders}, and a plan could not tell its tables apart",
        remedy="Classify them one after the other, each to a plan of its own",
    )


def _twice_in_cold(path: str, first: Member, second: Member) -> EnsembleError:
    return EnsembleError(
        f"The shard path {path} is in two folders of cold, {first.folder.data_dir} and"
        f" {second.folder.data_dir}",
        remedy="Give one member of each ensemble",
    )


def _no_tables(member: Member, root: str) -> EnsembleError:
    if root != "/" and not _is_there(member, root):
        return EnsembleError(
            f"There is no znode {root} in the hot ensemble",
            remedy="Give the path that all tables lie below, without the chroot of the connection",
        )
    return EnsembleError(
        f"There is no replicated table at or below {root} in the hot ensemble",
        remedy="Give a root that the shard paths of the tables begin with",
    )


def _is_there(member: Member, path: str) -> bool:
    znode = f"{member.folder.chroot}{path}".encode()
    change = member.replay(lambda each: each == znode).changes.get(znode)
    with open_snapshot(member.snapshot) as scan:
        in_snapshot = any(path == znode for _offset, path, _data, _stored in scan.records())
    if change is None:
        return in_snapshot
    return change.created is not None or (in_snapshot and not change.replaced)
