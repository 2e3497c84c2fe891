# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Multis of the adapter on a real server: what is applied, what is rejected and why."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kazoo.client import KazooClient
from kazoo.security import OPEN_ACL_UNSAFE, make_digest_acl

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import PartMoveError
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.multi_batches import (
    MAX_BYTES,
    MAX_OPS,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Check,
    Committed,
    Create,
    Delete,
    Multi,
    Op,
    Reason,
    Rejected,
    SetData,
    Znode,
)
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.commit import MULTIS_IN_FLIGHT
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.store import ZooKeeperStore
from support.servers.zookeeper import Ensemble

from .conftest import StoreMaker


def test_a_multi_of_every_operation(store: ZooKeeperStore, kazoo: KazooClient, base: str) -> None:
    kazoo.create(f"{base}/changed", b"old")
    kazoo.create(f"{base}/gone")
    multi: Multi = (
        Check("/changed", 0),
        Create("/parent", b""),
        Create("/parent/ü", b"\x00data"),
        SetData("/changed", b"new", 0),
        Check("/changed", 1),
        Delete("/gone", 0),
    )
    assert store.commit([multi]) == [Committed()]
    assert kazoo.get(f"{base}/parent/ü")[0] == b"\x00data"
    assert kazoo.get(f"{base}/changed")[0] == b"new"
    assert sorted(kazoo.get_children(base)) == ["changed", "parent"]


def test_the_same_as_a_transaction_of_kazoo(store: ZooKeeperStore, kazoo: KazooClient, base: str) -> None:
    transaction = kazoo.transaction()
    transaction.create(f"{base}/theirs", b"data")
    transaction.commit()
    store.commit([(Create("/ours", b"data"),)])
    theirs, ours = kazoo.get(f"{base}/theirs"), kazoo.get(f"{base}/ours")
    assert theirs[0] == ours[0]
    assert theirs[1][4:10] == ours[1][4:10]
    assert kazoo.get_acls(f"{base}/theirs")[0] == kazoo.get_acls(f"{base}/ours")[0] == OPEN_ACL_UNSAFE


def test_ephemeral_znodes_belong_to_the_session(store: ZooKeeperStore, kazoo: KazooClient, base: str) -> None:
    assert store.commit([(Create("/lock", b"me", ephemeral=True),)]) == [Committed()]
    stat = kazoo.exists(f"{base}/lock")
    assert stat.ephemeralOwner == store.session_id
    store.close()
    assert kazoo.exists(f"{base}/lock") is None


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        (Create("/missing/child", b""), Reason.NO_NODE),
        (Create("/there", b""), Reason.NODE_EXISTS),
        (SetData("/missing", b"", 0), Reason.NO_NODE),
        (SetData("/there", b"", 7), Reason.BAD_VERSION),
        (Delete("/missing", 0), Reason.NO_NODE),
        (Delete("/there", 7), Reason.BAD_VERSION),
        (Delete("/full", 0), Reason.NOT_EMPTY),
        (Check("/missing", 0), Reason.NO_NODE),
        (Check("/there", 7), Reason.BAD_VERSION),
        (Delete("/guarded/child", 0), Reason.NO_AUTH),
        (Create("/guarded/new", b""), Reason.NO_AUTH),
        (Create("/brief/child", b""), Reason.OTHER),
    ],
)
@pytest.mark.parametrize("before", [0, 3])
def test_a_rejected_multi_names_its_operation(
    store: ZooKeeperStore, kazoo: KazooClient, base: str, operation: Op, reason: Reason, before: int
) -> None:
    for path in ("there", "full", "full/child", "guarded", "guarded/child"):
        kazoo.create(f"{base}/{path}")
    kazoo.create(f"{base}/brief", ephemeral=True)
    kazoo.set_acls(f"{base}/guarded", [make_digest_acl("alice", "wonder", all=True)])
    others = tuple(Create(f"/new{number}", b"") for number in range(before + 2))
    multi: Multi = (*others[:before], operation, *others[before:])
    (outcome,) = store.commit([multi])
    assert isinstance(outcome, Rejected)
    assert (outcome.op_index, outcome.reason) == (before, reason)
    assert outcome.code < 0
    assert sorted(kazoo.get_children(base)) == ["brief", "full", "guarded", "there"]


def test_multis_are_applied_in_order(store: ZooKeeperStore, kazoo: KazooClient, base: str) -> None:
    kazoo.create(f"{base}/counter", b"0")
    multis: list[Multi] = [(SetData("/counter", b"%d" % number, number - 1),) for number in range(1, 101)]
    assert store.commit(multis) == [Committed()] * 100
    assert kazoo.get(f"{base}/counter")[0] == b"100"


def test_a_rejected_multi_does_not_hold_up_the_others(store: ZooKeeperStore) -> None:
    multis: list[Multi] = [(Create("/a", b""),), (Create("/a", b""), Create("/b", b"")), (Create("/c", b""),)]
    outcomes = store.commit(multis)
    assert [type(outcome) for outcome in outcomes] == [Committed, Rejected, Committed]
    assert store.children(["/"]) == [("a", "c")]


def test_no_multis_no_outcomes(store: ZooKeeperStore) -> None:
    assert store.commit([]) == []


def test_a_multi_at_the_limits_is_applied(store: ZooKeeperStore) -> None:
    many: Multi = tuple(Create(f"/n{number}", b"") for number in range(MAX_OPS))
    large: Multi = (Create("/large", b"x" * (MAX_BYTES - 500)),)
    assert store.commit([many, large]) == [Committed(), Committed()]


@pytest.mark.parametrize(
    "multi",
    [
        tuple(Check("/", -1) for _each in range(MAX_OPS + 1)),
        (Create("/large", b"x" * MAX_BYTES),),
    ],
)
def test_a_multi_above_the_limits_is_refused_and_nothing_after_it_is_sent(
    store: ZooKeeperStore, multi: Multi
) -> None:
    with pytest.raises(PartMoveError, match="above the limit"):
        store.commit([(Create("/first", b""),), multi, (Create("/last", b""),)])
    first, last = store.read(["/first", "/last"])
    assert first is not None
    assert last is None


def test_multis_are_made_while_others_are_on_their_way(store: ZooKeeperStore) -> None:
    """Also more of them than are on their way at once."""
    seen: list[Znode | None] = []

    def made() -> Iterator[Multi]:
        yield (Create("/0", b"sent"),)
        seen.extend(store.read(["/0"]))
        for number in range(1, 3 * MULTIS_IN_FLIGHT):
            yield (Create(f"/{number}", b""),)

    assert store.commit(made()) == [Committed()] * 3 * MULTIS_IN_FLIGHT
    assert [each.data for each in seen if each] == [b"sent"]


def test_an_identity_keeps_what_it_creates(
    open_store: StoreMaker, hot: Ensemble, kazoo: KazooClient, chroot: str
) -> None:
    address = hot.members[0].address
    alice = open_store(address, chroot=chroot, auth_scheme="digest", auth_credential="alice:wonder")
    created: Multi = (Create("/guarded", b"hers"), Create("/guarded/child", b""))
    assert alice.commit([created]) == [Committed()]
    kazoo.add_auth("digest", "alice:wonder")
    assert kazoo.get_acls(f"{chroot}/guarded")[0] == [make_digest_acl("alice", "wonder", all=True)]

    bob = open_store(address, chroot=chroot, auth_scheme="digest", auth_credential="bob:builder")
    (outcome,) = bob.commit([(Check("/", 0), Delete("/guarded/child", 0))])
    assert isinstance(outcome, Rejected)
    assert (outcome.op_index, outcome.reason) == (1, Reason.NO_AUTH)
    assert alice.commit([(Delete("/guarded/child", 0),)]) == [Committed()]
