# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads past znodes that the identity may not read, and tells which these are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from ..errors import AccessDenied, SessionRefused
from .ports import ZnodeReader
from .reading import ask_one_by_one
from .znodes import Query, QueryAnswer, Znode

Denied = Callable[[str, AccessDenied], object]
"""Is told the path of each znode that may not be read, and so what may be below it."""

_T = TypeVar("_T")


class SkipDeniedReader:
    """Implements ZnodeReader: what may not be read is told, and is as if it were not there.

    Raises SessionRefused where it is the session that is refused, and nothing may be read.
    """

    def __init__(self, reader: ZnodeReader, denied: Denied) -> None:
        self._reader = reader
        self._denied = denied

    @property
    def name(self) -> str:
        """That of the reader."""
        return self._reader.name

    @property
    def server_id(self) -> int:
        """That of the reader."""
        return self._reader.server_id

    def read(self, paths: Sequence[str], *, absolute: bool = False) -> list[Znode | None]:
        """As a ZnodeReader does; None also where the znode may not be read."""
        return self._permitted(lambda some: self._reader.read(some, absolute=absolute), paths, None)

    def children(self, paths: Sequence[str]) -> list[tuple[str, ...] | None]:
        """As a ZnodeReader does; no names where the znode may not be read."""
        return self._permitted(self._reader.children, paths, ())

    def ask(self, queries: Sequence[Query]) -> list[QueryAnswer]:
        """As a ZnodeReader does, with the answers of `read` and `children`."""
        try:
            return self._reader.ask(queries)
        except SessionRefused:
            raise
        except AccessDenied:
            return ask_one_by_one(self, queries)

    def sync(self, path: str) -> None:
        """As a ZnodeReader does."""
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
        # A batch is refused for one of its paths, and which others may be read is not told.
        middle = len(paths) // 2
        return [
            *self._permitted(ask, paths[:middle], instead),
            *self._permitted(ask, paths[middle:], instead),
        ]
