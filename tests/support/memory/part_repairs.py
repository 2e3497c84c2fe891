# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs of part_repair over ensembles in memory."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.probe import ActivePart
from ansible_collections.olap.partmove.plugins.module_utils._tasks import argspec, part_repair as task_file
from ansible_collections.olap.partmove.plugins.module_utils._tasks.part_repair import PartRepair
from support.memory.bench import DAY, PATH, Bench
from support.memory.disks import SimulatedDisks
from support.memory.probe import SimulatedProbe
from support.memory.resources import MemoryResources
from support.memory.trees import outside_leases

CLICKHOUSE = {name: option.get("default") for name, option in argspec.clickhouse()["options"].items()}
STATE = f"{PATH}/block_numbers/{DAY}/State"


class SimulatedServersProbe(SimulatedProbe, SimulatedDisks):
    """Queries simulated servers with the interface of HttpReplicaProbe."""

    def __init__(self, bench: Bench) -> None:
        SimulatedProbe.__init__(self, bench.servers)
        SimulatedDisks.__init__(self, bench.servers)

    def active_parts(
        self, shard_path: str, replica: str, host: str, partitions: Collection[str]
    ) -> Mapping[str, tuple[ActivePart, ...]]:
        """The active parts of a replica; raises PartMoveError where its server is silent."""
        self.parts(shard_path, replica, host)
        return super().active_parts(shard_path, replica, host, partitions)


class Repairs:
    """A bench, the folder for backups, and runs of the module over them."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bench = Bench()
        self.folder = folder
        self.probe = SimulatedServersProbe(self.bench)
        monkeypatch.setattr(task_file, "probe_of", lambda _settings: self.probe)

    def params(self, **options: Any) -> dict[str, Any]:
        """The options of the module, most at their defaults."""
        return {
            "hot": {},
            "cold": {},
            "coordination_root": "/partmove",
            "lock_wait": "3s",
            "clickhouse": CLICKHOUSE,
            "shard_path": PATH,
            "shard_paths": None,
            "kind": "cold_unmarked",
            "partitions": None,
            "backup": str(self.folder),
            "registrations": None,
            "quiet": "1h",
            "cold_is_lost": False,
            "replica_is_gone": False,
            "disks_are_mounted": False,
            "without_hashes": False,
            "journal": None,
            "latency_target": 0.0,
            "max_latency": 1.0,
            "give_up_after": "10m",
            "max_parts_per_second": 0,
            **options,
        }

    def run(self, *, check_mode: bool = False, **options: Any) -> dict[str, Any]:
        """The result of the module."""
        task, resources = self.task(check_mode=check_mode, **options)
        try:
            task.run(resources)
        finally:
            resources.close()
        return task.result()

    def task(self, *, check_mode: bool = False, **options: Any) -> tuple[PartRepair, MemoryResources]:
        """Return the task and its resources."""
        params = self.params(**options)
        resources = MemoryResources(self.bench, params, check_mode=check_mode)
        resources.clock = self.bench.clock  # type: ignore[assignment]
        return PartRepair(params), resources

    def trees(self) -> list[object]:
        """Return the content of both ensembles, without leases."""
        return [outside_leases(each.data()) for each in (self.bench.hot_ensemble, self.bench.cold_ensemble)]

    def files(self) -> list[Path]:
        """The backups."""
        return sorted(self.folder.iterdir())
