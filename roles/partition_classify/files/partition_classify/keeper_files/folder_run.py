# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Znodes in memory, by their parent: what is sorted are parents, of which an ensemble has few."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

ROOT = b""
"""The path of the root, as in a snapshot of ZooKeeper."""
NO_COUNT = frozenset({ROOT, b"/keeper"})
"""Znodes whose stat does not count the children in a snapshot: Keeper leaves out what is below its own znode,
and does not verify the number of the root."""

# Memory of a znode beside its bytes: objects of record and name, and their places in lists.
_ZNODE_BYTES = 200
# Memory of a parent: path, two lists and their place.
_FOLDER_BYTES = 600
_SLASH = ord("/")

Folder: TypeAlias = tuple[list[bytes], list[bytes]]
"""The names of all children that were read, and the records of those of them that have no children."""
_EMPTY: Folder = ([], [])
_NO_RECORD = (b"", 0)


class FolderPart(NamedTuple):
    """What one run has of a znode with children, and of these children.

    key: the path, with a zero byte for each slash; empty for the root. Keys sort as a tree is walked: what is
        below a znode directly follows the znode.
    own: the record of the znode itself; empty if the run does not have it.
    children: the number of children by the stat of the znode; 0 without ``own``.
    names, records: of the `Folder`, all names and all records.
    """

    key: bytes
    own: bytes
    children: int
    names: list[bytes]
    records: list[bytes]

    @property
    def number(self) -> int:
        """The number of names."""
        return len(self.names)

    def joined_records(self) -> bytes:
        """Return all records in one piece."""
        return b"".join(self.records)


class FolderRun:
    """Znodes that were read, until they take too much memory.

    folders: by the path of the parent. Only paths that are valid, and not that of the root.
    """

    def __init__(self) -> None:
        self.folders: dict[bytes, Folder] = {}
        self._top: Folder = ([], [])
        self._own: dict[bytes, tuple[bytes, int]] = {}
        self._bytes = 0

    @property
    def size(self) -> int:
        """About how many bytes of memory the run takes."""
        return self._bytes + _FOLDER_BYTES * (len(self.folders) + len(self._own))

    def count(self, znodes: int, size: int) -> None:
        """Note that this many znodes of this many bytes were read into the run."""
        self._bytes += size + _ZNODE_BYTES * znodes

    def folder(self, parent: bytes) -> Folder | None:
        """Return the folder of a parent; None for the root and for invalid paths."""
        folder = self.folders.get(parent)
        if folder is None and parent and not is_no_path(parent):
            folder = self.folders[parent] = ([], [])
        return folder

    def add(self, path: bytes, record: bytes, children: int) -> bool:
        """Add a znode with a valid path; for the root, ROOT. Return False if the run has the znode already.

        A znode without children that is present twice is accepted.
        """
        parent, _slash, name = path.rpartition(b"/")
        names, records = (self.folder(parent) if parent else None) or self._top
        if path != ROOT:
            names.append(name)
        if children or path in NO_COUNT:
            return self.add_parent(path, record, children)
        records.append(record)
        return True

    def add_parent(self, path: bytes, record: bytes, children: int) -> bool:
        """Add the record of a znode that has children. Return False if the run has the znode already."""
        is_new = path not in self._own
        self._own[path] = record, children
        return is_new

    def parts(self) -> Iterator[FolderPart]:
        """Yield what the run has, in the order of the keys."""
        folders, own = self.folders, self._own
        if self._top[0]:
            folders = {**folders, ROOT: self._top}
        for path in sorted({*folders, *own}, key=_key):
            record, children = own.get(path, _NO_RECORD)
            names, records = folders.get(path, _EMPTY)
            yield FolderPart(_key(path), record, children, names, records)

    def clear(self) -> None:
        """Forget all znodes."""
        self.folders.clear()
        self._own.clear()
        self._top = ([], [])
        self._bytes = 0


def _key(path: bytes) -> bytes:
    return path.replace(b"/", b"\0")


def is_no_path(path: bytes) -> bool:
    """Return whether the path is none of a znode; the root has none either."""
    return path[:1] != b"/" or path[-1] == _SLASH or b"//" in path or b"\0" in path
