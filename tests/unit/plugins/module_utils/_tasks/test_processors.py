# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The number of processors that a process may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._tasks.processors import usable_processors


@pytest.fixture(autouse=True)
def eight_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(8)))


def found(folder: Path, groups: str, files: dict[str, str]) -> int:
    """What is found for these lines of /proc/self/cgroup, and files below /sys/fs/cgroup."""
    (folder / "groups").write_text(groups)
    for path, text in files.items():
        file = folder / "root" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return usable_processors(folder / "groups", folder / "root")


@pytest.mark.parametrize(
    ("groups", "files", "processors"),
    [
        pytest.param("0::/\n", {"cpu.max": "250000 100000\n"}, 2, id="container"),
        pytest.param("0::/a/b\n", {"a/b/cpu.max": "max 100000\n"}, 8, id="no quota"),
        pytest.param(
            "0::/a/b\n",
            {"a/b/cpu.max": "600000 100000\n", "a/cpu.max": "300000 100000\n"},
            3,
            id="smaller one above",
        ),
        pytest.param("0::/a/b\n", {"cpu.max": "100000 50000\n"}, 2, id="only the root is mounted"),
        pytest.param("0::/\n", {"cpu.max": "50000 100000\n"}, 1, id="less than one processor"),
        pytest.param("0::/\n", {"cpu.max": "4000000 100000\n"}, 8, id="more than there are"),
        pytest.param("0::/../other\n", {"cpu.max": "300000 100000\n"}, 3, id="path outside of the namespace"),
        pytest.param(
            "4:cpu,cpuacct:/job\n2:memory:/job\n",
            {"cpu,cpuacct/job/cpu.cfs_quota_us": "200000\n", "cpu,cpuacct/job/cpu.cfs_period_us": "100000\n"},
            2,
            id="version 1",
        ),
        pytest.param(
            "1:cpu:/\n0::/\n",
            {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"},
            8,
            id="version 1 without a quota",
        ),
        pytest.param("nothing known\n", {"cpu.max": "1 2 3\n"}, 8, id="other formats"),
    ],
)
def test_quotas_of_control_groups_count(
    tmp_path: Path, groups: str, files: dict[str, str], processors: int
) -> None:
    assert found(tmp_path, groups, files) == processors


def test_without_control_groups_the_affinity_counts(tmp_path: Path) -> None:
    assert usable_processors(tmp_path / "none", tmp_path) == 8


def test_a_system_that_does_not_tell_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")
    assert usable_processors() == 1
