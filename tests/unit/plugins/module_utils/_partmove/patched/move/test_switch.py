# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The multis of a switch: their content, how many partitions share one, and the retries after collisions."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    AccessDenied,
    EnsembleError,
    LeaseLost,
    PartMoveError,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.layout import ShardLayout
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.gate import GateOptions
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move import switch
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.report import PatchedReport
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.switch import (
    Switch,
    SwitchResult,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.to_cold import ToCold
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.parts.leased_shard import (
    LeasedShard,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.shard.facts import PartitionFacts
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree import multi_batches
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Check,
    Delete,
    Multi,
    Outcome,
    Reason,
    Rejected,
    SetData,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.zip_strict import zip_strict
from support.memory.bench import DAY, LOCK, OTHER, PART, PATH, Bench, HookedStore
from support.memory.tables import TableOptions, days

WEEK = days(9)
OPTIONS = GateOptions(min_age=0.0, max_parts=1)


class Switching:
    """A bench whose partitions are verified, and a switch under a lease."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.multis: list[Multi] = []
        self.announced: list[PartitionFacts] = []
        self.announced_at_most = 1000
        self.before_switch: Callable[[list[str]], object] = len
        bench.hot_store.before = self._note
        self.lease = bench.context.leases.acquire(PATH)
        layout = ShardLayout(PATH)
        self._reader = bench.reader()
        leased = LeasedShard(bench.hot_store, bench.cold_store, self._reader, layout, self.lease)
        direction = ToCold(bench.context, OPTIONS, PatchedReport(PATH))
        self._switch = Switch(leased, bench.clock, direction, self._announce)
        self.prepared = self._read()
        self.multis.clear()

    def run(self, result: SwitchResult | None = None) -> SwitchResult:
        result = SwitchResult() if result is None else result
        deque(self._switch.batches(self.prepared, result), maxlen=0)
        return result

    def colliding(self, times: int) -> None:
        """Let the table assign work right before this number of switches."""
        left = [None] * times

        def before(multi: Multi) -> None:
            self._note(multi)
            if left and switched_by(multi):
                left.pop()
                self.bench.hot.set(f"{PATH}/log", b"")

        self.bench.hot_store.before = before

    def switches(self) -> list[list[str]]:
        """The partitions of each switching multi."""
        return [names for names in map(switched_by, self.multis) if names]

    def _announce(self, partitions: Sequence[PartitionFacts]) -> None:
        if len(self.announced) + len(partitions) > self.announced_at_most:
            raise PartMoveError("no space left")
        self.announced.extend(partitions)

    def _note(self, multi: Multi) -> None:
        self.multis.append(multi)
        if names := switched_by(multi):
            self.before_switch(names)

    def _read(self) -> dict[str, PartitionFacts]:
        partitions = self.bench.servers.table.options.partitions
        return self._reader.read(partitions).partitions


def switched_by(multi: Multi) -> list[str]:
    return [op.path.split("/")[-2] for op in multi if isinstance(op, SetData) and op.data == b"COLD"]


@pytest.fixture
def one() -> Switching:
    return Switching(Bench(TableOptions(partitions=(DAY,), legacy=True)))


def test_the_multi_that_switches_a_partition(one: Switching) -> None:
    one.bench.hot.set(one.bench.part("r2"), b"")  # its version is 1 now
    switching = Switching(one.bench)

    assert switching.run() == SwitchResult(switched={DAY})

    state = f"{PATH}/block_numbers/{DAY}/State"
    checked = [
        *switching.lease.hot_checks,
        *(Check(f"{PATH}/{name}", 0) for name in ("log", "mutations", "replicas", "columns", "metadata")),
        *(Check(f"{PATH}/replicas/{each}/log_pointer", 0) for each in ("r1", "r2")),
        *(
            Check(f"{PATH}/replicas/{each}/{name}", 0)
            for each in ("r1", "r2")
            for name in ("host", "is_lost")
        ),
    ]
    deleted = [
        Delete(f"{PATH}/replicas/{each}/parts/{PART}{child}", version)
        for each, versions in (("r1", (1, 0, 0)), ("r2", (1, 0, 1)))
        for child, version in zip_strict(("/checksums", "/columns", ""), versions)
    ]
    assert switching.multis[-1] == (*checked, SetData(state, b"COLD", 0), *deleted)


def test_a_server_that_raises_the_version_of_the_log_is_not_held_up_by_inserts() -> None:
    bench = Bench()
    bench.hot.set(f"{PATH}/log", b"")
    switching = Switching(bench)
    switching.run()

    paths = [op.path for op in switching.multis[-1]]
    assert f"{PATH}/log" in paths
    assert f"{PATH}/replicas/r1/log_pointer" not in paths


def test_state_is_created_once(one: Switching) -> None:
    one.run()
    creations = [multi for multi in one.multis if any(op.path.endswith("/State") for op in multi)]

    assert [op.path for op in creations[0]] == [
        LOCK,
        one.lease.epoch_path,
        f"{PATH}/block_numbers/{DAY}/State",
    ]
    assert len(creations) == 2  # and set to COLD by the other


@pytest.fixture
def small_multis(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a multi have room for thirteen checks and seven partitions of three operations."""
    monkeypatch.setattr(multi_batches, "MAX_OPS", 34)


@pytest.fixture
def announced_by_twos(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(switch, "ANNOUNCED_AT_ONCE", 2)


@pytest.mark.usefixtures("small_multis")
def test_many_partitions_share_a_multi() -> None:
    switching = Switching(Bench(TableOptions(partitions=WEEK)))

    assert switching.run().switched == set(WEEK)

    assert switching.switches() == [list(WEEK[:7]), list(WEEK[7:])]


@pytest.mark.usefixtures("small_multis", "announced_by_twos")
def test_no_multi_is_sent_before_its_partitions_were_announced() -> None:
    """The order of the switch: announce (the journal is on disk) → unclear → send."""
    switching = Switching(Bench(TableOptions(partitions=WEEK)))
    result = SwitchResult()
    sent: list[str] = []
    too_early: list[str] = []

    def before_switch(names: list[str]) -> None:
        sent.extend(names)
        announced = {partition.partition_id for partition in switching.announced}
        too_early.extend(name for name in names if name not in announced or name not in result.unclear)

    switching.before_switch = before_switch
    switching.run(result)

    assert sent == [*WEEK]
    assert too_early == []


@pytest.mark.usefixtures("small_multis", "announced_by_twos")
def test_partitions_are_announced_while_others_are_switched() -> None:
    """The announcements are lazy: a multi is sent before the partitions of the next one are announced."""
    switching = Switching(Bench(TableOptions(partitions=WEEK)))
    sent: list[tuple[list[str], int]] = []
    switching.before_switch = lambda names: sent.append((names, len(switching.announced)))

    assert switching.run().switched == set(WEEK)

    # The seven partitions of the first multi, and the eighth, which did not fit into it.
    assert sent == [([*WEEK[:7]], 8), ([*WEEK[7:]], 9)]
    assert [each.partition_id for each in switching.announced] == [*WEEK]


@pytest.mark.usefixtures("small_multis", "announced_by_twos")
def test_a_partition_that_cannot_be_announced_is_not_switched() -> None:
    switching = Switching(Bench(TableOptions(partitions=WEEK)))
    switching.announced_at_most = 8
    result = SwitchResult()

    with pytest.raises(PartMoveError, match="no space left"):
        switching.run(result)

    # The eighth was announced, and would have shared a multi with the ninth.
    assert result == SwitchResult(switched=set(WEEK[:7]))
    assert switching.switches() == [[*WEEK[:7]]]


def test_a_collision_is_tried_again_in_smaller_groups() -> None:
    switching = Switching(Bench(TableOptions(partitions=days(64))))
    switching.colliding(times=2)

    assert switching.run().switched == set(days(64))

    assert [len(names) for names in switching.switches()] == [64, 8, 1, 2, 4, 8, 16, 32, 1]
    assert switching.bench.clock.time > 0


def test_a_table_that_never_holds_still() -> None:
    bench = Bench()
    switching = Switching(bench)
    switching.colliding(times=1000)
    began = bench.clock.time

    result = switching.run()

    assert result.switched == set()
    assert {each: refusal.gate for each, refusal in result.refused.items()} == {
        DAY: "quiet_table",
        OTHER: "quiet_table",
    }
    assert 5 < bench.clock.time - began < 60


def test_a_partition_that_changed_is_handed_back() -> None:
    bench = Bench()
    switching = Switching(bench)
    bench.hot.set(bench.part(), bench.hot.get(bench.part())[0])

    assert switching.run() == SwitchResult(switched={OTHER}, changed={DAY})


def test_a_partition_that_somebody_marked_cold_is_handed_back() -> None:
    """Otherwise State could not show, after a lost answer, whether the multi was applied."""
    bench = Bench()
    switching = Switching(bench)
    bench.hot.create(f"{PATH}/block_numbers/{DAY}/State", b"COLD")

    assert switching.run() == SwitchResult(switched={OTHER}, changed={DAY})


def test_a_partition_that_a_gate_stops_by_now() -> None:
    bench = Bench()
    switching = Switching(bench)
    bench.servers.mutate(DAY)

    result = switching.run()

    assert result.switched == {OTHER}
    assert result.refused[DAY].gate == "mutations_applied"


@pytest.mark.usefixtures("small_multis")
def test_a_lease_that_is_lost_on_the_way_hides_nothing() -> None:
    """The second multi is refused; the outcome of the first one is known."""
    bench = Bench(TableOptions(partitions=WEEK))
    switching = Switching(bench)
    bench.hot_store.after = lambda multi: bench.hot_store.expire() if switched_by(multi) else None
    result = SwitchResult()

    with pytest.raises(LeaseLost):
        switching.run(result)

    assert result.switched == set(WEEK[:7])


class Denying(HookedStore):
    """Rejects a multi that deletes a part of the first partition, with a reason."""

    reason = Reason.NO_AUTH

    def commit(self, multis: Iterable[Multi]) -> list[Outcome]:
        return [outcome for multi in multis for outcome in self._one(multi)]

    def _one(self, multi: Multi) -> list[Outcome]:
        for number, op in enumerate(multi):
            if isinstance(op, Delete) and op.path == f"{PATH}/replicas/r1/parts/{PART}":
                return [Rejected(number, self.reason, -102)]
        return super().commit([multi])


@pytest.mark.usefixtures("small_multis")
@pytest.mark.parametrize(
    ("reason", "error", "sentence"),
    [
        (Reason.NO_AUTH, AccessDenied, f"Writing {PATH}/replicas/r1/parts/{PART} is denied"),
        (Reason.OTHER, EnsembleError, f"Writing {PATH}/replicas/r1/parts/{PART} was rejected"),
    ],
    ids=["no permission", "something else"],
)
def test_a_refusal_is_raised_after_all_outcomes_are_known(
    reason: Reason, error: type[Exception], sentence: str
) -> None:
    bench = Bench(TableOptions(partitions=WEEK))
    denying = Denying(bench.hot_ensemble)
    denying.session_id = bench.hot_store.session_id
    denying.reason = reason
    bench.hot_store = denying
    bench.context = bench.context._replace(hot=denying)
    switching = Switching(bench)
    result = SwitchResult()

    with pytest.raises(error, match=sentence):
        switching.run(result)

    assert result.switched == set(WEEK[7:])
