# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The calls of a kazoo client over an ensemble in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import parent_of
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Check,
    Committed,
    Create,
    Delete,
    Op,
    SetData,
    Stat,
    Znode,
)
from support.memory.memory import MemoryStore


class MemoryClient:
    """The calls of a kazoo client that the builders of tables use, over a memory ensemble."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    def create(self, path: str, data: bytes = b"", ephemeral: bool = False, makepath: bool = False) -> str:
        """Create a znode, with its parents where asked."""
        if makepath:
            self.ensure_path(parent_of(path))
        self._apply(Create(path, data, ephemeral))
        return path

    def ensure_path(self, path: str) -> None:
        """Create the znode and its parents where they are missing."""
        if path != "/" and self.exists(path) is None:
            self.ensure_path(parent_of(path))
            self._apply(Create(path, b""))

    def exists(self, path: str) -> Znode | None:
        """Return the znode, or None."""
        return self._store.read([path])[0]

    def get(self, path: str) -> tuple[bytes, Stat]:
        """Return data and stat of a znode that is there."""
        znode = self._there(path)
        return znode.data, znode.stat

    def get_children(self, path: str) -> list[str]:
        """Return the names of the children of a znode that is there."""
        names = self._store.children([path])[0]
        assert names is not None, f"no {path}"
        return list(names)

    def sync(self, path: str) -> None:
        """Let the member of the session catch up."""
        self._store.sync(path)

    def set(self, path: str, data: bytes) -> None:
        """Write the data, whatever version it has."""
        self._apply(SetData(path, data, self._there(path).stat.version))

    def delete(self, path: str, recursive: bool = False) -> None:
        """Delete a znode, with all below it where asked."""
        if recursive:
            for name in self.get_children(path):
                self.delete(f"{path}/{name}", recursive=True)
        self._apply(Delete(path, self._there(path).stat.version))

    def transaction(self) -> MemoryTransaction:
        """Begin a multi."""
        return MemoryTransaction(self)

    def apply(self, ops: Sequence[Op]) -> None:
        """Apply operations that must not be rejected, all at once."""
        self._apply(*ops)

    def version(self, path: str) -> int:
        """Return the data version of a znode that is there."""
        return self._there(path).stat.version

    def _there(self, path: str) -> Znode:
        znode = self.exists(path)
        assert znode is not None, f"no {path}"
        return znode

    def _apply(self, *ops: Op) -> None:
        outcome = self._store.commit([ops])[0]
        assert isinstance(outcome, Committed), f"{outcome} of {ops}"


class MemoryTransaction:
    """The calls of a kazoo transaction that the builders of tables use."""

    def __init__(self, client: MemoryClient) -> None:
        self._client = client
        self._ops: list[Op] = []

    def create(self, path: str, value: bytes = b"", ephemeral: bool = False) -> None:
        """Add the creation of a znode."""
        self._ops.append(Create(path, value, ephemeral))

    def set_data(self, path: str, value: bytes, version: int = -1) -> None:
        """Add a write; version -1 stands for the one that the znode has now."""
        self._ops.append(SetData(path, value, self._client.version(path) if version < 0 else version))

    def delete(self, path: str, version: int = -1) -> None:
        """Add a deletion; version -1 stands for the one that the znode has now."""
        self._ops.append(Delete(path, self._client.version(path) if version < 0 else version))

    def check(self, path: str, version: int) -> None:
        """Add the check of a version."""
        self._ops.append(Check(path, version))

    def commit(self) -> list[Any]:
        """Apply all; raises AssertionError when they are rejected."""
        self._client.apply(self._ops)
        return []
