# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A table without a twin at the given place counts as being at home only if nothing says that it left."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import ensure_path
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.ledger import path_of_ledger
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.moves import MoveLedgers
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.table.table_refused import (
    TableRefused,
)
from support.memory.interleaving import Script
from support.memory.pairs import PairBench
from support.memory.twin_audits import MemoryWitnesses
from support.memory.twins import DAY, PATH, REPLICAS

ROOT = "/partmove"


@pytest.fixture
def bench() -> PairBench:
    return PairBench(("a",), ("b",))


def went_home(bench: PairBench, *lacking: str) -> bool:
    """Whether the way home is finished without a step; raises if the table may have left."""
    bench.pairs.lacking = set(lacking or REPLICAS)
    whole = bench.whole(Side.HOT)
    assert not whole.find_tables()
    return whole.report.is_finished


def test_a_table_that_never_left_is_finished(bench: PairBench) -> None:
    assert went_home(bench)


def test_a_table_that_came_home_is_finished_once_its_twin_is_dropped(bench: PairBench) -> None:
    for side in (Side.COLD, Side.HOT):
        assert bench.move(side).is_finished
    assert went_home(bench)


def test_a_twin_that_only_some_replicas_lack_is_refused(bench: PairBench) -> None:
    """Rows may be in the twin, and the run would leave them there for ever."""
    whole = bench.whole(Side.COLD)
    whole.find_tables()
    whole.move_before()
    assert bench.twins.tables[Side.COLD].rows
    with pytest.raises(
        TableRefused, match=f"server of r2 has no twin of db.hits .{PATH}., and other"
    ) as refused:
        went_home(bench, "r2")
    assert refused.value.remedy == "Create it there with twin_table, and run again"


def test_a_name_that_was_exchanged_is_refused(bench: PairBench) -> None:
    """The options of the rollback are of another ensemble than those of the move."""
    bench.move(Side.COLD)
    with pytest.raises(
        TableRefused, match="/partmove/exchanges/.*says that the name went to another"
    ) as refused:
        went_home(bench)
    assert "has no twin at the place of the options" in str(refused.value)
    assert refused.value.remedy.startswith("Give ensemble, path and twin as in the move")


def test_the_record_of_an_exchange_is_enough(bench: PairBench) -> None:
    """Whatever the table at home is named since."""
    bench.move(Side.COLD)
    bench.pairs.at = dict.fromkeys(REPLICAS, Side.HOT)
    with pytest.raises(TableRefused, match="/partmove/exchanges/.*says that the name went to another"):
        went_home(bench)


def test_a_table_with_the_name_of_a_twin_is_refused(bench: PairBench) -> None:
    """The names were exchanged by hand, so there is no record."""
    bench.pairs.at = dict.fromkeys(REPLICAS, Side.COLD)
    with pytest.raises(TableRefused, match="db.hits_cold .*it is named as the twin of db.hits"):
        went_home(bench)


def test_a_twin_at_another_place_is_refused(bench: PairBench) -> None:
    bench.pairs.elsewhere = "db.hits_cold in the ensemble keeper"
    with pytest.raises(TableRefused, match="db.hits_cold in the ensemble keeper may be the other table"):
        went_home(bench)


def test_a_partition_between_the_tables_is_refused(bench: PairBench) -> None:
    bench.servers.silent_after = lambda statement: statement.startswith("attach")
    bench.run(Side.COLD)
    assert bench.records
    bench.servers.script = Script()
    with pytest.raises(
        TableRefused, match=f"partition {DAY} is between the table and its twin, says /partmove"
    ):
        went_home(bench)


def test_partitions_of_a_ledger_are_refused(bench: PairBench) -> None:
    bench.ledgers = MoveLedgers(MemoryWitnesses(bench.servers))
    bench.run(Side.COLD)
    with pytest.raises(TableRefused, match="/partmove/twin-ledger/.*lists partitions in its twin at cold:"):
        went_home(bench)


def test_a_ledger_that_cannot_be_read_is_not_taken_for_none(bench: PairBench) -> None:
    ensure_path(bench.hot.open(), path_of_ledger(ROOT, PATH))
    with pytest.raises(FormatError):
        went_home(bench)
