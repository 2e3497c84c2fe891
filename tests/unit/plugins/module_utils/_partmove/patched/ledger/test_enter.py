# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which servers may be entered: patched, young enough, and the one in hot."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import NoSuchReplica
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.enter import (
    Admission,
    NotReady,
    Requirements,
    ServedReplica,
    look_up_replicas,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.entry import (
    ColdEnsemble,
    LedgerEntry,
    parse_entry,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.ledger.ledger import (
    EntryChange,
    Ledger,
    ReplicaKey,
    ServerChanged,
)
from support.memory.bench import PART, PATH, Bench
from support.memory.ledger import SIGN, SimulatedServer

R1, R2 = ReplicaKey(PATH, "r1"), ReplicaKey(PATH, "r2")
OTHER = ReplicaKey(PATH, "r7")


class Case:
    """A server with the replica r1, and its verification."""

    def __init__(self) -> None:
        self.bench = Bench()
        self.server = SimulatedServer(self.bench.hot_store, R1)
        self.ledger = Ledger(self.bench.hot_store)
        self.requirements = Requirements(SIGN, None, ColdEnsemble.of(self.bench.cold_store), "a test", None)
        self.changes: dict[ReplicaKey, EntryChange] = {}

    def enter(self, **changed: Any) -> None:
        hot, cold = self.bench.hot_store, self.bench.cold_store
        admission = Admission(hot, cold, self.ledger, self.server, self.bench.clock)
        admission.enter(self.requirements._replace(**changed), self.changes)

    def before(self, question: str, act: Callable[[], object], number: int = 0) -> None:
        """Do something right before the server is asked a question for the nth time."""
        counts = [number]

        def asked(name: str) -> None:
            if name == question:
                counts[0] -= 1
                if counts[0] == -1:
                    act()

        self.server.asked = asked

    @property
    def entered(self) -> list[str]:
        return self.ledger.replicas(PATH)


def test_an_entry_says_what_was_verified() -> None:
    case = Case()
    case.enter()
    znode = case.ledger.read(PATH, ["r1"])["r1"]
    assert znode is not None
    assert parse_entry(znode) == LedgerEntry(
        host="r1.example",
        interserver_port=9009,
        host_version=0,
        host_mzxid=case.bench.hot.get(f"{PATH}/replicas/r1/host")[1].mzxid,
        server_version="20.12.3.3",
        patched_sign=SIGN,
        started_at="1970-01-01T00:16:40.000Z",
        cold=ColdEnsemble(("cold.example:2181",), ""),
        verified_by="a test",
        verified_at="2020-09-13T12:26:40.000Z",
    )
    assert case.entered == ["r1"]


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda case: setattr(case.server, "patched", False), "does not show the sign of the patch"),
        (
            lambda case: setattr(case.server, "read_only", True),
            f"replica r1 of {PATH} is read-only, without a ZooKeeper session",
        ),
        (lambda case: case.bench.servers.stop("r1"), f"replica r1 of {PATH} is not active in hot"),
        (
            lambda case: setattr(case, "server", SimulatedServer(Bench().hot_store, R1)),
            f"replica r1 of {PATH} is another replica in the ZooKeeper of the server",
        ),
        (
            lambda case: setattr(case, "server", SimulatedServer(case.bench.hot_store, R1, OTHER)),
            f"replica r7 of {PATH} is not active in hot",
        ),
    ],
    ids=["stock", "read-only", "not active", "another ensemble", "unknown"],
)
def test_what_is_refused(spoil: Callable[[Case], object], reason: str) -> None:
    case = Case()
    # One more start than another bench has, so that the transactions differ.
    case.bench.servers.restart("r1")
    spoil(case)
    with pytest.raises(NotReady, match=reason):
        case.enter()
    assert case.entered == []


@pytest.mark.parametrize(("changed_at", "refused"), [(1_000.5, True), (1_000.0, False), (None, False)])
def test_a_process_that_is_older_than_its_configuration(changed_at: float | None, refused: bool) -> None:
    case = Case()
    if not refused:
        case.enter(config_changed_at=changed_at)
        return
    with pytest.raises(NotReady, match="^the server was started before its configuration was changed"):
        case.enter(config_changed_at=changed_at)
    assert case.entered == []


def test_only_the_replicas_that_are_asked_for() -> None:
    case = Case()
    case.server = SimulatedServer(case.bench.hot_store, R1, R2)
    case.enter(only=[R2])
    assert case.entered == ["r2"]
    with pytest.raises(NoSuchReplica, match=f"^the server does not have replica r7 of {PATH}"):
        case.enter(only=[R1, OTHER])
    assert case.entered == ["r2"]


def test_those_that_were_withdrawn_or_never_entered_stay_out() -> None:
    case = Case()
    case.server = SimulatedServer(case.bench.hot_store, R1, R2)
    case.enter(only=[R1])
    case.bench.servers.restart("r1")
    # What the server says of a replica that stays out is in nobody's way.
    case.bench.servers.stop("r2")
    case.enter(renew=True)
    assert (case.entered, list(case.changes)) == (["r1"], [R1])
    assert case.changes[R1].changed


def test_one_that_is_withdrawn_while_the_server_is_asked_stays_out() -> None:
    case = Case()
    case.enter()
    case.bench.servers.restart("r1")
    case.before("activation", lambda: case.ledger.withdraw(R1))
    case.enter(renew=True)
    assert case.entered == []
    assert not case.changes[R1].changed


def test_one_that_is_withdrawn_while_its_entry_is_written_stays_out() -> None:
    case = Case()
    case.enter()
    case.bench.servers.restart("r1")
    other = Ledger(case.bench.hot_ensemble.open())
    left = [lambda: other.withdraw(R1)]
    case.bench.hot_store.before = lambda _multi: left.pop()() if left else None
    case.enter(renew=True)
    assert case.entered == []
    assert not case.changes[R1].changed


@pytest.mark.parametrize(
    ("question", "number"),
    [("replicas", 0), ("version", 0), ("shows", 0), ("replicas", 1), ("activation", 0)],
)
def test_a_restart_while_the_server_is_asked(question: str, number: int) -> None:
    """Either the restart is noticed, or the entry names the activation after the restart."""
    case = Case()
    case.before(question, lambda: case.bench.servers.restart("r1"), number)
    if question == "replicas" and number == 0:
        case.enter()
        assert case.entered == ["r1"]
        return
    with pytest.raises(NotReady, match="or was activated just now"):
        case.enter()
    assert case.entered == []


def test_a_restart_after_the_server_was_asked() -> None:
    case = Case()
    left = [lambda: case.bench.servers.restart("r1")]
    case.bench.hot_store.before = lambda _multi: left.pop()() if left else None
    with pytest.raises(ServerChanged, match="while it was verified"):
        case.enter()
    assert case.entered == []


def test_replicas_are_read_by_their_keys() -> None:
    case = Case()
    found = look_up_replicas(case.bench.hot_store, [R2, OTHER, R2])
    assert list(found) == [R2, OTHER]
    assert found[R2].name == "r2"
    assert found[R2].is_active is not None
    assert (found[OTHER].host, found[OTHER].is_active) == (None, None)


class Expired(SimulatedServer):
    """A server whose replicas are not read-only yet, although its session has expired."""

    def replicas(self) -> list[ServedReplica]:
        return [each._replace(session_expired=True) for each in super().replicas()]


def test_a_session_that_has_expired() -> None:
    case = Case()
    case.server = Expired(case.bench.hot_store, R1)
    with pytest.raises(NotReady, match=f"replica r1 of {PATH} is read-only, without a ZooKeeper session"):
        case.enter()
    assert case.entered == []


def test_a_replica_does_not_inherit_what_cold_has_of_its_namesake() -> None:
    case = Case()
    case.bench.move()
    case.bench.servers.add_again("r2")
    case.server = SimulatedServer(case.bench.hot_store, R2)

    with pytest.raises(NotReady) as raised:
        case.enter()

    assert raised.value.message == (
        "the server cannot be entered: the cold ensemble registers parts for it that are neither in hot"
        f" nor on its disk, replica r2 of {PATH}: {PART}"
    )
    assert raised.value.remedy.startswith("Do not restart the server. Run part_audit_info.")
    assert case.entered == []

    case.bench.cold.delete(f"{PATH}/replicas/r2/parts", recursive=True)
    case.enter()
    assert case.entered == ["r2"]


def test_one_replica_without_data_keeps_the_others_out() -> None:
    case = Case()
    case.bench.move()
    case.server = SimulatedServer(case.bench.hot_store, R1, R2)
    case.server.disk = {R1: {PART}}
    with pytest.raises(NotReady) as raised:
        case.enter()
    assert raised.value.message.endswith(f"on its disk, replica r2 of {PATH}: {PART}")
    assert case.entered == []

    case.enter(only=[R1])
    assert case.entered == ["r1"]


def test_replicas_are_read_from_a_member_that_caught_up() -> None:
    """A restart that its member does not show yet would be entered as it was before."""
    bench = Bench()
    bench.hot_store.connect_to(bench.hot_ensemble.members[-1])
    before = look_up_replicas(bench.hot_store, [R1])[R1].is_active
    bench.servers.restart("r1")

    after = look_up_replicas(bench.hot_store, [R1])[R1].is_active

    assert before is not None
    assert after is not None
    assert after.stat.czxid > before.stat.czxid


class ServesNoMore(SimulatedServer):
    """A server that drops its replicas after it was asked for them."""

    def replicas(self) -> Collection[ServedReplica]:
        """All, and none afterwards."""
        found = super().replicas()
        self._keys = ()
        return found


def test_a_replica_that_the_server_drops_meanwhile_is_not_entered() -> None:
    case = Case()
    case.server = ServesNoMore(case.bench.hot_store, R1)
    with pytest.raises(NotReady, match=f"replica r1 of {PATH} is gone"):
        case.enter()
    assert case.entered == []


def test_a_replica_without_an_address_is_not_entered() -> None:
    case = Case()
    case.bench.hot.delete(f"{PATH}/replicas/r1/host")
    with pytest.raises(NotReady, match=f"replica r1 of {PATH} is not active in hot"):
        case.enter()
    assert case.entered == []
