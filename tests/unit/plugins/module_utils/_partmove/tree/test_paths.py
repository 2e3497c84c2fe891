# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Creation of znodes, and errors of ensembles without write access."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    AccessDenied,
    EnsembleError,
    PartMoveError,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import (
    ensure_path,
    parent_of,
    raise_if_unwritable,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Multi,
    Outcome,
    Reason,
    Rejected,
)
from support.memory.bench import HookedStore
from support.memory.client import MemoryClient
from support.memory.memory import MemoryEnsemble, MemoryStore


@pytest.fixture
def ensemble() -> MemoryEnsemble:
    return MemoryEnsemble("hot")


@pytest.mark.parametrize(("path", "parent"), [("/", "/"), ("/a", "/"), ("/a/b", "/a"), ("/a/b/c", "/a/b")])
def test_parent(path: str, parent: str) -> None:
    assert parent_of(path) == parent


@pytest.mark.parametrize(
    ("reason", "error", "message", "remedy"),
    [
        (
            Reason.NO_AUTH,
            AccessDenied,
            "Writing /a is denied to this identity by the hot ensemble",
            "Give the identity create, write and delete permission there, or use another identity",
        ),
        (
            Reason.READ_ONLY,
            EnsembleError,
            "/a cannot be written, the hot ensemble is read-only",
            "Wait until the ensemble has a quorum again",
        ),
        (
            Reason.OTHER,
            EnsembleError,
            "Writing /a was rejected by the hot ensemble with error -8",
            "Read the error in the log of the server",
        ),
    ],
)
def test_a_refusal_of_every_write_is_an_error(
    ensemble: MemoryEnsemble, reason: Reason, error: type[PartMoveError], message: str, remedy: str
) -> None:
    with pytest.raises(error) as refusal:
        raise_if_unwritable(ensemble.open(), "/a", Rejected(0, reason, -8))
    assert (refusal.value.message, refusal.value.remedy) == (message, remedy)


@pytest.mark.parametrize("reason", [Reason.NO_NODE, Reason.NODE_EXISTS, Reason.BAD_VERSION, Reason.NOT_EMPTY])
def test_a_changed_znode_is_left_to_the_caller(ensemble: MemoryEnsemble, reason: Reason) -> None:
    raise_if_unwritable(ensemble.open(), "/a", Rejected(0, reason, -8))


def test_a_path_is_created_with_its_parents(ensemble: MemoryEnsemble) -> None:
    store = ensemble.open()
    ensure_path(store, "/a/b/c")
    before = ensemble.tree()

    ensure_path(store, "/a/b/c")

    assert ensemble.tree() == before
    assert before.keys() == {"/", "/a", "/a/b", "/a/b/c"}
    assert {znode.stat.ephemeral_owner for znode in before.values()} == {0}


@pytest.mark.parametrize(
    "disturb",
    [
        lambda client: client.ensure_path("/a/b"),
        lambda client: client.create("/a") if client.exists("/a") is None else client.delete("/a"),
    ],
    ids=["somebody makes it first", "somebody deletes the parent"],
)
def test_another_client_writes_to_the_path(
    ensemble: MemoryEnsemble, disturb: Callable[[MemoryClient], object]
) -> None:
    store, client = HookedStore(ensemble), MemoryClient(ensemble.open())
    left = [disturb, disturb]
    store.before = lambda _multi: left.pop()(client) if left else None

    ensure_path(store, "/a/b/c")

    assert ensemble.read(["/a/b/c"])[0] is not None


def test_a_denied_creation_fails_at_once(ensemble: MemoryEnsemble) -> None:
    class Denying(MemoryStore):
        def commit(self, multis: Iterable[Multi]) -> list[Outcome]:
            return [Rejected(len(multi) - 1, Reason.NO_AUTH, -102) for multi in multis]

    MemoryClient(ensemble.open()).create("/a")

    with pytest.raises(AccessDenied, match="Writing /a/b/c is denied to this identity by the hot ensemble"):
        ensure_path(Denying(ensemble), "/a/b/c")


def test_a_path_that_another_client_deletes_again_and_again(ensemble: MemoryEnsemble) -> None:
    store, client = HookedStore(ensemble), MemoryClient(ensemble.open())
    store.after = lambda _multi: client.delete("/a")

    with pytest.raises(EnsembleError, match="/a does not stay in the hot ensemble after it was created"):
        ensure_path(store, "/a")
