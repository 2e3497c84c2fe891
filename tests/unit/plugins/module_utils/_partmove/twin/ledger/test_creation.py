# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""No empty twin is created in place of a twin that a ledger lists rows of."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError, PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import SetData
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.creation import (
    NewTwin,
    refuse_new_twin_of_ledger,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.ledger import path_of_ledger
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side
from support.memory.ledgers import entered, tables_of_replicas
from support.memory.twin_audits import MemoryWitnesses
from support.memory.twins import PATH, TwinBench, Twins

OTHER = "/tables/01/other"


class Ground:
    def __init__(self) -> None:
        self.bench = TwinBench(Twins(("a", "b"), at=Side.COLD))
        self.witnesses = MemoryWitnesses(self.bench.servers)

    def refuse(self, shard_path: str = PATH, place: str = f"cold:{PATH}") -> None:
        tables = [(each.replica, each.hot) for each in tables_of_replicas()]
        new = NewTwin(shard_path, place, tables)
        refuse_new_twin_of_ledger(self.bench.hot.open(), "/partmove", self.witnesses, new)

    def reason(self, shard_path: str = PATH, place: str = f"cold:{PATH}") -> str:
        with pytest.raises(PartMoveError) as caught:
            self.refuse(shard_path, place)
        assert "dropped on purpose" in caught.value.remedy
        return caught.value.message


@pytest.fixture
def ground() -> Ground:
    return Ground()


def test_without_a_ledger_twins_are_created(ground: Ground) -> None:
    ground.refuse()


def test_a_ledger_of_the_shard_path_refuses_an_empty_twin(ground: Ground) -> None:
    entered(ground.bench, ground.witnesses)
    assert ground.reason() == (
        f"The ledger lists 1 partition in the twin db.hits_cold at cold:{PATH}, and a new twin of db.hits"
        " would be empty"
    )
    ground.witnesses.uuids = {}
    assert "lists 1 partition" in ground.reason(place="cold:/elsewhere")


def test_the_twin_of_a_renamed_table_is_named(ground: Ground) -> None:
    entered(ground.bench, ground.witnesses)
    ground.witnesses.others = {"db.old_cold": "cold-r2"}
    assert ground.reason().endswith("would be empty; db.old_cold has this UUID now")


def test_the_ledger_of_another_shard_path_is_found_by_the_uuid(ground: Ground) -> None:
    entered(ground.bench, ground.witnesses)
    ground.witnesses.others = {"db.old_cold": "cold-r1"}
    assert ground.reason(OTHER, "cold:/elsewhere") == (
        f"The ledger of {PATH} lists 1 partition in the twin db.hits_cold at cold:{PATH}, and a new twin of"
        " db.hits would be empty; db.old_cold has this UUID now"
    )


def test_the_ledger_of_another_shard_path_is_found_by_the_place(ground: Ground) -> None:
    entered(ground.bench, ground.witnesses)
    ground.witnesses.uuids["db.hits"] = "new"
    assert f"The ledger of {PATH} lists" in ground.reason(OTHER, f"cold:{PATH}")
    ground.refuse(OTHER, "cold:/elsewhere")


def test_an_unreadable_ledger_refuses_every_new_twin(ground: Ground) -> None:
    entered(ground.bench, ground.witnesses)
    path = path_of_ledger("/partmove", PATH)
    ground.bench.hot.open().commit([(SetData(path, b"something", 0),)])
    with pytest.raises(FormatError, match=path):
        ground.refuse()
