# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Names of registered parts, by partition; what is no name of a part is kept apart."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.names import (
    NameSplitter,
    listed_names,
    split_names,
)
from support.memory.client import MemoryClient
from support.memory.memory import MemoryEnsemble, MemoryStore
from support.memory.synthetic import SyntheticTable

PATH = "/t"


@pytest.fixture
def store() -> MemoryStore:
    return MemoryEnsemble("cold").open()


def register(store: MemoryStore, replica: str, *names: str) -> None:
    client = MemoryClient(store)
    client.ensure_path(f"{PATH}/replicas/{replica}/parts")
    for name in names:
        SyntheticTable(client, PATH).add_part(replica, name)


def test_names_of_every_replica_by_partition(store: MemoryStore) -> None:
    register(store, "r1", "201901_0_0_0", "201902_0_5_1", "201901_1_1_0_7")
    register(store, "r2")
    names = listed_names(store, ShardLayout(PATH), 1)
    assert {
        replica: {each: [part.text for part in parts] for each, parts in partitions.items()}
        for replica, partitions in names.parts.items()
    } == {"r1": {"201901": ["201901_0_0_0", "201901_1_1_0_7"], "201902": ["201902_0_5_1"]}, "r2": {}}
    assert names.unreadable == {}


def test_an_invalid_part_name_is_reported_with_its_path(store: MemoryStore) -> None:
    register(store, "r1", "201901_0_0_0", "lock", "201901_5_0_0")
    names = listed_names(store, ShardLayout(PATH), 1)
    assert list(names.parts["r1"]) == ["201901"]
    assert names.unreadable == {
        "r1": (f"{PATH}/replicas/r1/parts/201901_5_0_0", f"{PATH}/replicas/r1/parts/lock")
    }


def test_a_replica_without_a_folder_for_parts_has_none(store: MemoryStore) -> None:
    register(store, "r1", "201901_0_0_0")
    MemoryClient(store).ensure_path(f"{PATH}/replicas/r2")
    names = listed_names(store, ShardLayout(PATH), 1)
    assert (list(names.parts["r1"]), names.parts["r2"]) == (["201901"], {})


def test_where_there_is_no_table_there_is_no_name(store: MemoryStore) -> None:
    assert listed_names(store, ShardLayout(PATH), 1) == ({}, {})


@pytest.mark.parametrize(
    ("names", "partition", "odd"),
    [
        (["20190101_20190120_0_5_2"], "201901", []),
        (["201901_0_5_2"], "201901", []),
        (["20190101_0_5_2_9"], "20190101", []),
        (["20190101_20190120_0_5_2", "lock"], "201901", ["lock"]),
        (["201901_0_5_2", "lock"], "201901", ["lock"]),
    ],
)
def test_names_of_a_table_that_is_gone_decide_the_format_version(
    store: MemoryStore, names: list[str], partition: str, odd: list[str]
) -> None:
    register(store, "r1", *names)
    found = listed_names(store, ShardLayout(PATH), None)
    assert list(found.parts["r1"]) == [partition]
    assert [path.rpartition("/")[2] for path in found.unreadable.get("r1", ())] == odd


def test_names_on_disk() -> None:
    found, odd = split_names(["all_0_0_0", "tmp_insert_all_0_0_0", "all_1_1_0"], 1)
    assert [part.text for part in found["all"]] == ["all_0_0_0", "all_1_1_0"]
    assert odd == ["tmp_insert_all_0_0_0"]


def test_equal_lists_have_one_result() -> None:
    splitter = NameSplitter(1)
    first, invalid = splitter.split(("all_0_0_0", "all_1_1_0", "junk"))
    assert invalid == ["junk"]
    assert splitter.split(("all_0_0_0", "all_1_1_0", "junk"))[0] is first
    other, invalid = splitter.split(("all_0_0_0",))
    assert (list(other), invalid) == (["all"], [])
    assert other["all"][0] is first["all"][0]
