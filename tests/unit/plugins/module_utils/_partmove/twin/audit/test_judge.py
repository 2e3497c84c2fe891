# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Each kind follows from the tables and the record; tests/integration covers servers."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.evidence import (
    RecordZnode,
    ReplicaTables,
    TwinPartitionRead,
    TwinShardRead,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.judge import judge
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.kind import TwinKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.verdict import (
    ALL_REPLICAS,
    NO_PARTITION,
    TwinVerdict,
)
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


def shard_read(
    hot: Parts,
    cold: Parts,
    recorded: TwinRecord | None = None,
    *,
    second: PartsOf | None = None,
    inserted: tuple[str, ...] = (),
    pairs: list[ReplicaTables] | None = None,
) -> TwinShardRead:
    current = PartsOf(hot, cold)
    note = None if recorded is None else RecordZnode(RECORD, recorded)
    partition = TwinPartitionRead(DAY, [current, second or current], note, inserted)
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
    verdict = the(shard_read(hot, cold))
    assert (verdict.kind, verdict.parts, verdict.record) == (kind, names(*shown), "")


def test_an_absent_partition_has_no_verdict() -> None:
    assert judge(shard_read(NONE, NONE)) == {}


@pytest.mark.parametrize(
    ("hot", "cold", "recorded", "kind"),
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
def test_with_a_record(hot: Parts, cold: Parts, recorded: TwinRecord, kind: TwinKind) -> None:
    verdict = the(shard_read(hot, cold, recorded))
    assert (verdict.kind, verdict.record) == (kind, RECORD)
    assert (verdict.manual_check is not None) is (kind is TwinKind.UNKNOWN)


def test_duplicate_parts_are_dropped_from_the_table_only() -> None:
    check = the(shard_read((*TWO, *OTHER), CLONES)).manual_check
    assert check == ({}, ((Side.HOT, f"{DAY}_1_1_0"), (Side.HOT, f"{DAY}_2_2_0")))


def test_rows_that_may_be_equal_are_compared_first() -> None:
    check = the(shard_read(TWO, MERGED_CLONES)).manual_check
    assert check is not None
    assert check.compare == {Side.HOT: names("1_1_0", "2_2_0"), Side.COLD: names("5_6_1")}
    assert check.drop == tuple((Side.HOT, name) for name in names("1_1_0", "2_2_0"))


def test_new_parts_may_be_dropped_while_the_source_is_complete() -> None:
    check = the(shard_read(TWO, MERGED_CLONES, record())).manual_check
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
def test_no_part_is_dropped_from_the_destination_once_the_source_lost_one(
    hot: Parts, cold: Parts, compare: bool, drop: tuple[str, ...]
) -> None:
    check = the(shard_read(hot, cold, record(verified=True))).manual_check
    assert check is not None
    assert bool(check.compare) is compare
    assert check.drop == tuple((Side.HOT, name) for name in names(*drop))


def test_an_uneven_partition_is_reported_as_uneven_first() -> None:
    for recorded in (None, record()):
        verdict = the(shard_read(TWO, NONE, recorded, second=PartsOf(TWO[:1], NONE)))
        assert verdict.kind is TwinKind.UNEVEN
        assert f"{DAY}_2_2_0" in verdict.reason


def test_a_record_of_other_tables_is_reported() -> None:
    verdict = the(shard_read(TWO, CLONES, record()._replace(cold="cold:/other")))
    assert verdict.kind is TwinKind.RECORD_ELSEWHERE
    assert "cold:/other" in verdict.reason


def test_inserted_parts_are_reported_while_they_are_active() -> None:
    came = names("5_5_0", "7_7_0")
    assert the(shard_read(NONE, CLONES, inserted=came))[:2] == (TwinKind.INSERTED, names("5_5_0"))
    assert the(shard_read(NONE, MERGED_CLONES, inserted=came))[:2] == (TwinKind.INSERTED, names("5_6_1"))
    assert the(shard_read(NONE, OTHER, inserted=came)).kind is TwinKind.COLD
    assert the(shard_read(TWO, CLONES, inserted=came)).kind is TwinKind.EQUAL


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
def test_unfit_tables_of_a_replica_are_reported(
    change: Callable[[TwinTable, TwinTable], tuple[TwinTable, TwinTable]], kind: TwinKind
) -> None:
    found = judge(shard_read(TWO, NONE, pairs=[pair("r1"), pair("r2", change)]))
    assert {place: verdict.kind for place, verdict in found.items()} == {
        (NO_PARTITION, "r2"): kind,
        (DAY, ALL_REPLICAS): TwinKind.HOT,
    }
    assert found[NO_PARTITION, "r2"].reason.startswith("server of r2: ")


def test_a_row_policy_without_a_record_or_a_run_is_reported() -> None:
    drop = "DROP ROW POLICY IF EXISTS p ON db.hits_all"
    pairs = [pair("r1"), pair("r2")._replace(policies=(drop,))]
    verdict = judge(shard_read(TWO, NONE, pairs=pairs))[NO_PARTITION, "r2"]
    assert verdict == TwinVerdict(TwinKind.POLICY_LEFT, reason=f"server of r2: {drop}")
    for read in (
        shard_read(TWO, CLONES, record(), pairs=pairs),
        shard_read(TWO, NONE, pairs=pairs)._replace(lock="a run"),
    ):
        assert (NO_PARTITION, "r2") not in judge(read)


def test_under_the_lock_of_a_run_only_consistent_partitions_are_judged() -> None:
    locked = shard_read(TWO, CLONES, record())._replace(lock="a run")
    assert the(locked).kind is TwinKind.NOT_JUDGED
    assert the(shard_read(TWO, NONE)._replace(lock="a run")).kind is TwinKind.HOT


def test_a_partition_whose_record_changed_during_the_read_is_not_judged() -> None:
    shard = shard_read(TWO, CLONES)
    changed = {DAY: shard.partitions[DAY]._replace(changed=True)}
    assert the(shard._replace(partitions=changed)).kind is TwinKind.NOT_JUDGED


def test_exchanged_names_are_reported_unless_all_replicas_exchanged() -> None:
    exchanged = [pair(each)._replace(cold=None, is_exchanged=True) for each in REPLICAS]
    whole = shard_read(NONE, NONE, pairs=exchanged)._replace(partitions={})
    assert judge(whole) == {(NO_PARTITION, ALL_REPLICAS): TwinVerdict(TwinKind.EXCHANGED)}
    half = shard_read(NONE, NONE, pairs=[pair("r1"), exchanged[1]])._replace(partitions={})
    assert {place: verdict.kind for place, verdict in judge(half).items()} == {
        (NO_PARTITION, "r2"): TwinKind.EXCHANGED_IN_PART
    }


def test_a_row_policy_of_a_table_that_was_exchanged_is_reported() -> None:
    """No move needs it any more, and it hides rows of the table that has the name now."""
    drop = "DROP ROW POLICY IF EXISTS p ON db.hits_all"
    exchanged = [pair(each)._replace(cold=None, is_exchanged=True) for each in REPLICAS]
    exchanged[1] = exchanged[1]._replace(policies=(drop,))
    left = TwinVerdict(TwinKind.POLICY_LEFT, reason=f"server of r2: {drop}")
    whole = shard_read(NONE, NONE, pairs=exchanged)._replace(partitions={})
    assert judge(whole) == {
        (NO_PARTITION, ALL_REPLICAS): TwinVerdict(TwinKind.EXCHANGED),
        (NO_PARTITION, "r2"): left,
    }
    half = shard_read(NONE, NONE, pairs=[pair("r1"), exchanged[1]])._replace(partitions={})
    assert judge(half) == {(NO_PARTITION, "r2"): left}
    assert (NO_PARTITION, "r2") not in judge(whole._replace(lock="a run"))


def test_stopped_merges_are_mentioned_in_the_reason() -> None:
    verdict = the(shard_read(TWO, CLONES, record()._replace(merges_stopped=True)))
    assert verdict.kind is TwinKind.CLONED
    assert verdict.reason == "merges of both tables may be stopped until the next run"
