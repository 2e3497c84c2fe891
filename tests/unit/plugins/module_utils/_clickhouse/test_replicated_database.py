# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is refused there; tests/integration/test_twin_cluster.py has such databases of real servers."""

from __future__ import annotations

from typing import Any, cast

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.client import ClickHouseClient
from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.replicated_database import (
    refuse_new_twin,
    refuse_several_shards,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import TwinTable

TABLE = TwinTable("db", "hits", "default", "/t/01", "r1", "", ("a",), 1, 1)


class Answers:
    """Answers in place of a server, in their order."""

    label = "the server"

    def __init__(self, *answers: str) -> None:
        self._answers = list(answers)

    def rows(self, _sql: str) -> list[list[Any]]:
        return [[self._answers.pop(0)]]


def server(*answers: str) -> ClickHouseClient:
    return cast("ClickHouseClient", Answers(*answers))


def test_a_table_gets_no_twin_in_a_replicated_database() -> None:
    refuse_new_twin(server("Atomic"), TABLE)
    with pytest.raises(
        PartMoveError, match="the server: the database db is of the engine Replicated"
    ) as error:
        refuse_new_twin(server("Replicated"), TABLE)
    assert error.value.remedy.startswith("Create the table anew in a database of the engine Atomic")


@pytest.mark.parametrize(("shards", "number"), [("2", "2"), ("0", "an unknown number of")])
def test_a_move_in_a_database_of_several_shards_is_refused(shards: str, number: str) -> None:
    refuse_several_shards(server("Atomic"), TABLE)
    refuse_several_shards(server("Replicated", "1"), TABLE)
    with pytest.raises(PartMoveError, match=f"of the engine Replicated with {number} shards") as error:
        refuse_several_shards(server("Replicated", shards), TABLE)
    assert error.value.remedy.startswith("Create the table anew in a database of the engine Atomic")
