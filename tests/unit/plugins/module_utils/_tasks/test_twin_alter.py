# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""twin_alter over ensembles and servers in memory."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError, PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side
from ansible_collections.olap.partmove.plugins.module_utils._tasks.twin_alter import TwinAlter
from support.memory.alters import ModelAlters
from support.memory.bench import Bench
from support.memory.client import MemoryClient
from support.memory.resources import MemoryResources

PATHS = ["/t/1", "/t/2"]
DEFAULTS: dict[str, Any] = {
    "hot": {},
    "coordination_root": "/partmove",
    "lock_wait": "0",
    "clickhouse": {"endpoints": {}},
    "twin": "{table}_cold",
    "ensemble": "cold",
    "path": "{path}_cold",
    "journal": "",
    "shard_paths": PATHS,
    "alter": None,
    "truncate": False,
    "rename": None,
    "wait": "1s",
}


class Given:
    """Two shard paths, and servers that have the same tables for both."""

    def __init__(self) -> None:
        self.bench = Bench()
        self.servers = ModelAlters()
        client = MemoryClient(self.bench.hot_ensemble.open())
        for path in PATHS:
            for replica in ("r1", "r2"):
                client.create(f"{path}/replicas/{replica}/host", b"host: x\n", makepath=True)

    def alter(self, *, check_mode: bool = False, **options: Any) -> TwinAlter:
        params = DEFAULTS | options
        task = TwinAlter(params, self.servers)
        resources = MemoryResources(self.bench, params, check_mode=check_mode)
        resources.clock.now = self.bench.clock.now  # type: ignore[method-assign]
        resources.clock.sleep = self.bench.clock.sleep  # type: ignore[method-assign]
        task.run(resources)
        assert resources.opened == ["hot"]
        return task


@pytest.fixture
def given() -> Given:
    return Given()


def test_a_statement_is_executed_on_each_shard_path_and_shown_before(given: Given) -> None:
    foretold = given.alter(alter="UPDATE v = 1 WHERE 1", check_mode=True).result()
    assert given.servers.executed == []
    done = given.alter(alter="UPDATE v = 1 WHERE 1")
    answer = done.result()
    assert (answer["changed"], done.failure) == (True, "")
    assert answer["msg"] == "4 statements executed on 2 shard paths"
    assert foretold["msg"] == "4 statements would be executed on 2 shard paths"
    assert [each["shard_path"] for each in answer["altered"]] == PATHS
    assert answer["diff"]["after"].count("\n") == foretold["diff"]["after"].count("\n") == 4
    assert [given.servers.of[side].updates for side in Side] == [2, 2]


def test_without_a_statement_nothing_is_executed(given: Given) -> None:
    answer = given.alter().result()
    assert (answer["changed"], answer["msg"]) == (False, "0 statements executed on 2 shard paths")


def test_a_failed_shard_path_does_not_stop_the_others(given: Given) -> None:
    # The second ADD finds the column, because the model has the same tables for both.
    task = given.alter(alter="ADD COLUMN x Int8")
    answer = task.result()
    assert [each["shard_path"] for each in answer["failed_shard_paths"]] == ["/t/2"]
    assert task.failure.startswith("1 of 2 shard paths failed. x already exists. Neither table was changed.")


def test_a_statement_that_no_server_understands_is_refused_before_any_is_executed(given: Given) -> None:
    with pytest.raises(PartMoveError, match="Syntax error"):
        given.alter(alter="SYNTAX error")


def test_a_truncate_needs_no_text(given: Given) -> None:
    given.servers.of[Side.HOT].insert("p1", "a row")
    assert given.alter(truncate=True).result()["altered"][0]["statements"] == ["TRUNCATE TABLE db.hits"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"alter": "DROP COLUMN a; DROP TABLE b"}, "has a comment, a semicolon"),
        ({"alter": "ON CLUSTER c DROP COLUMN a"}, "begins with ON"),
        ({"alter": " "}, "is empty"),
        ({"wait": "long"}, "wait is 'long'"),
        ({"shard_paths": ["t"]}, "t"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(FormatError, match=says):
        TwinAlter(DEFAULTS | options)
