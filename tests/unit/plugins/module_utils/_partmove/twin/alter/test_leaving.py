# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Dropped partitions leave the ledger of the twin together with the record of the statement."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import LeaseKeeper
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.alter.record import AlterRecords
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.alter.statement import (
    AlterKind,
    Statement,
    truncate,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.entry import (
    BlockRange,
    LedgerEntry,
    TablePlace,
    TwinPair,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.ledger import (
    OpenLedger,
    read_ledger,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side
from support.memory.alters import AlterBench
from support.memory.twins import PATH

ENTRY = LedgerEntry(1, (BlockRange(1, 1),), 0, "000000", "000000", 1, 1)
PAIR = TwinPair(TablePlace("db.hits", "default:/a", {}), TablePlace("db.hits_cold", "cold:/b", {}))


def entered() -> AlterBench:
    """A twin whose ledger has both partitions."""
    bench = AlterBench()
    store = bench.hot.open()
    keeper = LeaseKeeper(store, None, bench.hot.clock, owner="a test", wait_seconds=0)
    lease = keeper.acquire(PATH)
    assert OpenLedger(store, "/partmove", PATH).commit(
        lease, PAIR, {"p1": ENTRY, "p2": ENTRY._replace(ranges=(BlockRange(2, 2),))}
    )
    keeper.release(lease)
    return bench


def listed(bench: AlterBench) -> list[str]:
    ledger = read_ledger(bench.hot.open(), "/partmove", PATH)
    return [] if ledger is None else sorted(ledger.entries)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("DROP PARTITION ID 'p1'", ["p2"]),
        ("DETACH PARTITION ID 'p2'", ["p1"]),
        (truncate(), []),
        ("ADD COLUMN x Int8", ["p1", "p2"]),
        ("UPDATE v = v + 1 WHERE 1", ["p1", "p2"]),
    ],
    ids=str,
)
def test_dropped_partitions_leave_the_ledger(text: str | Statement, left: list[str]) -> None:
    bench = entered()
    bench.run(text)
    assert listed(bench) == left


DELETE = "DELETE WHERE id = 1"


@pytest.mark.parametrize("is_gone", [False, True])
def test_partitions_that_a_delete_empties_leave_the_ledger(is_gone: bool) -> None:
    bench = entered()
    bench.servers.emptied = {"p1": is_gone}
    bench.run(DELETE)
    assert listed(bench) == ["p2"]


def test_a_partition_that_was_lost_before_a_delete_stays_in_the_ledger() -> None:
    bench = entered()
    bench.servers.of[Side.COLD].drop("p2")
    bench.servers.emptied = {"p1": True, "p2": True}
    bench.run(DELETE)
    assert listed(bench) == ["p2"]


def ranges_of(bench: AlterBench) -> dict[str, tuple[BlockRange, ...]]:
    ledger = read_ledger(bench.hot.open(), "/partmove", PATH)
    return {} if ledger is None else {each: entry.ranges for each, entry in ledger.entries.items()}


def of_three_parts() -> AlterBench:
    """The twin has three parts of p1, which an entry lists as one range."""
    bench = entered()
    cold = bench.servers.of[Side.COLD]
    cold.parts["p1"] = [(number, "a row") for number in (1, 2, 3)]
    store = bench.hot.open()
    keeper = LeaseKeeper(store, None, bench.hot.clock, owner="a test", wait_seconds=0)
    lease = keeper.acquire(PATH)
    entry = ENTRY._replace(ranges=(BlockRange(1, 3, 7),))
    assert OpenLedger(store, "/partmove", PATH).commit(lease, PAIR, {"p1": entry})
    keeper.release(lease)
    return bench


@pytest.mark.parametrize("is_gone", [False, True])
def test_a_part_that_a_delete_empties_leaves_the_entry_of_its_partition(is_gone: bool) -> None:
    moment = 0
    while True:
        bench = of_three_parts()
        bench.servers.emptied_blocks = {2: is_gone}
        is_killed = bench.run_killed(DELETE, moment)
        if is_killed:
            bench.run(DELETE)
        assert ranges_of(bench)["p1"] == (BlockRange(1, 1, 7), BlockRange(3, 3, 7))
        if not is_killed:
            break
        moment += 1
    assert moment > 10


def test_a_part_that_was_lost_before_a_delete_stays_in_the_entry() -> None:
    bench = of_three_parts()
    bench.servers.emptied_blocks = {2: True}
    del bench.servers.of[Side.COLD].parts["p1"][2]
    bench.run(DELETE)
    assert ranges_of(bench)["p1"] == (BlockRange(1, 3, 7),)


def test_nothing_leaves_the_ledger_if_the_twin_no_longer_has_the_mutation() -> None:
    """As after the auxiliary ensemble was set back, which takes parts from the twin as well."""
    bench = entered()
    bench.servers.emptied = {"p1": True}
    moment = 0
    while bench.run_killed(DELETE, moment) and not _is_done(bench):
        bench = entered()
        bench.servers.emptied = {"p1": True}
        moment += 1
    bench.servers.of[Side.COLD].killed.add(0)
    bench.run(None)
    assert (bench.is_recorded, listed(bench)) == (False, ["p1", "p2"])


def test_an_update_explains_no_partition_that_the_twin_lost_meanwhile() -> None:
    bench = entered()
    bench.run_killed_at("UPDATE v = v + 1 WHERE 1", "TABLE db.hits_cold", given=False)
    bench.servers.of[Side.COLD].drop("p1")
    bench.run(None)
    assert listed(bench) == ["p1", "p2"]


def _is_done(bench: AlterBench) -> bool:
    stored = AlterRecords(bench.hot.open(), "/partmove", PATH).read()
    return stored is not None and stored.record.done == (Side.HOT, Side.COLD)


def test_partitions_leave_with_the_record_of_a_delete_however_a_run_ends() -> None:
    moment = 0
    while True:
        bench = entered()
        bench.servers.emptied = {"p1": True}
        if not bench.run_killed(DELETE, moment):
            break
        if bench.is_recorded:
            bench.run(None)
            assert listed(bench) == ["p2"]
        moment += 1


def test_they_leave_with_the_record_however_a_run_ends() -> None:
    moment = 0
    while True:
        bench = entered()
        if not bench.run_killed("DROP PARTITION ID 'p1'", moment):
            break
        # An entry without the record would make an audit report a loss.
        assert (listed(bench) == ["p2"]) <= (not bench.is_recorded)
        if bench.is_recorded:
            bench.run(None)
            assert listed(bench) == ["p2"]
        moment += 1


def test_a_partition_without_an_entry_needs_no_change() -> None:
    bench = entered()
    bench.servers.of[next(iter(bench.servers.of))].insert("p3", "a row")
    bench.run(Statement(AlterKind.DROP, "DROP PARTITION ID 'p3'", "p3"))
    assert listed(bench) == ["p1", "p2"]
