# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each kind follows from what the tables have and what the record says; the rest is shown on servers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.evidence import (
    RecordZnode,
    ReplicaTables,
    TwinPartitionRead,
    TwinShardRead,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.judge import (
    ALL_REPLICAS,
    NO_PARTITION,
    TwinVerdict,
    judge,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.kind import TwinKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.record import (
    TwinRecord,
    contents,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    Parts,
    PartsOf,
    Side,
    TwinPart,
    TwinReplica,
    TwinTable,
)
from support.memory.twins import DAY, PATH, REPLICAS, content_of, table_of

RECORD = "/partmove/twins/x"


def parts(**rows: str) -> Parts:
    """Parts by first block, last block and level, such as b1_2_1, with a letter for each row."""
    return tuple(TwinPart(f"{DAY}_{name[1:]}", content_of(tuple(text))) for name, text in rows.items())


def names(*blocks: str) -> tuple[str, ...]:
    return tuple(f"{DAY}_{each}" for each in blocks)


NONE: Parts = ()
TWO = parts(b1_1_0="ab", b2_2_0="c")
MERGED = parts(b1_2_1="abc")
CLONES = parts(b5_5_0="ab", b6_6_0="c")
MERGED_CLONES = parts(b5_6_1="abc")
OTHER = parts(b9_9_0="xy")


def record(destination: Side = Side.COLD, *, verified: bool = False, dropping: str = "") -> TwinRecord:
    clones = dict(zip(names("1_1_0", "2_2_0"), names("5_5_0", "6_6_0"))) if verified else {}
    hot, cold = (table_of(side, "r1").place for side in Side)
    return TwinRecord(destination, hot, cold, contents(TWO), {}, clones, names(*dropping.split()), 0)


def look(
    hot: Parts,
    cold: Parts,
    noted: TwinRecord | None = None,
    *,
    second: PartsOf | None = None,
    inserted: tuple[str, ...] = (),
    pairs: list[ReplicaTables] | None = None,
) -> TwinShardRead:
    there = PartsOf(hot, cold)
    note = None if noted is None else RecordZnode(RECORD, noted)
    partition = TwinPartitionRead(DAY, [there, second or there], note, inserted)
    return TwinShardRead(
        PATH,
        pairs or [pair(each) for each in REPLICAS],
        {},
        {DAY: partition},
        {} if note is None else {DAY: note},
    )


def pair(
    replica: str, change: Callable[[TwinTable, TwinTable], tuple[TwinTable, TwinTable]] | None = None
) -> ReplicaTables:
    hot, cold = (table_of(side, replica) for side in Side)
    if change is not None:
        hot, cold = change(hot, cold)
    return ReplicaTables(TwinReplica(replica, ""), f"server of {replica}", hot, cold)


def the(shard: TwinShardRead) -> TwinVerdict:
    ((_place, verdict),) = judge(shard).items()
    return verdict


@pytest.mark.parametrize(
    ("hot", "cold", "kind", "shown"),
    [
        (TWO, NONE, TwinKind.HOT, ("1_1_0", "2_2_0")),
        (NONE, CLONES, TwinKind.COLD, ("5_5_0", "6_6_0")),
        (TWO, CLONES, TwinKind.EQUAL, ("1_1_0", "2_2_0")),
        (TWO, CLONES[:1], TwinKind.EQUAL_IN_PART, ("1_1_0",)),
        (TWO, (*CLONES[:1], *OTHER), TwinKind.EQUAL_IN_PART, ("1_1_0",)),
        (TWO, MERGED_CLONES, TwinKind.AS_MANY_ROWS, ("1_1_0", "2_2_0")),
        (TWO, OTHER, TwinKind.LATE, ("1_1_0", "2_2_0")),
        (parts(b1_1_0="ab", b3_3_0="ab"), CLONES, TwinKind.EQUAL_IN_PART, ("1_1_0",)),
    ],
)
def test_without_a_record(hot: Parts, cold: Parts, kind: TwinKind, shown: tuple[str, ...]) -> None:
    verdict = the(look(hot, cold))
    assert (verdict.kind, verdict.parts, verdict.record) == (kind, names(*shown), "")


def test_a_partition_that_is_nowhere_is_not_told() -> None:
    assert judge(look(NONE, NONE)) == {}


@pytest.mark.parametrize(
    ("hot", "cold", "noted", "kind"),
    [
        (TWO, NONE, record(), TwinKind.RECORDED),
        (MERGED, NONE, record(), TwinKind.STALE),
        (NONE, NONE, record(), TwinKind.WITHOUT_PARTS),
        (TWO, CLONES, record(), TwinKind.CLONED),
        (TWO, CLONES[:1], record(), TwinKind.CLONED),
        (TWO, MERGED_CLONES, record(), TwinKind.UNKNOWN),
        (CLONES, TWO, record(Side.HOT), TwinKind.CLONED),
        (TWO, CLONES, record(verified=True), TwinKind.ATTACHED),
        (TWO[1:], CLONES, record(verified=True, dropping="1_1_0"), TwinKind.DROPPED_PARTLY),
        (NONE, CLONES, record(verified=True, dropping="1_1_0 2_2_0"), TwinKind.DROPPED),
        (NONE, NONE, record(verified=True, dropping="1_1_0 2_2_0"), TwinKind.WITHOUT_PARTS),
        (NONE, NONE, record(verified=True), TwinKind.UNKNOWN),
        (MERGED, CLONES, record(verified=True), TwinKind.MERGED),
        (TWO[1:], CLONES, record(verified=True), TwinKind.UNKNOWN),
        (TWO, NONE, record(verified=True), TwinKind.UNKNOWN),
    ],
)
def test_with_a_record(hot: Parts, cold: Parts, noted: TwinRecord, kind: TwinKind) -> None:
    verdict = the(look(hot, cold, noted))
    assert (verdict.kind, verdict.record) == (kind, RECORD)
    assert (verdict.manual_check is not None) is (kind is TwinKind.UNKNOWN)


def test_of_what_is_equal_only_the_table_loses_what_is_there_twice() -> None:
    check = the(look((*TWO, *OTHER), CLONES)).manual_check
    assert check == ({}, ((Side.HOT, f"{DAY}_1_1_0"), (Side.HOT, f"{DAY}_2_2_0")))


def test_of_what_may_be_equal_the_rows_are_compared_first() -> None:
    check = the(look(TWO, MERGED_CLONES)).manual_check
    assert check is not None
    assert check.compare == {Side.HOT: names("1_1_0", "2_2_0"), Side.COLD: names("5_6_1")}
    assert check.drop == tuple((Side.HOT, name) for name in names("1_1_0", "2_2_0"))


def test_while_the_source_has_all_what_came_to_the_destination_may_go() -> None:
    check = the(look(TWO, MERGED_CLONES, record())).manual_check
    assert check is not None
    assert check.compare == {Side.HOT: names("1_1_0", "2_2_0"), Side.COLD: names("5_6_1")}
    assert check.drop == ((Side.COLD, f"{DAY}_5_6_1"),)


@pytest.mark.parametrize(
    ("hot", "cold", "compare", "drop"),
    [
        (TWO[1:], CLONES, False, ("2_2_0",)),
        (NONE, CLONES, False, ()),
        (NONE, NONE, False, ()),
        (TWO[1:], MERGED_CLONES, True, ()),
    ],
)
def test_once_the_source_has_lost_something_the_destination_keeps_all(
    hot: Parts, cold: Parts, compare: bool, drop: tuple[str, ...]
) -> None:
    check = the(look(hot, cold, record(verified=True))).manual_check
    assert check is not None
    assert bool(check.compare) is compare
    assert check.drop == tuple((Side.HOT, name) for name in names(*drop))


def test_a_partition_that_is_not_even_is_told_so_whatever_it_is() -> None:
    for noted in (None, record()):
        verdict = the(look(TWO, NONE, noted, second=PartsOf(TWO[:1], NONE)))
        assert verdict.kind is TwinKind.UNEVEN
        assert f"{DAY}_2_2_0" in verdict.reason


def test_a_record_of_other_tables_is_none_of_these() -> None:
    verdict = the(look(TWO, CLONES, record()._replace(cold="cold:/other")))
    assert verdict.kind is TwinKind.RECORD_ELSEWHERE
    assert "cold:/other" in verdict.reason


def test_what_came_by_an_insert_is_told_while_it_is_there() -> None:
    came = names("5_5_0", "7_7_0")
    assert the(look(NONE, CLONES, inserted=came))[:2] == (TwinKind.INSERTED, names("5_5_0"))
    assert the(look(NONE, MERGED_CLONES, inserted=came))[:2] == (TwinKind.INSERTED, names("5_6_1"))
    assert the(look(NONE, OTHER, inserted=came)).kind is TwinKind.COLD
    assert the(look(TWO, CLONES, inserted=came)).kind is TwinKind.EQUAL


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (lambda hot, cold: (hot, cold._replace(path="/other")), TwinKind.TWIN_ELSEWHERE),
        (lambda hot, cold: (hot, cold._replace(ensemble="default")), TwinKind.TWIN_ELSEWHERE),
        (lambda hot, cold: (hot, cold._replace(problem="has no session")), TwinKind.NOT_READY),
        (lambda hot, cold: (hot._replace(active_replicas=1), cold), TwinKind.NOT_READY),
        (lambda hot, cold: (hot, cold._replace(definition="other")), TwinKind.TWIN_UNLIKE),
        (
            lambda hot, cold: (hot._replace(definition="other"), cold._replace(definition="other")),
            TwinKind.TWIN_UNLIKE,
        ),
    ],
)
def test_tables_of_a_replica_that_are_not_as_they_must_be(
    change: Callable[[TwinTable, TwinTable], tuple[TwinTable, TwinTable]], kind: TwinKind
) -> None:
    found = judge(look(TWO, NONE, pairs=[pair("r1"), pair("r2", change)]))
    assert {place: verdict.kind for place, verdict in found.items()} == {
        (NO_PARTITION, "r2"): kind,
        (DAY, ALL_REPLICAS): TwinKind.HOT,
    }
    assert found[NO_PARTITION, "r2"].reason.startswith("server of r2: ")


def test_while_a_run_is_at_work_nothing_is_told_but_what_is_sound() -> None:
    locked = look(TWO, CLONES, record())._replace(lock="a run")
    assert the(locked).kind is TwinKind.NOT_JUDGED
    assert the(look(TWO, NONE)._replace(lock="a run")).kind is TwinKind.HOT


def test_what_changed_while_it_was_looked_at_is_not_judged() -> None:
    shard = look(TWO, CLONES)
    changed = {DAY: shard.partitions[DAY]._replace(changed=True)}
    assert the(shard._replace(partitions=changed)).kind is TwinKind.NOT_JUDGED


def test_names_that_are_exchanged_on_all_replicas_or_on_some() -> None:
    exchanged = [pair(each)._replace(cold=None, is_exchanged=True) for each in REPLICAS]
    whole = look(NONE, NONE, pairs=exchanged)._replace(partitions={})
    assert judge(whole) == {(NO_PARTITION, ALL_REPLICAS): TwinVerdict(TwinKind.EXCHANGED)}
    half = look(NONE, NONE, pairs=[pair("r1"), exchanged[1]])._replace(partitions={})
    assert {place: verdict.kind for place, verdict in judge(half).items()} == {
        (NO_PARTITION, "r2"): TwinKind.EXCHANGED_IN_PART
    }


def test_merges_that_may_be_stopped_are_told() -> None:
    verdict = the(look(TWO, CLONES, record()._replace(merges_stopped=True)))
    assert verdict.kind is TwinKind.CLONED
    assert verdict.reason == "merges of both tables may be stopped until the next run"
