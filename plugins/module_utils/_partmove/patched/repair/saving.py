# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A store that saves every znode before its deletion or change, with what the write leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Union

from ...tree.delegating import DelegatingStore
from ...tree.ports import ZnodeStore
from ...tree.znodes import Committed, Create, Delete, Multi, Op, Outcome, SetData
from ...zip_strict import zip_strict
from .backup import DELETED, Left, SavedZnode, WrittenZnode

SavedWrite = Union[SavedZnode, WrittenZnode]

Save = Callable[[Sequence[SavedWrite]], None]
"""Saves znodes with what the next writes leave of them. When it returns, they are on disk."""

Announce = Callable[[Sequence[Sequence[str]]], None]
"""Takes the planned writes in words, one list per multi. When it returns, they are on disk."""


class SavingStore(DelegatingStore):
    """Implements ZnodeStore over another store. ``done`` collects the applied writes in words, in order.

    ``announce`` gets the planned writes of each multi before it is sent.
    """

    def __init__(
        self, store: ZnodeStore, ensemble: str, save: Save, announce: Announce, done: list[str]
    ) -> None:
        super().__init__(store)
        self._ensemble = ensemble
        self._save = save
        self._announce = announce
        self._done = done

    def commit(self, multis: Iterable[Multi]) -> list[Outcome]:
        """Save the znodes to be deleted or changed, announce the writes, then send the multis.

        Each operation names a version, and a znode is saved only with this version. So the saved data is
        exactly the overwritten data. Raises the errors of ``save`` and ``announce`` with nothing sent.
        """
        made = [*multis]
        saved = self._saved([op for multi in made for op in multi])
        if saved:
            self._save(saved)
        writes = [[_in_words(self._ensemble, op) for op in multi if _changes(op)] for multi in made]
        self._announce([words for words in writes if words])
        outcomes = self.inner.commit(made)
        for words, outcome in zip_strict(writes, outcomes):
            if isinstance(outcome, Committed):
                self._done.extend(words)
        return outcomes

    def _saved(self, ops: Sequence[Op]) -> list[SavedWrite]:
        """Return the znodes to be deleted or changed, and the writes to znodes of this commit itself.

        An operation whose version does not fit will be rejected: it leaves nothing, and overwrites nothing.
        """
        paths = sorted({op.path for op in ops if isinstance(op, (Delete, SetData))})
        current = dict(zip_strict(paths, self.inner.read(paths) if paths else []))
        versions = {path: None if znode is None else znode.stat.version for path, znode in current.items()}
        saved: list[SavedWrite] = []
        for op in ops:
            if isinstance(op, Create):
                left = Left(op.data, 0)
            elif isinstance(op, (Delete, SetData)) and versions[op.path] == op.version:
                left = DELETED if isinstance(op, Delete) else Left(op.data, op.version + 1)
            else:
                continue
            znode = None if isinstance(op, Create) else current[op.path]
            current[op.path] = None
            versions[op.path] = None if left is DELETED else left.version
            if znode is None:
                saved.append(WrittenZnode(self._ensemble, op.path, left))
            else:
                saved.append(SavedZnode.of(self._ensemble, znode, left))
        return saved


def _changes(op: Op) -> bool:
    return isinstance(op, (Create, Delete, SetData))


def _in_words(ensemble: str, op: Op) -> str:
    if isinstance(op, Delete):
        return f"{ensemble}: delete {op.path}"
    if isinstance(op, SetData):
        return f"{ensemble}: set {op.path} to {_shown(op.data)}"
    return f"{ensemble}: create {op.path}"


def _shown(data: bytes) -> str:
    return repr(data.decode(errors="backslashreplace")) if len(data) <= _SHORT else f"{len(data)} bytes"


_SHORT = 16
