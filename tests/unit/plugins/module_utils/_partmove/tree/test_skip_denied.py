# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Unreadable znodes are skipped; readable znodes of the same request are read."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    AccessDenied,
    EnsembleUnreachable,
    SessionRefused,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.skip_denied import SkipDeniedReader
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Create,
    Query,
    QueryAnswer,
    Znode,
)
from support.memory.bench import HookedStore
from support.memory.memory import MemoryEnsemble

PATHS = [f"/n{number}" for number in range(7)]


class Fixture:
    """An ensemble of seven znodes with a child each; the ``denied`` paths are unreadable."""

    def __init__(self, *denied: str) -> None:
        self.store = HookedStore(MemoryEnsemble("hot"))
        for path in PATHS:
            self.store.commit([(Create(path, path.encode()), Create(f"{path}/x", b""))])
        self.store.denied = set(denied)
        self.reported: list[str] = []
        self.reader = SkipDeniedReader(self.store, self._report)

    def _report(self, path: str, error: AccessDenied) -> None:
        assert error.message.endswith(path)
        self.reported.append(path)


def data(found: Sequence[Znode | None]) -> list[bytes | None]:
    return [None if each is None else each.data for each in found]


@pytest.mark.parametrize("denied", [[], ["/n0"], ["/n6"], ["/n0", "/n3", "/n4"], PATHS], ids=len)
def test_each_path_has_its_answer(denied: list[str]) -> None:
    made = Fixture(*denied)
    expected = [None if path in denied else path.encode() for path in PATHS]
    assert data(made.reader.read([*PATHS, "/none"])) == [*expected, None]
    assert made.reported == denied
    made.reported.clear()
    names = [() if path in denied else ("x",) for path in PATHS]
    assert made.reader.children([*PATHS, "/none"]) == [*names, None]
    assert made.reported == denied


def test_queries_are_answered_the_same() -> None:
    made = Fixture("/n1", "/n5/x")
    query = Query(["/n0", "/n1", "/n5/x"], ["/n1", "/n2"])
    found = made.reader.ask([query, Query(["/n6"])])
    assert [data(each.znodes) for each in found] == [[b"/n0", None, None], [b"/n6"]]
    assert [each.children for each in found] == [[(), ("x",)], []]
    assert made.reported == ["/n1", "/n5/x", "/n1"]


def test_readable_paths_take_one_request() -> None:
    made = Fixture()
    asked: list[Sequence[Query]] = []

    def ask(queries: Sequence[Query]) -> list[QueryAnswer]:
        asked.append(queries)
        return [QueryAnswer([], []) for _query in queries]

    made.store.ask = ask  # type: ignore[method-assign]
    queries = [Query(["/n0"]), Query(children=["/n1"])]
    assert len(made.reader.ask(queries)) == 2
    assert asked == [queries]


@pytest.mark.parametrize("kind", [SessionRefused, EnsembleUnreachable])
def test_a_refused_or_lost_session_is_raised(
    kind: type[SessionRefused | EnsembleUnreachable],
) -> None:
    made = Fixture()

    def refuse(_paths: Sequence[object]) -> list[object]:
        raise kind("The session was refused")

    made.store.listing = refuse
    made.store.ask = refuse  # type: ignore[method-assign,assignment]
    with pytest.raises(kind):
        made.reader.children(PATHS)
    with pytest.raises(kind):
        made.reader.ask([Query(["/n0"])])
    assert made.reported == []


def test_name_and_server_id_come_from_the_wrapped_reader() -> None:
    made = Fixture()
    synced: list[str] = []
    made.store.sync = synced.append  # type: ignore[method-assign,assignment]
    made.reader.sync("/n0")
    assert (synced, made.reader.name, made.reader.server_id) == (["/n0"], "hot", made.store.server_id)
