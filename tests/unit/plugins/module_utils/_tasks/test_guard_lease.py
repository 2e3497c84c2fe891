# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""guard_lease over an ensemble in memory."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError
from ansible_collections.olap.partmove.plugins.module_utils._tasks.guard_lease import GuardLease
from support.memory.bench import Bench
from support.memory.resources import MemoryResources

DEFAULTS: dict[str, Any] = {
    "hot": {},
    "coordination_root": "/partmove",
    "name": "guard",
    "state": "taken",
    "owner": "the first",
    "ttl": "1m",
}


@pytest.fixture
def bench() -> Bench:
    return Bench()


def asked(bench: Bench, *, check_mode: bool = False, **options: Any) -> dict[str, Any]:
    params = DEFAULTS | options
    task = GuardLease(params)
    resources = MemoryResources(bench, params, check_mode=check_mode)
    # Check mode writes nothing, so that it has no other clock to go by.
    resources.clock.now = bench.clock.now  # type: ignore[method-assign]
    task.run(resources)
    assert resources.opened == ["hot"]
    return task.result()


def test_take_prolong_read_and_release_each_in_check_mode_first(bench: Bench) -> None:
    mine = {"taken": True, "owner": "the first", "seconds_left": 60}
    anothers = {"taken": False, "owner": "the first", "seconds_left": 60, "former_owner": "the first"}
    nobodys = {"taken": False, "owner": "", "seconds_left": 0, "former_owner": "the first"}
    steps: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({}, {**mine, "changed": True, "former_owner": ""}),
        ({}, {**mine, "changed": False, "former_owner": "the first"}),
        ({"ttl": "90"}, {**mine, "changed": True, "former_owner": "the first", "seconds_left": 90}),
        ({}, {**mine, "changed": True, "former_owner": "the first"}),
        ({"owner": "the second"}, {**anothers, "changed": False}),
        ({"owner": "the second", "state": "given_back"}, {**anothers, "changed": False, "seconds_left": 0}),
        ({"state": "given_back"}, {**nobodys, "changed": True}),
        ({"state": "given_back"}, {**nobodys, "changed": False, "former_owner": ""}),
    ]
    for options, expected in steps:
        before = bench.hot_ensemble.tree()
        checked = asked(bench, check_mode=True, **options)
        assert bench.hot_ensemble.tree() == before
        done = asked(bench, **options)
        assert checked == done
        diff = done.pop("diff")
        assert done == expected
        assert (diff["before"] != diff["after"]) == done["changed"]


def test_the_diff_has_the_holder_before_and_after(bench: Bench) -> None:
    assert asked(bench, name="separate")["diff"] == {
        "before": "separate: free\n",
        "after": "separate: the first for 60 s\n",
    }


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"owner": " "}, "The owner is ' ', which does not identify the holder"),
        ({"owner": "a\nb"}, "The owner is 'a\\\\nb', which does not identify the holder"),
        ({"owner": "x" * 201}, "which does not identify the holder"),
        ({"ttl": "0"}, "ttl is '0', and a lease lasts from one second to a week"),
        ({"ttl": "8d"}, "ttl is '8d', and a lease lasts from one second to a week"),
        ({"ttl": "soon"}, "ttl is 'soon', which is no duration"),
        ({"coordination_root": "x"}, "coordination_root is 'x'"),
    ],
)
def test_invalid_values_are_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(FormatError, match=says):
        GuardLease(DEFAULTS | options)
