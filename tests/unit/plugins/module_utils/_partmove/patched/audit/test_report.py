# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What audits found: order, counts, lines for people, and figures for monitoring."""

from __future__ import annotations

from random import Random

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.findings.findings import MOST_SHOWN
from ansible_collections.olap.partmove.plugins.module_utils._partmove.findings.metrics import Sample
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.audit import (
    Row,
    ShardAudit,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.detached import (
    DetachedFolder,
    Need,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.details import RowDetails
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.judge import Verdict
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.report import (
    AuditReport,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.copy_retention import (
    STARTING_SECONDS,
)
from support.exposition import parsed

HITS, VISITS = "/t/01/hits", "/t/01/visits"
NOW = 1_795_212_900.1234


def audit(shard_path: str, *rows: tuple[str, str, FindingKind]) -> ShardAudit:
    """An audit with rows of partition, replica and kind."""
    return ShardAudit(
        shard_path,
        tuple(
            Row(shard_path, partition, replica, Verdict(kind, (f"{partition}_0_0_0",)))
            for partition, replica, kind in rows
        ),
    )


MIXED = [
    audit(
        VISITS,
        ("201902", "r1", FindingKind.UNREGISTERED),
        ("201902", "r2", FindingKind.REGISTERED_FOR_ANOTHER),
        ("201903", "r1", FindingKind.UNREGISTERED),
    ),
    audit(
        HITS,
        ("201901", "r1", FindingKind.COLD),
        ("201901", "r2", FindingKind.GHOST),
        ("201902", "r2", FindingKind.HOT),
    ),
]
SOUND = [
    audit(HITS, ("201901", "r1", FindingKind.COLD), ("201902", "r1", FindingKind.COPIES_NEEDED)),
    audit(VISITS),
]
UNJUDGED = ShardAudit("/t/02/hits", (), "Runs on /t/02/hits meet elsewhere.")
SILENT = ShardAudit(
    HITS,
    (Row(HITS, "201901", "r1", Verdict(FindingKind.NOT_JUDGED, reason="ClickHouse at h:8123 is away.")),),
)


def test_the_worst_comes_first_whatever_the_order_of_audits() -> None:
    expected = [
        ("unregistered", VISITS, "201902", "r1"),
        ("unregistered", VISITS, "201903", "r1"),
        ("registered_for_another", VISITS, "201902", "r2"),
        ("ghost", HITS, "201901", "r2"),
    ]
    sound = [("cold", HITS, "201901", "r1"), ("hot", HITS, "201902", "r2")]
    for seed in range(5):
        audits = Random(seed).sample(MIXED, len(MIXED))
        report = AuditReport(audits)
        told = [
            [(row.verdict.kind.value, row.shard_path, row.partition, row.replica) for row in rows]
            for rows in (report.findings, report.rows)
        ]
        assert told == [expected, expected + sound]
        assert report.metrics(NOW) == AuditReport(MIXED).metrics(NOW)
        assert report.summary() == AuditReport(MIXED).summary()


def test_every_kind_is_counted_also_with_nothing() -> None:
    kinds = AuditReport(MIXED).kinds()
    assert list(kinds) == list(FindingKind)
    assert {kind: count for kind, count in kinds.items() if count} == {
        FindingKind.UNREGISTERED: 2,
        FindingKind.REGISTERED_FOR_ANOTHER: 1,
        FindingKind.GHOST: 1,
        FindingKind.COLD: 1,
        FindingKind.HOT: 1,
    }


def test_servers_that_must_not_be_restarted_are_listed_once_each() -> None:
    assert AuditReport(MIXED).unsafe() == [(VISITS, "r1", ""), (VISITS, "r2", "")]
    assert AuditReport(SOUND).unsafe() == []


def test_a_part_that_blocks_a_start_is_reported_as_well() -> None:
    row = Row(HITS, "201901", "r1", Verdict(FindingKind.NOT_ON_DISK, ("201901_0_0_0",), blocks_start=True))
    report = AuditReport([ShardAudit(HITS, (row,), hosts={"r1": "ch-1", "r2": "ch-2"})])
    assert report.unsafe() == [(HITS, "r1", "ch-1")]
    assert report.summary()[0] == f"DO NOT RESTART r1 on ch-1 ({HITS}): not_on_disk in partition 201901"


@pytest.mark.parametrize(
    ("audits", "drifted", "complete"),
    [
        ([], False, False),
        (SOUND, False, True),
        (MIXED, True, True),
        ([SILENT], False, False),
        ([*SOUND, UNJUDGED], False, False),
        ([*MIXED, UNJUDGED], True, False),
    ],
)
def test_inconsistent_and_complete(audits: list[ShardAudit], drifted: bool, complete: bool) -> None:
    report = AuditReport(audits)
    assert (report.is_drifted, report.is_complete) == (drifted, complete)
    assert report.shard_paths == len(audits)


def test_summary() -> None:
    ghost = f"ghost 1: {FindingKind.GHOST.means}. {FindingKind.GHOST.remedy}. ({HITS} 201901)"
    lines = AuditReport([*MIXED, UNJUDGED]).summary()
    assert lines[0] == (
        f"DO NOT RESTART r1, r2 ({VISITS}): unregistered, registered_for_another in partition 201902, 201903"
    )
    assert lines[1] == "Shard paths: 3; partitions of replicas: 2 consistent, 4 inconsistent, 0 not judged"
    assert lines[2].startswith("unregistered 2: parts are active on disk")
    assert lines[2].endswith(f"({VISITS} 201902, {VISITS} 201903)")
    assert lines[3].startswith("registered_for_another 1: ")
    play = "ansible-playbook olap.partmove.repair -e partmove_repair_kind="
    assert lines[4:] == [
        ghost,
        "not audited: /t/02/hits: Runs on /t/02/hits meet elsewhere.",
        f"Repair in this order, or all that is repaired by a module with {play}all:",
        f"1. ghost: {play}ghost",
        f"2. unregistered: {play}unregistered",
        f"3. registered_for_another: {play}registered_for_another",
    ]


def test_the_order_of_repairs_has_manual_actions_in_their_place() -> None:
    kinds = [FindingKind.REGISTERED_FOR_ANOTHER, FindingKind.UNLIKE_DISK, FindingKind.FOREIGN]
    rows = [(f"p{rank}", replica, kind) for rank, kind in enumerate(kinds) for replica in ("r1", "r2")]
    report = AuditReport([audit(HITS, *rows), audit(VISITS, ("p1", "r1", FindingKind.FOREIGN))])
    assert [step[:5] for step in report.repair_order()] == [
        (FindingKind.UNLIKE_DISK, False, (HITS,), 1, 2),
        (FindingKind.FOREIGN, True, (HITS, VISITS), 2, 3),
        (FindingKind.REGISTERED_FOR_ANOTHER, True, (HITS,), 1, 2),
    ]
    assert "1. unlike_disk: manual action, see above" in report.summary()


def test_the_summary_of_consistent_tables_is_one_line() -> None:
    assert AuditReport(SOUND).summary() == [
        "Shard paths: 2; partitions of replicas: 2 consistent, 0 inconsistent, 0 not judged"
    ]


def test_summary_says_why_something_was_not_judged() -> None:
    (_head, line) = AuditReport([SILENT]).summary()
    assert line.startswith("not_judged 1: ")
    assert line.endswith(f". ClickHouse at h:8123 is away. ({HITS} 201901)")


def test_summary_stays_short() -> None:
    rows = [(f"p{number}", "r1", FindingKind.UNREGISTERED) for number in range(1000)]
    lines = AuditReport([audit(HITS, *rows)]).summary()
    assert len(lines) == 5
    assert all(len(line) < 500 for line in lines)


# --- figures -------------------------------------------------------------------------------------


def test_figures() -> None:
    metrics = parsed(AuditReport([*MIXED, UNJUDGED]).metrics(NOW))
    assert list(metrics) == [
        "partmove_audit_drift",
        "partmove_audit_inconsistent",
        "partmove_audit_restart_unsafe",
        "partmove_audit_written_by_another",
        "partmove_audit_partitions",
        "partmove_audit_unjudged",
        "partmove_audit_complete",
        "partmove_audit_timestamp_seconds",
    ]
    kinds = [kind.value for kind in FindingKind if kind.is_inconsistent]
    assert metrics["partmove_audit_inconsistent"] == {
        (("kind", kind),): {"ghost": 1, "unregistered": 2, "registered_for_another": 1}.get(kind, 0)
        for kind in kinds
    }
    assert metrics["partmove_audit_drift"] == {
        (("shard_path", HITS), ("kind", "ghost")): 1,
        (("shard_path", VISITS), ("kind", "unregistered")): 2,
        (("shard_path", VISITS), ("kind", "registered_for_another")): 1,
    }
    assert metrics["partmove_audit_restart_unsafe"] == {
        (("shard_path", VISITS), ("replica", replica), ("host", "")): 1 for replica in ("r1", "r2")
    }
    assert list(metrics["partmove_audit_partitions"]) == [(("kind", kind.value),) for kind in FindingKind]
    assert sum(metrics["partmove_audit_partitions"].values()) == 6
    assert metrics["partmove_audit_unjudged"] == {(("shard_path", "/t/02/hits"),): 1}
    assert metrics["partmove_audit_written_by_another"] == {}
    assert metrics["partmove_audit_complete"] == {(): 0}
    assert metrics["partmove_audit_timestamp_seconds"] == {(): 1_795_212_900.123}


def test_a_complete_audit_is_reported_with_its_time() -> None:
    metrics = parsed(AuditReport(SOUND).metrics(NOW))
    assert metrics["partmove_audit_complete"] == {(): 1}
    assert metrics["partmove_audit_last_complete_timestamp_seconds"] == {(): 1_795_212_900.123}
    assert metrics["partmove_audit_unjudged"] == metrics["partmove_audit_restart_unsafe"] == {}


def test_names_are_escaped() -> None:
    path = '/t/a"b\\c\nd'
    metrics = parsed(AuditReport([audit(path, ("all", 'r"1', FindingKind.UNREGISTERED))]).metrics(NOW))
    assert metrics["partmove_audit_restart_unsafe"] == {
        (("shard_path", path), ("replica", 'r"1'), ("host", "")): 1
    }


def test_copies_wait_for_the_last_of_them_alone() -> None:
    def row(partition: str, replica: str, kind: FindingKind, seconds: float) -> Row:
        return Row(HITS, partition, replica, Verdict(kind), RowDetails(seconds_needed=seconds))

    rows = (
        row("201901", "r1", FindingKind.COPIES_NEEDED, 90.0),
        row("201901", "r2", FindingKind.COPIES_NEEDED, 100.0),
        row("201902", "r1", FindingKind.HOT, 500.0),
    )
    assert AuditReport([ShardAudit(HITS, rows)]).waiting_copies() == (1, 100)
    assert AuditReport([ShardAudit(HITS, rows[2:])]).waiting_copies() == (0, None)


@pytest.mark.parametrize("need", Need)
def test_folders_of_one_need_are_one_line(need: Need) -> None:
    folders = tuple(DetachedFolder("201901", replica, "201901_0_0_0", need) for replica in ("r1", "r2"))
    assert len(AuditReport([ShardAudit(HITS, (), detached=folders)]).summary()) == 2


@pytest.mark.parametrize(
    ("rows", "shown"), [(1, 1), (MOST_SHOWN, MOST_SHOWN), (MOST_SHOWN + 1, MOST_SHOWN + 1)]
)
def test_statements_of_the_first_rows_are_shown(rows: int, shown: int) -> None:
    """One more line says how many rows have others; rows without statements have no line."""
    verdict = Verdict(FindingKind.GHOST, ("201901_0_0_0",))
    without = [Row(HITS, f"p{number}", "r1", verdict) for number in range(rows)]
    with_sql = [row._replace(details=RowDetails(statements=("SELECT 1",))) for row in without]
    lengths = [len(AuditReport([ShardAudit(HITS, tuple(each))]).summary()) for each in (with_sql, without)]
    assert lengths[0] - lengths[1] == shown


def test_another_tool_that_writes_is_one_urgent_line() -> None:
    audits = [ShardAudit(HITS, (), written_by_another=("201901", "201902")), ShardAudit(VISITS, ())]
    report = AuditReport(audits)
    assert len([*report.urgent()]) == 1
    assert report.written_by_another() == [(HITS, "201901"), (HITS, "201902")]
    assert [*AuditReport(audits[1:]).urgent()] == []


def test_figures_of_unsafe_restarts_and_of_tables_that_another_tool_wrote() -> None:
    other = ShardAudit("/t/03/hits", (), written_by_another=("201901", "201902"))
    unsafe, written = AuditReport([*MIXED, UNJUDGED, other]).urgent_families()
    assert [sample.value for sample in unsafe.samples] == [1, 1]
    assert written.samples == (Sample(2, (("shard_path", "/t/03/hits"),)),)


def test_the_step_of_a_kind_has_the_newest_write_and_how_long_copies_stay() -> None:
    rows = tuple(
        Row(HITS, "201901", replica, Verdict(kind, ("201901_0_0_0",)), RowDetails(newest_write=newest))
        for replica, kind, newest in (
            ("r1", FindingKind.GHOST, 20),
            ("r2", FindingKind.GHOST, 30),
            ("r3", FindingKind.GHOST, 10),
            ("r4", FindingKind.HALF_COLD, 40),
        )
    )
    steps = {step.kind: step for step in AuditReport([ShardAudit(HITS, rows)]).repair_order()}
    ghost, half_cold = steps[FindingKind.GHOST], steps[FindingKind.HALF_COLD]
    assert (ghost.newest_write, ghost.copies_stay) == (30, 0)
    assert (half_cold.newest_write, half_cold.copies_stay) == (40, STARTING_SECONDS)
