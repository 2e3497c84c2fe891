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
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.backup import (
    BackupHeader,
    SavedZnode,
)
from ansible_collections.olap.partmove.plugins.module_utils._tasks.part_restore import PartRestore
from support.memory.bench import DAY, PART, PATH, Bench
from support.memory.resources import MemoryResources
from support.memory.synthetic import MINIMALISTIC

STATE = f"{PATH}/block_numbers/{DAY}/State"
COPY = f"{PATH}/replicas/r1/parts/{PART}"


class Backup:
    """A bench, and a backup as a repair of its table would write."""

    def __init__(self, path: Path) -> None:
        self.bench = Bench()
        self.path = path
        self.bench.hot.create(STATE, b"HOT")
        self.czxid = int(self.bench.hot.get(PATH)[1].czxid)
        self.write()

    def write(self, shard_path: str = PATH) -> None:
        """Write the file, of a table at a path."""
        header = BackupHeader("2026-11-22T06:00:00.000Z", shard_path, self.czxid, "ghost")
        saved = [SavedZnode("cold", COPY, MINIMALISTIC, 0), SavedZnode("hot", STATE, b"COLD", 1)]
        self.path.write_bytes(b"".join([header.encode(), *(each.encode() for each in saved)]))

    def task(self, **options: Any) -> PartRestore:
        """The task."""
        return PartRestore(self.params(**options))

    def params(self, **options: Any) -> dict[str, Any]:
        """The options of the module."""
        given = {"hot": {}, "cold": {}, "coordination_root": "/partmove", "lock_wait": "3s"}
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

    def trees(self) -> list[object]:
        """Return the content of both ensembles."""
        return [each.data() for each in (self.bench.hot_ensemble, self.bench.cold_ensemble)]


@pytest.fixture
def backup(tmp_path: Path) -> Backup:
    return Backup(tmp_path / "backup.jsonl")


def test_check_restore_and_restore_again(backup: Backup) -> None:
    before = backup.trees()
    checked = backup.run(check_mode=True)
    assert backup.trees() == before
    assert backup.events() == []

    done = backup.run()
    assert backup.events() == ["started", "restoring", "restored", "ended"]
    assert done == checked
    assert done == {
        "changed": True,
        "msg": "1 created, 1 set back, 0 unchanged",
        "shard_path": PATH,
        "created": [f"cold: {COPY}"],
        "set_back": [f"hot: {STATE}"],
        "diff": {
            "before": f"hot: {STATE} has other data\n",
            "after": f"cold: {COPY} as in the backup\nhot: {STATE} as in the backup\n",
        },
    }
    assert backup.bench.cold.get(COPY)[0] == MINIMALISTIC
    assert backup.bench.hot.get(STATE)[0] == b"COLD"

    again = backup.run()
    assert (again["changed"], again["created"], again["set_back"]) == (False, [], [])
    assert again["msg"] == "0 created, 0 set back, 2 unchanged"


def test_a_recreated_table_is_refused(backup: Backup) -> None:
    backup.czxid += 1
    backup.write()
    with pytest.raises(PartMoveError, match="was created anew since the backup was written"):
        backup.run()
    assert backup.bench.hot.get(STATE)[0] == b"HOT"
    assert not backup.bench.cold.exists(COPY)


def test_znodes_of_another_path_are_refused(backup: Backup) -> None:
    backup.write(f"{PATH}_2")
    with pytest.raises(PartMoveError, match=f"which is not below {PATH}_2"):
        backup.run()
    assert backup.bench.hot.get(STATE)[0] == b"HOT"


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
