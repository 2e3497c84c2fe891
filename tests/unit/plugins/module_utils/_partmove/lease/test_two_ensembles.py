# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One ensemble given as two is found out; on real ensembles and chroots, see the integration tests."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    AccessDenied,
    EnsembleError,
    SameEnsemble,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.lease.two_ensembles import (
    check_distinct,
    check_invisible,
    check_unlike,
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
from support.memory.client import MemoryClient
from support.memory.memory import MemoryEnsemble, MemoryStore


class Answering(MemoryStore):
    """Gives each of the answers once to what creates the nonce, without applying it."""

    def __init__(self, ensemble: MemoryEnsemble, *answers: Outcome) -> None:
        super().__init__(ensemble)
        self.answers = list(answers)

    def commit(self, multis: Iterable[Multi]) -> list[Outcome]:
        made = [*multis]
        first = made[0][0]
        if self.answers and isinstance(first, Create) and first.ephemeral:
            return [self.answers.pop(0)]
        return super().commit(made)


class Denying(MemoryStore):
    """Denies every znode that is there."""

    def read(self, paths: Sequence[str], *, absolute: bool = False) -> list[Znode | None]:
        if any(super().read(paths)):
            raise AccessDenied("no")
        return [None for _path in paths]


def test_an_address_in_common_is_told() -> None:
    hot = MemoryEnsemble("hot").open()

    with pytest.raises(SameEnsemble, match=r"both were given the address hot\.example:2181\. Give the hosts"):
        check_distinct(hot, hot.ensemble.open())

    check_distinct(hot, MemoryEnsemble("cold").open())


def test_a_znode_that_shows_up_is_told() -> None:
    hot = MemoryEnsemble("hot").open()

    sentence = (
        "Hot and cold are one ensemble: a znode created in hot is there in cold as /partmove/nonces/n1."
    )
    with pytest.raises(SameEnsemble, match=re.escape(sentence)):
        check_invisible(hot, hot.ensemble.open(), "n1")

    assert hot.children(["/partmove/nonces"]) == [()]


def test_a_member_that_is_behind_does_not_hide_it() -> None:
    hot = MemoryEnsemble("hot").open()
    behind = Behind(hot.ensemble)
    behind.fall_behind()

    with pytest.raises(SameEnsemble):
        check_invisible(hot, behind, "n1")


def test_a_chroot_does_not_hide_it() -> None:
    ensemble = MemoryEnsemble("hot")
    MemoryClient(ensemble.open()).create("/app")

    with pytest.raises(SameEnsemble, match="there in cold as /app/partmove/nonces/n1"):
        check_invisible(Chrooted(ensemble), ensemble.open(), "n1")
    with pytest.raises(SameEnsemble, match="there in cold as /partmove/nonces/n1"):
        check_invisible(ensemble.open(), Chrooted(ensemble), "n1")


def test_a_znode_that_may_not_be_read_is_there() -> None:
    hot = MemoryEnsemble("hot").open()

    with pytest.raises(SameEnsemble):
        check_invisible(hot, Denying(hot.ensemble), "n1")


def test_two_ensembles_are_told_apart() -> None:
    hot, cold = MemoryEnsemble("hot").open(), MemoryEnsemble("cold").open()

    check_invisible(hot, cold, "n1")

    assert hot.children(["/partmove/nonces"]) == [()]
    assert cold.ensemble.tree().keys() == {"/"}


def test_a_lost_answer_is_not_taken_for_one() -> None:
    ensemble = MemoryEnsemble("hot")

    with pytest.raises(SameEnsemble):
        check_invisible(Answering(ensemble, *[Unknown("lost")] * 3), ensemble.open(), "n1")


@pytest.mark.parametrize("answer", [Unknown("lost"), Rejected(0, Reason.NO_NODE, -101)], ids=str)
def test_nothing_is_proved_by_a_znode_that_was_not_created(answer: Outcome) -> None:
    hot, cold = Answering(MemoryEnsemble("hot"), *[answer] * 9), MemoryEnsemble("cold").open()

    sentence = (
        "/partmove/nonces/n1 could not be created in the hot ensemble, so hot and cold cannot be told apart"
    )
    with pytest.raises(EnsembleError, match=sentence):
        check_invisible(hot, cold, "n1")


def test_no_permission_to_create_it_is_told() -> None:
    hot = Answering(MemoryEnsemble("hot"), Rejected(0, Reason.NO_AUTH, -102))

    sentence = "Writing /partmove/nonces/n1 is denied to this identity by the hot ensemble"
    with pytest.raises(AccessDenied, match=sentence):
        check_invisible(hot, MemoryEnsemble("cold").open(), "n1")


def test_a_name_that_somebody_else_uses_is_refused() -> None:
    ensemble = MemoryEnsemble("hot")
    MemoryClient(ensemble.open()).create("/partmove/nonces/n1", b"", ephemeral=True, makepath=True)

    with pytest.raises(EnsembleError, match="could not be created in the hot ensemble"):
        check_invisible(ensemble.open(), MemoryEnsemble("cold").open(), "n1")

    assert "/partmove/nonces/n1" in ensemble.tree()


def test_a_znode_with_the_same_history_is_told() -> None:
    hot = MemoryEnsemble("hot").open()
    MemoryClient(hot).create("/table")

    with pytest.raises(SameEnsemble, match="/table was created by the same transaction in both"):
        check_unlike(hot, hot.ensemble.open(), "/table")
    with pytest.raises(AccessDenied):
        check_unlike(hot, Denying(hot.ensemble), "/table")


def test_a_chroot_does_not_hide_the_same_history() -> None:
    ensemble = MemoryEnsemble("hot")
    MemoryClient(ensemble.open()).create("/app/table", makepath=True)

    with pytest.raises(SameEnsemble, match="/app/table was created by the same transaction in both"):
        check_unlike(Chrooted(ensemble), ensemble.open(), "/table")
    with pytest.raises(SameEnsemble, match="/app was created by the same transaction in both"):
        check_unlike(ensemble.open(), Chrooted(ensemble), "/app")


def test_a_znode_with_another_history_is_another() -> None:
    hot, cold = MemoryEnsemble("hot").open(), MemoryEnsemble("cold").open()
    MemoryClient(hot).create("/table")

    check_unlike(hot, cold, "/table")
    check_unlike(hot, cold, "/missing")

    MemoryClient(cold).create("/earlier")
    MemoryClient(cold).create("/table")
    check_unlike(hot, cold, "/table")
