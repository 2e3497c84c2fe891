# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Readings that run together: number of requests, and results of earlier readings."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.reading import (
    Reading,
    Steps,
    ask_one_by_one,
    read_alone,
    read_before,
    read_together,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Query,
    QueryAnswer,
    SetData,
)
from support.memory.client import MemoryClient
from support.memory.memory import MemoryEnsemble, MemoryStore


class Noting(MemoryStore):
    """Keeps the queries of each request."""

    def __init__(self) -> None:
        super().__init__(MemoryEnsemble("hot"))
        self.requests: list[list[Query]] = []

    def ask(self, queries: Sequence[Query]) -> list[QueryAnswer]:
        self.requests.append([*queries])
        return super().ask(queries)


@pytest.fixture
def store() -> Noting:
    noting = Noting()
    client = MemoryClient(noting)
    for path in ("/a/1", "/a/2", "/b"):
        client.create(path, path.encode(), makepath=True)
    return noting


def below(path: str) -> Steps[list[bytes]]:
    """The data of all children."""
    names = (yield Query(children=[path])).children[0] or ()
    if not names:
        return []
    found = yield Query([f"{path}/{name}" for name in names])
    return [znode.data for znode in found.znodes if znode is not None]


def knows(path: str, other: Reading[list[bytes]]) -> Steps[tuple[bool, list[bytes]]]:
    """Whether there is a znode, and what another reading found."""
    found = yield Query([path])
    return found.znodes[0] is not None, other.result


def nothing() -> Steps[str]:
    """A reading without queries."""
    yield from ()
    return "nothing"


def test_independent_readings_share_requests(store: Noting) -> None:
    first, second, third = Reading(below("/a")), Reading(below("/b")), Reading(nothing())

    read_together(store, [first, second, third])

    assert (first.result, second.result, third.result) == ([b"/a/1", b"/a/2"], [], "nothing")
    assert store.requests == [
        [Query(children=["/a"]), Query(children=["/b"])],
        [Query(["/a/1", "/a/2"])],
    ]


def test_a_reading_uses_results_of_earlier_readings(store: Noting) -> None:
    empty = Reading(below("/b"))
    after = Reading(knows("/a", empty))

    read_together(store, [empty, after])

    assert after.result == (True, [])
    assert len(store.requests) == 1


def test_last_znodes_are_read_behind_everything_else(store: Noting) -> None:
    """They are in each request, and those of the last request count."""
    asked = store.ask

    def ask(queries: Sequence[Query]) -> list[QueryAnswer]:
        store.commit([(SetData("/b", f"request {len(store.requests)}".encode(), len(store.requests)),)])
        return asked(queries)

    store.ask = ask  # type: ignore[method-assign]
    found, (last,) = read_before(store, below("/a"), ["/b"])
    assert found == [b"/a/1", b"/a/2"]
    assert last is not None
    assert last.data == b"request 1"
    assert store.requests == [
        [Query(children=["/a"]), Query(["/b"])],
        [Query(["/a/1", "/a/2"]), Query(["/b"])],
    ]


def test_last_znodes_are_not_read_where_nothing_else_is(store: Noting) -> None:
    assert read_before(store, nothing(), ["/b"]) == ("nothing", [])
    assert store.requests == []


def test_no_readings_send_no_request(store: Noting) -> None:
    read_together(store, [])
    assert read_alone(store, nothing()) == "nothing"
    assert store.requests == []


def test_an_error_of_a_reading_ends_all_readings(store: Noting) -> None:
    def refuses() -> Steps[None]:
        yield Query(["/a"])
        raise KeyError("not understood")

    later = Reading(below("/a"))
    with pytest.raises(KeyError):
        read_together(store, [Reading(refuses()), later])
    with pytest.raises(IndexError):
        _never = later.result


def test_queries_one_by_one(store: Noting) -> None:
    assert ask_one_by_one(store, [Query(), Query(children=["/a", "/c"]), Query(["/c"])]) == [
        QueryAnswer([], []),
        QueryAnswer([], [("1", "2"), None]),
        QueryAnswer([None], []),
    ]
