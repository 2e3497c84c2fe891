# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Readings that are taken together, so that what does not depend on each other takes one request.

The steps of a reading are a generator: it yields a query, is sent what was found, and in the end returns what
that says::

    def read_children(path: str) -> Steps[list[Znode]]:
        found = yield Query(children=[path])
        names = found.children[0] or ()
        found = yield Query([f"{path}/{name}" for name in names])
        return [znode for znode in found.znodes if znode is not None]
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, Generic, TypeVar

from ..zip_strict import zip_strict
from .ports import ZnodeReader
from .znodes import Query, QueryAnswer

_T = TypeVar("_T")
Steps = Generator[Query, QueryAnswer, _T]


class Reading(Generic[_T]):
    """Something to be found out of an ensemble."""

    def __init__(self, steps: Steps[_T]) -> None:
        self._steps = steps
        self._results: list[_T] = []

    @property
    def result(self) -> _T:
        """What was found out; only to be asked for when the reading has come to its end."""
        return self._results[0]

    def advance(self, found: QueryAnswer | None) -> Query | None:
        """Take the answers to the query before, none at first; return the next one, None at the end."""
        try:
            return next(self._steps) if found is None else self._steps.send(found)
        except StopIteration as end:
            self._results.append(end.value)
            return None


def read_together(reader: ZnodeReader, readings: Sequence[Reading[Any]]) -> None:
    """Take all readings to their end, the next query of each in one go.

    The queries are answered in the order of the readings, and each reading gets its answer before those that
    come after it: these may rely on its result from their second query on. Raises what the reader raises, and
    what the readings do.
    """
    asked = _asked(readings, [None] * len(readings))
    while asked:
        waiting = [reading for reading, _query in asked]
        asked = _asked(waiting, reader.ask([query for _reading, query in asked]))


def read_alone(reader: ZnodeReader, steps: Steps[_T]) -> _T:
    """Take one reading to its end and return what it found out. Raises as `read_together` does."""
    reading = Reading(steps)
    read_together(reader, [reading])
    return reading.result


def ask_one_by_one(reader: ZnodeReader, queries: Sequence[Query]) -> list[QueryAnswer]:
    """Answer queries by ``read`` and ``children``, each in a request of its own."""
    return [
        QueryAnswer(
            reader.read(query.znodes) if query.znodes else [],
            reader.children(query.children) if query.children else [],
        )
        for query in queries
    ]


def _asked(
    readings: Sequence[Reading[Any]], answers: Sequence[QueryAnswer | None]
) -> list[tuple[Reading[Any], Query]]:
    """Give each its answer; those that go on, with what they ask next."""
    nexts = [(reading, reading.advance(found)) for reading, found in zip_strict(readings, answers)]
    return [(reading, query) for reading, query in nexts if query is not None]
