# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Copies of what the tests of the domain need, to be changed without touching the working folder."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from mutants.any_text import blanked
from mutants.mutant import DOMAIN, Mutant, applied

ROOT = Path(__file__).resolve().parents[2]

_COPIED = ("docs", "playbooks", "plugins", "roles", "tests", "pyproject.toml")
_COLLECTION = "build/collections/ansible_collections/olap/partmove"
_LATER_SECONDS = 100


class Tree:
    """One copy; ``root`` stands for the root of the repository.

    sources: file of the domain → its source before its messages were blanked; empty in a copy with messages.
    """

    def __init__(self, root: Path, sources: Mapping[str, str] | None = None) -> None:
        self.root = root
        self.sources = sources or {}

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
        return Tree(root, self.sources)

    def without_messages(self, root: Path) -> Tree:
        """Copy this one, with all messages of the domain blanked, to a folder that is not there yet."""
        copy = self.copy(root)
        paths = sorted(path for path in (root / DOMAIN).rglob("*.py") if path.stat().st_size)
        copy.sources = {str(path.relative_to(root)): path.read_text(encoding="utf-8") for path in paths}
        for name, source in copy.sources.items():
            (root / name).write_text(_blanked(name, source), encoding="utf-8")
        return copy

    @contextmanager
    def changed_by(self, mutant: Mutant) -> Iterator[None]:
        """Have the change of the mutant in the copy for a while. Raises Stale."""
        path = self.root / mutant.path
        source, stat = path.read_text(encoding="utf-8"), path.stat()
        changed = applied(mutant, self.sources.get(mutant.path, source))
        if self.sources:
            changed = _blanked(mutant.path, changed)
        path.write_text(changed, encoding="utf-8")
        # Python goes by the time in seconds when it takes what it compiled for what stands in the file.
        os.utime(path, (stat.st_atime, stat.st_mtime + _LATER_SECONDS))
        try:
            yield
        finally:
            path.write_text(source, encoding="utf-8")
            os.utime(path, (stat.st_atime, stat.st_mtime))


def _blanked(path: str, source: str) -> str:
    # The texts of formats are those of znodes, but for the arguments of errors.
    return blanked(source, only_errors=path.startswith(f"{DOMAIN}/formats/"))
