# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A base class for stores that wrap a ZnodeStore and change single methods."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .ports import ZnodeReader, ZnodeStore
from .znodes import Multi, Outcome, Query, QueryAnswer, Znode


class DelegatingStore:
    """Implements ZnodeStore by delegating every method to the wrapped store."""

    def __init__(self, store: ZnodeStore) -> None:
        self.inner = store

    @property
    def name(self) -> str:
        """The name of the ensemble in messages."""
        return self.inner.name

    @property
    def server_id(self) -> int:
        """The id of the server that opened the session."""
        return self.inner.server_id

    @property
    def chroot(self) -> str:
        """The chroot of the connection."""
        return self.inner.chroot

    @property
    def addresses(self) -> tuple[str, ...]:
        """The configured addresses of the connection."""
        return self.inner.addresses

    @property
    def session_id(self) -> int:
        """The id of the current session."""
        return self.inner.session_id

    @property
    def ops_at_once(self) -> int:
        """Operations that a multi should have at most now."""
        return self.inner.ops_at_once

    def members(self) -> Sequence[ZnodeReader]:
        """Return a direct connection to each member."""
        return self.inner.members()

    def sync(self, path: str) -> None:
        """Wait until the server of the session has caught up."""
        self.inner.sync(path)

    def read(self, paths: Sequence[str], *, absolute: bool = False) -> list[Znode | None]:
        """Read data and stat of each path."""
        return self.inner.read(paths, absolute=absolute)

    def children(self, paths: Sequence[str]) -> list[tuple[str, ...] | None]:
        """List the names of the children of each path, sorted."""
        return self.inner.children(paths)

    def ask(self, queries: Sequence[Query]) -> list[QueryAnswer]:
        """Answer each query, in order."""
        return self.inner.ask(queries)

    def commit(self, multis: Iterable[Multi]) -> list[Outcome]:
        """Send the multis and return one outcome each."""
        return self.inner.commit(multis)
