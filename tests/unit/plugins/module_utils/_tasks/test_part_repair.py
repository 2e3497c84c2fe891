# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""part_repair over ensembles in memory: refusals, backups, journal and results."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    FormatError,
    NoSuchTable,
    PartMoveError,
    SameEnsemble,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.backup import (
    parse_backup,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.run import REMEDIES
from ansible_collections.olap.partmove.plugins.module_utils._tasks.part_repair import (
    ALL_KINDS,
    PartRepair,
)
from ansible_collections.olap.partmove.plugins.modules import part_repair
from support.memory.arrange import create, write
from support.memory.bench import DAY, OTHER, PART, PATH
from support.memory.part_repairs import STATE, Repairs


@pytest.fixture
def repairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repairs:
    folder = tmp_path / "backup"
    folder.mkdir()
    return Repairs(folder, monkeypatch)


@pytest.fixture
def unmarked(repairs: Repairs) -> Repairs:
    """Return repairs of a cold partition whose State says HOT."""
    repairs.bench.move()
    write(f"block_numbers/{DAY}/State", b"HOT")(repairs.bench)
    return repairs


ROWS = [
    {"shard_path": PATH, "partition": DAY, "replica": replica, "kind": "cold_unmarked", "parts": [PART]}
    for replica in ("r1", "r2")
]
OPERATIONS = [f"hot: set {STATE} to 'COLD'"]


def test_check_repair_and_repair_again(unmarked: Repairs) -> None:
    before = unmarked.trees()
    checked = unmarked.run(check_mode=True)
    assert unmarked.trees() == before
    assert unmarked.files() == []
    assert checked == {
        "changed": True,
        "msg": "1 would be repaired, 0 left",
        "counts": {"repaired": 1, "left": 0},
        "repaired": ROWS,
        "left": [],
        "failed_shard_paths": [],
        "operations": OPERATIONS,
        "seconds": 0.0,
        "steps": [{"kind": "cold_unmarked", "shard_path": PATH, "repaired": 1, "left": 0}],
        "backup": "",
        "backups": [],
        "diff": {
            "before": "".join(f"{PATH} {DAY} {each}: cold_unmarked\n" for each in ("r1", "r2")),
            "after": "".join(f"{PATH} {DAY} {each}: repaired\n" for each in ("r1", "r2")),
        },
    }

    done = unmarked.run()
    (file,) = unmarked.files()
    assert done == {**checked, "msg": "1 repaired, 0 left", "backup": str(file), "backups": [str(file)]}
    assert unmarked.bench.hot.get(STATE)[0] == b"COLD"

    again = unmarked.run()
    assert (again["changed"], again["repaired"], again["operations"]) == (False, [], [])
    assert (again["msg"], again["backup"]) == ("0 repaired, 0 left", "")
    assert unmarked.files() == [file]


def test_the_backup_has_what_was_changed_and_is_for_its_owner_alone(unmarked: Repairs) -> None:
    path = Path(unmarked.run()["backup"])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    header, saved, _written, _left = parse_backup(path.read_bytes(), str(path))
    assert (header.shard_path, header.kind) == (PATH, "cold_unmarked")
    assert header.czxid == unmarked.bench.hot.get(PATH)[1].czxid
    assert [(each.ensemble, each.path, each.data) for each in saved] == [("hot", STATE, b"HOT")]


def test_the_journal_has_a_line_for_each_partition_of_a_replica(unmarked: Repairs, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    unmarked.run(check_mode=True, journal=str(journal))
    assert not journal.exists()
    unmarked.run(journal=str(journal))
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    assert [each["event"] for each in lines] == [
        *("started", "repairing", "repairing", "writing", "repaired", "repaired", "ended")
    ]
    repaired = [(each["partition"], each["replica"]) for each in lines if each["event"] == "repaired"]
    assert repaired == [(DAY, "r1"), (DAY, "r2")]
    assert {each["run"] for each in lines} == {lines[0]["run"]}


@pytest.mark.parametrize("reason", ["No such file or directory", "Not a directory"])
def test_nothing_is_removed_without_a_backup(repairs: Repairs, tmp_path: Path, reason: str) -> None:
    """A folder without permissions would not stop a test that runs as root."""
    repairs.bench.move()
    for names in repairs.bench.servers.disk.values():
        names.discard(PART)
    folder = tmp_path / "file"
    if reason == "Not a directory":
        folder.write_text("")
    task, resources = repairs.task(kind="ghost", disks_are_mounted=True, backup=str(folder))
    with pytest.raises(PartMoveError) as refused:
        task.run(resources)
    assert refused.value.message == (
        f"No backup can be written to {folder}: {reason}; nothing was changed without a backup"
    )
    assert refused.value.remedy
    for replica in ("r1", "r2"):
        assert repairs.bench.cold.exists(repairs.bench.part(replica))
    result = task.result()
    assert (result["changed"], result["operations"], result["backup"]) == (False, [], "")


@pytest.mark.parametrize("state", [b"COLD", b"HOT"])
@pytest.mark.parametrize("check_mode", [False, True], ids=["run", "check mode"])
def test_what_no_server_shows_is_removed_only_once_the_disks_are_said_to_be_mounted(
    repairs: Repairs, state: bytes, check_mode: bool
) -> None:
    kind = {b"COLD": "ghost", b"HOT": "dropped"}[state]
    repairs.bench.move()
    repairs.bench.hot.set(STATE, state)
    for names in repairs.bench.servers.disk.values():
        names.discard(PART)
    unconfirmed = repairs.run(kind=kind, check_mode=check_mode)
    (left,) = unconfirmed["left"]
    assert left["remedy"] == (
        "Check that every disk of every replica is mounted, then run part_repair with disks_are_mounted"
    )
    assert (unconfirmed["changed"], unconfirmed["repaired"], unconfirmed["operations"]) == (False, [], [])
    assert all(repairs.bench.cold.exists(repairs.bench.part(each)) for each in ("r1", "r2"))

    confirmed = repairs.run(kind=kind, check_mode=check_mode, disks_are_mounted=True)
    assert confirmed["left"] == []
    assert len([each for each in confirmed["operations"] if "cold: delete" in each]) == 2


def test_no_state_is_set_without_a_backup(unmarked: Repairs, tmp_path: Path) -> None:
    result = unmarked.run(backup=str(tmp_path / "none"))
    assert (result["changed"], result["operations"], result["backup"]) == (False, [], "")
    (left,) = result["left"]
    assert left["reason"].startswith(f"No backup can be written to {tmp_path}/none: No such file")
    assert unmarked.bench.hot.get(STATE)[0] == b"HOT"


def test_left_partitions_have_a_reason_and_a_remedy(repairs: Repairs) -> None:
    repairs.bench.move()
    create("replicas/r2/parts/x")(repairs.bench)
    result = repairs.run(kind="unreadable")
    assert (result["changed"], result["repaired"], result["msg"]) == (False, [], "0 repaired, 1 left")
    assert result["left"] == [
        {
            "shard_path": PATH,
            "partition": "",
            "kind": "unreadable",
            "reason": f"hot has unreadable znodes: {PATH}/replicas/r2/parts/x",
            "remedy": "Find out which program wrote them, and remove them by hand",
        }
    ]


def test_other_partitions_are_not_repaired(unmarked: Repairs) -> None:
    before = unmarked.trees()
    assert not unmarked.run(partitions=[OTHER])["changed"]
    assert unmarked.trees() == before
    assert unmarked.run(partitions=[DAY])["changed"]


def test_a_server_that_is_silent_keeps_a_partition_as_it_is(unmarked: Repairs) -> None:
    unmarked.probe.silent.add("r2")
    before = unmarked.bench.hot.get(STATE)
    assert not unmarked.run()["changed"]
    assert unmarked.bench.hot.get(STATE) == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "set_aside"}, "Partitions of the kind set_aside are not repaired by a module"),
        ({"kind": "cold"}, "Partitions of the kind cold are not repaired by a module"),
        ({"shard_path": "hits"}, "'hits'"),
        ({"coordination_root": "/"}, "coordination_root is '/'"),
        ({"lock_wait": "soon"}, "lock_wait is 'soon'"),
        ({"quiet": "soon"}, "quiet is 'soon'"),
        ({"partitions": ["a/b"]}, "a/b"),
        ({"registrations": "/none"}, "The registrations /none cannot be read: No such file or directory"),
    ],
)
def test_invalid_options_are_refused(repairs: Repairs, options: dict[str, Any], message: str) -> None:
    with pytest.raises(PartMoveError) as refused:
        PartRepair(repairs.params(**options))
    assert message in refused.value.message
    assert refused.value.remedy


def test_a_file_that_is_no_backup_has_no_registrations(repairs: Repairs, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("{}\n")
    with pytest.raises(FormatError):
        PartRepair(repairs.params(registrations=str(path)))


def test_a_missing_table_is_reported(repairs: Repairs) -> None:
    with pytest.raises(NoSuchTable):
        repairs.run(shard_path="/none")
    assert repairs.files() == []


def test_one_ensemble_is_not_taken_for_two(repairs: Repairs) -> None:
    repairs.bench.cold_store = repairs.bench.hot_store
    with pytest.raises(SameEnsemble):
        repairs.run()


def test_the_module_has_the_kinds_that_are_repaired_and_no_other() -> None:
    assert sorted([ALL_KINDS, *(kind.value for kind in REMEDIES)]) == part_repair.KINDS


def test_before_the_audit_the_result_is_empty(repairs: Repairs) -> None:
    result = PartRepair(repairs.params()).result()
    assert (result["changed"], result["msg"]) == (False, "0 repaired, 0 left")


def test_every_kind_that_is_repaired_has_a_name_that_options_take(repairs: Repairs) -> None:
    for name in part_repair.KINDS:
        PartRepair(repairs.params(kind=name))
        assert name == ALL_KINDS or FindingKind(name) in REMEDIES
