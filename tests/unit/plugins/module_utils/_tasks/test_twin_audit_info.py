# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The module returns the findings for tables given by name or below a path."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import NoSuchTable, PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import (
    MARKS_OF_A_SHARD,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.bars import Bar, Hold, path_of_bar
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.kind import TwinKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.record import Records
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side
from ansible_collections.olap.partmove.plugins.module_utils._tasks.twin_audit_info import TwinAuditInfo
from support.exposition import parsed
from support.memory.bench import Bench
from support.memory.resources import MemoryResources
from support.memory.twin_audits import MemoryWitnesses
from support.memory.twins import DAY, PATH, TwinBench, Twins

ROWS = ("a", "b")


@pytest.fixture
def bench() -> TwinBench:
    return TwinBench(Twins(ROWS))


def params(**given: Any) -> dict[str, Any]:
    return {
        "coordination_root": "/partmove",
        "clickhouse": {"port": None},
        "twin": "{table}_cold",
        "shard_paths": None,
        "root": None,
        "details": "findings",
        "latency_target": 0.0,
        "max_latency": 1.0,
        "give_up_after": "10m",
        "progress_file": None,
        **given,
    }


def audit(bench: TwinBench, *, lacking: Collection[str] = (), **given: Any) -> dict[str, Any]:
    """Return the result of the task, which must not write. ``lacking``: replicas without a twin."""
    before = bench.hot.data()
    options = params(**given)
    witnesses = MemoryWitnesses(bench.servers)
    witnesses.lacking = lacking
    resources = MemoryResources(Bench(), options)
    resources.stores = {"hot": bench.hot.open()}
    resources.clock = bench.clock  # type: ignore[assignment]
    task = TwinAuditInfo(options, witnesses)
    try:
        task.run(resources)
    finally:
        resources.close()
    assert bench.hot.data() == before
    assert resources.opened == ["hot"]
    return task.result()


def test_consistent_partitions_are_counted_and_listed_on_request(bench: TwinBench) -> None:
    result = audit(bench, shard_paths=[PATH])
    assert result["kinds"] == {kind.value: int(kind is TwinKind.HOT) for kind in TwinKind}
    assert (result["findings"], result["drifted"], result["complete"]) == ([], False, True)
    (found,) = audit(bench, shard_paths=[PATH], details="all")["findings"]
    assert (found["partition"], found["kind"], found["statements"]) == (DAY, "hot", [])


def test_manual_findings_have_statements_and_the_znode(bench: TwinBench) -> None:
    bench.twins.insert(Side.COLD, ROWS)
    result = audit(bench, shard_paths=[PATH])
    (found,) = result["findings"]
    assert found["statements"] == [f"ALTER TABLE db.hits DROP PART '{DAY}_1_1_0'"]
    assert result["seen_twice"] == [{"shard_path": PATH, "partition": DAY}]
    drift = parsed(result["metrics"])["partmove_twin_audit_drift"]
    assert drift[("shard_path", PATH), ("kind", "equal")] == 1


def test_rows_are_compared_before_anything_is_dropped(bench: TwinBench) -> None:
    bench.twins.insert(Side.COLD, ("x", "y"))
    (found,) = audit(bench, shard_paths=[PATH])["findings"]
    compare, drop = found["statements"]
    part = f"WHERE _part IN ('{DAY}_1_1_0')"
    sums = "count() AS rows, sum(cityHash64(formatRow('RowBinary', `a`))) AS hash"
    assert compare == (
        f"SELECT 'db.hits' AS place, {sums} FROM db.hits {part}"
        f" UNION ALL SELECT 'db.hits_cold' AS place, {sums} FROM db.hits_cold {part}"
        " SETTINGS allow_experimental_projection_optimization = 0"
    )
    assert drop == f"ALTER TABLE db.hits DROP PART '{DAY}_1_1_0'"


@pytest.mark.parametrize("root", ["/", "/tables"])
def test_a_root_has_tables_and_records_of_dropped_tables(bench: TwinBench, root: str) -> None:
    store = bench.hot.open()
    for path in ("/tables/gone", "/other/gone"):
        bench._create(store, Records(store, "/partmove", path).path(DAY), b"something")
    for child in MARKS_OF_A_SHARD - {"replicas"}:
        bench._create(store, f"{PATH}/{child}", b"")
    result = audit(bench, root=root, details="all")
    found = {(each["shard_path"], each["kind"]) for each in result["findings"]}
    gone = {("/tables/gone", "table_gone")} | ({("/other/gone", "table_gone")} if root == "/" else set())
    assert found == {(PATH, "hot"), *gone}


def test_a_table_given_by_name_must_exist(bench: TwinBench) -> None:
    with pytest.raises(NoSuchTable):
        audit(bench, shard_paths=["/tables/none"])


def test_a_root_without_tables_is_never_complete(bench: TwinBench) -> None:
    bench._create(bench.hot.open(), "/elsewhere/below", b"")
    result = audit(bench, root="/elsewhere")
    assert (result["shard_paths"], result["drifted"], result["complete"]) == (0, False, False)
    assert [each["shard_path"] for each in result["unjudged"]] == ["/elsewhere"]
    assert "There is no replicated table at or below it" in result["unjudged"][0]["reason"]
    assert parsed(result["metrics"])["partmove_twin_audit_complete"] == {(): 0}


def test_no_shard_path_is_refused() -> None:
    with pytest.raises(PartMoveError, match="shard_paths is empty"):
        TwinAuditInfo(params(shard_paths=[]))


def test_an_audit_without_any_twin_has_compared_nothing(bench: TwinBench) -> None:
    """The option twin may have another pattern than the names of the twins."""
    result = audit(bench, shard_paths=[PATH], lacking=("r1", "r2"), details="all")
    assert [each["kind"] for each in result["findings"]] == ["without_twin"]
    assert (result["drifted"], result["complete"]) == (False, False)
    assert result["unjudged"] == [
        {
            "shard_path": PATH,
            "reason": "No table has a twin named {table}_cold, and there is no record, so no partition was"
            " compared. Correct the option twin, or create the twins.",
        }
    ]


def test_invalid_options_are_refused() -> None:
    with pytest.raises(PartMoveError, match="lacks"):
        TwinAuditInfo(params(twin="cold", shard_paths=[PATH]))


@pytest.mark.parametrize(("until", "is_over"), [(0, True), (2**52, False)])
def test_holds_and_unfinished_statements_are_listed(bench: TwinBench, until: int, *, is_over: bool) -> None:
    nothing = audit(bench, shard_paths=[PATH])
    assert [nothing[each] for each in ("holds", "unfinished_alters", "blocked", "missing")] == [[]] * 4
    store, alter = bench.hot.open(), path_of_bar("/partmove", Bar.ALTER, PATH)
    bench._create(store, path_of_bar("/partmove", Bar.HOLD, PATH), Hold("me", "a migration", until).data)
    bench._create(store, alter, b"anything")
    result = audit(bench, shard_paths=[PATH])
    (hold,), (unfinished,) = result["holds"], result["unfinished_alters"]
    assert (hold["shard_path"], hold["owner"], hold["is_over"]) == (PATH, "me", is_over)
    assert (unfinished["shard_path"], unfinished["record"], unfinished["in_progress"]) == (PATH, alter, False)
    assert result["summary"][0].startswith("Statements of twin_alter are unfinished")
    assert (result["drifted"], result["complete"]) == (False, True)


def test_a_finding_says_when_its_move_began(bench: TwinBench) -> None:
    bench.twins.insert(Side.COLD, ROWS)
    (found,) = audit(bench, shard_paths=[PATH])["findings"]
    assert found["began"] == ""
