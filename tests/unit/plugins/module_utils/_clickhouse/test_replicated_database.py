# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Paths with macros; tests/integration/test_twin_cluster.py has them of real servers."""

from __future__ import annotations

from typing import Any, cast

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.client import ClickHouseClient
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.replicated_database import (
    SharedPath,
    creation_settings,
    shared_path,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError, PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import TwinTable

UUID = "8cfe1554-452e-4983-a877-fa2535502405"


class Answers:
    """Answers in place of a server, in their order."""

    label = "the server"

    def __init__(self, *answers: list[list[Any]]) -> None:
        self._answers = list(answers)

    def rows(self, _sql: str) -> list[list[Any]]:
        return self._answers.pop(0)


def found(path: str, replica: str, engine: str, database: str = "Replicated") -> SharedPath | None:
    """What is found of a table at this path, whose engine is written so."""
    client = cast("ClickHouseClient", Answers([[database]], [[UUID]]))
    return shared_path(client, TwinTable("db", "hits", "default", path, replica, "", 1, 1), engine)


@pytest.mark.parametrize(
    ("path", "replica", "engine", "shared"),
    [
        (
            f"/clickhouse/tables/{UUID}/01",
            "r1",
            "('/clickhouse/tables/{uuid}/{shard}', '{replica}')",
            (f"/clickhouse/tables/{UUID}/{{shard}}", "{replica}"),
        ),
        (
            "/t/db/hits/01/01",
            "a",
            "('/t/{database}/{table}/{s}/{s}', '{r}', v)",
            ("/t/db/hits/{s}/{s}", "{r}"),
        ),
        ("/t/01-r1", "01-r1", "('/t/{s}-{r}', '{s}-{r}')", ("/t/{s}-{r}", "{s}-{r}")),
        ("/t/it's", "r", r"('/t/it\'s', '{r}')", ("/t/it's", "{r}")),
    ],
)
def test_the_macros_of_shards_and_replicas_stay_and_others_are_those_of_the_table(
    path: str, replica: str, engine: str, shared: tuple[str, str]
) -> None:
    assert found(path, replica, f"ReplicatedMergeTree{engine} ORDER BY d") == shared


@pytest.mark.parametrize(
    ("path", "replica", "engine"),
    [
        ("/t/01", "r1", "('/u/{shard}', '{replica}')"),
        ("/t/01/02", "r1", "('/t/{shard}/{shard}', '{replica}')"),
        ("/t/01", "r1", "('/t/{shard}', '{shard}')"),
        ("/t/01", "r1", "('/t/{shard}', 'r2')"),
    ],
)
def test_macros_that_do_not_give_the_path_are_refused(path: str, replica: str, engine: str) -> None:
    with pytest.raises(PartMoveError, match=r"the server: the engine of db\.hits has the path") as error:
        found(path, replica, f"ReplicatedMergeTree{engine} ORDER BY d")
    assert error.value.remedy.startswith("Create the twin by hand")


def test_an_engine_without_a_path_is_refused() -> None:
    with pytest.raises(FormatError, match=r"The engine of db\.hits has no path"):
        found("/t/01", "r1", "ReplicatedMergeTree ORDER BY d")


def test_other_databases_have_no_such_path() -> None:
    assert found("/t/01", "r1", "ReplicatedMergeTree ORDER BY d", "Atomic") is None


def test_a_version_without_the_setting_does_not_get_it() -> None:
    assert creation_settings(cast("ClickHouseClient", Answers([]))) == {}
    name = "database_replicated_allow_replicated_engine_arguments"
    assert creation_settings(cast("ClickHouseClient", Answers([[name]]))) == {name: 1}
