# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the way back does, and how its runs end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    EnsembleUnreachable,
    NoSuchTable,
    PartMoveError,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.gate import Refusal
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.servers import AskServers
from ansible_collections.olap.partmove.plugins.module_utils._partmove.journal.events import Event
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.report import (
    MovedPartition,
    PatchedReport,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.to_hot import (
    find_reheatable,
    reheat_shard,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.overlay import OverlayStore
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import (
    Check,
    Create,
    Multi,
    SetData,
    Znode,
)
from support.memory.arrange import both, create, define, delete
from support.memory.bench import DAY, LOCK, OTHER, PART, PATH, Bench, HookedStore
from support.memory.memory import ManualClock, MemoryEnsemble
from support.memory.moves import make_world
from support.memory.probe import SimulatedProbe
from support.memory.reheating import cold_bench, later, run_again_in
from support.memory.synthetic import LEGACY
from support.memory.tables import TableOptions

EPOCH = LOCK.replace("/locks/", "/epochs/")
STATE = f"{PATH}/block_numbers/{DAY}/State"
every_form = pytest.mark.parametrize("legacy", [False, True], ids=["modern", "legacy"])


def returned(bench: Bench, *names: str) -> None:
    """Hot has the parts of DAY on both replicas, and the disks have them."""
    for replica in ("r1", "r2"):
        here = [each for each in bench.hot.get_children(f"{PATH}/replicas/{replica}/parts") if DAY in each]
        assert sorted(here) == sorted(names)
        assert set(here) == set(bench.servers.parts_of(DAY, replica))
    assert bench.hot.get(STATE)[0] == b"HOT"


@every_form
def test_a_partition_is_registered_in_hot_as_it_was(legacy: bool) -> None:
    bench = Bench(TableOptions(partitions=(DAY, OTHER), legacy=legacy))
    before = bench.hot_ensemble.data(f"{PATH}/replicas")
    bench.move(DAY)
    cold = bench.cold_ensemble.data(PATH)

    report = bench.reheat()

    znodes, size = (6, 248) if legacy else (2, 192)
    row = MovedPartition(DAY, "COLD", "HOT", parts=2, znodes=znodes, data_bytes=size)
    assert report == PatchedReport(PATH, moved={DAY: row})
    assert bench.hot_ensemble.data(f"{PATH}/replicas") == before
    assert bench.hot.get(STATE)[0] == b"HOT"
    assert bench.cold_ensemble.data(PATH) == cold
    assert bench.hot.exists(LOCK) is None


def test_the_multi_that_brings_a_partition_back() -> None:
    bench = cold_bench(TableOptions(partitions=(DAY, OTHER), legacy=True))
    data = {path: bench.cold.get(path)[0] for path in bench.cold_ensemble.data(f"{PATH}/replicas")}
    multis: list[Multi] = []
    bench.hot_store.before = multis.append

    bench.reheat()

    parts = [bench.part(each) for each in ("r1", "r2")]
    wanted = (
        *(Check(LOCK, 0), Check(EPOCH, 1)),
        *(Check(f"{PATH}/{name}", 0) for name in ("log", "mutations", "replicas", "columns", "metadata")),
        *(Check(f"{PATH}/replicas/{each}/log_pointer", 0) for each in ("r1", "r2")),
        *(
            Check(f"{PATH}/replicas/{each}/{name}", 0)
            for each in ("r1", "r2")
            for name in ("host", "is_lost")
        ),
        *(
            Create(f"{part}{child}", data[f"{part}{child}"])
            for part in parts
            for child in ("", "/checksums", "/columns")
        ),
        SetData(STATE, b"HOT", 1),
    )
    assert [multi for multi in multis if any(op.path == STATE for op in multi)] == [wanted]
    assert {path.rsplit("/", 1)[1] for path in data if path.startswith(f"{parts[0]}/")} == LEGACY.keys()


def test_what_is_recorded() -> None:
    bench = cold_bench(TableOptions(partitions=(DAY, OTHER), legacy=True))
    bench.reheat(DAY)
    later(bench, 600)
    bench.reheat(DAY)

    state = bench.hot.get(f"{PATH}/block_numbers/{DAY}/State")[1]
    fields: dict[str, str | int] = {"shard_path": PATH, "partition": DAY}
    *_moves, switching, reheated, removed = bench.journal.events
    assert reheated == (
        Event.REHEATED,
        fields | {"parts": 2, "znodes": 6, "bytes": 248, "zxid": state.mzxid},
    )
    assert removed == (Event.COPIES_REMOVED, fields)
    assert switching[0] is Event.SWITCHING
    assert [(each["part"], each["replicas"]) for each in switching[1].pop("parts")] == [(PART, ["r1", "r2"])]
    assert switching[1] == {**fields, "state": "HOT", "state_before": "COLD", "state_version": 1}


def test_the_journal_names_a_partition_before_it_is_brought_back() -> None:
    bench = cold_bench()
    told: list[int] = []
    bench.before_switch(lambda: told.append(len(bench.journal.of(Event.SWITCHING))))
    before = len(bench.journal.of(Event.SWITCHING))

    bench.reheat(DAY)

    assert told == [before + 1]


def test_running_again() -> None:
    """Copies stay for ten minutes, then they go, and then nothing is left to do."""
    bench = cold_bench()
    bench.reheat()
    for seconds, left in ((0, 600), (599, 1)):
        later(bench, seconds)
        trees = bench.hot_ensemble.tree(), bench.cold_ensemble.tree()
        assert bench.reheat() == PatchedReport(PATH, deferred={DAY: run_again_in(left)})
        assert (bench.hot_ensemble.tree(), bench.cold_ensemble.tree()) == trees
    hot = bench.hot_ensemble.data(PATH)

    later(bench, 1)
    assert bench.reheat() == PatchedReport(PATH, copies_removed={DAY})
    assert bench.hot_ensemble.data(PATH) == hot
    assert bench.cold.get_children(f"{PATH}/replicas/r2/parts") == [f"{OTHER}_0_0_0"]

    trees = bench.hot_ensemble.tree(), bench.cold_ensemble.tree()
    assert bench.reheat() == PatchedReport(PATH, unchanged={DAY})
    assert (bench.hot_ensemble.tree(), bench.cold_ensemble.tree()) == trees


def test_several_partitions_at_once() -> None:
    bench = Bench()
    bench.move(DAY)

    report = bench.reheat(OTHER, DAY, "20300101", DAY)

    assert report.moved.keys() == {DAY}
    assert report.unchanged == {OTHER}
    assert report.deferred.keys() == {"20300101"}


def test_a_partition_that_goes_there_and_back_again() -> None:
    bench = cold_bench()
    bench.reheat()

    assert bench.move(DAY).moved.keys() == {DAY}
    assert bench.reheat().moved.keys() == {DAY}
    returned(bench, PART)


def test_a_partition_with_a_late_part_in_hot() -> None:
    bench = cold_bench()
    bench.servers.insert(DAY)
    bench.servers.catch_up()
    bench.context = bench.context._replace(servers=AskServers(SimulatedProbe(bench.servers)))

    assert bench.reheat().moved[DAY].parts == 2
    returned(bench, PART, f"{DAY}_2_2_0")


def test_a_cold_partition_all_of_whose_parts_are_in_hot() -> None:
    bench = Bench()
    create(f"block_numbers/{DAY}/State", b"COLD")(bench)

    assert bench.reheat().moved == {DAY: MovedPartition(DAY, "COLD", "HOT", 0, 0, 0)}
    returned(bench, PART)


def test_a_part_that_hot_has_replaced_does_not_come_back() -> None:
    """Also where its copy is still there, which goes with the others."""
    bench = cold_bench()
    merged = f"{DAY}_0_1_1"
    for replica in ("r1", "r2"):
        payload = bench.cold.get(bench.part(replica))[0]
        create(f"replicas/{replica}/parts/{merged}", payload)(bench)
        bench.servers.disk[replica] = {merged}
    bench.context = bench.context._replace(servers=AskServers(SimulatedProbe(bench.servers)))

    assert bench.reheat().moved[DAY].parts == 0
    returned(bench, merged)
    later(bench, 600)
    assert bench.reheat().copies_removed == {DAY}


@pytest.mark.parametrize(
    "arrange",
    [
        define("metadata", lambda data: data + b"ttl: d + 1\n"),
        create("mutations/0000000001", b"format version: 1\ncreate time: 2026-11-21 00:23:39\n"
               b"source replica: r1\nblock numbers count: 1\n20190101\t9\ncommands: DELETE WHERE 1\n"),
        create(f"block_numbers/{DAY}/block-0000000007"),
    ],
    ids=["a TTL", "a mutation", "an insert"],
)  # fmt: skip
def test_what_keeps_a_partition_from_cold_does_not_keep_it_there(arrange: object) -> None:
    bench = cold_bench()
    assert callable(arrange)
    arrange(bench)

    assert bench.reheat().moved.keys() == {DAY}


class Behind(HookedStore):
    """Answers as of a former time until it has to catch up."""

    def __init__(self, ensemble: MemoryEnsemble) -> None:
        super().__init__(ensemble)
        self.stale: Mapping[str, Znode] = {}

    def fall_behind(self) -> None:
        self.stale = self.ensemble.tree()

    def sync(self, path: str) -> None:
        self.stale = {}

    def read(self, paths: Sequence[str], *, absolute: bool = False) -> list[Znode | None]:
        return [self.stale.get(path) for path in paths] if self.stale else super().read(paths)

    def children(self, paths: Sequence[str]) -> list[tuple[str, ...] | None]:
        if not self.stale:
            return super().children(paths)
        return [
            tuple(each.rsplit("/", 1)[1] for each in self.stale if each.rsplit("/", 1)[0] == path)
            for path in paths
        ]


def test_a_member_of_cold_that_lags_behind_a_drop() -> None:
    """What it has not heard of yet must not come back."""
    bench = cold_bench()
    cold = Behind(bench.cold_ensemble)

    class DropsAfterwards(SimulatedProbe):
        def detached_parts(self, shard_path: str, replica: str, host: str) -> frozenset[str]:
            if bench.servers.parts_of(DAY, replica):
                cold.fall_behind()
                bench.servers.drop(DAY)
            return super().detached_parts(shard_path, replica, host)

    bench.context = bench.context._replace(cold=cold, servers=AskServers(DropsAfterwards(bench.servers)))

    assert bench.reheat().deferred[DAY].gate == "partition_exists"
    assert bench.hot.get_children(f"{PATH}/replicas/r1/parts") == []


def test_what_is_not_only_in_hot_is_found() -> None:
    bench = Bench(TableOptions(partitions=(DAY, OTHER, "20190103", "20190104")))
    assert find_reheatable(bench.context, PATH) == []

    bench.move(OTHER, DAY)
    create("block_numbers/20190103/State", b"COLD")(bench)
    create("block_numbers/20190104/State", b"HOT")(bench)
    assert find_reheatable(bench.context, PATH) == [DAY, OTHER, "20190103"]

    bench.reheat(DAY, OTHER, "20190103")
    assert find_reheatable(bench.context, PATH) == [DAY, OTHER]
    later(bench, 600)
    bench.reheat(DAY, OTHER)
    assert find_reheatable(bench.context, PATH) == []


def test_a_table_that_is_not_there() -> None:
    bench = cold_bench()
    bench.servers.drop_table()

    assert bench.reheat().deferred[DAY].gate is GateName.PARTITION_EXISTS
    with pytest.raises(NoSuchTable, match=f"There is no replicated table at {PATH} in the hot ensemble"):
        find_reheatable(bench.context, PATH)


def test_an_answer_that_is_never_found_out() -> None:
    class Broken(HookedStore):
        broken = False

        def sync(self, path: str) -> None:
            if self.broken:
                raise EnsembleUnreachable("no answer from hot")

    bench, report = cold_bench(), PatchedReport(PATH)
    bench.hot_store = hot = Broken(bench.hot_ensemble)
    bench.context = make_world(hot, bench.cold_store, bench.clock)
    bench.after_switch(lambda: setattr(hot, "broken", True))
    hot.loses = lambda multi: any(op.path == STATE for op in multi)

    with pytest.raises(EnsembleUnreachable):
        reheat_shard(bench.context, PATH, [DAY], report)

    assert report.moved == {}
    assert report.failed == {
        DAY: Refusal(
            GateName.POST_SWITCH_CHECK,
            "the answer to its switch was lost, and the run ended before State was read again",
            "Run part_move with state: hot again: the partition either is in hot by now or is brought back"
            " then",
        )
    }


def test_a_journal_that_cannot_be_written_hides_nothing() -> None:
    class Full:
        def record(self, event: Event, rows: Iterable[Mapping[str, object]]) -> None:
            if event is Event.REHEATED:
                raise PartMoveError("no space left")

    bench, report = cold_bench(), PatchedReport(PATH)
    bench.context = bench.context._replace(journal=Full())

    with pytest.raises(PartMoveError, match="no space left"):
        reheat_shard(bench.context, PATH, [DAY, OTHER], report)

    assert report.moved == {}
    assert report.failed == dict.fromkeys(
        (DAY, OTHER),
        Refusal(
            GateName.POST_SWITCH_CHECK,
            "the partition is registered in hot again, but the run ended before the servers were checked",
            "Check with replica_info that no server has detached a part of the partition",
        ),
    )


@pytest.mark.parametrize("seconds", [0, 600])
def test_check_mode_reports_the_same_as_the_run(seconds: int) -> None:
    bench = cold_bench()
    if seconds:
        bench.reheat(DAY)
        later(bench, seconds)
    before = bench.hot_ensemble.tree(), bench.cold_ensemble.tree()
    hot, cold = OverlayStore(bench.hot_store, bench.clock), OverlayStore(bench.cold_store, bench.clock)

    told = reheat_shard(make_world(hot, cold, bench.clock), PATH, [DAY, OTHER])

    assert (bench.hot_ensemble.tree(), bench.cold_ensemble.tree()) == before
    assert told == bench.reheat(DAY, OTHER)
    assert told.moved.keys() | told.copies_removed == {DAY, OTHER}


def test_a_replica_that_was_dropped_since_keeps_nothing_from_coming_back() -> None:
    bench = cold_bench()
    both(delete("replicas/r2"), lambda it: it.servers.disk.pop("r2"))(bench)

    assert bench.reheat().moved[DAY].parts == 1


@pytest.mark.parametrize("asks", [True, False])
def test_copies_of_parts_that_were_dropped_go_only_when_the_servers_were_asked(asks: bool) -> None:
    bench = cold_bench()
    bench.reheat()
    bench.servers.drop(DAY)
    assert bench.cold.exists(bench.part()) is not None
    if asks:
        bench.context = bench.context._replace(servers=AskServers(SimulatedProbe(bench.servers)))
    later(bench, 600)

    report = bench.reheat()

    assert report.copies_removed == ({DAY} if asks else set())
    assert {each: refusal.gate for each, refusal in report.deferred.items()} == (
        {} if asks else {DAY: "no_stray_copies"}
    )
    assert (bench.cold.exists(bench.part()) is None) == asks


@pytest.mark.parametrize("seconds", [-3600, 660])
def test_a_clock_of_the_controller_that_is_wrong_lets_no_copy_go_early(seconds: int) -> None:
    """The age of State comes from the clock of the ensemble."""
    bench = cold_bench()
    bench.reheat(DAY)
    wrong = ManualClock(bench.clock.now() + seconds)
    bench.context = make_world(bench.hot_store, bench.cold_store, wrong)
    before = bench.cold_ensemble.data(PATH)

    assert bench.reheat(DAY).deferred[DAY].gate is GateName.COPIES_NEEDED
    assert bench.cold_ensemble.data(PATH) == before
