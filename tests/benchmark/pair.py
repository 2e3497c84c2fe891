# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A hot and a cold ensemble with tables in them, and what is measured: two ways of moving, and audits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from kazoo.client import KazooClient

from ansible_collections.olap.partmove.plugins.module_utils._partmove.formats.state import State
from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.file import (
    PlanRow,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.plan.writing import write_plan
from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.paths import DEFAULT_ROOT
from benchmark.baseline import move_one_by_one
from benchmark.cpu import cpu_seconds_of
from benchmark.delay import delayed
from benchmark.measured_audit import AuditMeasurement
from benchmark.measured_daily import DailyRun
from benchmark.measured_move import Measurement, PhaseTime
from benchmark.measured_requests import Requests, Work
from support.memory.tables import Table, TableOptions, build_table, days
from support.plans import origin_in
from support.servers.kazoo_client import connected
from support.servers.zookeeper import Ensemble, EnsembleOptions

REPLICAS = ("r1", "r2", "r3")
HEAP = "4g"
IN_SERVICE = (f"-Xmx{HEAP}", f"-Xms{HEAP}", "-XX:+AlwaysPreTouch")
"""For servers that have all of their memory from the start, as those in service have by and by."""
_WARM_UP_MOVES, _WARM_UP_PARTITIONS = 4, 10_000


@dataclass(frozen=True)
class Baseline:
    """What moving parts one request at a time took."""

    parts: int
    seconds: float


@dataclass(frozen=True)
class RequestsAlone:
    """What the requests of a move took without the move."""

    client: Requests
    servers_cpu_seconds: float


@dataclass(frozen=True)
class Pair:
    """Two running ensembles, and a client of each for what is not measured."""

    hot: Ensemble
    cold: Ensemble
    hot_client: KazooClient
    cold_client: KazooClient

    @property
    def zookeeper_version(self) -> str:
        """The version of the servers."""
        return self.hot.members[0].monitor()["zk_version"].partition("-")[0]

    def build(self, name: str, partitions: int, *, legacy: bool = False) -> Table:
        """Build a table in hot, with one part of each partition on each replica."""
        options = TableOptions(REPLICAS, days(partitions), legacy=legacy)
        return build_table(self.hot_client, f"/clickhouse/tables/01/{name}", options)

    def warm_up(self, *, legacy: bool = False) -> None:
        """Let the servers compile their code, as those of an ensemble in service have."""
        for number in range(_WARM_UP_MOVES):
            self.measure(self.build(f"warm_up_{number}", _WARM_UP_PARTITIONS, legacy=legacy))

    def measure(self, table: Table) -> Measurement:
        """Move all partitions of the table in a new process.

        Raises:
            RuntimeError: not every part went from hot to cold.
        """
        planned = [(table.path, each) for each in table.options.partitions]
        arguments = self._plan_arguments(planned)
        before = self._servers_cpu_seconds()
        answer = _measured("measured_move", arguments, self.hot.folder.parent)
        answer["servers_cpu_seconds"] = self._servers_cpu_seconds() - before
        phases = {name: PhaseTime(**phase) for name, phase in answer.pop("phases").items()}
        self._require_moved(table)
        return Measurement(**{**answer, "phases": phases})

    def measure_requests(self, table: Table) -> RequestsAlone:
        """Send the requests of a move of the table and nothing else, in a new process.

        Raises:
            RuntimeError: not every part went from hot to cold.
        """
        for replica in REPLICAS:
            self.cold_client.ensure_path(table.parts_path(replica))
        (first,) = table.part_names(table.options.partitions[0])
        path = f"{table.parts_path(REPLICAS[0])}/{first}"
        data, _stat = self.hot_client.get(path)
        names = sorted(self.hot_client.get_children(path))
        work = Work(
            hot=[member.address for member in self.hot.members],
            cold=[member.address for member in self.cold.members],
            shard_path=table.path,
            replicas=REPLICAS,
            parts={each: table.part_names(each)[0] for each in table.options.partitions},
            data=data.hex(),
            children={name: self.hot_client.get(f"{path}/{name}")[0].hex() for name in names},
        )
        before = self._servers_cpu_seconds()
        answer = _measured("measured_requests", asdict(work), self.hot.folder.parent)
        found = RequestsAlone(Requests(**answer), self._servers_cpu_seconds() - before)
        self._require_moved(table)
        return found

    def _require_moved(self, table: Table) -> None:
        expected = len(REPLICAS) * len(table.options.partitions)
        found = [_registered(client, table) for client in (self.hot_client, self.cold_client)]
        if found != [0, expected]:
            raise RuntimeError(f"{found[0]} parts in hot and {found[1]} in cold after a move of {expected}")

    def _servers_cpu_seconds(self) -> float:
        return cpu_seconds_of(member.pid for member in (*self.hot.members, *self.cold.members))

    def measure_audit(self, table: Table, *, content: bool) -> AuditMeasurement:
        """Audit the table in a new process, all of whose parts are sound; with ``content`` compare all of it.

        Raises:
            RuntimeError: something was found.
        """
        arguments = {
            **self._ensembles(),
            "coordination_root": DEFAULT_ROOT,
            "clickhouse": {},
            "shard_paths": [table.path],
            "root": None,
            "details": "findings",
            "compare_content": content,
            "skip_missing": False,
            "latency_target": 0.0,
            "max_latency": 1.0,
            "give_up_after": "10m",
            "on_disk": [name for each in table.options.partitions for name in table.part_names(each)],
        }
        before = self._packets()
        measured = AuditMeasurement(**_measured("measured_audit", arguments, self.hot.folder.parent))
        return replace(measured, requests=self._packets() - before)

    def measure_daily(
        self,
        tables: Sequence[Table],
        partition: str,
        *,
        workers: int = 0,
        processes: int = 1,
        latency: float = 0.0,
    ) -> DailyRun:
        """Move one partition of each table in a new process, all with one plan.

        workers, processes: options of the module. latency: seconds that each packet to and from every member
        takes.
        """
        folder = self.hot.folder.parent
        with self.at_distance(latency) as hosts:
            arguments = {
                **self._plan_arguments([(table.path, partition) for table in tables]),
                **{name: {"hosts": each} for name, each in hosts.items()},
                "workers": workers,
                "processes": str(processes),
            }
            requests, cpu = self._packets(), self._servers_cpu_seconds()
            measured = DailyRun(**_measured("measured_daily", arguments, folder))
            cpu = self._servers_cpu_seconds() - cpu
            return replace(measured, requests=self._packets() - requests, servers_cpu_seconds=cpu)

    @contextmanager
    def at_distance(self, latency: float) -> Iterator[dict[str, list[str]]]:
        """Give addresses of the members of hot and cold; each packet takes so many seconds longer."""
        with ExitStack() as stack:
            yield {
                name: [
                    stack.enter_context(delayed(member.address, latency)) if latency else member.address
                    for member in ensemble.members
                ]
                for name, ensemble in (("hot", self.hot), ("cold", self.cold))
            }

    def planned(
        self,
        partitions: Sequence[tuple[str, str]],
        *,
        latency_target: float = 0.0,
        processes: int = 1,
        hosts: Mapping[str, Sequence[str]] | None = None,
    ) -> Callable[[], DailyRun]:
        """Plan to move partitions of many shard paths, sorted; return what does so, in a new process.

        latency_target, processes: options of the module; a target of 0 is full speed. hosts: addresses of hot
        and cold in place of those of their members.

        That raises RuntimeError where not all of them are moved.
        """
        arguments = {
            **self._plan_arguments(partitions),
            "latency_target": latency_target,
            "processes": str(processes),
            **{name: {"hosts": [*each]} for name, each in (hosts or {}).items()},
        }

        def move() -> DailyRun:
            run = DailyRun(**_measured("measured_daily", arguments, self.hot.folder.parent))
            if run.moved != len(partitions):
                raise RuntimeError(f"{run.moved} of {len(partitions)} partitions were moved")
            return run

        return move

    def _packets(self) -> int:
        """How many requests the members of both ensembles got so far."""
        members = (*self.hot.members, *self.cold.members)
        return sum(int(member.monitor()["zk_packets_received"]) for member in members)

    def _ensembles(self) -> dict[str, Any]:
        return {
            name: {"hosts": [member.address for member in ensemble.members]}
            for name, ensemble in (("hot", self.hot), ("cold", self.cold))
        }

    def _plan_arguments(self, partitions: Sequence[tuple[str, str]]) -> dict[str, Any]:
        """Options of part_move for a plan of these shard paths and partitions, sorted."""
        plan = self.hot.folder.parent / "plan.jsonl"
        rows = (
            PlanRow(path, each, State.COLD, "measured", 0, len(REPLICAS), len(REPLICAS), 0)
            for path, each in partitions
        )
        write_plan(
            plan, rows, policy_digest="0" * 64, source="benchmark", origin=origin_in(self.hot_client), as_of=0
        )
        return {
            **self._ensembles(),
            "plan": str(plan),
            "min_age": "0",
            "assume_patched": True,
            "assume_active": True,
            "max_listed": 1,
            "latency_target": 0.0,
        }

    def measure_baseline(self, table: Table, partitions: int) -> Baseline:
        """Move the parts of the table's first partitions one by one."""
        for replica in REPLICAS:
            self.cold_client.ensure_path(table.parts_path(replica))
        paths = [
            f"{table.parts_path(replica)}/{name}"
            for replica in REPLICAS
            for partition in table.options.partitions[:partitions]
            for name in table.part_names(partition)
        ]
        seconds = move_one_by_one(self.hot.connect_string, self.cold.connect_string, paths)
        return Baseline(len(paths), seconds)


@contextmanager
def running_pair(
    cold_members: int, jvm: tuple[str, ...] = (f"-Xmx{HEAP}",), *, hot_members: int = 1
) -> Iterator[Pair]:
    """Start two ensembles, and stop them at the end."""
    with (
        tempfile.TemporaryDirectory(prefix="partmove-bench-") as folder,
        Ensemble(Path(folder, "hot"), EnsembleOptions(participants=hot_members, jvm=jvm)) as hot,
        Ensemble(Path(folder, "cold"), EnsembleOptions(participants=cold_members, jvm=jvm)) as cold,
        connected(hot.connect_string) as hot_client,
        connected(cold.connect_string) as cold_client,
    ):
        yield Pair(hot, cold, hot_client, cold_client)


def _measured(module: str, arguments: Mapping[str, Any], state_home: Path) -> dict[str, Any]:
    """What a module of this package measures in a process of its own, whose journal is below a folder."""
    done = subprocess.run(
        [sys.executable, "-m", f"benchmark.{module}"],
        input=json.dumps(arguments),
        stdout=subprocess.PIPE,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "XDG_STATE_HOME": str(state_home),
        },
        text=True,
        check=True,
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def _registered(client: KazooClient, table: Table) -> int:
    return sum(len(client.get_children(table.parts_path(each))) for each in REPLICAS)
