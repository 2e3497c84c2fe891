# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""cold_owner over two clusters in memory: what each state writes, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.binding.identity import (
    hots_path,
    parse_bound_hot,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import FormatError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.take_over import NotOwned
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from ansible_collections.olap.partmove.plugins.module_utils._tasks.cold_owner import ColdOwner
from support.memory.bench import PART, PATH
from support.memory.resources import MemoryResources
from support.memory.two_clusters import TwoClusters, hash_of

DEFAULTS: dict[str, Any] = {
    "hot": {},
    "cold": {},
    "clickhouse": None,
    "coordination_root": DEFAULT_ROOT,
    "lock_wait": "1s",
    "state": "bound",
    "shard_paths": None,
    "to": None,
    "name": None,
    "no_copy_runs": False,
    "journal": "",
}
TAKEN: dict[str, Any] = {"state": "taken", "shard_paths": [PATH]}


@pytest.fixture
def clusters() -> TwoClusters:
    return TwoClusters.build()


def call(clusters: TwoClusters, *, check: bool = False, **options: Any) -> dict[str, Any]:
    params = DEFAULTS | options
    task = ColdOwner(params, clusters.ours.disks)
    task.run(MemoryResources(clusters.ours.bench, params, check_mode=check))
    return task.result()


def names(clusters: TwoClusters) -> list[str]:
    folder = hots_path(DEFAULT_ROOT)
    cold = clusters.ours.bench.cold_store
    listed = sorted(cold.children([folder])[0] or ())
    found = cold.read([f"{folder}/{each}" for each in listed])
    return sorted(parse_bound_hot(each).name for each in found if each is not None)


def test_a_take_over_that_is_refused_does_not_list_hot(clusters: TwoClusters) -> None:
    """Otherwise moves of all other tables would no longer be refused."""
    clusters.ours.disks.hashes[PART] = "f" * 32
    before, listed = clusters.cold(), names(clusters)
    with pytest.raises(NotOwned):
        call(clusters, **TAKEN)
    assert clusters.cold() == before
    assert names(clusters) == listed


def test_a_take_over_with_proof_lists_hot_under_its_name(clusters: TwoClusters) -> None:
    clusters.ours.disks.hashes[PART] = hash_of(clusters.theirs.bench, PART)
    listed = names(clusters)
    before = clusters.cold()

    checked = call(clusters, check=True, name="ours", **TAKEN)
    assert checked["changed"]
    assert clusters.cold() == before

    taken = call(clusters, name="ours", **TAKEN)
    assert [each["shard_path"] for each in taken["tables"]] == [PATH]
    assert taken["hot_id"] in taken["hot_ids"]
    assert names(clusters) == sorted([*listed, "ours"])
    assert not call(clusters, name="ours", **TAKEN)["changed"]


def test_a_name_is_written_also_when_hot_is_bound(clusters: TwoClusters) -> None:
    """The first move binds hot by itself, under the names of its members."""
    listed = names(clusters)
    assert call(clusters)["changed"]
    before = names(clusters)

    checked = call(clusters, check=True, name="production")
    assert checked["changed"]
    assert checked["diff"]["after"].count("the name of hot is production\n") == 1
    assert "name" not in checked["diff"]["before"]
    assert names(clusters) == before

    assert call(clusters, name="production")["changed"]
    assert names(clusters) == sorted([*listed, "production"])
    assert not call(clusters, name="production")["changed"]
    assert not call(clusters)["changed"]
    assert names(clusters) == sorted([*listed, "production"])


@pytest.mark.parametrize(
    ("options", "unused"),
    [
        ({"shard_paths": [PATH]}, "shard_paths"),
        ({"to": "f" * 32}, "to"),
        ({"shard_paths": [PATH], "to": "f" * 32}, "shard_paths and to"),
        ({**TAKEN, "to": "f" * 32}, "to"),
        ({**TAKEN, "state": "given", "to": "f" * 32, "name": "theirs"}, "name"),
    ],
)
def test_an_option_of_another_state_is_refused(
    clusters: TwoClusters, options: dict[str, Any], unused: str
) -> None:
    """A table is not taken over by a task without its state."""
    before, listed = clusters.cold(), names(clusters)
    with pytest.raises(FormatError, match=rf"makes no use of {unused}\. "):
        call(clusters, **options)
    assert clusters.cold() == before
    assert names(clusters) == listed
