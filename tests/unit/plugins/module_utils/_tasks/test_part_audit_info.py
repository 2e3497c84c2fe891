# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""part_audit_info over ensembles in memory: results, selected tables, and no writes."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    EnsembleUnreachable,
    FormatError,
    NoSuchTable,
    PartMoveError,
    SameEnsemble,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.findings.two_reads import (
    SECONDS_BETWEEN_READS,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._tasks import argspec
from ansible_collections.olap.partmove.plugins.module_utils._tasks.part_audit_info import (
    PartAuditInfo,
)
from support.exposition import parsed
from support.memory.arrange import create
from support.memory.bench import DAY, OTHER, PART, PATH, Bench
from support.memory.disks import SimulatedDisks
from support.memory.resources import MemoryResources
from support.memory.synthetic import MINIMALISTIC
from support.memory.tables import TableOptions, build_table

CLICKHOUSE = {name: option.get("default") for name, option in argspec.clickhouse()["options"].items()}
DEFAULTS: dict[str, Any] = {
    "hot": {},
    "cold": {},
    "coordination_root": "/partmove",
    "clickhouse": CLICKHOUSE,
    "shard_paths": [PATH],
    "root": None,
    "details": "findings",
    "compare_content": False,
    "skip_missing": False,
    "latency_target": 0.0,
    "max_latency": 1.0,
    "give_up_after": "10m",
}
BELOW = {"shard_paths": None, "root": "/"}
STATE = f"block_numbers/{DAY}/State"


def task_of(bench: Bench, **options: Any) -> tuple[PartAuditInfo, MemoryResources]:
    params = DEFAULTS | options
    resources = MemoryResources(bench, params)
    resources.clock = bench.clock  # type: ignore[assignment]
    disks = options.get("disks") or SimulatedDisks(bench.servers)
    return PartAuditInfo(params, disks), resources


def audit(bench: Bench, **options: Any) -> dict[str, Any]:
    task, resources = task_of(bench, **options)
    before = [each.data() for each in (bench.hot_ensemble, bench.cold_ensemble)]
    task.run(resources)
    assert [each.data() for each in (bench.hot_ensemble, bench.cold_ensemble)] == before
    result = task.result()
    assert result["changed"] is False
    assert list(result["kinds"]) == [kind.value for kind in FindingKind]
    return result


def test_a_consistent_table() -> None:
    bench = Bench()
    bench.move()
    result = audit(bench)
    assert (result["findings"], result["restart_unsafe"], result["unjudged"]) == ([], [], [])
    assert (result["drifted"], result["complete"], result["shard_paths"]) == (False, True, 1)
    assert {kind: count for kind, count in result["kinds"].items() if count} == {"cold": 2, "hot": 2}
    assert result["summary"] == [
        "Shard paths: 1; partitions of replicas: 4 consistent, 0 inconsistent, 0 not judged"
    ]
    now = parsed(result["metrics"])["partmove_audit_timestamp_seconds"]
    assert now == {(): pytest.approx(bench.clock.now(), abs=1)}


def test_what_waits_until_copies_may_go() -> None:
    bench = Bench()
    assert audit(bench)["waiting_copies"] == {"partitions": 0, "seconds": None}
    bench.move()
    bench.reheat()
    bench.clock.sleep(60)
    assert audit(bench)["waiting_copies"] == {"partitions": 1, "seconds": 540}


SQL = [
    f"/* r1, ClickHouse at r1:8123, on this server alone */ ALTER TABLE db.hits {each} PARTITION ID '{DAY}'"
    for each in ("DETACH", "ATTACH")
]


def test_a_finding() -> None:
    bench = Bench()
    bench.hot.delete(bench.part())
    bench.hot.delete(bench.part("r2"))
    result = audit(bench)
    assert result["findings"] == [
        {
            "shard_path": PATH,
            "partition": DAY,
            "replica": replica,
            "kind": "unregistered",
            "means": FindingKind.UNREGISTERED.means,
            "parts": [PART],
            "reason": "",
            "remedy": FindingKind.UNREGISTERED.remedy,
            "can_wait": False,
            "restart_unsafe": True,
            "statements": statements,
        }
        for replica, statements in (("r1", SQL), ("r2", []))
    ]
    assert result["restart_unsafe"] == [
        {"shard_path": PATH, "replica": each, "host": f"{each}.example"} for each in ("r1", "r2")
    ]
    assert result["repair_order"] == [
        {
            "kind": "unregistered",
            "repaired": True,
            "shard_paths": [PATH],
            "partitions": 1,
            "parts": 2,
            "seconds": pytest.approx(3 * SECONDS_BETWEEN_READS, abs=1.0),
            "written": 2,
            "deleted": 0,
            "newest_write": "",
            "copies_stay": 0,
        }
    ]
    assert (result["drifted"], result["complete"]) == (True, True)
    hosts = "r1 on r1.example, r2 on r2.example"
    assert result["summary"][0] == f"DO NOT RESTART {hosts} ({PATH}): unregistered in partition {DAY}"
    assert (
        parsed(result["metrics"])["partmove_audit_drift"][("shard_path", PATH), ("kind", "unregistered")] == 2
    )


def test_consistent_partitions_are_listed_on_request() -> None:
    bench = Bench()
    create(STATE, b"COLD")(bench)
    rows = audit(bench, details="all")["findings"]
    assert [(row["kind"], row["partition"], row["replica"]) for row in rows] == [
        ("hot_marked_cold", DAY, "r1"),
        ("hot_marked_cold", DAY, "r2"),
        ("hot", OTHER, "r1"),
        ("hot", OTHER, "r2"),
    ]
    assert all(bool(row["remedy"]) == (row["partition"] == DAY) for row in rows)


def test_a_server_that_is_silent_makes_it_incomplete() -> None:
    bench = Bench()
    disks = SimulatedDisks(bench.servers)
    disks.silent.add("r2")
    result = audit(bench, disks=disks)
    assert (result["drifted"], result["complete"], result["kinds"]["not_judged"]) == (False, False, 2)
    assert result["findings"][0]["reason"] == "ClickHouse at h:8123 cannot be reached. Start it."
    assert parsed(result["metrics"])["partmove_audit_complete"] == {(): 0}


def test_content_is_compared_on_request() -> None:
    bench = Bench()
    disks = SimulatedDisks(bench.servers)
    disks.hashes[PART] = "0" * 32
    assert not audit(bench, disks=disks)["drifted"]
    assert audit(bench, disks=disks, compare_content=True)["kinds"]["unlike_disk"] == 2


def test_tables_below_a_root_and_those_that_only_cold_has() -> None:
    bench = Bench()
    build_table(bench.hot, "/partmove/t", TableOptions(partitions=(DAY,)))
    build_table(bench.hot, "/clickhouse/odd", TableOptions(partitions=(DAY,)))
    bench.hot.set("/clickhouse/odd/metadata", b"?")
    for path in ("/clickhouse/gone", "/partmove/gone"):
        bench.cold.create(f"{path}/replicas/r1/parts/{PART}", MINIMALISTIC, makepath=True)
    bench.cold.create("/clickhouse/empty/replicas/r1/parts", b"", makepath=True)
    bench.move()
    result = audit(bench, **BELOW)
    assert [(row["shard_path"], row["replica"], row["kind"]) for row in result["findings"]] == [
        ("/clickhouse/gone", "r1", "another_replica")
    ]
    assert [each["shard_path"] for each in result["unjudged"]] == ["/clickhouse/odd"]
    assert "/clickhouse/odd/metadata" in result["unjudged"][0]["reason"]
    assert (result["shard_paths"], result["drifted"], result["complete"]) == (3, True, False)


def test_denied_znodes_are_named_and_all_others_are_judged() -> None:
    bench = Bench()
    bench.move()
    for name in ("a", "other", "secret", "z"):
        bench.hot.create(f"/{name}/x", b"", makepath=True)
    build_table(bench.hot, "/clickhouse/hers", TableOptions(partitions=(DAY,)))
    bench.cold.create(f"/gone/replicas/r1/parts/{PART}", MINIMALISTIC, makepath=True)
    bench.cold.create("/theirs/replicas", b"", makepath=True)
    # The data of the table can be read, and that of a replica of it cannot.
    bench.hot_store.denied = {"/other", "/secret", "/clickhouse/hers/replicas"}
    bench.cold_store.denied = {"/secret", "/theirs/replicas"}

    result = audit(bench, **BELOW)

    assert {kind: count for kind, count in result["kinds"].items() if count} == {
        "another_replica": 1,
        "cold": 2,
        "hot": 2,
    }
    below = "so tables below it are unknown. Correct it."
    assert result["unjudged"] == [
        {
            "shard_path": "/clickhouse/hers",
            "reason": "The identity given to hot may not read /clickhouse/hers/replicas. Correct it.",
        },
        {"shard_path": "/other", "reason": f"The identity given to hot may not read /other, {below}"},
        {"shard_path": "/secret", "reason": f"The identity given to hot may not read /secret, {below}"},
        {
            "shard_path": "/theirs/replicas",
            "reason": f"The identity given to cold may not read /theirs/replicas, {below}",
        },
    ]
    assert (result["shard_paths"], result["complete"], result["drifted"]) == (3, False, True)
    assert "not audited: /secret: The identity given to hot may not read /secret" in "\n".join(
        result["summary"]
    )
    metrics = parsed(result["metrics"])
    assert len(metrics["partmove_audit_unjudged"]) == 4
    assert metrics["partmove_audit_complete"] == {(): 0}
    assert "partmove_audit_last_complete_timestamp_seconds" not in metrics


def test_a_denied_root_is_never_complete() -> None:
    bench = Bench()
    bench.move()
    bench.hot_store.denied = {"/"}
    result = audit(bench, **BELOW)
    # What cold has is found all the same.
    assert (result["kinds"]["cold"], result["shard_paths"], result["complete"]) == (2, 1, False)
    assert [each["shard_path"] for each in result["unjudged"]] == ["/"]
    bench.hot_store.denied, bench.cold_store.denied = set(), {"/"}
    result = audit(bench, **BELOW)
    assert (result["kinds"]["cold"], result["shard_paths"], result["complete"]) == (2, 1, False)


def test_a_denied_cold_ensemble_leaves_nothing_judged() -> None:
    bench = Bench()
    bench.move()
    bench.cold_store.denied = {bench.part("r2").rpartition("/")[0]}
    result = audit(bench)
    assert (result["findings"], result["complete"], result["shard_paths"]) == ([], False, 1)
    assert not any(result["kinds"].values())
    assert [each["shard_path"] for each in result["unjudged"]] == [PATH]


def test_a_table_dropped_during_the_search_is_skipped() -> None:
    bench = Bench()
    bench.hot_store.listing = lambda paths: (
        bench.servers.drop_table() if f"{PATH}/replicas" in paths else None
    )
    assert bench.hot.exists(PATH)
    task, resources = task_of(bench, **BELOW)
    task.run(resources)
    result = task.result()
    # No table is left at the root.
    assert (result["shard_paths"], result["complete"]) == (0, False)


def test_a_table_that_is_gone_is_skipped_on_request() -> None:
    result = audit(Bench(), shard_paths=[PATH, "/gone"], skip_missing=True)
    assert (result["shard_paths"], result["complete"], result["drifted"]) == (1, True, False)


@pytest.mark.parametrize("root", ["/elsewhere", "/elsewhere/below"])
def test_a_root_without_tables_is_never_complete(root: str) -> None:
    bench = Bench()
    bench.hot.create("/elsewhere/below", b"", makepath=True)
    result = audit(bench, shard_paths=None, root=root)
    assert (result["shard_paths"], result["drifted"], result["complete"]) == (0, False, False)
    assert result["unjudged"] == [
        {
            "shard_path": root,
            "reason": "There is no replicated table at or below it in the hot ensemble, so the audit checked"
            " no table of hot. Correct the root, or the chroot of hot.",
        }
    ]
    assert f"not audited: {root}: There is no replicated table" in "\n".join(result["summary"])
    metrics = parsed(result["metrics"])
    assert metrics["partmove_audit_complete"] == {(): 0}
    assert "partmove_audit_last_complete_timestamp_seconds" not in metrics


def test_leftovers_in_cold_alone_do_not_make_a_root_complete() -> None:
    bench = Bench()
    bench.hot.create("/elsewhere", b"")
    bench.cold.create(f"/elsewhere/gone/replicas/r1/parts/{PART}", MINIMALISTIC, makepath=True)
    result = audit(bench, shard_paths=None, root="/elsewhere")
    assert (result["shard_paths"], result["drifted"], result["complete"]) == (1, True, False)
    assert [each["shard_path"] for each in result["unjudged"]] == ["/elsewhere"]


def test_no_shard_path_is_refused() -> None:
    with pytest.raises(PartMoveError, match="shard_paths is empty"):
        PartAuditInfo(DEFAULTS | {"shard_paths": []})


def test_an_audit_of_tables_that_are_all_gone_is_not_complete() -> None:
    result = audit(Bench(), shard_paths=["/gone"], skip_missing=True)
    assert (result["shard_paths"], result["complete"]) == (0, False)
    assert [each["shard_path"] for each in result["unjudged"]] == ["/gone"]


def test_silent_servers_of_a_table_without_partitions_leave_the_table_unjudged() -> None:
    """Parts on disk that no ensemble registers are known to the servers alone."""
    bench = Bench()
    path = "/clickhouse/tables/01/new"
    build_table(bench.hot, path, TableOptions(partitions=()))
    disks = SimulatedDisks(bench.servers)
    disks.silent = {"r1", "r2"}
    result = audit(bench, shard_paths=[path], disks=disks)
    assert (result["shard_paths"], result["complete"], result["drifted"]) == (1, False, False)
    assert [(each["replica"], each["kind"]) for each in result["findings"]] == [
        ("r1", "not_judged"),
        ("r2", "not_judged"),
    ]
    assert all(each["reason"] for each in result["findings"])


def test_copies_left_are_a_finding_that_can_wait_for_two_days() -> None:
    bench = Bench()
    bench.move()
    bench.reheat()
    bench.clock.sleep(700)
    result = audit(bench)
    assert [(row["kind"], row["can_wait"]) for row in result["findings"]] == [("copies_left", True)] * 2
    assert (result["drifted"], result["complete"]) == (False, True)
    metrics = parsed(result["metrics"])
    assert metrics["partmove_audit_drift"] == {}
    assert metrics["partmove_audit_inconsistent"][("kind", "copies_left"),] == 0
    bench.clock.sleep(2 * 86_400)
    result = audit(bench)
    assert [(row["kind"], row["can_wait"]) for row in result["findings"]] == [("copies_left", False)] * 2
    assert result["drifted"]
    metrics = parsed(result["metrics"])
    assert metrics["partmove_audit_drift"] == {(("shard_path", PATH), ("kind", "copies_left")): 2}
    assert metrics["partmove_audit_inconsistent"][("kind", "copies_left"),] == 2


def test_a_table_given_by_name_must_exist_in_an_ensemble() -> None:
    with pytest.raises(NoSuchTable):
        audit(Bench(), shard_paths=["/none"])


def test_an_audit_that_ends_early_returns_its_findings_and_is_not_complete() -> None:
    bench = Bench()
    other = f"{PATH}_2"
    build_table(bench.hot, other, TableOptions(partitions=(DAY,)))

    def fail(paths: Any) -> None:
        if f"{other}/replicas" in paths:
            raise EnsembleUnreachable("The ensemble hot does not answer", remedy="Start it")

    bench.hot_store.listing = fail
    task, resources = task_of(bench, shard_paths=[other, PATH])
    with pytest.raises(EnsembleUnreachable):
        task.run(resources)
    result = task.result()
    assert (result["shard_paths"], result["complete"], result["metrics"]) == (1, False, "")


def test_one_ensemble_is_not_taken_for_two() -> None:
    bench = Bench()
    bench.cold_store = bench.hot_store
    with pytest.raises(SameEnsemble):
        audit(bench)


@pytest.mark.parametrize(
    "options", [{"coordination_root": "/"}, {"shard_paths": ["/a//b"]}, {"shard_paths": ["a"]}]
)
def test_invalid_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(FormatError):
        PartAuditInfo(DEFAULTS | options)


def test_invalid_settings_of_servers_are_refused() -> None:
    with pytest.raises(PartMoveError, match="The HTTP port of ClickHouse is 0"):
        PartAuditInfo(DEFAULTS | {"clickhouse": {**CLICKHOUSE, "port": 0}})
