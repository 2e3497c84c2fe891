# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Skips znodes that the identity may not read, and reports their paths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from ..errors import AccessDenied, SessionRefused
from .ports import ZnodeReader
from .reading import ask_one_by_one
from .znodes import Query, QueryAnswer, Znode

OnDenied = Callable[[str, AccessDenied], object]
"""Is called with the path of each unreadable znode, whose descendants are unknown, and with the error."""

_T = TypeVar("_T")


class SkipDeniedReader:
    """Implements ZnodeReader: reports unreadable znodes and treats them as missing.

    Raises SessionRefused if the ensemble refuses the session, so that no znode is readable.
    """

    def __init__(self, reader: ZnodeReader, on_denied: OnDenied) -> None:
        self._reader = reader
        self._denied = on_denied

    @property
    def name(self) -> str:
        """The name of the wrapped reader."""
        return self._reader.name

    @property
    def server_id(self) -> int:
        """The server id of the wrapped reader."""
        return self._reader.server_id

    def read(self, paths: Sequence[str], *, absolute: bool = False) -> list[Znode | None]:
        """Read data and stat of each path; None for a missing or unreadable znode."""
        return self._permitted(lambda half: self._reader.read(half, absolute=absolute), paths, None)

    def children(self, paths: Sequence[str]) -> list[tuple[str, ...] | None]:
        """List the children of each path; None for a missing znode, no names for an unreadable znode."""
        return self._permitted(self._reader.children, paths, ())

    def ask(self, queries: Sequence[Query]) -> list[QueryAnswer]:
        """Answer each query as `read` and `children` do."""
        try:
            return self._reader.ask(queries)
        except SessionRefused:
            raise
        except AccessDenied:
            return ask_one_by_one(self, queries)

    def sync(self, path: str) -> None:
        """Make later reads at least as recent as the leader is now."""
        self._reader.sync(path)

    def _permitted(
        self, ask: Callable[[Sequence[str]], list[_T]], paths: Sequence[str], instead: _T
    ) -> list[_T]:
        try:
            return ask(paths)
        except SessionRefused:
            raise
        except AccessDenied as error:
            if len(paths) == 1:
                self._denied(paths[0], error)
                return [instead]
        # One unreadable path makes the whole request fail, and the error does not name the other unreadable
        # paths.
        middle = len(paths) // 2
        return [
            *self._permitted(ask, paths[:middle], instead),
            *self._permitted(ask, paths[middle:], instead),
        ]
