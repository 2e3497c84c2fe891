# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Part znodes from snapshots and logs, as of the last transaction."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import build_package
from olap_partmove._partmove.errors import EnsembleError, FormatError
from olap_partmove._partmove.formats.layout import ShardLayout
from olap_partmove._partmove.patched.repair.backup import SavedZnode
from olap_partmove._partmove.patched.repair.registrations import parse_registrations
from partition_classify.registrations import registrations_in, write_registrations
from partition_classify.zookeeper_files.folders import DataFolder
from support.classify.members import COMPRESSIONS, TREE
from support.files import log_files as log
from support.files.keeper_snapshots import KeeperSnapshotFile, write_generated_keeper
from support.files.log_files import LogWriter
from support.files.snapshot_files import write_generated

FIRST, SECOND, THIRD = TREE.paths
NEW = f"{FIRST}/replicas/r1/parts/20301201_0_0_0"


def taken(data_dir: Path, *shard_paths: str, chroot: str = "") -> list[SavedZnode]:
    return list(registrations_in(DataFolder("hot", str(data_dir), chroot=chroot), shard_paths))


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_part_znodes_of_the_tables_only(compression: str, tmp_path: Path) -> None:
    write_generated(tmp_path, TREE, compression=compression)
    found = taken(tmp_path, THIRD, FIRST, FIRST)
    assert len(found) == len({each.path for each in found}) == TREE.parts * 2 // 3
    assert {each.path.split("/replicas/")[0] for each in found} == {FIRST, THIRD}
    assert all("/parts/" in each.path and each.data for each in found)


def test_log_changes_count(tmp_path: Path) -> None:
    write_generated(tmp_path, TREE, zxid=1000)
    before = {each.path: each for each in taken(tmp_path, FIRST)}
    gone, changed, *_others = sorted(before)
    writer = LogWriter(1001)
    writer.add(log.CREATE, log.create(NEW, b"new"))
    writer.add(log.CREATE, log.create(f"{NEW}/columns", b"columns"))
    writer.add(log.DELETE, log.delete(gone))
    writer.add(log.SET_DATA, log.set_data(changed, b"changed", 1))
    writer.write(tmp_path)
    after = {each.path: each for each in taken(tmp_path, FIRST)}
    assert after.keys() == before.keys() - {gone} | {NEW, f"{NEW}/columns"}
    assert (after[NEW].data, after[f"{NEW}/columns"].data) == (b"new", b"columns")
    assert (after[changed].data, after[changed].version) == (b"changed", 1)


def test_table_in_the_log_only(tmp_path: Path) -> None:
    write_generated(tmp_path, TREE, zxid=1000)
    writer = LogWriter(1001)
    path = "/new"
    for name in ("", "/replicas", "/replicas/r1", "/replicas/r1/parts", "/replicas/r1/parts/all_1_1_0"):
        writer.add(log.CREATE, log.create(f"{path}{name}", b"data"))
    writer.write(tmp_path)
    found = taken(tmp_path, path, FIRST)
    assert [each for each in found if each.path.startswith(path)] == [
        SavedZnode("hot", "/new/replicas/r1/parts/all_1_1_0", b"data", 0)
    ]
    assert len(found) == 1 + TREE.parts // 3


def test_paths_are_below_the_chroot(tmp_path: Path) -> None:
    write_generated(tmp_path, TREE)
    top, _slash, below = FIRST[1:].partition("/")
    found = taken(tmp_path, f"/{below}", chroot=f"/{top}")
    assert [f"/{top}{each.path}" for each in found] == [each.path for each in taken(tmp_path, FIRST)]


def test_missing_table_has_no_part_znodes(tmp_path: Path) -> None:
    write_generated(tmp_path, TREE)
    assert taken(tmp_path, f"{FIRST}x") == []


def test_invalid_shard_path_is_refused(tmp_path: Path) -> None:
    write_generated(tmp_path, TREE)
    with pytest.raises(FormatError, match="does not begin with a slash"):
        taken(tmp_path, "hits")


def settings(tmp_path: Path, **changes: Any) -> dict[str, Any]:
    files = {"data_dir": str(tmp_path / "data")}
    return {"files": files, "shard_paths": [SECOND], "dest": str(tmp_path / "taken"), **changes}


def run(path: Path) -> subprocess.CompletedProcess[str]:
    """Run the program as a user does, in a Python without the collection."""
    program = str(build_package.HERE / "registrations.py")
    return subprocess.run(
        [sys.executable, "-E", program, str(path)], capture_output=True, text=True, check=False
    )


def test_the_program_writes_a_file_that_a_repair_takes(tmp_path: Path) -> None:
    write_generated(tmp_path / "data", TREE)
    given, dest = tmp_path / "settings.json", tmp_path / "taken"
    given.write_text(json.dumps(settings(tmp_path)))
    done = run(given)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == {"znodes": TREE.parts // 3}
    assert dest.stat().st_mode & 0o777 == 0o600
    with dest.open("rb") as lines:
        assert parse_registrations(lines, ShardLayout(SECOND), "taken") == taken(tmp_path / "data", SECOND)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["data", "settings.json", "taken"]


def test_failure_is_one_sentence_without_a_file(tmp_path: Path) -> None:
    given = tmp_path / "settings.json"
    for text, problem in (
        (json.dumps(settings(tmp_path)), "data does not exist. Copy the folder"),
        ("[]", "it is a JSON value of another type"),
    ):
        given.write_text(text)
        done = run(given)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
        assert problem in done.stderr
        assert list(tmp_path.iterdir()) == [given]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"files": []}, "No folder was given for ensemble hot"),
        ({"files": [{"data_dir": "/a"}, {"data_dir": "/b"}]}, "The files of several ensembles were given"),
        ({"shard_paths": FIRST}, "The settings: shard_paths is"),
        ({"more": 1}, "The settings: more is not a known key"),
    ],
)
def test_invalid_settings_are_refused(tmp_path: Path, changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(EnsembleError) as refusal:
        write_registrations(settings(tmp_path, **changes))
    assert refusal.value.message.startswith(problem)


def test_part_znodes_of_a_snapshot_of_keeper(tmp_path: Path) -> None:
    write_generated_keeper(tmp_path, TREE, KeeperSnapshotFile(7))
    found = taken(tmp_path, THIRD, FIRST)
    assert sorted(found) == sorted(taken(tmp_path / "zookeeper", THIRD, FIRST))
    assert len(found) == TREE.parts * 2 // 3
