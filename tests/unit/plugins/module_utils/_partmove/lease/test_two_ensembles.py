# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Detection of one ensemble given as hot and cold; the integration tests use real ensembles and chroots."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    AccessDenied,
    EnsembleError,
    SameEnsemble,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.two_ensembles import (
    check_different_history,
    check_distinct_addresses,
    check_nonce_invisible,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Create,
    Multi,
    Outcome,
    Reason,
    Rejected,
    Unknown,
    Znode,
)
from support.memory.behind import Behind, Chrooted
from support.memory.bench import HookedStore
from support.memory.client import MemoryClient
from support.memory.memory import MemoryEnsemble, MemoryStore


class Answering(MemoryStore):
    """Returns each of the outcomes once for the creation of the nonce, without applying it."""

    def __init__(self, ensemble: MemoryEnsemble, *answers: Outcome) -> None:
        super().__init__(ensemble)
        self.answers = list(answers)

    def commit(self, multis: Iterable[Multi]) -> list[Outcome]:
        made = [*multis]
        first = made[0][0]
        if self.answers and isinstance(first, Create) and first.ephemeral:
            return [self.answers.pop(0)]
        return super().commit(made)


class Syncing(MemoryStore):
    """Does one of the acts at each sync, before it."""

    def __init__(self, ensemble: MemoryEnsemble, acts: list[Callable[[], object]]) -> None:
        super().__init__(ensemble)
        self.acts = acts

    def sync(self, path: str) -> None:
        if self.acts:
            self.acts.pop(0)()
        super().sync(path)


class Denying(MemoryStore):
    """Denies access to every existing znode."""

    def read(self, paths: Sequence[str], *, absolute: bool = False) -> list[Znode | None]:
        if any(super().read(paths)):
            raise AccessDenied("no")
        return [None for _path in paths]


def test_a_common_address_is_detected() -> None:
    hot = MemoryEnsemble("hot").open()

    with pytest.raises(SameEnsemble, match=r"both were given the address hot\.example:2181\. Give the hosts"):
        check_distinct_addresses(hot, hot.ensemble.open())

    check_distinct_addresses(hot, MemoryEnsemble("cold").open())


def test_a_nonce_visible_in_cold_is_detected() -> None:
    hot = MemoryEnsemble("hot").open()

    sentence = "Hot and cold are one ensemble: a znode created in hot exists in cold as /partmove/nonces/n1."
    with pytest.raises(SameEnsemble, match=re.escape(sentence)):
        check_nonce_invisible(hot, hot.ensemble.open(), "n1")

    assert hot.children(["/partmove/nonces"]) == [()]


def test_a_lagging_member_does_not_hide_the_nonce() -> None:
    hot = MemoryEnsemble("hot").open()
    behind = Behind(hot.ensemble)
    behind.fall_behind()

    with pytest.raises(SameEnsemble):
        check_nonce_invisible(hot, behind, "n1")


def test_a_chroot_does_not_hide_the_nonce() -> None:
    ensemble = MemoryEnsemble("hot")
    MemoryClient(ensemble.open()).create("/app")

    with pytest.raises(SameEnsemble, match="exists in cold as /app/partmove/nonces/n1"):
        check_nonce_invisible(Chrooted(ensemble), ensemble.open(), "n1")
    with pytest.raises(SameEnsemble, match="exists in cold as /partmove/nonces/n1"):
        check_nonce_invisible(ensemble.open(), Chrooted(ensemble), "n1")


def test_an_unreadable_nonce_exists() -> None:
    hot = MemoryEnsemble("hot").open()

    with pytest.raises(SameEnsemble):
        check_nonce_invisible(hot, Denying(hot.ensemble), "n1")


def test_two_ensembles_pass() -> None:
    hot, cold = MemoryEnsemble("hot").open(), MemoryEnsemble("cold").open()

    check_nonce_invisible(hot, cold, "n1")

    assert hot.children(["/partmove/nonces"]) == [()]
    assert cold.ensemble.tree().keys() == {"/"}


def test_a_lost_answer_does_not_prove_a_nonce() -> None:
    ensemble = MemoryEnsemble("hot")

    with pytest.raises(SameEnsemble):
        check_nonce_invisible(Answering(ensemble, *[Unknown("lost")] * 3), ensemble.open(), "n1")


@pytest.mark.parametrize("answer", [Unknown("lost"), Rejected(0, Reason.NO_NODE, -101)], ids=str)
def test_a_nonce_that_was_not_created_proves_nothing(answer: Outcome) -> None:
    hot, cold = Answering(MemoryEnsemble("hot"), *[answer] * 9), MemoryEnsemble("cold").open()

    sentence = "/partmove/nonces/n1 could not be created in the hot ensemble, so hot and cold cannot be"
    with pytest.raises(EnsembleError, match=sentence):
        check_nonce_invisible(hot, cold, "n1")


def test_a_denied_creation_of_the_nonce_is_reported() -> None:
    hot = Answering(MemoryEnsemble("hot"), Rejected(0, Reason.NO_AUTH, -102))

    sentence = "Writing /partmove/nonces/n1 is denied to this identity by the hot ensemble"
    with pytest.raises(AccessDenied, match=sentence):
        check_nonce_invisible(hot, MemoryEnsemble("cold").open(), "n1")


def test_a_nonce_of_a_former_session_is_ours() -> None:
    """As after a reconnection with ClickHouse Keeper: the name of the nonce is unique for each call."""
    hot = HookedStore(MemoryEnsemble("hot"))
    hot.after = lambda _multi: hot.replace_session()

    check_nonce_invisible(hot, MemoryEnsemble("cold").open(), "n1")
    with pytest.raises(SameEnsemble):
        check_nonce_invisible(hot, hot.ensemble.open(), "n2")

    assert hot.children(["/partmove/nonces"]) == [()]


def test_a_nonce_that_ends_with_its_session_before_cold_is_read_is_created_again() -> None:
    hot = HookedStore(MemoryEnsemble("hot"))
    cold = Syncing(hot.ensemble, [hot.expire])

    with pytest.raises(SameEnsemble):
        check_nonce_invisible(hot, cold, "n1")

    assert cold.acts == []


def test_a_nonce_that_never_stays_proves_nothing() -> None:
    hot = HookedStore(MemoryEnsemble("hot"))

    with pytest.raises(EnsembleError, match="so hot and cold cannot be distinguished"):
        check_nonce_invisible(hot, Syncing(hot.ensemble, [hot.expire] * 5), "n1")


def test_a_nonce_that_a_member_behind_still_shows_proves_nothing() -> None:
    hot = Behind(MemoryEnsemble("hot"))

    def end_unseen() -> None:
        hot.fall_behind()
        hot.expire()

    with pytest.raises(EnsembleError, match="so hot and cold cannot be distinguished"):
        check_nonce_invisible(hot, Syncing(hot.ensemble, [end_unseen] * 5), "n1")


def test_a_znode_with_the_same_history_is_detected() -> None:
    hot = MemoryEnsemble("hot").open()
    MemoryClient(hot).create("/table")

    with pytest.raises(SameEnsemble, match="/table was created by the same transaction in both"):
        check_different_history(hot, hot.ensemble.open(), "/table")
    with pytest.raises(AccessDenied):
        check_different_history(hot, Denying(hot.ensemble), "/table")


def test_a_chroot_does_not_hide_the_same_history() -> None:
    ensemble = MemoryEnsemble("hot")
    MemoryClient(ensemble.open()).create("/app/table", makepath=True)

    with pytest.raises(SameEnsemble, match="/app/table was created by the same transaction in both"):
        check_different_history(Chrooted(ensemble), ensemble.open(), "/table")
    with pytest.raises(SameEnsemble, match="/app was created by the same transaction in both"):
        check_different_history(ensemble.open(), Chrooted(ensemble), "/app")


def test_a_znode_with_another_history_passes() -> None:
    hot, cold = MemoryEnsemble("hot").open(), MemoryEnsemble("cold").open()
    MemoryClient(hot).create("/table")

    check_different_history(hot, cold, "/table")
    check_different_history(hot, cold, "/missing")

    MemoryClient(cold).create("/earlier")
    MemoryClient(cold).create("/table")
    check_different_history(hot, cold, "/table")

    MemoryClient(cold).create("/in cold alone")
    check_different_history(hot, cold, "/in cold alone")
