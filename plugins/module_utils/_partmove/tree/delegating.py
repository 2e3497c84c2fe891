# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A store that hands everything on to another one, for those that do something more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .ports import ZnodeReader, ZnodeStore
from .znodes import Multi, Outcome, Query, QueryAnswer, Znode


class DelegatingStore:
    """Implements ZnodeStore over another one; every method does what that of the other one does."""

    def __init__(self, store: ZnodeStore) -> None:
        self.below = store

    @property
    def name(self) -> str:
        """What messages call the ensemble."""
        return self.below.name

    @property
    def server_id(self) -> int:
        """The id of the server that opened the session."""
        return self.below.server_id

    @property
    def chroot(self) -> str:
        """The chroot of the connection."""
        return self.below.chroot

    @property
    def addresses(self) -> tuple[str, ...]:
        """The addresses that the connection was given."""
        return self.below.addresses

    @property
    def session_id(self) -> int:
        """The session in use now."""
        return self.below.session_id

    def members(self) -> Sequence[ZnodeReader]:
        """A direct connection to each member."""
        return self.below.members()

    def sync(self, path: str) -> None:
        """Wait until the server of the session has caught up."""
        self.below.sync(path)

    def read(self, paths: Sequence[str], *, absolute: bool = False) -> list[Znode | None]:
        """Data and stat of each path."""
        return self.below.read(paths, absolute=absolute)

    def children(self, paths: Sequence[str]) -> list[tuple[str, ...] | None]:
        """Names of the children of each path, sorted."""
        return self.below.children(paths)

    def ask(self, queries: Sequence[Query]) -> list[QueryAnswer]:
        """The answers to each query, in order."""
        return self.below.ask(queries)

    def commit(self, multis: Iterable[Multi]) -> list[Outcome]:
        """Send the multis; one outcome each."""
        return self.below.commit(multis)
