# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A survey knows every table below a root, and takes no missing answer for an empty one."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import Side
from support.memory.roots import ModelRoot


@pytest.fixture
def root() -> ModelRoot:
    return ModelRoot()


def test_shards_with_one_name_are_one_table(root: ModelRoot) -> None:
    root.add("/t/01/hits", ["1a", "1b"])
    root.add("/t/02/hits", ["2a"])
    root.add("/t/02/views", ["2a"], "views")
    found = root.find()
    assert [(each.name, [shard.shard_path for shard in each.shards]) for each in found.tables] == [
        ("db.hits", ["/t/01/hits", "/t/02/hits"]),
        ("db.views", ["/t/02/views"]),
    ]
    assert {each.refusal for each in found.tables} == {None}
    assert not found.unknown


def test_shards_of_which_only_some_are_exchanged_are_one_table(root: ModelRoot) -> None:
    root.add("/t/01/hits", ["1a"], "hits_cold", twin="hits", twin_parts=1)
    root.add("/t/02/hits", ["2a"], twin_parts=0)
    table = root.table()
    assert (table.name, [shard.replicas[0].at for shard in table.shards]) == (
        "db.hits",
        [Side.COLD, Side.HOT],
    )


def test_a_silent_replica_refuses_its_table_alone(root: ModelRoot) -> None:
    root.add("/t/01/hits", ["1a", "1b"])
    root.add("/t/01/views", ["1a"], "views")
    root.silent.add("1b")
    hits, views = root.find().tables
    assert hits.refusal is not None
    assert (hits.refusal.gate, hits.refusal.reason) == (GateName.TWIN_READY, "1b cannot be reached")
    assert views.refusal is None


@pytest.mark.parametrize("shown", [True, False])
def test_a_shard_whose_servers_are_silent_refuses_everything(root: ModelRoot, *, shown: bool) -> None:
    """The other replica does not have the table, so the silent server may have it under any name."""
    root.add("/t/01/hits", ["1a"])
    if shown:
        root.add("/t/02/hits", ["2a"])
    else:
        root.register("/t/02/hits", "2a", "2b")
    root.silent.add("2a")
    with pytest.raises(PartMoveError, match="It is unknown which table /t/02/hits is.*exclude /t/02/hits"):
        root.find()


def test_a_replica_that_lacks_the_table_refuses_it(root: ModelRoot) -> None:
    root.add("/t/01/hits", ["1a", "1b"])
    root.shown["1b"].clear()
    refusal = root.table().refusal
    assert refusal is not None
    assert (refusal.gate, refusal.reason) == (GateName.TWIN_READY, "1b has no table at /t/01/hits")


@pytest.mark.parametrize("replicas", [["1a", "1b"], []])
def test_a_path_of_no_table_is_named(root: ModelRoot, replicas: list[str]) -> None:
    root.register("/t/01/gone", *replicas)
    assert [each.shard_path for each in root.find().unknown] == ["/t/01/gone"]


def test_the_remedy_of_a_path_of_no_table_is_that_of_its_server_and_more(root: ModelRoot) -> None:
    root.register("/t/01/gone", "1a")
    (unknown,) = root.find().unknown
    assert unknown.reason == "1a has no table at /t/01/gone"
    assert unknown.remedy.startswith("ATTACH it. If the user may not see the table, GRANT")


def test_an_inner_table_is_refused_although_each_replica_names_it_otherwise(root: ModelRoot) -> None:
    root.register("/t/01/daily", "1a", "1b")
    for each in ("1a", "1b"):
        root.show("default", "/t/01/daily", each, f".inner_id.{each}", 1)
    refusal = root.table().refusal
    assert refusal is not None
    assert refusal.gate is GateName.NOT_INNER


def test_other_names_on_a_replica_are_refused(root: ModelRoot) -> None:
    root.register("/t/01/hits", "1a", "1b")
    root.show("default", "/t/01/hits", "1a", "hits", 1)
    root.show("default", "/t/01/hits", "1b", "visits", 1)
    refusal = root.table().refusal
    assert refusal is not None
    assert (refusal.gate, "db.visits on 1b" in refusal.reason) == (GateName.TWIN_ALIKE, True)


def test_another_table_at_the_place_of_the_twin_is_refused(root: ModelRoot) -> None:
    root.add("/t/01/hits", ["1a"], twin="other", twin_parts=0)
    refusal = root.table().refusal
    assert refusal is not None
    assert refusal.gate is GateName.TWIN_ALIKE


def test_on_the_way_back_every_replica_has_a_twin_or_none_has(root: ModelRoot) -> None:
    root.add("/t/01/hits", ["1a", "1b"], twin_parts=1)
    del root.shown["1b"]["cold", "/t/01/hits_cold", "1b"]
    # A run there creates it.
    assert root.table(Side.COLD).refusal is None
    refusal = root.table(Side.HOT).refusal
    assert refusal is not None
    assert "1b has no twin of db.hits" in refusal.reason
