# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Copies of what the tests of the domain need, to be changed without touching the working folder."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mutants.mutant import Mutant, applied

ROOT = Path(__file__).resolve().parents[2]

_COPIED = ("docs", "playbooks", "plugins", "roles", "tests", "pyproject.toml")
_COLLECTION = "build/collections/ansible_collections/olap/partmove"
_LATER_SECONDS = 100


class Tree:
    """One copy; ``root`` stands for the root of the repository."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @classmethod
    def of_the_repository(cls, root: Path) -> Tree:
        """Copy the repository to a folder that is not there yet."""
        for name in _COPIED:
            source, target = ROOT / name, root / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "output"))
            else:
                shutil.copy2(source, target)
        link = root / _COLLECTION
        link.parent.mkdir(parents=True)
        link.symlink_to(os.path.relpath(root, link.parent))
        return cls(root)

    def copy(self, root: Path) -> Tree:
        """Copy this one, and what Python has compiled of it, to a folder that is not there yet."""
        shutil.copytree(self.root, root, symlinks=True)
        return Tree(root)

    @contextmanager
    def changed_by(self, mutant: Mutant) -> Iterator[None]:
        """Have the change of the mutant in the copy for a while. Raises Stale."""
        path = self.root / mutant.path
        source, stat = path.read_text(encoding="utf-8"), path.stat()
        path.write_text(applied(mutant, source), encoding="utf-8")
        # Python goes by the time in seconds when it takes what it compiled for what stands in the file.
        os.utime(path, (stat.st_atime, stat.st_mtime + _LATER_SECONDS))
        try:
            yield
        finally:
            path.write_text(source, encoding="utf-8")
            os.utime(path, (stat.st_atime, stat.st_mtime))
