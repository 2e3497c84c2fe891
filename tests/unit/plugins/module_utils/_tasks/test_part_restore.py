# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""part_restore over ensembles in memory: restored znodes and refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    FormatError,
    PartMoveError,
    SameEnsemble,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._tasks import part_restore as task_file
from ansible_collections.olap.partmove.plugins.module_utils._tasks.part_restore import PartRestore
from support.memory.bench import DAY, PART, PATH
from support.memory.resources import MemoryResources
from support.memory.restores import Restores

STATE = f"hot: {PATH}/block_numbers/{DAY}/State"
COPIES = [f"cold: {PATH}/replicas/{replica}/parts/{PART}" for replica in ("r1", "r2")]


class Backup:
    """A repaired table whose disks are back, and the backup of the repair in a file."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.lost = Restores.of_lost_disks()
        self.bench = self.lost.bench
        self.path = path
        monkeypatch.setattr(task_file, "probe_of", lambda _settings: self.lost.disks)
        self.write()

    def write(self, **header: Any) -> None:
        """Write the file, with other fields of its header if they are given."""
        backup = self.lost.backup(**header)
        lines = [backup.header.encode(), *(each.encode() for each in self.lost.lines)]
        self.path.write_bytes(b"".join(lines))

    def task(self, **options: Any) -> PartRestore:
        """The task."""
        return PartRestore(self.params(**options))

    def params(self, **options: Any) -> dict[str, Any]:
        """The options of the module."""
        given = {"hot": {}, "cold": {}, "coordination_root": "/partmove", "lock_wait": "3s", "clickhouse": {}}
        return {**given, "backup": str(self.path), "journal": str(self.journal), **options}

    def run(self, *, check_mode: bool = False) -> dict[str, Any]:
        """The result of the module."""
        resources = MemoryResources(self.bench, self.params(), check_mode=check_mode)
        resources.clock = self.bench.clock  # type: ignore[assignment]
        task = self.task()
        try:
            task.run(resources)
        finally:
            resources.close()
        return task.result()

    @property
    def journal(self) -> Path:
        """Return the path of the journal."""
        return self.path.with_suffix(".journal")

    def events(self) -> list[str]:
        """The events in the journal."""
        lines = self.journal.read_text().splitlines() if self.journal.exists() else []
        return [json.loads(line)["event"] for line in lines]


@pytest.fixture
def backup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Backup:
    return Backup(tmp_path / "backup.jsonl", monkeypatch)


def row(path: str, action: str) -> dict[str, str]:
    ensemble, path = path.split(": ")
    return {"ensemble": ensemble, "path": path, "action": action, "reason": "", "remedy": ""}


def test_check_restore_and_restore_again(backup: Backup) -> None:
    before = backup.lost.trees()
    checked = backup.run(check_mode=True)
    assert backup.lost.trees() == before
    assert backup.events() == []

    done = backup.run()
    assert backup.events() == ["started", "restoring", "restored", "ended"]
    assert done == checked
    assert done == {
        "changed": True,
        "msg": "3 restored: 2 created, 1 set back; 0 unchanged, 0 left",
        "shard_path": PATH,
        "created": COPIES,
        "set_back": [STATE],
        "rows": [*(row(each, "created") for each in COPIES), row(STATE, "set_back")],
        "diff": {
            "before": "".join([*(f"{each} is missing\n" for each in COPIES), f"{STATE} has other data\n"]),
            "after": "".join(f"{each} as in the backup\n" for each in (*COPIES, STATE)),
        },
    }
    assert set(backup.lost.kinds().values()) == {FindingKind.COLD}

    again = backup.run()
    assert (again["changed"], again["created"], again["set_back"]) == (False, [], [])
    assert again["msg"] == "0 restored: 0 created, 0 set back; 3 unchanged, 0 left"


def test_what_is_left_is_reported_with_reasons(backup: Backup) -> None:
    backup.lost.disks_are_gone()
    done = backup.run()
    assert done["msg"].startswith(
        "0 restored: 0 created, 0 set back; 0 unchanged, 3 left: restored, replica r1"
    )
    assert not done["changed"]
    assert {each["action"] for each in done["rows"]} == {"left"}
    assert all(each["reason"] and each["remedy"] for each in done["rows"])
    assert done["diff"] == {"before": "", "after": ""}
    assert backup.events() == ["started", "restoring", "restored", "ended"]


def test_a_recreated_table_is_refused(backup: Backup) -> None:
    backup.write(czxid=1)
    before = backup.lost.trees()
    with pytest.raises(PartMoveError, match="was created anew since the backup was written"):
        backup.run()
    assert backup.lost.trees() == before
    assert backup.events() == ["started", "restoring", "restored", "ended"]


def test_znodes_of_another_path_are_refused(backup: Backup) -> None:
    backup.write(shard_path=f"{PATH}_2")
    with pytest.raises(PartMoveError, match=f"which is not below {PATH}_2"):
        backup.run()


def test_one_ensemble_is_not_taken_for_two(backup: Backup) -> None:
    backup.bench.cold_store = backup.bench.hot_store
    with pytest.raises(SameEnsemble):
        backup.run()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"backup": "/none"}, "The backup /none cannot be read: No such file or directory"),
        ({"lock_wait": "soon"}, "lock_wait is 'soon'"),
        ({"coordination_root": "/"}, "coordination_root is '/'"),
    ],
)
def test_invalid_options_are_refused(backup: Backup, options: dict[str, str], message: str) -> None:
    with pytest.raises(PartMoveError) as refused:
        backup.task(**options)
    assert message in refused.value.message
    assert refused.value.remedy


def test_a_file_that_is_no_backup_is_refused(backup: Backup) -> None:
    backup.path.write_text("{}\n")
    with pytest.raises(FormatError):
        backup.task()
