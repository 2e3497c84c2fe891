# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A store that keeps every znode it is about to delete or change, and tells what it did."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ...tree.delegating import DelegatingStore
from ...tree.ports import ZnodeStore
from ...tree.znodes import Committed, Create, Delete, Multi, Op, Outcome, SetData, Znode
from ...zip_strict import zip_strict

Save = Callable[[str, Sequence[Znode]], None]
"""Keeps the znodes of an ensemble, ``hot`` or ``cold``; what it does not raise for is on disk."""

Announce = Callable[[Sequence[Sequence[str]]], None]
"""Is told what multis are about to write, in words; what it does not raise for is on disk."""


class SavingStore(DelegatingStore):
    """Implements ZnodeStore over another one. ``done`` has what was applied, in words, in order.

    ``announce`` is told, for each multi that is about to be sent, what it writes.
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
        """Keep what the multis delete or change, then send them.

        Each operation names the version that it is for, and what is kept has that version, so what is kept
        is what goes. Raises what ``save`` and ``announce`` raise, with nothing sent.
        """
        made = [*multis]
        versions = {
            op.path: op.version for multi in made for op in multi if isinstance(op, (Delete, SetData))
        }
        paths = sorted(versions)
        found = self.inner.read(paths) if paths else []
        kept = [
            znode
            for path, znode in zip_strict(paths, found)
            if znode is not None and znode.stat.version == versions[path]
        ]
        if kept:
            self._save(self._ensemble, kept)
        told = [[_told(self._ensemble, op) for op in multi if _changes(op)] for multi in made]
        self._announce([words for words in told if words])
        outcomes = self.inner.commit(made)
        for words, outcome in zip_strict(told, outcomes):
            if isinstance(outcome, Committed):
                self._done.extend(words)
        return outcomes


def _changes(op: Op) -> bool:
    return isinstance(op, (Create, Delete, SetData))


def _told(ensemble: str, op: Op) -> str:
    if isinstance(op, Delete):
        return f"{ensemble}: delete {op.path}"
    if isinstance(op, SetData):
        return f"{ensemble}: set {op.path} to {_shown(op.data)}"
    return f"{ensemble}: create {op.path}"


def _shown(data: bytes) -> str:
    return repr(data.decode(errors="backslashreplace")) if len(data) <= _SHORT else f"{len(data)} bytes"


_SHORT = 16
