# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One contract for both ways: runs of part_move and of twin_move pass the same tests."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.replica_search import ReplicaHost
from ansible_collections.olap.partmove.plugins.module_utils._partmove.errors import (
    NoSuchTable,
    PartMoveError,
    PausedTooLong,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.state import State
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.probe import ActivePart
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.servers import AskServers
from ansible_collections.olap.partmove.plugins.module_utils._partmove.journal.events import Event
from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.file import rows_from_list
from ansible_collections.olap.partmove.plugins.module_utils._partmove.run import batches
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Multi
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    TwinReplica,
    TwinTables,
)
from ansible_collections.olap.partmove.plugins.module_utils._tasks import progress
from ansible_collections.olap.partmove.plugins.module_utils._tasks.move_run import MoveRun
from ansible_collections.olap.partmove.plugins.module_utils._tasks.part_move import PartMove
from ansible_collections.olap.partmove.plugins.module_utils._tasks.twin_move import TwinMove
from support.memory import bench as patched_bench, twins as twin_bench
from support.memory.bench import Bench
from support.memory.interleaving import Died, Script
from support.memory.resources import MemoryResources
from support.memory.tables import TableOptions, build_table
from support.memory.twins import ModelServers, TwinBench, Twins

GONE = "/tables/02/gone"
SECOND = "/tables/03/second"
ABSENT = "29990101"
Task = MoveRun[Any, Any, Any]


class MemorySearch:
    """Implements ReplicaSearch: no server of the tables in ``silent`` can be asked."""

    def __init__(self, *silent: str) -> None:
        self.silent = silent
        self.asked: list[list[str]] = []

    def problems(self, tables: Mapping[str, Sequence[ReplicaHost]]) -> Mapping[str, PartMoveError]:
        """Return an error for each silent table, and note the names of all tables."""
        self.asked.append(sorted(tables))
        assert all(tables.values())
        error = PartMoveError("ClickHouse at r1:8123 refuses the user u", remedy="Check the password")
        return {each: error for each in tables if each in self.silent}


class Way(ABC):
    """A way of moving, with a table in memory whose single partition can be moved."""

    module: str
    shard_path: str
    partition: str
    silent_gate: str
    """The gate that defers a partition whose servers do not answer."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.journal = folder / "journal.jsonl"
        self.problems: list[str] = []
        """What the watch on hot says next."""
        self.search: MemorySearch | None = None
        """What asks the servers before the run; None if they are not asked."""

    def rows(self, *partitions: str, shard_path: str = "") -> list[dict[str, str]]:
        """Return rows of a plan for these partitions."""
        return [{"shard_path": shard_path or self.shard_path, "partition": each} for each in partitions]

    def carry_out(self, *, check_mode: bool = False, **given: Any) -> Task:
        """Run the module with the options ``given``; return the result."""
        task, resources = self.prepare(check_mode=check_mode, **given)
        try:
            task.run(resources)
        finally:
            resources.close()
        return task

    def prepare(self, *, check_mode: bool = False, **given: Any) -> tuple[Task, MemoryResources]:
        """Return a run before its start."""
        asked = {"partitions", "shard_paths", "plan"}
        rows = None if asked & given.keys() else self.rows(self.partition)
        params = {
            "plan": None,
            "partitions": rows,
            "shard_paths": None,
            "state": "cold",
            "min_age": "0",
            "fail_when_deferred_by": [],
            "clickhouse": None,
            "coordination_root": "/partmove",
            "lock_wait": "0",
            "journal": str(self.journal),
            "workers": 1,
            "processes": "1",
            "share": "1/1",
            "latency_target": 0.0,
            "max_latency": 1.0,
            "give_up_after": "10m",
            "max_parts_per_second": 0,
            "max_listed": 10,
            "progress_file": None,
            **self.options(),
            **given,
        }
        resources = self.resources(params, check_mode=check_mode)
        resources.watches["hot"].problems = self.problems
        task = self.task(params)
        task._search = lambda: self.search  # type: ignore[method-assign]
        return task, resources

    @abstractmethod
    def options(self) -> Mapping[str, Any]:
        """Options of this module alone."""

    @abstractmethod
    def resources(self, params: Mapping[str, Any], *, check_mode: bool) -> MemoryResources:
        """Return the resources of the run."""

    @abstractmethod
    def task(self, params: Mapping[str, Any]) -> Task:
        """The task of the module."""

    @abstractmethod
    def snapshot(self) -> object:
        """Return all data that a run could change."""

    @abstractmethod
    def is_at(self, state: str) -> bool:
        """Whether the partition is where the state says, and there only."""

    @abstractmethod
    def end_at_write(self, number: int, error: type[BaseException]) -> None:
        """Raise the error at the write with this number."""

    @abstractmethod
    def go_on(self) -> None:
        """Remove the error, and open new sessions."""

    @abstractmethod
    def add_table(self, shard_path: str) -> None:
        """Create another table with a replica in hot."""

    @abstractmethod
    def silence_servers(self) -> None:
        """Let no ClickHouse server answer any more."""

    def events(self) -> list[dict[str, Any]]:
        """The lines of the journal."""
        return [json.loads(line) for line in self.journal.read_text().splitlines()]


class Patched(Way):
    """part_move, over a table of patched servers."""

    module = "part_move"
    shard_path, partition = patched_bench.PATH, patched_bench.DAY
    silent_gate = "active_on_disk"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.bench = Bench()
        self._silent = False

    def options(self) -> Mapping[str, Any]:
        return {"max_parts": 1, "assume_patched": True, "assume_active": True}

    def resources(self, params: Mapping[str, Any], *, check_mode: bool) -> MemoryResources:
        return MemoryResources(self.bench, params, check_mode=check_mode)

    def task(self, params: Mapping[str, Any]) -> Task:
        task = PartMove(params)
        if self._silent:
            task._servers = AskServers(SilentProbe(), 1)
        return task

    def snapshot(self) -> object:
        return self.bench.hot_ensemble.data(), self.bench.cold_ensemble.data()

    def is_at(self, state: str) -> bool:
        names = self.bench.hot.get_children(f"{self.shard_path}/replicas/r1/parts")
        is_in_hot = any(name.startswith(self.partition) for name in names)
        return is_in_hot is (state == "hot")

    def end_at_write(self, number: int, error: type[BaseException]) -> None:
        left = [None] * number

        def end(_multi: Multi) -> None:
            if not left:
                raise error
            left.pop()

        self.bench.hot_store.before = self.bench.cold_store.before = end

    def go_on(self) -> None:
        self.bench.hot_store.expire()
        self.bench.cold_store.expire()
        self.bench = self.bench.beside()

    def add_table(self, shard_path: str) -> None:
        build_table(self.bench.hot, shard_path, TableOptions(partitions=(self.partition,)))

    def silence_servers(self) -> None:
        self._silent = True


class SilentProbe:
    """Implements ReplicaProbe: no server answers."""

    def active_parts(
        self, shard_path: str, replica: str, host: str, partitions: Collection[str]
    ) -> Mapping[str, tuple[ActivePart, ...]]:
        raise PartMoveError(f"{replica} does not answer")

    def detached_parts(self, shard_path: str, replica: str, host: str) -> frozenset[str] | None:
        raise PartMoveError(f"{replica} does not answer")


class Twin(Way):
    """twin_move, over a table and its cold twin."""

    module = "twin_move"
    shard_path, partition = twin_bench.PATH, twin_bench.DAY
    silent_gate = "twin_ready"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.twins = TwinBench(Twins(("a",), ("b", "c")))
        self.servers = ModelServers(self.twins.twins, Script())
        self._stores = [self.twins.hot.open()]

    def options(self) -> Mapping[str, Any]:
        return {
            "twin": "{table}_cold",
            "clickhouse": {"port": None},
            "stop_merges": False,
            "checksums": False,
            "readers": "auto",
            "readers_wait": "1m",
        }

    def resources(self, params: Mapping[str, Any], *, check_mode: bool) -> MemoryResources:
        resources = MemoryResources(Bench(), params, check_mode=check_mode)
        resources.stores = {"hot": self._stores[-1]}
        return resources

    def task(self, params: Mapping[str, Any]) -> Task:
        return TwinMove(params, self.servers)

    def snapshot(self) -> object:
        tables = {side.value: dict(table.parts) for side, table in self.twins.twins.tables.items()}
        return self.twins.hot.data(), tables, list(self.servers.executed)

    def is_at(self, state: str) -> bool:
        has_rows = {side.value: bool(table.parts) for side, table in self.twins.twins.tables.items()}
        return has_rows == {"hot": state == "hot", "cold": state == "cold"}

    def end_at_write(self, number: int, error: type[BaseException]) -> None:
        def end() -> None:
            raise error

        script = self.servers.script = Script()
        steps = ["attach", "drop hot", "drop hot"]
        passed = script.step

        def step(operation: str) -> int:
            if any(operation == f"servers {each}" for each in steps):
                if script.writes == number:  # type: ignore[attr-defined]
                    end()
                script.writes += 1  # type: ignore[attr-defined]
            return passed(operation)

        script.writes = 0  # type: ignore[attr-defined]
        script.step = step  # type: ignore[method-assign]

    def go_on(self) -> None:
        self._stores[-1].expire()
        self._stores.append(self.twins.hot.open())
        self.servers.script = Script()

    def add_table(self, shard_path: str) -> None:
        store = self.twins.hot.open()
        self.twins._create(store, f"{shard_path}/replicas/r1/host", b"host: x\n")
        self.twins._create(store, f"{shard_path}/metadata", b"metadata format version: 1\n")

    def silence_servers(self) -> None:
        def silent(shard_path: str, replica: TwinReplica) -> TwinTables:
            raise PartMoveError(f"{replica.name} does not answer")

        self.servers.tables = silent  # type: ignore[method-assign]


@pytest.fixture(params=[Patched, Twin], ids=lambda way: str(way.module))
def way(request: pytest.FixtureRequest, tmp_path: Path) -> Way:
    made: Callable[[Path], Way] = request.param
    return made(tmp_path)


def comparable(task: Task) -> dict[str, Any]:
    """The result but for its words, its times, its diff, and what is counted after moves alone."""
    result = task.result()
    result.pop("hot_znodes", None)
    for row in result["moved"]:
        row.pop("seen_twice_seconds", None)
    totals = {name: value for name, value in result["totals"].items() if "seconds" not in name}
    return {**result, "totals": totals, "msg": "", "diff": ""}


def test_check_mode_is_the_run_and_changes_nothing(way: Way) -> None:
    before = way.snapshot()
    foreseen = way.carry_out(check_mode=True, partitions=way.rows(way.partition, ABSENT))
    assert way.snapshot() == before
    assert not way.journal.exists()
    done = way.carry_out(partitions=way.rows(way.partition, ABSENT))
    assert comparable(foreseen) == comparable(done)
    assert foreseen.result()["diff"]["after"]
    assert way.is_at("cold")


def test_a_second_run_changes_nothing(way: Way) -> None:
    way.carry_out()
    before = way.snapshot()
    result = way.carry_out().result()
    assert (result["changed"], result["counts"]["unchanged"]) == (False, 1)
    assert way.snapshot() == before


def test_there_and_back(way: Way) -> None:
    assert way.is_at("hot")
    way.carry_out()
    assert way.is_at("cold")
    result = way.carry_out(state="hot", shard_paths=[way.shard_path]).result()
    assert [each["partition"] for each in result["moved"]] == [way.partition]
    assert way.is_at("hot")


@pytest.mark.parametrize("error", [Died, KeyboardInterrupt])
def test_a_run_that_ends_at_any_write_is_finished_by_the_next(
    way: Way, error: type[BaseException], tmp_path: Path
) -> None:
    ended = 0
    for number in range(40):
        each = type(way)(tmp_path / str(number))
        each.folder.mkdir()
        each.end_at_write(number, error)
        task, resources = each.prepare()
        with suppress(error):
            task.run(resources)
        resources.close()
        # The first write shows that hot and cold are two ensembles, before the run starts.
        events = each.events()
        if events:
            last = events[-1]
            assert (last["event"], last["counts"]) == (Event.ENDED.value, task.result()["counts"])
            if not last["error"]:
                break
        ended += 1
        each.go_on()
        each.carry_out()
        assert each.is_at("cold")
    assert ended >= 3


def test_a_dropped_table_defers_its_partitions_and_no_others(way: Way) -> None:
    rows = [*way.rows(way.partition), *way.rows(way.partition, shard_path=GONE)]
    result = way.carry_out(partitions=rows).result()
    assert [each["shard_path"] for each in result["moved"]] == [way.shard_path]
    assert [(each["shard_path"], each["gate"]) for each in result["deferred"]] == [(GONE, "partition_exists")]


@pytest.mark.parametrize("check_mode", [False, True])
def test_a_run_without_any_table_fails(way: Way, check_mode: bool) -> None:
    """A wrong root or chroot must not look like a run with nothing to do."""
    before = way.snapshot()
    with pytest.raises(NoSuchTable, match=f"There is no replicated table at {GONE} in the hot ensemble"):
        way.carry_out(check_mode=check_mode, partitions=way.rows(way.partition, shard_path=GONE))
    assert way.snapshot() == before


def test_a_shard_path_given_by_name_must_exist(way: Way) -> None:
    before = way.snapshot()
    with pytest.raises(NoSuchTable, match=GONE):
        way.carry_out(state="hot", shard_paths=[way.shard_path, GONE])
    assert way.snapshot() == before


def test_servers_that_are_silent_defer(way: Way) -> None:
    way.silence_servers()
    result = way.carry_out().result()
    assert [each["gate"] for each in result["deferred"]] == [way.silent_gate]
    assert result["gates"] == [
        {"gate": way.silent_gate, "deferred": 1, "failed": 0, "remedy": result["deferred"][0]["remedy"]}
    ]
    assert way.is_at("hot")


@pytest.mark.parametrize("check_mode", [False, True])
@pytest.mark.parametrize("state", ["cold", "hot"])
def test_servers_that_cannot_be_asked_fail_the_run_before_its_first_write(
    way: Way, check_mode: bool, state: str
) -> None:
    """Also with nothing to move, so that wrong credentials do not defer everything every night."""
    way.search = MemorySearch(way.shard_path)
    before = way.snapshot()
    with pytest.raises(PartMoveError) as failure:
        way.carry_out(check_mode=check_mode, state=state)
    assert str(failure.value) == (
        f"No ClickHouse server of {way.shard_path} can be asked: ClickHouse at r1:8123 refuses the user u."
        " Check the password."
    )
    assert way.snapshot() == before
    assert not way.journal.exists()


def test_servers_are_asked_once_for_all_tables_of_a_plan_that_has_nothing_to_do(way: Way) -> None:
    """All rows of the plan request the other state."""
    way.search = MemorySearch()
    task, resources = way.prepare()
    (row,) = rows_from_list(way.rows(way.partition), State.HOT)
    task._work._counts = {way.shard_path: Counter({State.HOT: 1})}
    task._work._read = lambda _path: [row]
    task.run(resources)
    resources.close()
    assert way.search.asked == [[way.shard_path]]
    assert task.result()["counts"]["other_state"] == 1


def test_a_table_of_which_no_server_can_be_asked_fails_the_run_at_its_end(way: Way) -> None:
    way.add_table(SECOND)
    way.search = MemorySearch(SECOND)
    rows = [*way.rows(way.partition), *way.rows(ABSENT, shard_path=SECOND)]
    task = way.carry_out(partitions=rows)
    assert way.is_at("cold")
    assert task.failure.startswith(f"No ClickHouse server of {SECOND} can be asked: ")
    assert task.result()["counts"]["moved"] >= 1


def test_gates_that_fail_the_run(way: Way) -> None:
    rows = way.rows(way.partition, ABSENT)
    task = way.carry_out(partitions=rows, fail_when_deferred_by=["lock_free", "partition_exists"])
    assert way.is_at("cold")
    (gate,) = task.result()["gates"]
    assert task.failure == (
        "Partitions were deferred by gates of fail_when_deferred_by: 1 by partition_exists."
        f" {gate['remedy']}."
    )
    others = way.carry_out(partitions=rows, fail_when_deferred_by=["lock_free"])
    assert others.failure == ""


def test_a_gate_that_does_not_exist_is_refused(way: Way) -> None:
    with pytest.raises(PartMoveError, match="fail_when_deferred_by names active_on_disc, which is no gate"):
        way.prepare(fail_when_deferred_by=["active_on_disc"])


def test_progress_is_shown_for_each_partition(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", 0.0)
    shown = way.folder / "progress"
    way.carry_out(partitions=way.rows(way.partition, ABSENT), progress_file=str(shown))
    lines = shown.read_text().splitlines()
    assert lines[0].startswith("1 of 2 partitions (50 %)")
    assert lines[-1].startswith("2 of 2 partitions (100 %)")
    assert lines[-1].endswith(f"done with {way.shard_path}")


def test_a_run_pauses_while_hot_is_slow(way: Way) -> None:
    shown = way.folder / "progress"
    way.problems = ["hot is slow"]
    result = way.carry_out(progress_file=str(shown)).result()
    assert result["counts"]["moved"] == 1
    assert shown.read_text().splitlines()[:2] == ["paused: hot is slow", "going on after 1 s"]


def test_a_pause_that_is_too_long_ends_the_run(way: Way) -> None:
    way.problems = ["hot is slow"]
    with pytest.raises(PausedTooLong, match="as hot is slow"):
        way.carry_out(give_up_after="0")
    assert way.is_at("hot")
    assert way.events()[-1]["error"].startswith("The run paused for 0 s and ended")


def test_the_journal_has_the_start_the_refusals_and_the_end(way: Way) -> None:
    result = way.carry_out(partitions=way.rows(way.partition, ABSENT)).result()
    events = way.events()
    started, deferred = events[0], [each for each in events if each["event"] == Event.DEFERRED.value]
    assert (started["event"], started["module"]) == (Event.STARTED.value, way.module)
    assert (started["state"], started["shard_paths"], started["partitions"]) == ("COLD", 1, 2)
    assert [each["partition"] for each in deferred] == [ABSENT]
    assert (events[-1]["event"], events[-1]["counts"]) == (Event.ENDED.value, result["counts"])


def test_memory_batches_are_reported_as_one_run(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "MOST_PARTITIONS", 1)
    rows = way.rows(way.partition, ABSENT, "29990102")
    result = way.carry_out(partitions=rows).result()
    assert [each["partition"] for each in result["moved"]] == [way.partition]
    assert [each["partition"] for each in result["deferred"]] == [ABSENT, "29990102"]
    assert result["counts"]["not_reached"] == 0


@pytest.mark.parametrize("check_mode", [False, True])
def test_a_run_with_nothing_to_move_finishes_records_of_its_shard_paths(
    tmp_path: Path, *, check_mode: bool
) -> None:
    """The row of the plan asks for the other state by now."""
    way = Twin(tmp_path)
    way.end_at_write(1, Died)
    task, resources = way.prepare()
    with suppress(Died):
        task.run(resources)
    resources.close()
    assert way.twins.records
    way.go_on()
    task, resources = way.prepare(check_mode=check_mode)
    (row,) = rows_from_list(way.rows(way.partition), State.HOT)
    task._work._counts = {way.shard_path: Counter({State.HOT: 1})}
    task._work._read = lambda _path: [row]
    task.run(resources)
    resources.close()
    result = task.result()
    assert result["finished"] == [
        {"shard_path": way.shard_path, "partition": way.partition, "state": "COLD", "undone": False}
    ]
    assert f"1 record of earlier runs {'would be ' if check_mode else ''}finished, " in result["msg"]
    assert result["changed"]
    assert way.is_at("cold") is not check_mode
    assert bool(way.twins.records) is check_mode


@pytest.mark.parametrize("workers", [1, 4])
def test_shard_paths_are_reported_in_their_order(way: Way, workers: int) -> None:
    paths = [f"/tables/{number:02}/gone" for number in range(9)]
    rows = [row for path in paths for row in way.rows(way.partition, shard_path=path)]
    result = way.carry_out(partitions=[*rows, *way.rows(way.partition)], workers=workers).result()
    assert [each["shard_path"] for each in result["deferred"]] == paths
    assert [each["shard_path"] for each in result["moved"]] == [way.shard_path]


@pytest.mark.parametrize("workers", [-1, 65])
def test_an_invalid_number_of_workers_is_refused(way: Way, workers: int) -> None:
    before = way.snapshot()
    with pytest.raises(PartMoveError, match=f"workers is {workers}"):
        way.carry_out(workers=workers)
    assert way.snapshot() == before


def test_lists_are_bounded_and_counts_are_not(way: Way) -> None:
    rows: Sequence[dict[str, str]] = way.rows(*(f"2999010{number}" for number in range(5)))
    result = way.carry_out(partitions=rows, max_listed=2).result()
    assert (result["counts"]["deferred"], len(result["deferred"])) == (5, 2)
