# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Shares of several runs: each shard path is in exactly one share, for every kind of selection."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.state import State
from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.file import PlanRow
from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.writing import write_plan
from ansible_collections.olap.partmove.plugins.module_utils._tasks.desired import DesiredPartitions
from support.memory.tables import days
from support.plans import made_up

PATHS = [f"/t/{number:02}" for number in range(7)]
IDS = days(3)


def by_list(_folder: Path) -> dict[str, Any]:
    return {"partitions": [{"shard_path": path, "partition": each} for path in PATHS for each in IDS]}


def by_plan(folder: Path) -> dict[str, Any]:
    """Return options with a plan: all partitions become cold except the last partition of each shard path."""
    plan = folder / "plan.jsonl"
    rows = [
        PlanRow(path, each, State.HOT if each == IDS[-1] else State.COLD, "test", 0, 2, 2, 0)
        for path in PATHS
        for each in IDS
    ]
    write_plan(plan, rows, policy_digest="0" * 64, source="test", origin=made_up, as_of=0)
    return {"plan": str(plan)}


def by_shard_path(_folder: Path) -> dict[str, Any]:
    return {"shard_paths": [*PATHS], "state": "hot"}


def wanted(given: dict[str, Any], share: str = "1/1") -> DesiredPartitions:
    nothing = {"plan": None, "partitions": None, "shard_paths": None, "state": "cold"}
    return DesiredPartitions({**nothing, **given, "share": share})


@pytest.mark.parametrize("given", [by_list, by_plan, by_shard_path])
@pytest.mark.parametrize("of", [1, 2, 3, 7, 9])
def test_shares_make_the_whole(tmp_path: Path, given: Callable[[Path], dict[str, Any]], of: int) -> None:
    params = given(tmp_path)
    whole = wanted(params)
    shares = [wanted(params, f"{number}/{of}") for number in range(1, of + 1)]

    work = [job for share in shares for job in share.by_shard_path()]
    assert sorted(work) == list(whole.by_shard_path())
    others = [row for share in shares for row in share.other_rows()]
    assert sorted(others, key=lambda row: row.shard_path) == list(whole.other_rows())
    assert sum(share.scope()[1] for share in shares) == whole.scope()[1]
    sizes = [len(share.scope()[0]) for share in shares]
    assert sum(sizes) == len(PATHS)
    assert max(sizes) - min(sizes) <= 1


def test_neighbours_are_of_different_shares(tmp_path: Path) -> None:
    second = wanted(by_list(tmp_path), "2/3")
    assert second.scope() == (["/t/01", "/t/04"], 6)
    assert second.partition_counts() == [3, 3]
    assert second.event()["work"] == "a list of partitions, share 2/3"


@pytest.mark.parametrize("share", ["", "2", "0/1", "1/0", "3/2", "1/2/3", "-1/2", "1 / 2", "a/b", "1/10000"])
def test_an_invalid_share_is_refused(tmp_path: Path, share: str) -> None:
    with pytest.raises(PartMoveError) as caught:
        wanted(by_list(tmp_path), share)
    assert caught.value.message == f"share is {share!r}"
    assert caught.value.remedy == "Give the number of this share and the number of shares, such as 2/4"
