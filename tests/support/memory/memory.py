# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Ensembles in memory: the overlay of check mode over an empty tree, shared by any number of sessions.

``tests/integration/test_memory.py`` shows that they answer as a real ensemble does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ansible_collections.olap.partmove.plugins.module_utils._partmove.aligned import aligned
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.overlay import OverlayStore
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import parent_of
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Check,
    Committed,
    Create,
    Delete,
    Multi,
    Op,
    Outcome,
    SetData,
    Stat,
    Znode,
)

START = 1_600_000_000.0
"""What the clock says at first, in seconds since 1970."""


class ManualClock:
    """Implements Clock; time passes when somebody sleeps, or by hand."""

    def __init__(self, now: float = START) -> None:
        self.time = now

    def now(self) -> float:
        """Seconds since 1970."""
        return self.time

    def sleep(self, seconds: float) -> None:
        """Let the time pass."""
        self.time += seconds


class _Nothing:
    """Implements ZnodeStore for a tree that has the root only and is never written to."""

    chroot = ""
    server_id = 1

    def __init__(self, name: str) -> None:
        self.name = name
        self.addresses = (f"{name}.example:2181",)
        self.session_id = 0

    def read(self, paths: Sequence[str], *, absolute: bool = False) -> list[Znode | None]:
        root = Znode("/", b"", Stat(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
        return [root if path == "/" else None for path in paths]

    def children(self, paths: Sequence[str]) -> list[tuple[str, ...] | None]:
        return [() if path == "/" else None for path in paths]

    def sync(self, path: str) -> None:
        """Nothing lags behind."""

    def commit(self, multis: Sequence[Multi]) -> list[Outcome]:
        raise NotImplementedError("an overlay writes nothing to what lies below it")

    def members(self) -> Sequence[_Nothing]:
        return [self]


class MemoryEnsemble:
    """The tree of one ensemble; `open` gives a session with it."""

    def __init__(self, name: str, clock: ManualClock | None = None) -> None:
        self.name = name
        self.clock = clock or ManualClock()
        self._nothing = _Nothing(name)
        self._overlay = OverlayStore(self._nothing, self.clock)
        self._times: dict[str, tuple[int, int]] = {}
        self._sessions = 0

    def open(self) -> MemoryStore:
        """Return a store with a session of its own."""
        return MemoryStore(self)

    def new_session(self) -> int:
        """Return the id of a session that nobody else has."""
        self._sessions += 1
        return self._sessions

    def end_session(self, session_id: int) -> None:
        """Delete the ephemeral znodes of a session, as when it expires."""
        for path, znode in self.tree().items():
            if znode.stat.ephemeral_owner == session_id:
                self.commit(session_id, (Delete(path, znode.stat.version),))

    def commit(self, session_id: int, multi: Multi) -> Outcome:
        """Apply one multi."""
        self._nothing.session_id = session_id
        outcome = self._overlay.commit([multi])[0]
        self._overlay.written.clear()
        if isinstance(outcome, Committed):
            for op in multi:
                self._times.pop(op.path, None)
        return outcome

    def set_time(self, path: str, seconds: float) -> None:
        """Make a znode look as if it had been created and written at that time."""
        self._times[path] = (int(seconds * 1000), int(seconds * 1000))

    def read(self, paths: Sequence[str]) -> list[Znode | None]:
        """As a ZnodeReader does."""
        return [self._timed(znode) for znode in self._overlay.read(paths)]

    def children(self, paths: Sequence[str]) -> list[tuple[str, ...] | None]:
        """As a ZnodeReader does."""
        return self._overlay.children(paths)

    def tree(self, path: str = "/") -> dict[str, Znode]:
        """Every znode at and below the path, parents first."""
        found: dict[str, Znode] = {}
        level = [path]
        while level:
            found |= {each.path: each for each in self.read(level) if each is not None}
            listed = aligned(level, self.children(level))
            level = [f"{each.rstrip('/')}/{name}" for each, names in listed for name in names or ()]
        return found

    def data(self, path: str = "/") -> dict[str, bytes]:
        """Path → data of every znode at and below the path."""
        return {each: znode.data for each, znode in self.tree(path).items()}

    def _timed(self, znode: Znode | None) -> Znode | None:
        if znode is None or znode.path not in self._times:
            return znode
        ctime, mtime = self._times[znode.path]
        return znode._replace(stat=znode.stat._replace(ctime=ctime, mtime=mtime))


class MemoryStore:
    """Implements ZnodeStore."""

    chroot = ""
    server_id = 1

    def __init__(self, ensemble: MemoryEnsemble) -> None:
        self.ensemble = ensemble
        self.session_id = ensemble.new_session()

    @property
    def name(self) -> str:
        """What messages call the ensemble."""
        return self.ensemble.name

    @property
    def addresses(self) -> tuple[str, ...]:
        """An address that differs from that of every other ensemble."""
        return (f"{self.ensemble.name}.example:2181",)

    def expire(self) -> None:
        """End the session; the next request begins a new one."""
        self.ensemble.end_session(self.session_id)
        self.session_id = self.ensemble.new_session()

    def read(self, paths: Sequence[str], *, absolute: bool = False) -> list[Znode | None]:
        """As a ZnodeReader does; there is no chroot, so that every path is absolute."""
        return self.ensemble.read(paths)

    def children(self, paths: Sequence[str]) -> list[tuple[str, ...] | None]:
        """As a ZnodeReader does."""
        return self.ensemble.children(paths)

    def sync(self, path: str) -> None:
        """Nothing lags behind."""

    def commit(self, multis: Sequence[Multi]) -> list[Outcome]:
        """Apply the multis in order."""
        return [self.ensemble.commit(self.session_id, multi) for multi in multis]

    def members(self) -> Sequence[MemoryStore]:
        """The one member."""
        return [self]


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
        """Nothing to wait for: there is one member only."""

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
