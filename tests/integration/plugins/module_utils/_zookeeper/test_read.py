# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads of the adapter against kazoo's own, on a real server."""

from __future__ import annotations

import pytest
from kazoo.client import KazooClient
from kazoo.security import make_digest_acl

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    AccessDenied,
    PartMoveError,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Committed,
    Create,
    Query,
    Znode,
)
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.store import ZooKeeperStore

MANY = 20_000


def found(znodes: list[Znode | None]) -> list[Znode]:
    assert None not in znodes
    return [znode for znode in znodes if znode is not None]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("plain", b"part header format version: 1\n\x00\xff"),
        ("empty", b""),
        ("none", None),
        ("large", bytes(range(256)) * 1200),
        ("Überlauf-2019-表", "дата".encode()),
    ],
)
def test_data_and_stat_equal_those_of_kazoo(
    store: ZooKeeperStore, kazoo: KazooClient, base: str, name: str, data: bytes | None
) -> None:
    kazoo.create(f"{base}/{name}", data or b"")
    if data is None:
        kazoo.set(f"{base}/{name}", None)
    kazoo.create(f"{base}/{name}/child")
    (znode,) = found(store.read([f"/{name}"]))
    assert znode.path == f"/{name}"
    assert znode.data == (data or b"")
    assert tuple(znode.stat) == tuple(kazoo.get(f"{base}/{name}")[1])
    assert znode.stat.num_children == 1


def test_answers_come_in_the_order_of_the_paths(store: ZooKeeperStore, kazoo: KazooClient, base: str) -> None:
    for name in "abc":
        kazoo.create(f"{base}/{name}", name.encode())
    znodes = store.read(["/c", "/missing", "/a", "/c", "/a/missing", "/b"])
    assert [znode and znode.data for znode in znodes] == [b"c", None, b"a", b"c", None, b"b"]


def test_nothing_is_asked_for_nothing(store: ZooKeeperStore) -> None:
    assert store.read([]) == []
    assert store.children([]) == []


def test_children_are_sorted(store: ZooKeeperStore, kazoo: KazooClient, base: str) -> None:
    for name in ("b", "ä", "a", "a/grandchild"):
        kazoo.create(f"{base}/{name}")
    assert store.children(["/", "/a", "/b", "/missing"]) == [("a", "b", "ä"), ("grandchild",), (), None]


def test_queries_are_answered_in_turns(store: ZooKeeperStore, kazoo: KazooClient, base: str) -> None:
    for name in ("b", "a", "a/child"):
        kazoo.create(f"{base}/{name}", name.encode())

    first, second, nothing = store.ask(
        [Query(["/b", "/missing"], ["/a"]), Query(["/a"], ["/missing", "/", "/b"]), Query()]
    )

    assert [znode and znode.data for znode in first.znodes] == [b"b", None]
    assert first.children == [("child",)]
    assert [znode.data for znode in found(second.znodes)] == [b"a"]
    assert second.children == [None, ("a", "b"), ()]
    assert nothing == ([], [])
    assert store.ask([]) == []


def test_many_queries(store: ZooKeeperStore) -> None:
    """They take several requests, the borders of which are not those of the queries."""
    paths = [f"/n{number:05}" for number in range(3_000)]
    begins = range(0, len(paths), 500)
    store.commit([tuple(Create(each, b"") for each in paths[begin : begin + 500]) for begin in begins])
    queries = [Query(paths[begin : begin + 7], paths[begin : begin + 3]) for begin in range(0, 3_000, 7)]
    answers = store.ask(queries)
    assert [[znode.path for znode in found(each.znodes)] for each in answers] == [
        query.znodes for query in queries
    ]
    assert [each.children for each in answers] == [[()] * len(query.children) for query in queries]


def test_many_znodes_and_many_children(store: ZooKeeperStore) -> None:
    """Their list is larger than jute.maxbuffer, which limits what servers take, not what they answer."""
    creates = [Create(f"/n{number:05}{'x' * 50}", b"%d" % number) for number in range(MANY)]
    assert sum(len(create.path) for create in creates) > 1024 * 1024
    outcomes = store.commit([tuple(creates[begin : begin + 500]) for begin in range(0, MANY, 500)])
    assert outcomes == [Committed()] * (MANY // 500)
    paths = [create.path for create in creates]
    znodes = found(store.read(paths))
    assert [(znode.path, znode.data) for znode in znodes] == [
        (create.path, create.data) for create in creates
    ]
    assert store.children(["/"]) == [tuple(path[1:] for path in paths)]
    assert store.read([f"{path}/missing" for path in paths]) == [None] * MANY


def test_large_znodes_among_small_ones(store: ZooKeeperStore) -> None:
    sizes = [10] * 600 + [100_000] * 60 + [10] * 600
    paths = [f"/n{number}" for number in range(len(sizes))]
    multis = [(Create(path, b"x" * size),) for path, size in zip(paths, sizes, strict=True)]
    assert set(store.commit(multis)) == {Committed()}
    assert [len(znode.data) for znode in found(store.read(paths))] == sizes


def test_requests_for_long_paths_stay_below_the_limit_of_the_server(store: ZooKeeperStore) -> None:
    """500 of these paths are 2 MB; a server drops the connection for requests above 1 MB."""
    paths = ["/" + "x" * 4_000 + str(number) for number in range(1_000)]
    assert store.read(["/missing"] * 5_000) == [None] * 5_000
    assert store.read(paths) == [None] * len(paths)
    queries = [Query(paths[begin : begin + 50], paths[begin : begin + 30]) for begin in range(0, 1_000, 50)]
    assert store.ask(queries) == [([None] * 50, [None] * 30)] * len(queries)


def test_the_root_is_the_chroot(store: ZooKeeperStore, kazoo: KazooClient, base: str) -> None:
    kazoo.set(base, b"at the chroot")
    (znode,) = found(store.read(["/"]))
    assert (znode.path, znode.data) == ("/", b"at the chroot")


def test_absolute_paths_leave_the_chroot(store: ZooKeeperStore, base: str) -> None:
    znodes = store.read(["/zookeeper/config", base, "/"], absolute=True)
    assert [znode.path for znode in found(znodes)] == ["/zookeeper/config", base, "/"]
    assert store.read(["/zookeeper/config", base]) == [None, None]


@pytest.mark.parametrize("path", ["", "relative", "/a/", "//", "/a//b"])
def test_what_is_no_path_is_refused(store: ZooKeeperStore, path: str) -> None:
    with pytest.raises(PartMoveError, match="not an absolute path"):
        store.read(["/fine", path])


def test_a_znode_that_may_not_be_read(store: ZooKeeperStore, kazoo: KazooClient, base: str) -> None:
    kazoo.create(f"{base}/secret", acl=[make_digest_acl("alice", "wonder", all=True)])
    with pytest.raises(AccessDenied, match="may not read /secret") as denied:
        store.read(["/", "/secret"])
    assert "ensemble hot" in denied.value.message
    with pytest.raises(AccessDenied, match="may not read /secret"):
        store.children(["/secret"])


def test_sync_returns(store: ZooKeeperStore) -> None:
    store.sync("/")
