# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""twin_hold over an ensemble in memory."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.lease import LeaseKeeper
from ansible_collections.olap.partmove.plugins.module_utils._tasks.twin_hold import TwinHold
from support.memory.bench import Bench
from support.memory.resources import MemoryResources

DEFAULTS: dict[str, Any] = {
    "hot": {},
    "coordination_root": "/partmove",
    "lock_wait": "0",
    "shard_paths": ["/t/1", "/t/2"],
    "state": "present",
    "owner": "me",
    "reason": "a migration",
    "minutes": 60,
}


@pytest.fixture
def bench() -> Bench:
    return Bench()


def held(bench: Bench, *, check_mode: bool = False, **options: Any) -> tuple[dict[str, Any], str]:
    params = DEFAULTS | options
    task = TwinHold(params)
    resources = MemoryResources(bench, params, check_mode=check_mode)
    resources.clock.now = bench.clock.now  # type: ignore[method-assign]
    task.run(resources)
    return task.result(), task.failure


def test_place_prolong_and_remove_each_in_check_mode_first(bench: Bench) -> None:
    owner: dict[str, Any] = {"owner": "me", "reason": "a migration"}
    steps: list[tuple[dict[str, Any], bool, str]] = [
        ({}, True, "2 of 2 shard paths held"),
        ({}, False, "2 of 2 shard paths held"),
        ({"state": "absent", "reason": None}, True, "2 of 2 shard paths free"),
        ({"state": "absent", "reason": None}, False, "2 of 2 shard paths free"),
    ]
    for options, changed, message in steps:
        before = bench.hot_ensemble.tree()
        checked, _none = held(bench, check_mode=True, **options)
        assert bench.hot_ensemble.tree() == before
        done, failure = held(bench, **options)
        assert checked["msg"].replace("would be ", "") == done["msg"] == message
        assert (checked["changed"], done["changed"], failure) == (changed, changed, "")
        assert [each["shard_path"] for each in done["holds"]] == (
            ["/t/1", "/t/2"] if "state" not in options else []
        )
        assert all(owner.items() <= each.items() for each in done["holds"])


def test_a_refused_shard_path_does_not_stop_the_others(bench: Bench) -> None:
    LeaseKeeper(bench.hot_store, None, bench.clock, owner="a run", wait_seconds=0).acquire("/t/1")
    other = bench.hot_ensemble.open()
    params = DEFAULTS
    task = TwinHold(params)
    resources = MemoryResources(bench, params)
    resources.stores["hot"] = other
    resources.clock.sleep = bench.clock.sleep  # type: ignore[method-assign]
    task.run(resources)
    answer = task.result()
    assert [each["shard_path"] for each in answer["holds"]] == ["/t/2"]
    assert [each["shard_path"] for each in answer["refused"]] == ["/t/1"]
    assert "is locked by another run" in answer["refused"][0]["reason"]
    assert task.failure.startswith("1 of 2 shard paths refused. /t/1 is locked by another run: a run, run ")


def test_the_diff_has_the_hold_before_and_after(bench: Bench) -> None:
    diff = held(bench, shard_paths=["/t/1"])[0]["diff"]
    assert diff["before"] == "/t/1: not held\n"
    assert diff["after"].startswith("/t/1: held by me until 20")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"owner": " "}, "owner is ' ', and the owner of a hold is shown"),
        ({"reason": "a\nb"}, "reason is 'a\\\\nb', and the reason of a hold"),
        ({"minutes": 0}, "minutes is 0, and a hold lasts from 1 to 10080 minutes"),
        ({"minutes": 10_081}, "minutes is 10081, and"),
        ({"shard_paths": ["t"]}, "t"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(FormatError, match=says):
        TwinHold(DEFAULTS | options)
