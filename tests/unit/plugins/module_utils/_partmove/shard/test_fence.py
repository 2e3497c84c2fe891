# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The fence fails after a change of the table."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import NoSuchTable
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.fence import ReplicaZnodes
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.reader import (
    ShardReader,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Committed
from support.memory.arrange import delete
from support.memory.bench import DAY, OTHER, PATH, Bench
from support.memory.simulated import SimulatedServers

LAYOUT = ShardLayout(PATH)
NO_TABLE = f"There is no replicated table at {PATH} in the hot ensemble"


@pytest.fixture
def bench() -> Bench:
    return Bench()


def reader_of(bench: Bench) -> ShardReader:
    return bench.reader()


@pytest.mark.parametrize(
    ("act", "holds"),
    [
        (lambda servers: servers.insert(DAY), True),
        (lambda servers: servers.stop("r2"), True),
        (lambda servers: servers.assign_merge(DAY), False),
        (lambda servers: servers.assign_drop(DAY), False),
        (lambda servers: servers.mutate(DAY), False),
        (lambda servers: servers.restart("r2"), False),
        (lambda servers: servers.lose("r2"), False),
        (lambda servers: servers.add_replica("r3"), False),
        (lambda servers: servers.remove_replica("r2"), False),
        (lambda servers: servers.drop_table(), False),
        (lambda servers: servers.recreate(), False),
    ],
    ids=[
        "an insert",
        "a server stops",
        "a merge",
        "a drop",
        "a mutation",
        "a server starts",
        "a replica is lost",
        "one more replica",
        "one replica less",
        "the table is dropped",
        "the table is made again",
    ],
)
def test_the_fence_fails_after_a_change_that_affects_parts(
    bench: Bench, act: Callable[[SimulatedServers], object], holds: bool
) -> None:
    # The version of /log says something about the server only once it is above 0.
    bench.servers.assign_merge(OTHER)
    bench.servers.catch_up()
    fence = reader_of(bench).shard().fence
    assert isinstance(bench.hot_store.commit([fence])[0], Committed)

    act(bench.servers)

    assert isinstance(bench.hot_store.commit([fence])[0], Committed) is holds


@pytest.mark.parametrize("name", ["columns", "metadata"])
def test_the_fence_fails_after_a_change_of_the_definition(bench: Bench, name: str) -> None:
    fence = reader_of(bench).shard().fence
    bench.hot.set(f"{PATH}/{name}", b"other")
    assert not isinstance(bench.hot_store.commit([fence])[0], Committed)


def test_log_pointers_replace_an_unused_version_of_the_log(bench: Bench) -> None:
    fence = reader_of(bench).shard().fence
    bench.servers.insert(DAY)
    assert isinstance(bench.hot_store.commit([fence])[0], Committed)

    bench.servers.pull()

    assert not isinstance(bench.hot_store.commit([fence])[0], Committed)


@pytest.mark.parametrize("name", ["log", "mutations", "replicas", "columns", "metadata"])
def test_a_path_without_a_required_znode_is_no_table(bench: Bench, name: str) -> None:
    delete(name)(bench)
    with pytest.raises(NoSuchTable, match=NO_TABLE):
        reader_of(bench).shard()


def test_facts_of_a_replica_say_what_is_missing() -> None:
    layout = LAYOUT.replica("r1")
    facts = ReplicaZnodes(layout, None, None, None, None, None, None).facts(["parts", "other"])
    assert (facts.name, facts.columns, facts.metadata, facts.created) == ("r1", None, None, 0)
    assert tuple(facts.unknown_children) == ("other",)
