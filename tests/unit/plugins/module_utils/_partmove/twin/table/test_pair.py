# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Places identify the tables; the naming of twins decides which table has the name."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.gates import refuse_tables
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    Side,
    TwinReplica,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.table.pair import (
    LocatedTables,
    TableContents,
    TablePair,
    as_twin_tables,
    describe_difference,
    locate_name,
    refuse_databases,
    refuse_pairs,
)
from support.memory.pairs import TWIN
from support.memory.twins import PATH, table_of


def pair(replica: str = "r1", home: str = "hits", away: str = "hits_cold", database: str = "db") -> TablePair:
    return TablePair(
        TwinReplica(replica, ""),
        f"server of {replica}",
        table_of(Side.HOT, replica)._replace(name=home),
        table_of(Side.COLD, replica)._replace(name=away, database=database),
    )


@pytest.mark.parametrize(
    ("home", "away", "at"), [("hits", "hits_cold", Side.HOT), ("hits_cold", "hits", Side.COLD)]
)
def test_the_name_is_that_of_the_table_whose_twin_is_named_after_it(home: str, away: str, at: Side) -> None:
    found = locate_name(pair(home=home, away=away), TWIN)
    assert (str(found), found.twin, found.at) == ("db.hits", "hits_cold", at)


@pytest.mark.parametrize(
    "other", [pair(away="visits"), pair(home="hits_cold", away="hits_cold_hot"), pair(database="other")]
)
def test_names_of_unrelated_tables_are_refused(other: TablePair) -> None:
    with pytest.raises(PartMoveError, match=r"neither is named as \{table\}_cold"):
        locate_name(other, TWIN)


def test_for_moves_the_table_with_the_name_is_hot() -> None:
    exchanged = pair(home="hits_cold", away="hits")
    tables = as_twin_tables(exchanged, Side.COLD)
    assert (tables.hot, tables.cold, tables.home) == (exchanged.away, exchanged.home, Side.COLD)
    assert refuse_tables(PATH, [tables, as_twin_tables(pair("r2", "hits_cold", "hits"), Side.COLD)]) is None
    # Where one replica has exchanged and the other one has not, no partition moves.
    refusal = refuse_tables(PATH, [tables, as_twin_tables(pair("r2"), Side.HOT)])
    assert refusal is not None
    assert "at default:" in refusal.reason


def test_the_table_at_home_must_be_at_the_shard_path() -> None:
    refusal = refuse_tables(
        "/other", [as_twin_tables(pair(), Side.HOT), as_twin_tables(pair("r2"), Side.HOT)]
    )
    assert refusal is not None
    assert "and not at /other of the default ensemble" in refusal.reason


@pytest.mark.parametrize(
    ("engine", "remedy"),
    [
        ("Ordinary", "RENAME the table into it"),
        # A server renames no table out of such a database.
        ("Replicated", "Move its partitions with twin_move"),
        ("Overlay", "RENAME the table into it"),
    ],
)
def test_only_atomic_databases_may_exchange(engine: str, remedy: str) -> None:
    first = pair()
    found = [
        LocatedTables(first.replica, first.server, first.home, None, each) for each in ("Atomic", engine)
    ]
    refuse_databases(found[:1])
    with pytest.raises(PartMoveError, match=f"of the engine {engine}") as error:
        refuse_databases(found)
    assert remedy in error.value.remedy


def test_both_tables_make_a_pair() -> None:
    whole = pair()
    assert LocatedTables(whole.replica, whole.server, whole.home, whole.away, "Atomic").pair == whole
    assert LocatedTables(whole.replica, whole.server, whole.home, None, "Atomic").pair is None


def test_replicas_may_differ_only_in_the_place_of_the_name() -> None:
    assert [each.at for each in refuse_pairs(PATH, [pair(), pair("r2", "hits_cold", "hits")], TWIN)] == [
        Side.HOT,
        Side.COLD,
    ]
    with pytest.raises(PartMoveError, match="and db.hits with hits_cold on server of r1"):
        refuse_pairs(PATH, [pair(), pair("r2", "visits", "visits_cold")], TWIN)
    inactive = pair("r2")
    inactive = inactive._replace(away=inactive.away._replace(active_replicas=1))
    with pytest.raises(PartMoveError, match="1 of 2 replicas active"):
        refuse_pairs(PATH, [pair(), inactive], TWIN)


def test_replicas_with_different_parts_are_described() -> None:
    one, other, empty = TableContents(3, 1, "a"), TableContents(5, 2, "b"), TableContents(0, 0, "0")
    pairs = [pair(), pair("r2")]
    assert describe_difference(pairs, [(one, empty), (one, empty)]) == ""
    text = describe_difference(pairs, [(one, empty), (other, empty)])
    assert text == ("db.hits has 2 parts with 5 rows on server of r2, and 1 with 3 on server of r1")
