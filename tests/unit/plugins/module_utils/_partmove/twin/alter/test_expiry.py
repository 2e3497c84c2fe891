# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Expiry times in the ledger follow the TTL, so that only the TTL explains what it drops."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.names import parse_names
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import LeaseKeeper
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.alter.expiry import (
    changes_ttl,
    expiry_of,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.alter.statement import (
    AlterKind,
    Statement,
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

PAIR = TwinPair(TablePlace("db.hits", "default:/a", {}), TablePlace("db.hits_cold", "cold:/b", {}))
HOT, COLD = "ALTER TABLE db.hits ", "ALTER TABLE db.hits_cold "


def entered(ttl: str = "") -> AlterBench:
    """Two partitions in the twin, of the times 100 and 200, at the time 150, in the ledger as of this TTL."""
    bench = AlterBench()
    servers = bench.servers
    for side in Side:
        servers.of[side].ttl = ttl
    if ttl:
        servers.noted = {each: day + int(ttl) for each, day in servers.days.items()}
    store = bench.hot.open()
    keeper = LeaseKeeper(store, None, bench.hot.clock, owner="a test", wait_seconds=0)
    lease = keeper.acquire(PATH)
    entries = {
        each: LedgerEntry(
            1, (BlockRange(number, number, servers.noted.get(each, 0)),), 0, "0" * 6, "0" * 6, 1, 1
        )
        for number, each in ((1, "p1"), (2, "p2"))
    }
    assert OpenLedger(store, "/partmove", PATH).commit(lease, PAIR, entries)
    keeper.release(lease)
    return bench


def times(bench: AlterBench) -> dict[str, int]:
    """The expiry times in the ledger."""
    ledger = read_ledger(bench.hot.open(), "/partmove", PATH)
    assert ledger is not None
    return {each: blocks.expires for each, entry in ledger.entries.items() for blocks in entry.ranges}


def lost(bench: AlterBench) -> list[str]:
    """Partitions that the twin lacks, and whose expiry does not explain it."""
    gone = {"p1", "p2"} - set(bench.servers.of[Side.COLD].parts)
    return sorted(each for each in gone if not 0 < times(bench)[each] <= bench.servers.time)


STATEMENTS = [
    ("", "MODIFY TTL 30", {"p1": 130, "p2": 230}),
    ("90", "MODIFY TTL 30", {"p1": 130, "p2": 230}),
    ("60", "MODIFY TTL 90", {"p1": 190, "p2": 290}),
    ("60", "REMOVE TTL", {"p1": 0, "p2": 0}),
    ("60", "MATERIALIZE TTL", {"p1": 160, "p2": 260}),
]


@pytest.mark.parametrize("materializes", [True, False])
@pytest.mark.parametrize(("before", "text", "after"), STATEMENTS)
def test_times_become_those_of_the_new_ttl(
    before: str, text: str, after: dict[str, int], materializes: bool
) -> None:
    bench = entered(before)
    bench.servers.materializes = materializes
    noted = dict(bench.servers.noted)
    bench.run(text)
    if noted and not materializes and text == "MODIFY TTL 90":
        # The parts are dropped by the former TTL.
        after = noted
    assert (times(bench), lost(bench), bench.is_recorded) == (after, [], False)


@pytest.mark.parametrize(("before", "text", "after"), STATEMENTS)
@pytest.mark.parametrize("time", [150, 165, 195])
def test_nothing_that_the_ttl_drops_is_lost_however_a_run_ends(
    before: str, text: str, after: dict[str, int], time: int
) -> None:
    moment = 0
    while True:
        bench = entered(before)
        is_killed = bench.run_killed(text, moment)
        bench.servers.time = time
        bench.servers.drop_expired()
        assert lost(bench) == []
        if is_killed:
            bench.run(text)
            bench.servers.drop_expired()
            assert lost(bench) == []
        assert not bench.is_recorded
        # A part that is gone keeps the time that explains it.
        assert times(bench)["p2"] == after["p2"]
        if "p1" in bench.servers.of[Side.COLD].parts:
            assert times(bench)["p1"] == after["p1"]
        if not is_killed:
            break
        moment += 1
    assert moment > 10


@pytest.mark.parametrize(("before", "text", "after"), STATEMENTS)
def test_no_time_is_earlier_than_by_both_ttls_however_a_run_ends(
    before: str, text: str, after: dict[str, int]
) -> None:
    """Else a loss would count as retention."""
    first = times(entered(before))
    moment = 0
    while True:
        bench = entered(before)
        is_killed = bench.run_killed(text, moment)
        for partition, time in times(bench).items():
            assert time in (0, first[partition], after[partition])
            if time == 0:
                assert 0 in (first[partition], after[partition])
        if not is_killed:
            break
        moment += 1


@pytest.mark.parametrize("text", ["MODIFY TTL 30", "MATERIALIZE TTL"])
def test_the_new_ttl_explains_no_part_that_was_lost_before(text: str) -> None:
    bench = entered()
    bench.servers.of[Side.COLD].drop("p1")
    bench.run(text)
    assert (times(bench)["p1"], lost(bench)) == (0, ["p1"])


def test_a_removed_ttl_explains_no_part_that_was_lost_before_it_expired() -> None:
    bench = entered("60")
    bench.servers.of[Side.COLD].drop("p1")
    bench.run("REMOVE TTL")
    bench.servers.time = 1000.0
    assert lost(bench) == ["p1"]


def test_a_removed_ttl_explains_what_it_has_dropped() -> None:
    bench = entered("30")
    bench.servers.drop_expired()
    bench.run("REMOVE TTL")
    assert (times(bench), lost(bench)) == ({"p1": 130, "p2": 0}, [])


def test_a_refused_statement_changes_no_time() -> None:
    bench = entered("90")
    bench.servers.refused = {HOT: "no such column"}
    with pytest.raises(PartMoveError, match="Neither table was changed"):
        bench.run("MODIFY TTL 30")
    assert times(bench) == {"p1": 190, "p2": 290}


def test_nothing_begins_if_the_twin_may_not_be_read() -> None:
    bench = entered("90")
    bench.servers.unreadable = True
    for text in ("MODIFY TTL 30", "MATERIALIZE TTL"):
        with pytest.raises(PartMoveError, match="no right to read the twin"):
            bench.run(text)
    assert (bench.is_recorded, bench.servers.executed) == (False, [])
    for text in ("UPDATE v = v + 1 WHERE 1", "ADD COLUMN x Int8", "REMOVE TTL"):
        bench.run(text)
    assert times(bench) == {"p1": 0, "p2": 0}


@pytest.mark.parametrize("killed_at", [HOT, COLD])
def test_the_record_stays_while_the_twin_may_not_be_read(killed_at: str) -> None:
    """As when somebody takes the right away amid the statement."""
    bench = entered("90")
    bench.run_killed_at("MODIFY TTL 30", killed_at, given=True)
    bench.servers.unreadable = True
    with pytest.raises(PartMoveError, match="as the ledger of the twin cannot follow.*no right") as caught:
        bench.run(None)
    assert "run twin_alter without a statement" in caught.value.remedy
    assert bench.is_recorded
    bench.servers.unreadable = False
    bench.run(None)
    assert (times(bench), lost(bench), bench.is_recorded) == ({"p1": 130, "p2": 230}, [], False)


def test_without_a_ledger_nothing_of_the_twin_is_read() -> None:
    bench = AlterBench()
    bench.servers.unreadable = True
    assert len(bench.run("MODIFY TTL 90").statements) == 2


def test_blocks_in_several_parts_expire_with_the_last() -> None:
    """An entry may list several parts as one range, also of parts that were merged since."""
    one, two, late = parse_names(["p_1_2_1", "p_3_5_1", "p_6_6_0"], "p", "a test")
    parts = {one.text: 30, two.text: 40, late.text: 90}
    assert expiry_of(BlockRange(2, 4), [one, two, late], parts) == 40
    assert expiry_of(BlockRange(2, 2), [one, two, late], parts) == 30
    assert expiry_of(BlockRange(1, 6), [one, two], parts) is None
    assert expiry_of(BlockRange(1, 5), [one, two], {one.text: 30}) == 0


def test_a_mutation_takes_over_the_times_that_the_servers_note_afterwards() -> None:
    bench = entered("90")
    bench.servers.on = lambda sql: sql.startswith(COLD) and bench.servers.noted.update(p1=170)
    bench.run("UPDATE day = 80 WHERE 1")
    assert times(bench) == {"p1": 170, "p2": 290}
    bench.servers.noted = {}
    bench.servers.on = lambda _sql: None
    bench.run("UPDATE v = v + 1 WHERE 1")
    assert times(bench) == {"p1": 170, "p2": 290}


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (AlterKind.STRUCTURE, "modify ttl d + 1", True),
        (AlterKind.STRUCTURE, "ADD COLUMN x Date, MODIFY TTL x + 1", True),
        (AlterKind.STRUCTURE, "REMOVE TTL", True),
        (AlterKind.REWRITE, "MATERIALIZE TTL IN PARTITION ID 'x'", True),
        (AlterKind.STRUCTURE, "ADD COLUMN x Date TTL x + 1", False),
        (AlterKind.STRUCTURE, "MODIFY COMMENT 'MODIFY TTL'", False),
        (AlterKind.REWRITE, "MATERIALIZE INDEX `TTL`", False),
        (AlterKind.MUTATION, "UPDATE v = 1 WHERE 1", False),
    ],
)
def test_statements_of_a_ttl(kind: AlterKind, text: str, expected: bool) -> None:
    assert changes_ttl(Statement(kind, text)) is expected
