# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs several readings together: queries of independent readings share a request.

A reading is a generator of steps. The generator yields a query, receives the answer, and finally returns its
result::

    def read_children(path: str) -> Steps[list[Znode]]:
        answer = yield Query(children=[path])
        names = answer.children[0] or ()
        answer = yield Query([f"{path}/{name}" for name in names])
        return [znode for znode in answer.znodes if znode is not None]
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, Generic, TypeVar

from ..zip_strict import zip_strict
from .ports import ZnodeReader
from .znodes import Query, QueryAnswer, Znode

_T = TypeVar("_T")
Steps = Generator[Query, QueryAnswer, _T]


class Reading(Generic[_T]):
    """A generator of queries, and its result."""

    def __init__(self, steps: Steps[_T]) -> None:
        self._steps = steps
        self._results: list[_T] = []

    @property
    def result(self) -> _T:
        """The return value of the generator. Raises IndexError before the end of the reading."""
        return self._results[0]

    @property
    def has_ended(self) -> bool:
        """Whether the generator has returned its result."""
        return bool(self._results)

    def advance(self, answer: QueryAnswer | None) -> Query | None:
        """Send the answer to the previous query, None at first. Returns the next query, None at the end."""
        try:
            return next(self._steps) if answer is None else self._steps.send(answer)
        except StopIteration as end:
            self._results.append(end.value)
            return None


def read_together(reader: ZnodeReader, readings: Sequence[Reading[Any]]) -> None:
    """Run all readings to their end; the next queries of all readings go into one request.

    Queries are answered, and readings advanced, in the order of the readings. So from its second query on, a
    reading may use the results of earlier readings. Raises the errors of the reader and of the readings.
    """
    pending = _advance_all(readings, [None] * len(readings))
    while pending:
        waiting = [reading for reading, _query in pending]
        pending = _advance_all(waiting, reader.ask([query for _reading, query in pending]))


def read_alone(reader: ZnodeReader, steps: Steps[_T]) -> _T:
    """Run one reading to its end and return its result. Raises as `read_together` does."""
    reading = Reading(steps)
    read_together(reader, [reading])
    return reading.result


def read_before(reader: ZnodeReader, steps: Steps[_T], paths: Sequence[str]) -> tuple[_T, list[Znode | None]]:
    """Run one reading, and read the paths behind it as `last_steps` does. Raises as `read_together` does."""
    reading = Reading(steps)
    last = Reading(last_steps(paths, [reading]))
    read_together(reader, [reading, last])
    return reading.result, last.result


def last_steps(paths: Sequence[str], others: Sequence[Reading[Any]]) -> Steps[list[Znode | None]]:
    """Read the paths behind everything that the other readings read; return no znodes if they read nothing.

    To be read together with the other readings, as the last one. Each request has the paths, because it may
    be the last request.
    """
    znodes: list[Znode | None] = []
    while not all(each.has_ended for each in others):
        znodes = (yield Query(paths)).znodes
    return znodes


def ask_one_by_one(reader: ZnodeReader, queries: Sequence[Query]) -> list[QueryAnswer]:
    """Answer queries by separate calls of ``read`` and ``children``."""
    return [
        QueryAnswer(
            reader.read(query.znodes) if query.znodes else [],
            reader.children(query.children) if query.children else [],
        )
        for query in queries
    ]


def _advance_all(
    readings: Sequence[Reading[Any]], answers: Sequence[QueryAnswer | None]
) -> list[tuple[Reading[Any], Query]]:
    """Advance every reading by its answer; return the unfinished readings with their next queries."""
    advanced = [(reading, reading.advance(answer)) for reading, answer in zip_strict(readings, answers)]
    return [(reading, query) for reading, query in advanced if query is not None]
