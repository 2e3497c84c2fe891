# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What partition_merge refuses before any server is asked; tests/clickhouse covers the merges."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError, NoSuchTable
from ansible_collections.olap.partmove.plugins.module_utils._tasks.partition_merge import PartitionMerge
from support.memory.bench import DAY, Bench
from support.memory.resources import MemoryResources

GONE = "/clickhouse/tables/99/gone"


def parameters(**given: Any) -> dict[str, Any]:
    return {
        "coordination_root": "/partmove",
        "clickhouse": {"port": None},
        "lock_wait": "0",
        "src": None,
        "partitions": [],
        "max_queue": 20,
        "max_merges": 8,
        "limit": 0,
        "patience": "10m",
        "timeout": "6h",
        "poll": "5s",
        **given,
    }


def merge(*shard_paths: str, check_mode: bool = True) -> dict[str, Any]:
    partitions = [{"shard_path": each, "partition": DAY} for each in shard_paths]
    params = parameters(partitions=partitions)
    task = PartitionMerge(params)
    task.run(MemoryResources(Bench(), params, check_mode=check_mode))
    return task.result()


@pytest.mark.parametrize("check_mode", [False, True])
def test_a_run_without_any_table_fails(check_mode: bool) -> None:
    """A wrong chroot must not look like a run with nothing to merge."""
    with pytest.raises(NoSuchTable, match=f"There is no replicated table at {GONE} in the hot ensemble"):
        merge(GONE, check_mode=check_mode)


def test_nothing_requested_is_nothing_to_do() -> None:
    assert merge()["merged"] == []


@pytest.mark.parametrize("name", ["merges.sql", "report/merges.sql"])
def test_a_relative_file_is_named_with_its_folder(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The module runs in another folder than ansible-playbook, for example over SSH."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FormatError) as error:
        PartitionMerge(parameters(src=name, partitions=None))
    assert error.value.message == f"{name} in {tmp_path} cannot be read: No such file or directory"
    assert error.value.remedy.startswith("Give the absolute path")


def test_an_absolute_file_is_named_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(FormatError) as error:
        PartitionMerge(parameters(src=str(tmp_path / "none"), partitions=None))
    assert error.value.message == f"{tmp_path}/none cannot be read: No such file or directory"
