# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Checks that the znodes of a snapshot are one tree, on their way in the order of their keys."""

from __future__ import annotations

from pathlib import Path

from ..zookeeper_files.damage import DamagedFile
from .damage import damaged
from .znodes import ZnodeEntry

# Keeper leaves out what is below its own znode, and does not verify the number of children of the root.
_UNCOUNTED = frozenset({b"", b"\0keeper"})


class TreeCheck:
    """Receives every znode of a snapshot once; needs memory for the ancestors of one znode."""

    def __init__(self, path: Path) -> None:
        """Set up an empty tree. path: the snapshot, for error messages."""
        self._path = path
        # The ancestors of the latest znode from the root on, and the znode: key, number of children by its
        # stat, children so far.
        self._keys: list[bytes] = []
        self._expected: list[int] = []
        self._found: list[int] = []

    def take(self, entry: ZnodeEntry) -> None:
        """Check the next znode. Raises DamagedFile.

        - Two znodes have one path.
        - A znode has no parent.
        - A parent has another number of children than its stat says.
        """
        key, children = entry.key, entry.children
        keys = self._keys
        if keys:
            if key == keys[-1]:
                raise self._damaged(f"the znode {_shown(key)} is present twice")
            depth = key.count(b"\0")
            if len(keys) < depth or keys[depth - 1] != key.rpartition(b"\0")[0]:
                raise self._damaged(f"the parent of the znode {_shown(key)} is missing")
            while len(keys) > depth:
                self._leave()
            self._found[-1] += 1
        elif key:
            raise self._damaged("the root is missing")
        keys.append(key)
        self._expected.append(children)
        self._found.append(0)

    def end(self) -> None:
        """Check the number of children of the last ancestors. Raises DamagedFile."""
        while self._keys:
            self._leave()

    def _leave(self) -> None:
        key, expected, found = self._keys.pop(), self._expected.pop(), self._found.pop()
        if expected != found and key not in _UNCOUNTED:
            raise self._damaged(f"the znode {_shown(key)} should have {expected} children, but has {found}")

    def _damaged(self, problem: str) -> DamagedFile:
        return damaged(self._path, None, problem)


def _shown(key: bytes) -> str:
    return key.replace(b"\0", b"/").decode(errors="backslashreplace") or "/"
