# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads part znodes with their children, from an ensemble or a member."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import islice
from typing import TypeVar

from ..errors import FormatError
from ..formats.layout import ShardLayout
from ..formats.names import PartName, known_partition_id_of, parse_part_name, partition_id_of
from ..formats.payload import CHECKSUMS, COLUMNS
from ..formats.znode_text import READ_COLD_ZNODE
from ..tree.ports import ZnodeReader
from ..tree.reading import Steps, read_alone
from ..tree.znodes import Query, Znode
from ..zip_strict import zip_strict
from .facts import RegisteredPart

_T = TypeVar("_T")
_HOT, _COLD = "hot", "cold"
"""The names of the readers of the ensembles; the name of a member's reader is an address."""

_LEGACY_CHILDREN = (CHECKSUMS, COLUMNS)


class PartNames:
    """Lists and parses the part names of one table. Each name is parsed once, whatever its ensemble."""

    def __init__(self, layout: ShardLayout, format_version: int) -> None:
        self._layout = layout
        self._format_version = format_version
        self._known: dict[str, PartName] = {}

    def renew(self, format_version: int) -> None:
        """Forget all names after the table was recreated, with another format version perhaps."""
        self._format_version = format_version
        self._known.clear()

    def by_partition(
        self, reader: ZnodeReader, replicas: Sequence[str]
    ) -> dict[str, dict[str, list[PartName]]]:
        """List the parts: replica → partition id → names. Every replica is a key. Raises FormatError."""
        folders = self.folders(replicas)
        listed = reader.children(folders)
        self.check(reader, folders, listed)
        by_replica: dict[str, dict[str, list[PartName]]] = {replica: {} for replica in replicas}
        for replica, (folder, texts) in zip_strict(replicas, [*zip_strict(folders, listed)]):
            partitions = by_replica[replica]
            for text in texts or ():
                name = self.named(text, folder)
                partitions.setdefault(name.partition_id, []).append(name)
        return by_replica

    def folders(self, replicas: Sequence[str]) -> list[str]:
        """Return the path of ``parts`` of each replica."""
        return [self._layout.replica(name).parts for name in replicas]

    def check(
        self, reader: ZnodeReader, folders: Sequence[str], listed: Sequence[Sequence[str] | None]
    ) -> None:
        """Raise FormatError for an invalid part name. A name in several folders is checked once."""
        checked: set[str] = set()
        for folder, texts in zip_strict(folders, listed):
            for text in texts or ():
                if text not in checked:
                    partition_in(reader, f"{folder}/{text}", text, self._format_version)
                    checked.add(text)

    def partition_of(self, text: str) -> str:
        """Return the partition id of a name that was checked before."""
        return known_partition_id_of(text, self._format_version)

    def named(self, text: str, folder: str) -> PartName:
        """Parse a name, with a cache. Raises FormatError."""
        name = self._known.get(text)
        if name is None:
            name = self._known[text] = parse_part_name(text, self._format_version, folder)
        return name


def parse_name_in(reader: ZnodeReader, path: str, text: str, format_version: int) -> PartName:
    """Parse the name of the part at a path. A FormatError names the cold ensemble or its member."""
    return _parsed_in(reader, path, text, format_version, parse_part_name)


def partition_in(reader: ZnodeReader, path: str, text: str, format_version: int) -> str:
    """Return the partition id of the part at a path. Raises FormatError as `parse_name_in` does."""
    return _parsed_in(reader, path, text, format_version, partition_id_of)


def _parsed_in(
    reader: ZnodeReader, path: str, text: str, format_version: int, parse: Callable[[str, int, str], _T]
) -> _T:
    if reader.name == _HOT:
        return parse(text, format_version, path)
    member = "" if reader.name == _COLD else f", on {reader.name}"
    try:
        return parse(text, format_version, f"{path} in the cold ensemble{member}")
    except FormatError as error:
        raise FormatError(error.message, remedy=READ_COLD_ZNODE) from error


def read_parts(reader: ZnodeReader, parts: Sequence[tuple[str, PartName]]) -> list[RegisteredPart]:
    """Read part znodes with their children. Parts deleted meanwhile are left out."""
    return read_alone(reader, part_steps(parts))


def part_steps(
    parts: Sequence[tuple[str, PartName]], legacy: Collection[str] = ()
) -> Steps[list[RegisteredPart]]:
    """Read as `read_parts` does. ``legacy``: paths of parts expected to have the legacy children."""
    if not parts:
        return []
    expected = {path: _LEGACY_CHILDREN for path, _name in parts if path in legacy}
    answer = (yield Query([*(path for path, _name in parts), *_paths_of(expected)])).znodes
    znodes, early = answer[: len(parts)], _children_of(expected, answer[len(parts) :])
    children = yield from _children_steps(
        [each for each in znodes if each is not None and each.stat.num_children], early
    )
    if not children:
        return [
            RegisteredPart(name, znode, ())
            for znode, (_path, name) in zip_strict(znodes, parts)
            if znode is not None and not znode.stat.num_children
        ]
    return [
        RegisteredPart(name, znode, children.get(znode.path, ()))
        for znode, (_path, name) in zip_strict(znodes, parts)
        if znode is not None and len(children.get(znode.path, ())) >= znode.stat.num_children
    ]


def _children_steps(
    parents: Sequence[Znode], early: Mapping[str, tuple[Znode, ...]]
) -> Steps[dict[str, tuple[Znode, ...]]]:
    """Read the children of part znodes: path of the part → children, sorted by name.

    Servers create only the two legacy children. So these are read by name first, and children are listed only
    if a part has other children. This saves a listing for each part.

    early: legacy children that were read together with their parts.
    """
    usual = {each.path: early[each.path] for each in parents if each.path in early}
    usual |= yield from _named_steps(
        {each.path: _LEGACY_CHILDREN for each in parents if each.path not in early}
    )
    other = [each.path for each in parents if len(usual[each.path]) != each.stat.num_children]
    if not other:
        return usual
    listed = zip_strict(other, (yield Query(children=other)).children)
    return usual | (yield from _named_steps({path: names or () for path, names in listed}))


def _named_steps(names: Mapping[str, Sequence[str]]) -> Steps[dict[str, tuple[Znode, ...]]]:
    """Read the children with these names: path → existing children."""
    paths = _paths_of(names)
    return _children_of(names, (yield Query(paths)).znodes if paths else [])


def _paths_of(names: Mapping[str, Sequence[str]]) -> list[str]:
    return [f"{path}/{name}" for path, children in names.items() for name in children]


def _children_of(
    names: Mapping[str, Sequence[str]], znodes: Sequence[Znode | None]
) -> dict[str, tuple[Znode, ...]]:
    """Group the znodes at `_paths_of` the names by parent, without missing ones."""
    children = iter(znodes)
    return {
        path: tuple(child for child in islice(children, len(texts)) if child is not None)
        for path, texts in names.items()
    }
