# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The refusals of bringing back, and that a refused partition stays as it is."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    EnsembleUnreachable,
    PartMoveError,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.gate import Refusal
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.judge import (
    MOVE_GATES,
    REHEAT_GATES,
    STRAY_COPIES,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.probe import ActivePart
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.servers import (
    AskServers,
    NoServers,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.report import PatchedReport
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.to_hot import ToHot
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Znode
from support.memory.arrange import Arrange, both, create, create_cold, entry, mark, mark_former, write
from support.memory.bench import DAY, LOCK, OTHER, PART, PATH, Bench, HookedStore
from support.memory.moves import make_world
from support.memory.probe import SimulatedProbe
from support.memory.reheating import cold_bench, later, run_again_in
from support.memory.synthetic import MINIMALISTIC
from support.memory.tables import TableOptions

LOG = f"{PATH}/log/log-0000000000"
READ_COLD_ZNODE = (
    "Read the znode with zkCli.sh from a member of the cold ensemble, as system.zookeeper shows hot only: if"
    " a ClickHouse newer than this collection knows wrote the znode, use a newer olap.partmove; if the znode"
    " is damaged, part_audit_info reports it, and part_repair with the kind unreadable removes it"
)
START = "Start the server and run again"
AUDIT_IT = (
    "Run again; if the reason stays the same, run part_audit_info and follow its remedy (ghost: no disk has"
    " the part, and part_repair removes its znodes); where no server has the partition because it was"
    " dropped, set State to HOT with partition_state"
)
REMEDIES = {
    gate.name.value: gate.remedy for gates in (MOVE_GATES, REHEAT_GATES) for kind in gates for gate in kind
}


class Probe:
    """Implements ReplicaProbe with the simulated servers, except where a test changes the answers."""

    def __init__(self, bench: Bench) -> None:
        self._real = SimulatedProbe(bench.servers)
        self.detached: dict[str, frozenset[str]] = {}
        self.fail_after = 1000

    def active_parts(
        self, shard_path: str, replica: str, host: str, partitions: Collection[str]
    ) -> Mapping[str, tuple[ActivePart, ...]]:
        self._count()
        return self._real.active_parts(shard_path, replica, host, partitions)

    def detached_parts(self, _shard_path: str, replica: str, _host: str) -> frozenset[str]:
        self._count()
        return self.detached.get(replica, frozenset())

    def _count(self) -> None:
        self.fail_after -= 1
        if self.fail_after < 0:
            raise PartMoveError("no answer")


def with_probe(change: Callable[[Bench, Probe], object]) -> Arrange:
    def arrange(bench: Bench) -> None:
        probe = Probe(bench)
        bench.context = bench.context._replace(servers=AskServers(probe))
        change(bench, probe)

    return arrange


def silent_after(answers: int) -> Arrange:
    return with_probe(lambda _bench, probe: setattr(probe, "fail_after", answers))


def detach_during_the_run(bench: Bench, probe: Probe) -> None:
    bench.after_switch(lambda: probe.detached.update(r2=frozenset({f"unexpected_{PART}_try2"})))


def busy_table(bench: Bench) -> None:
    bench.before_switch(lambda: bench.hot.set(f"{PATH}/log", b""), times=100)


def keeps_changing(bench: Bench) -> None:
    """Register another part of the partition before every read."""
    numbers = iter(range(50, 100))

    class Servers:
        asks = True

        def refusals(self, *_args: object) -> dict[str, Refusal]:
            create(f"replicas/r1/parts/{DAY}_{(number := next(numbers))}_{number}_0", MINIMALISTIC)(bench)
            return {}

        def lacking(self, *_args: object) -> list[str]:
            return []

        def active(self, *_args: object) -> dict[str, dict[str, tuple[str, ...]]]:
            return {}

        def detached(self, *_args: object) -> dict[str, frozenset[str]]:
            return {}

    bench.context = bench.context._replace(servers=Servers())


class Case(NamedTuple):
    """What is done to cold partitions, and what the report says of DAY then."""

    gate: str
    arrange: Arrange
    reason: str
    remedy: str
    word: str = "deferred"


def by_gate(gate: str, arrange: Arrange, reason: str) -> Case:
    return Case(gate, arrange, reason, REMEDIES[gate])


CHECK_NOTHING = (
    "Do not CHECK the table: CHECK would detach the cold parts. Run part_audit_info, which lists the part"
    " znodes of both ensembles (system.zookeeper shows hot only), then part_repair with the kind it reports"
)

CASES = [
    by_gate(
        "queue_clear",
        create("log/log-0000000000", entry(f"drop\n{DAY}_0_9_999999999\n".encode())),
        f"entries for the partition wait: drop in {LOG}",
    ),
    Case(
        "payload_readable",
        lambda bench: bench.cold.set(bench.part("r2"), b"garbage"),
        f"{PATH}/replicas/r2/parts/{PART} in the cold ensemble has data that is not a part header of format"
        " version 1",
        CHECK_NOTHING,
    ),
    Case(
        "payload_readable",
        create(f"replicas/r2/parts/{DAY}_7_7_0", b"garbage"),
        f"{PATH}/replicas/r2/parts/{DAY}_7_7_0 has data that is not a part header of format version 1",
        CHECK_NOTHING,
    ),
    by_gate("replicas_healthy", lambda bench: bench.servers.stop(), "replica r2 is not active"),
    by_gate("replicas_healthy", write("replicas/r1/is_lost", b"1"), "replica r1 is lost"),
    by_gate("table_kept", create("dropped"), "the table is being dropped"),
    by_gate("known_layout", create("new"), f"znodes of an unknown kind: {PATH}/new"),
    by_gate(
        "same_table",
        mark_former,
        "the cold ensemble registers parts of a former table at the same path",
    ),
    Case(
        "active_on_disk",
        lambda bench: setattr(bench, "context", bench.context._replace(servers=NoServers())),
        "no server was asked whether the replicas have the registered parts on disk",
        "Run again with the option clickhouse, so that the servers are asked, or with assume_active",
    ),
    Case(
        "active_on_disk",
        with_probe(lambda bench, _probe: bench.servers.disk["r2"].clear()),
        f"replica r2 has the active parts [], but ['{PART}'] are registered",
        AUDIT_IT,
    ),
    Case("active_on_disk", silent_after(1), "replica r2: no answer", START),
    Case("active_on_disk", silent_after(2), "replica r1: no answer", START),
    Case("active_on_disk", silent_after(4), "replica r1: no answer", START, "failed"),
    Case(
        "active_on_disk",
        with_probe(detach_during_the_run),
        f"replica r2 detached unexpected_{PART}_try2 during the run",
        "Run part_audit_info on the shard path now, and follow its remedy before the server restarts",
        "failed",
    ),
    Case(
        "lock_free",
        lambda bench: bench.hot.create(LOCK, b"another run", ephemeral=True, makepath=True),
        f"{PATH} is locked by another run: another run",
        "Wait until that run has ended; the lock of a killed run ends with its session",
    ),
    Case(
        "lock_kept",
        lambda bench: bench.before_switch(bench.hot_store.expire, times=100),
        f"{PATH}: the lock or epoch of this run is no longer valid",
        "Another run took the shard path over, or our session ended; run again",
    ),
    Case(
        "readable",
        create("log/log-0000000000", entry(b"explode\nnow\n")),
        f"{LOG}, line 5: expected a known type of entry, found 'explode'",
        "Read the znode in system.zookeeper: if a ClickHouse newer than this collection knows wrote the"
        " znode,"
        " use a newer olap.partmove; if the znode is damaged, repair it first",
    ),
    Case(
        "readable",
        create_cold("replicas/r1/parts/junk"),
        f"{PATH}/replicas/r1/parts/junk in the cold ensemble: 'junk' is not the name of a part in a table of"
        " data format version 1, which is <partition id>_<min block>_<max block>_<level>[_<mutation>]",
        READ_COLD_ZNODE,
    ),
    Case(
        "registered",
        lambda bench: bench.servers.drop(DAY),
        "State is COLD and neither ensemble registers a part of the partition: either the partition was"
        " dropped while it was cold, or cold has lost its part znodes. Only the servers know which",
        "Run again with the option clickhouse, so that the servers are asked. If they cannot be asked:"
        " where system.parts of every replica has no part of the partition, set State to HOT with"
        " partition_state; where a replica has one, do not restart its server and run part_audit_info",
    ),
    Case(
        "partition_exists",
        with_probe(lambda bench, _probe: bench.servers.drop(DAY)),
        "no part of the partition is registered in either ensemble",
        "Check the partition id (system.parts.partition_id) and the shard path",
    ),
    Case(
        "not_drifted",
        write(f"block_numbers/{DAY}/State", b"COLD\n"),
        "State is COLD\n, but r1 has 0 parts in hot and 1 in cold, r2 has 0 parts in hot and 1 in cold",
        "Set State with partition_state: to COLD if the servers have the parts, otherwise to HOT."
        " part_audit_info lists what each replica has, and part_repair repairs the rest",
    ),
    Case(
        "quiet_table",
        busy_table,
        "the table's own merges, mutations or inserts came in between 12 times",
        "Run again at a quieter time",
    ),
    Case(
        "quiet_table",
        keeps_changing,
        "its parts changed 3 times after the servers had been asked about them",
        "Run again when the partition is not dropped, merged or mutated any more",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case.gate))
def test_why_a_partition_was_not_brought_back(case: Case) -> None:
    bench = cold_bench()
    case.arrange(bench)
    cold = bench.cold_ensemble.data(PATH)

    report = bench.reheat()

    expected = PatchedReport(PATH)
    getattr(expected, case.word)[DAY] = Refusal(GateName(case.gate), case.reason, case.remedy)
    if case.word == "failed":
        expected.touched.add(DAY)
    assert report == expected
    assert bench.cold_ensemble.data(PATH) == cold
    is_hot = bench.hot.exists(bench.part()) is not None
    assert is_hot == (case.word == "failed")


def test_a_partition_that_no_multi_can_carry() -> None:
    bench = cold_bench(TableOptions(partitions=(DAY, OTHER), legacy=True))
    big = b"checksums format version: 4\n" + bytes(300_000)
    for replica in ("r1", "r2"):
        bench.cold.set(f"{bench.part(replica)}/checksums", big)

    assert bench.reheat().deferred == {
        DAY: Refusal(
            GateName.FITS_ONE_MULTI,
            "its 7 operations do not fit one multi, so the partition cannot be switched, or switched back,"
            " at one instant",
            "This collection moves no partition of that size: bring it back with the tool that moved it",
        )
    }


class Members(HookedStore):
    """Adds a member with the answers given by a test."""

    def __init__(self, bench: Bench, answer: Callable[[str], Znode | None]) -> None:
        super().__init__(bench.hot_ensemble)
        self._answer = answer

    def members(self) -> Sequence[HookedStore]:
        return [self, OtherMember(self, self._answer)]


class OtherMember(HookedStore):
    name = "hot-2"

    def __init__(self, store: HookedStore, answer: Callable[[str], Znode | None]) -> None:
        super().__init__(store.ensemble)
        self._answer = answer

    def read(self, paths: Sequence[str], *, absolute: bool = False) -> list[Znode | None]:
        return [self._answer(path) for path in paths]


def members_of(answer: Callable[[str], Znode | None]) -> Arrange:
    def arrange(bench: Bench) -> None:
        bench.hot_store = Members(bench, answer)
        bench.context = make_world(bench.hot_store, bench.cold_store, bench.clock)

    return arrange


def behind(bench: Bench) -> None:
    state = bench.hot.exists(f"{PATH}/block_numbers/{DAY}/State")
    assert state is not None
    members_of(lambda _path: state._replace(data=b"COLD"))(bench)


def unreachable(bench: Bench) -> None:
    def answer(_path: str) -> Znode | None:
        raise EnsembleUnreachable("no answer from hot-2")

    members_of(answer)(bench)


def stop_meanwhile(bench: Bench) -> None:
    """A server stops while the members of hot are asked."""

    def answer(path: str) -> Znode | None:
        bench.servers.stop()
        return bench.hot.exists(path)

    members_of(answer)(bench)


MEMBERS = "Check that every member of the hot ensemble is up and has caught up, then run again"
NOT_TOLD = "the partition is registered in hot again, but not on every member of the ensemble"
STILL_COLD = f"{NOT_TOLD}: on hot-2 the partition is still cold"
INACTIVE = Refusal(
    GateName.COPIES_NEEDED,
    "the partition is hot again, and a replica that is not active may still need its copies in cold",
    "Start the replica and run part_move with state: hot again; the copies are removed then",
)
WAITING = [
    Case("copies_needed", lambda bench: later(bench, -1), *run_again_in(1)[1:]),
    Case("copies_needed", lambda bench: bench.servers.stop(), *INACTIVE[1:]),
    Case("copies_needed", both(lambda bench: bench.servers.stop(), lambda it: later(it, 1e6)), *INACTIVE[1:]),
    Case("hot_members", behind, STILL_COLD, MEMBERS),
    Case("hot_members", members_of(lambda _path: None), STILL_COLD, MEMBERS),
    Case(
        "copies_needed",
        stop_meanwhile,
        "the table changed just when the copies were to be removed",
        "Run again; the copies are removed then",
    ),
    Case("hot_members", unreachable, f"{NOT_TOLD}: no answer from hot-2", MEMBERS),
]


@pytest.mark.parametrize("case", WAITING, ids=lambda case: str(case.gate))
def test_why_copies_stay(case: Case) -> None:
    bench = cold_bench()
    bench.reheat()
    later(bench, 600)
    case.arrange(bench)
    cold = bench.cold_ensemble.data(PATH)

    assert bench.reheat() == PatchedReport(
        PATH, deferred={DAY: Refusal(GateName(case.gate), case.reason, case.remedy)}
    )
    assert bench.cold_ensemble.data(PATH) == cold


def test_copies_that_hot_knows_nothing_of_stay() -> None:
    """Nobody knows where they are from, as the partition never was cold."""
    bench = Bench()
    mark(bench)
    stray = f"replicas/r2/parts/{DAY}_5_5_0"
    create_cold(stray)(bench)

    assert bench.reheat().deferred == {
        DAY: Refusal(
            GateName.NO_STRAY_COPIES,
            f"the cold ensemble registers parts that hot does not have: {PATH}/{stray}",
            REMEDIES["no_stray_copies"],
        )
    }
    assert bench.cold.exists(f"{PATH}/{stray}") is not None


def test_gates_for_bringing_back() -> None:
    """What may not become cold may still come back, with what is not certain to be there kept out."""
    shard, partition = ([gate.name for gate in gates] for gates in REHEAT_GATES)

    assert {gate.name for gate in MOVE_GATES.shard} - set(shard) == {"no_ttl"}
    assert partition == ["queue_clear", "block_numbers_present", "payload_readable"]
    assert [gate.name for gate in STRAY_COPIES.partition] == ["no_stray_copies"]


def test_every_gate_for_bringing_back_has_a_case() -> None:
    """Including the gates that only this direction has."""
    told = {case.gate for case in (*CASES, *WAITING)}

    assert {"queue_clear", "payload_readable", "copies_needed", "hot_members"} <= told


def test_each_disk_is_expected_to_have_the_parts_of_its_replica() -> None:
    bench, other = Bench(), f"{DAY}_9_9_0"
    bench.move()
    create_cold(f"replicas/r1/parts/{other}", MINIMALISTIC)(bench)
    facts = bench.reader().read([DAY]).partitions[DAY]

    expected = ToHot(bench.context).expected(facts)

    names = {replica: [part.name.text for part in parts] for replica, parts in expected.hot.items()}
    assert names == {"r1": [PART, other], "r2": [PART]}
