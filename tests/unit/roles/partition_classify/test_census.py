# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A census from files: the program, its settings, and its counts after log changes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import build_package
from olap_partmove._partmove.errors import PartMoveError
from partition_classify.census import census_of, main
from support.classify.members import COMPRESSIONS, TREE
from support.files import log_files as log
from support.files.keeper_snapshots import (
    COMPRESSIONS as KEEPER_COMPRESSIONS,
    VERSIONS,
    KeeperSnapshotFile,
    KeeperZnode,
    tree_of,
    with_children,
    write_generated_keeper,
)
from support.files.log_files import LogWriter
from support.files.snapshot_files import NOW, GeneratedTree, write_generated
from support.memory.synthetic import definition

TABLE = f"{TREE.root}/0000/events"
LARGER = GeneratedTree(shard_paths=3, parts=1200, partitions=5, cold=2, legacy=True)


def counted(data_dir: Path, **settings: Any) -> dict[str, Any]:
    return census_of({"files": {"data_dir": str(data_dir)}, **settings})


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the program as a user does, in a Python without the collection."""
    program = str(build_package.HERE / "census.py")
    return subprocess.run(
        [sys.executable, "-E", program, *arguments], capture_output=True, text=True, check=False
    )


def kinds_of(result: dict[str, Any]) -> dict[str, int]:
    return {each["kind"]: each["znodes"] for each in result["kinds"]}


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_every_znode_of_a_snapshot_is_counted(compression: str, tmp_path: Path) -> None:
    write_generated(tmp_path, TREE, compression=compression)
    result = counted(tmp_path)
    assert kinds_of(result)["part"] == TREE.parts
    assert len(result["tables"]) == TREE.shard_paths
    assert sum(kinds_of(result).values()) == result["znodes"]
    assert {"unknown", "other"}.isdisjoint(kinds_of(result))


def test_log_changes_are_counted(tmp_path: Path) -> None:
    write_generated(tmp_path, TREE, zxid=1000)
    before = counted(tmp_path)
    writer = LogWriter(1001)
    for kind, body in (
        (log.CREATE, log.create(f"{TABLE}/replicas/r1/parts/20301201_0_0_0", b"header")),
        (log.CREATE, log.create(f"{TABLE}/block_numbers/20301201")),
        (log.CREATE, log.create("/kafka")),
        (log.CREATE, log.create("/kafka/gone")),
        (log.DELETE, log.delete("/kafka/gone")),
        (log.SET_DATA, log.set_data(f"{TABLE}/metadata", definition(1), 1)),
    ):
        writer.add(kind, body)
    writer.write(tmp_path)
    after = counted(tmp_path)
    grown = {
        kind: count - kinds_of(before).get(kind, 0)
        for kind, count in kinds_of(after).items()
        if count != kinds_of(before).get(kind)
    }
    assert grown == {"part": 1, "block_number": 1, "other": 1}
    assert after["others"] == [{"name": "/kafka", "znodes": 1, "bytes": len("/kafka")}]


def test_time_is_the_latest_change(tmp_path: Path) -> None:
    write_generated(tmp_path, TREE)
    as_of = counted(tmp_path)["as_of"]
    assert as_of <= "2025-11-20T00:53:20.000Z"
    assert NOW == 1_763_600_000_000


def test_the_program_prints_the_result_as_json(tmp_path: Path) -> None:
    write_generated(tmp_path / "data", TREE)
    settings = tmp_path / "settings.json"
    settings.write_text(json.dumps({"files": {"data_dir": str(tmp_path / "data")}, "queue_length": 5}))
    done = run(str(settings))
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == counted(tmp_path / "data")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "settings.json is no JSON object"),
        ('{"files": {"data_dir": "/none"}}', "data_dir /none does not exist. Copy the folder"),
        ("{}", "The folder of ensemble hot is of type NoneType"),
        ('{"files": {}}', "The files of ensemble hot have no data_dir"),
    ],
)
def test_failures_are_one_sentence(
    content: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = tmp_path / "settings.json"
    settings.write_text(content)
    assert main([str(settings)]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("partition_classify: ")
    assert err.count("\n") == 1
    assert message in err


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"hot": {}}, "The setting hot is unknown"),
        ({"files": [{"data_dir": "/a"}, {"data_dir": "/b"}]}, "The files of several ensembles were given"),
        ({"ddl_path": "ddl"}, "The shard path 'ddl' does not begin with a slash"),
        ({"stuck_after": "soon"}, "stuck_after is 'soon', which is no duration"),
    ],
)
def test_invalid_settings_are_refused(settings: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(PartMoveError, match=message):
        counted(tmp_path, **settings)


def test_missing_chroot_is_refused(tmp_path: Path) -> None:
    write_generated(tmp_path, TREE)
    with pytest.raises(PartMoveError, match="There is no znode /none in"):
        census_of({"files": {"data_dir": str(tmp_path), "chroot": "/none"}})


@pytest.mark.parametrize(
    "file",
    [
        *(KeeperSnapshotFile(version, index=1000) for version in VERSIONS),
        *(KeeperSnapshotFile(9, compression) for compression in KEEPER_COMPRESSIONS),
    ],
    ids=lambda file: f"{file.version}-{file.compression}",
)
@pytest.mark.parametrize("chroot", ["", "/clickhouse"])
def test_census_of_keeper_is_that_of_the_same_tree_of_zookeeper(
    file: KeeperSnapshotFile, chroot: str, tmp_path: Path
) -> None:
    write_generated_keeper(tmp_path, LARGER, file)
    found = census_of({"files": {"data_dir": str(tmp_path), "chroot": chroot}})
    assert found == census_of({"files": {"data_dir": str(tmp_path / "zookeeper"), "chroot": chroot}})
    assert kinds_of(found)["part_child"] == 2 * LARGER.parts


def test_znodes_of_keeper_itself_are_counted(tmp_path: Path) -> None:
    znodes = tree_of("/kafka", "/kafka/a", "/clickhouse", "/clickhouse/sessions")
    ephemeral = KeeperZnode(b"/clickhouse/x", owner=5)
    container, expiring = KeeperZnode(b"/kafka/b", owner=-(2**63)), KeeperZnode(b"/kafka/c", ttl=60_000)
    znodes = with_children([*znodes, ephemeral, container, expiring])
    KeeperSnapshotFile(9).write(tmp_path / "snapshots", znodes)
    result = counted(tmp_path)
    assert kinds_of(result) == {"other": 5, "folder": 2, "server": 1, "keeper": 1}
    assert result["ephemerals"] == 1


def test_damaged_snapshot_of_keeper_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = KeeperSnapshotFile(6, tail=b"x").write(tmp_path / "keeper", tree_of("/a"))
    settings = tmp_path / "settings.json"
    settings.write_text(json.dumps({"files": {"data_dir": str(path)}}))
    assert main([str(settings)]) == 1
    *_progress, failure = capsys.readouterr().err.splitlines()
    assert f"{path}: unknown bytes follow the sessions at byte" in failure
    assert "csnp makes a new one" in failure


def test_missing_chroot_in_keeper_is_named_by_the_given_folder(tmp_path: Path) -> None:
    KeeperSnapshotFile().write(tmp_path, tree_of("/a"))
    with pytest.raises(PartMoveError, match=f"There is no znode /none in {tmp_path}"):
        census_of({"files": {"data_dir": str(tmp_path), "chroot": "/none"}})
