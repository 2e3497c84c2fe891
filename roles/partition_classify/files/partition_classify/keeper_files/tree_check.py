# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Checks that the znodes of a snapshot are one tree: each folder by itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..zookeeper_files.damage import DamagedFile
from .damage import damaged
from .folder_merge import StoredPart
from .folder_run import NO_COUNT, FolderPart

# Names that are compared at a time, about 25 MB.
_MOST_NAMES = 200_000


class TreeCheck:
    """Receives all parts of each folder once."""

    def __init__(self, path: Path) -> None:
        """Set up a check without folders. path: the snapshot, for error messages."""
        self._path = path
        self._has_root = False

    def take(self, parts: Sequence[FolderPart | StoredPart]) -> None:
        """Check a folder by all of its parts. Raises DamagedFile.

        - Two znodes have one path.
        - A znode has no parent.
        - A parent has another number of children than its stat says.

        Needs memory for 200,000 names; the names of a larger folder are read several times.
        """
        key = parts[0].key
        owners = [each for each in parts if each.own]
        found = sum(each.number for each in parts)
        if not key:
            self._has_root = bool(owners)
        if not owners:
            first = next(name for each in parts for name in each.names)
            raise self._damaged(
                f"the parent of the znode {_shown(key, first)} is missing, or has no children by its stat"
                if key
                else "the root is missing"
            )
        if len(owners) > 1:
            raise self._present_twice(_shown(key))
        expected = owners[0].children
        self._check_names(parts, found)
        if expected != found and key.replace(b"\0", b"/") not in NO_COUNT:
            raise self._damaged(f"the znode {_shown(key)} should have {expected} children, but has {found}")

    def end(self) -> None:
        """Check that there was a root. Raises DamagedFile."""
        if not self._has_root:
            raise self._damaged("the root is missing")

    def _check_names(self, parts: Sequence[FolderPart | StoredPart], number: int) -> None:
        passes = 1 + number // _MOST_NAMES
        for each in range(passes):
            names: set[bytes] = set()
            expected = 0
            for some in _names(parts, each, passes):
                names.update(some)
                expected += len(some)
            if len(names) != expected:
                counts = Counter(name for some in _names(parts, each, passes) for name in some)
                twice = min(name for name, count in counts.items() if count > 1)
                raise self._present_twice(_shown(parts[0].key, twice))

    def _present_twice(self, path: str) -> DamagedFile:
        return self._damaged(f"the znode {path} is present twice")

    def _damaged(self, problem: str) -> DamagedFile:
        return damaged(self._path, None, problem)


def _names(parts: Sequence[FolderPart | StoredPart], number: int, of: int) -> Iterator[list[bytes]]:
    """Yield the names of each part; of several passes, the names that belong to one of them."""
    for part in parts:
        yield part.names if of == 1 else [name for name in part.names if hash(name) % of == number]


def _shown(key: bytes, name: bytes | None = None) -> str:
    path = key.replace(b"\0", b"/") + (b"" if name is None else b"/" + name)
    return path.decode(errors="backslashreplace") or "/"
