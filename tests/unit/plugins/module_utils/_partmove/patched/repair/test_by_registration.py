# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Parts on disk are registered again, if bytes are known that match the disk."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.payload import parse_payload
from ansible_collections.olap.partmove.plugins.module_utils._partmove.journal.events import Event
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.backup import (
    SavedZnode,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.case import RepairOptions
from support.memory.arrange import create, delete
from support.memory.bench import DAY, PART, PATH
from support.memory.drifted import Drifted
from support.memory.synthetic import LEGACY, MINIMALISTIC

R1, R2 = (f"replicas/{replica}/parts/{PART}" for replica in ("r1", "r2"))
HASH = "22" * 16
SAVED = RepairOptions(registrations=[SavedZnode("hot", f"{PATH}/{R2}", MINIMALISTIC, 0)])


@pytest.fixture
def drifted() -> Drifted:
    drifted = Drifted()
    drifted.disks.hashes[PART] = HASH
    return drifted


def lose_from_both(drifted: Drifted) -> None:
    drifted.bench.move()
    for path in (R1, R2):
        drifted.bench.cold.delete(f"{PATH}/{path}")


def let_disks_have_what_is_registered(drifted: Drifted, *, cold: bool = False) -> None:
    client = drifted.bench.cold if cold else drifted.bench.hot
    payload = parse_payload(client.get(f"{PATH}/{R1}")[0], {}, R1)
    assert payload.checksums is not None
    drifted.disks.hashes[PART] = payload.checksums.hash_of_all_files


def test_as_hot_registers_it_for_another_replica(drifted: Drifted) -> None:
    let_disks_have_what_is_registered(drifted)
    delete(R1)(drifted.bench)
    report = drifted.repair(FindingKind.REGISTERED_FOR_ANOTHER)
    assert [(row.partition, row.replica) for row in report.repaired] == [(DAY, "r1")]
    assert drifted.kinds() == {"r1": FindingKind.HOT, "r2": FindingKind.HOT}
    assert drifted.bench.hot.get(f"{PATH}/{R1}")[0] == drifted.bench.hot.get(f"{PATH}/{R2}")[0]


def test_without_a_source_the_remedy_has_the_statements_with_real_names(drifted: Drifted) -> None:
    lose_from_both(drifted)
    remedy = drifted.repair(FindingKind.UNREGISTERED).left[DAY].remedy
    for what in ("DETACH", "ATTACH"):
        assert f"on this server alone */ ALTER TABLE db.hits {what} PARTITION ID '{DAY}'" in remedy
    assert "…" not in remedy
    assert "do not restart" in remedy


def test_where_statements_could_lose_rows_the_remedy_has_none(drifted: Drifted) -> None:
    lose_from_both(drifted)
    drifted.disks.detached["r1"] = drifted.disks.detached["r2"] = {f"ignored_{PART}_9"}
    remedy = drifted.repair(FindingKind.UNREGISTERED).left[DAY].remedy
    assert "ALTER TABLE db" not in remedy
    assert "Do not restart" in remedy


def test_as_cold_registers_it_for_another_replica(drifted: Drifted) -> None:
    let_disks_have_what_is_registered(drifted)
    drifted.bench.move()
    drifted.bench.cold.delete(f"{PATH}/{R1}")
    assert drifted.repair(FindingKind.REGISTERED_FOR_ANOTHER).left == {}
    assert drifted.kinds() == {"r1": FindingKind.COLD, "r2": FindingKind.COLD}


@pytest.mark.parametrize(
    ("shown", "reason"),
    [
        ("33" * 16, f"{PART} of replica r1 is on disk, and no known part znode has the hash of its data"),
        (None, f"the server of replica r1 does not show the hash of {PART}"),
    ],
    ids=["other", "unknown"],
)
def test_other_data_on_disk_is_not_registered(drifted: Drifted, shown: str | None, reason: str) -> None:
    drifted.disks.hashes.clear()
    if shown is not None:
        drifted.disks.hashes[PART] = shown
    delete(R1)(drifted.bench)
    report = drifted.repair(FindingKind.REGISTERED_FOR_ANOTHER)
    assert report.left[DAY].reason == reason
    # A registration of another source would be compared with the hash, too.
    assert ("with registrations" in report.left[DAY].remedy) == (shown is not None)
    assert "ATTACH PARTITION ID" in report.left[DAY].remedy
    assert drifted.done == []


def test_from_a_backup(drifted: Drifted) -> None:
    lose_from_both(drifted)
    assert drifted.kinds() == {"r1": FindingKind.UNREGISTERED, "r2": FindingKind.UNREGISTERED}
    assert drifted.repair(FindingKind.UNREGISTERED, SAVED).left == {}
    assert drifted.kinds() == {"r1": FindingKind.HOT, "r2": FindingKind.HOT}


def test_from_a_backup_with_children(drifted: Drifted) -> None:
    lose_from_both(drifted)
    # The totals of this list of files are those of the other form.
    totals = b"checksums format version: 5\n" + MINIMALISTIC[-50:]
    znodes = {"": b"", "/columns": LEGACY["columns"], "/checksums": totals}
    saved = [SavedZnode("cold", f"{PATH}/{R1}{name}", data, 0) for name, data in znodes.items()]
    assert drifted.repair(FindingKind.UNREGISTERED, RepairOptions(registrations=saved)).left == {}
    assert drifted.bench.hot.get(f"{PATH}/{R2}/checksums")[0] == totals


def test_without_any_bytes(drifted: Drifted) -> None:
    lose_from_both(drifted)
    left = drifted.repair(FindingKind.UNREGISTERED).left[DAY]
    assert "no known part znode has the hash of its data" in left.reason
    assert "ATTACH PARTITION ID" in left.remedy
    assert drifted.done == []


def test_bytes_that_are_no_registration_are_passed_over(drifted: Drifted) -> None:
    lose_from_both(drifted)
    junk = SavedZnode("hot", f"{PATH}/{R1}", b"junk", 0)
    options = RepairOptions(registrations=[junk, *SAVED.registrations])
    assert drifted.repair(FindingKind.UNREGISTERED, options).left == {}


def test_a_gate_keeps_it(drifted: Drifted) -> None:
    lose_from_both(drifted)
    create("part_moves", b"")(drifted.bench)
    assert "znodes of an unknown kind" in drifted.repair(FindingKind.UNREGISTERED, SAVED).left[DAY].reason


def test_a_cold_ensemble_that_is_lost(drifted: Drifted) -> None:
    drifted.bench.move()
    drifted.bench.cold.delete(PATH, recursive=True)
    assert drifted.kinds() == {"r1": FindingKind.COLD_UNKNOWN, "r2": FindingKind.COLD_UNKNOWN}
    assert "cold_is_lost" in drifted.repair(FindingKind.COLD_UNKNOWN, SAVED).left[DAY].remedy
    assert drifted.done == []
    assert [row["partition"] for row in drifted.bench.journal.of(Event.LEFT)] == [DAY]
    options = RepairOptions(registrations=SAVED.registrations, cold_is_lost=True)
    assert drifted.repair(FindingKind.COLD_UNKNOWN, options).left == {}
    assert drifted.kinds() == {"r1": FindingKind.HOT, "r2": FindingKind.HOT}
    assert drifted.bench.move().moved.keys() == {DAY}


def test_a_copy_of_the_cold_ensemble_counts_as_another_one(drifted: Drifted) -> None:
    drifted.bench.move()
    data = drifted.bench.cold.get(f"{PATH}/{R1}")[0]
    marker = drifted.bench.cold.get(PATH)[0]
    drifted.bench.cold.delete(PATH, recursive=True)
    for path in (R1, R2):
        drifted.bench.cold.create(f"{PATH}/{path}", data, makepath=True)
    drifted.bench.cold.set(PATH, marker)
    let_disks_have_what_is_registered(drifted, cold=True)
    assert drifted.kinds() == {"r1": FindingKind.COLD_UNKNOWN, "r2": FindingKind.COLD_UNKNOWN}
    saved = [SavedZnode("cold", f"{PATH}/{R1}", data, 0)]
    assert (
        drifted.repair(FindingKind.COLD_UNKNOWN, RepairOptions(registrations=saved, cold_is_lost=True)).left
        == {}
    )
    assert drifted.bench.hot.get(f"{PATH}/{R2}")[0] == data
    assert set(drifted.kinds().values()) == {FindingKind.COPIES_NEEDED}
