# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which partitions another tool wrote after the last run, and which were written by runs."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.audit import (
    ShardAudit,
    audit_shard,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.reader import (
    EvidenceReader,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.report import (
    AuditReport,
    OtherWrite,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Committed,
    Create,
    Znode,
)
from support.memory.arrange import create, create_cold, mark_former, write
from support.memory.bench import DAY, LOCK, OTHER, PART, PATH, Bench
from support.memory.disks import SimulatedDisks
from support.memory.synthetic import MINIMALISTIC

STATE = f"block_numbers/{DAY}/State"
HOUR, A_DAY = 3600.0, 24 * 3600.0


@pytest.fixture
def bench() -> Bench:
    return Bench()


def audit(bench: Bench, *, compare_all: bool = False) -> ShardAudit:
    disks = SimulatedDisks(bench.servers)
    reader = EvidenceReader(bench.hot_store, bench.cold_store, disks, bench.clock, DEFAULT_ROOT)
    return audit_shard(reader, PATH, compare_all=compare_all)


def kinds(found: ShardAudit) -> set[FindingKind]:
    return {row.verdict.kind for row in found.rows if row.partition == DAY}


def take_cold_without_a_gate(bench: Bench) -> None:
    """Do what a whole run of another tool does to a partition: State, copy, deletes."""
    bench.hot.set(f"{PATH}/{STATE}", b"COLD")
    for replica in ("r1", "r2"):
        path = bench.part(replica)
        if bench.cold.exists(path) is None:
            bench.cold.create(path, bench.hot.get(path)[0], makepath=True)
        bench.hot.delete(path)


def lock_of_another_table(bench: Bench) -> None:
    """Let a run lock and release another shard path."""
    path = f"{DEFAULT_ROOT}/locks/other"
    bench.hot.create(path, b"")
    bench.hot.delete(path)


def test_a_partition_taken_cold_after_it_was_brought_back_is_consistent_and_named(bench: Bench) -> None:
    bench.move()
    bench.reheat()
    bench.clock.sleep(2 * HOUR)
    take_cold_without_a_gate(bench)
    found = audit(bench)
    assert kinds(found) == {FindingKind.COLD}
    assert found.written_by_another == (DAY,)
    report = AuditReport([found])
    assert report.written_by_another() == [OtherWrite(PATH, DAY)]
    assert report.summary()[0].startswith(f"WRITTEN BY ANOTHER TOOL ({PATH})")
    assert f'partmove_audit_written_by_another{{shard_path="{PATH}"}} 1' in report.metrics(0.0)


def test_a_run_is_no_other_tool_however_long_ago(bench: Bench) -> None:
    bench.move()
    bench.clock.sleep(9 * A_DAY)
    found = audit(bench, compare_all=True)
    assert found.written_by_another == ()
    assert f'partmove_audit_written_by_another{{shard_path="{PATH}"}}' not in AuditReport([found]).metrics(
        0.0
    )


def test_a_lease_may_last_for_hours(bench: Bench) -> None:
    """The lock that goes at its end came after its writes."""
    bench.move()
    bench.hot.create(LOCK, b"a run", ephemeral=True, makepath=True)
    bench.clock.sleep(20 * HOUR)
    bench.hot.set(f"{PATH}/{STATE}", b"HOT")
    assert audit(bench).written_by_another == ()
    bench.hot.delete(LOCK)
    assert audit(bench).written_by_another == ()


def test_right_after_a_run_nothing_is_certain(bench: Bench) -> None:
    bench.move()
    bench.clock.sleep(HOUR / 2)
    write(STATE, b"HOT")(bench)
    assert audit(bench).written_by_another == ()


def test_runs_on_other_tables_hide_it_for_a_day(bench: Bench) -> None:
    bench.move()
    bench.clock.sleep(2 * HOUR)
    write(STATE, b"HOT")(bench)
    lock_of_another_table(bench)
    assert audit(bench).written_by_another == ()
    bench.clock.sleep(A_DAY)
    write(STATE, b"HOT")(bench)
    lock_of_another_table(bench)
    assert audit(bench).written_by_another == (DAY,)


def test_while_a_run_works_nothing_is_certain(bench: Bench) -> None:
    bench.move()
    bench.clock.sleep(2 * A_DAY)
    write(STATE, b"HOT")(bench)
    bench.hot.create(LOCK, b"a run", ephemeral=True, makepath=True)
    assert audit(bench).written_by_another == ()


def test_the_next_run_that_writes_ends_it(bench: Bench) -> None:
    bench.move()
    bench.reheat()
    bench.clock.sleep(2 * HOUR)
    take_cold_without_a_gate(bench)
    assert audit(bench).written_by_another == (DAY,)
    bench.reheat()
    assert audit(bench).written_by_another == ()


def test_without_a_run_there_is_nothing_to_compare_with(bench: Bench) -> None:
    create(STATE, b"COLD")(bench)
    assert audit(bench).written_by_another == ()


@pytest.mark.parametrize(("seconds", "named"), [(2 * A_DAY, (OTHER,)), (2 * HOUR, ())])
def test_copies_below_our_marker(bench: Bench, seconds: float, named: tuple[str, ...]) -> None:
    bench.move()
    bench.clock.sleep(seconds)
    create_cold(f"replicas/r1/parts/{PART.replace(DAY, OTHER)}", MINIMALISTIC)(bench)
    assert audit(bench).written_by_another == named


NEW = PART.replace(DAY, OTHER).replace("_0_0_0", "_7_7_0")
"""A part that a server inserts after the last run."""


def insert(bench: Bench) -> None:
    for replica in ("r1", "r2"):
        create(f"replicas/{replica}/parts/{NEW}", MINIMALISTIC)(bench)
        bench.servers.disk[replica].add(NEW)


def copy_new(bench: Bench) -> None:
    """Copy as a tool does that sets no State, and nothing else."""
    for replica in ("r1", "r2"):
        create_cold(f"replicas/{replica}/parts/{NEW}", MINIMALISTIC)(bench)


def test_a_copy_of_a_part_that_came_after_the_last_run(bench: Bench) -> None:
    bench.move()
    bench.clock.sleep(2 * HOUR)
    insert(bench)
    assert audit(bench).written_by_another == ()
    copy_new(bench)
    found = audit(bench)
    assert found.written_by_another == (OTHER,)
    report = AuditReport([found])
    assert f"newer than the last run of olap.partmove in partition {OTHER}" in report.summary()[0]
    assert f'partmove_audit_written_by_another{{shard_path="{PATH}"}} 1' in report.metrics(0.0)


def test_a_copy_of_a_part_that_came_right_after_the_last_run_is_not_certain(bench: Bench) -> None:
    bench.move()
    bench.clock.sleep(HOUR / 2)
    insert(bench)
    copy_new(bench)
    assert audit(bench).written_by_another == ()


def test_runs_on_other_tables_hide_a_copy_for_a_day(bench: Bench) -> None:
    bench.move()
    bench.clock.sleep(2 * HOUR)
    insert(bench)
    copy_new(bench)
    lock_of_another_table(bench)
    assert audit(bench).written_by_another == ()


def test_a_copy_that_was_made_a_day_after_the_epoch_is_hidden_by_no_other_run(bench: Bench) -> None:
    bench.move()
    bench.clock.sleep(A_DAY + HOUR)
    insert(bench)
    copy_new(bench)
    lock_of_another_table(bench)
    assert audit(bench).written_by_another == (OTHER,)


def test_a_part_that_a_server_fetched_anew_has_an_older_copy_of_ours(bench: Bench) -> None:
    """Such as after CHECK TABLE, while the copy of a partition that was brought back is still there."""
    bench.move()
    bench.reheat()
    bench.clock.sleep(2 * HOUR)
    for replica in ("r1", "r2"):
        data = bench.hot.get(bench.part(replica))[0]
        bench.hot.delete(bench.part(replica))
        bench.hot.create(bench.part(replica), data)
    assert bench.cold.exists(bench.part())
    assert audit(bench).written_by_another == ()


MARKS = ("host", "log_pointer", "queue")


@pytest.mark.parametrize("mark", MARKS)
def test_copies_after_znodes_that_no_run_makes(bench: Bench, mark: str) -> None:
    """They are certain at once, also of parts that were there before the last run."""
    bench.move()
    create_cold(f"replicas/r2/{mark}", b"")(bench)
    assert audit(bench).written_by_another == ()
    create_cold(f"replicas/r1/parts/{PART.replace(DAY, OTHER)}", MINIMALISTIC)(bench)
    assert audit(bench).written_by_another == (OTHER,)
    bench.clock.sleep(HOUR)
    bench.move(OTHER)
    assert audit(bench).written_by_another == ()


def test_copies_of_the_transaction_that_makes_what_no_run_makes(bench: Bench) -> None:
    """The original PartMove creates 500 znodes with one transaction."""
    bench.move()
    copy = f"{PATH}/replicas/r1/parts/{PART.replace(DAY, OTHER)}"
    multi = (Create(f"{PATH}/replicas/r1/host", b""), Create(copy, MINIMALISTIC))
    assert isinstance(bench.cold_ensemble.open().commit([multi])[0], Committed)
    assert audit(bench).written_by_another == (OTHER,)


def test_znodes_that_no_run_makes_and_that_were_there_before_the_last_run(bench: Bench) -> None:
    """As in a table that was adopted; what its next run copies is of this collection."""
    bench.move()
    for mark in MARKS:
        create_cold(f"replicas/r1/{mark}", b"")(bench)
    bench.move(OTHER)
    bench.reheat(OTHER)
    assert bench.cold.exists(bench.part().replace(DAY, OTHER))
    assert audit(bench).written_by_another == ()


def test_a_run_after_the_read_of_the_marks_is_no_other_tool(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It makes copies anew after marks of another tool, and its epoch comes after them, too."""
    bench.move()
    bench.move(OTHER)
    bench.reheat(OTHER)
    bench.cold.set(bench.part().replace(DAY, OTHER), MINIMALISTIC[:-1] + b"\x23")
    create_cold("replicas/r1/host", b"")(bench)
    read, began = bench.cold_store.read, list[bool]()

    def read_and_begin(paths: Sequence[str], *, absolute: bool = False) -> list[Znode | None]:
        found = read(paths, absolute=absolute)
        if not began and any(path.endswith("/log_pointer") for path in paths):
            began.append(True)
            bench.move(OTHER)
            bench.reheat(OTHER)
        return found

    monkeypatch.setattr(bench.cold_store, "read", read_and_begin)
    assert audit(bench).written_by_another == ()
    assert began


def test_copies_of_a_former_table_have_no_record(bench: Bench) -> None:
    bench.move()
    mark_former(bench)
    bench.clock.sleep(2 * A_DAY)
    create_cold(f"replicas/r2/parts/{PART}_9", MINIMALISTIC)(bench)
    assert audit(bench).written_by_another == ()


def test_a_state_that_another_tool_wrote_before_its_copies_is_named(bench: Bench) -> None:
    bench.move()
    bench.reheat()
    bench.clock.sleep(2 * HOUR)
    for replica in ("r1", "r2"):
        bench.cold.delete(bench.part(replica))
    bench.hot.set(f"{PATH}/{STATE}", b"COLD")

    assert audit(bench).written_by_another == (DAY,)


def test_a_run_on_another_table_is_no_record_of_this_one(bench: Bench) -> None:
    create("partmove/locks/other", at="")(bench)
    bench.hot.delete("/partmove/locks/other")
    create(STATE, b"COLD")(bench)

    assert audit(bench).written_by_another == ()


def test_marks_without_an_epoch_in_cold_prove_nothing(bench: Bench) -> None:
    bench.move()
    create_cold("replicas/r1/host")(bench)
    bench.cold.delete("/partmove/epochs", recursive=True)

    assert audit(bench).written_by_another == ()


def test_a_copy_in_a_table_without_any_state(bench: Bench) -> None:
    """As where runs took the lease of the table and switched nothing. The copy of one replica is enough."""
    bench.move()
    bench.reheat()
    bench.hot.delete(f"{PATH}/{STATE}")
    bench.clock.sleep(2 * HOUR)
    insert(bench)
    assert audit(bench).written_by_another == ()
    create_cold(f"replicas/r1/parts/{NEW}", MINIMALISTIC)(bench)
    assert audit(bench).written_by_another == (OTHER,)


def test_copies_between_two_znodes_that_no_run_makes(bench: Bench) -> None:
    """A tool that copies one replica after the other makes such znodes of the last one after most copies."""
    bench.move()
    create_cold("replicas/r1/host", b"")(bench)
    create_cold(f"replicas/r1/parts/{PART.replace(DAY, OTHER)}", MINIMALISTIC)(bench)
    create_cold("replicas/r2/host", b"")(bench)
    assert audit(bench).written_by_another == (OTHER,)


@pytest.mark.parametrize("ensemble", ["hot", "cold"])
def test_a_part_that_goes_while_its_copy_is_read_is_no_copy(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, ensemble: str
) -> None:
    bench.move()
    bench.clock.sleep(2 * HOUR)
    insert(bench)
    copy_new(bench)
    create_cold("replicas/r1/host", b"")(bench)
    store, client = {"hot": (bench.hot_store, bench.hot), "cold": (bench.cold_store, bench.cold)}[ensemble]
    paths_of_new = {f"{PATH}/replicas/{each}/parts/{NEW}" for each in ("r1", "r2")}
    read = store.read

    def remove_and_read(paths: Sequence[str], *, absolute: bool = False) -> list[Znode | None]:
        for path in paths_of_new & {*paths}:
            client.delete(path)
        paths_of_new.difference_update(paths)
        return read(paths, absolute=absolute)

    monkeypatch.setattr(store, "read", remove_and_read)
    assert audit(bench).written_by_another == ()
    assert not paths_of_new
