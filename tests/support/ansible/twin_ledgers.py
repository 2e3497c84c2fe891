# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A table with a filled twin on real servers, and what the ledger and audits say of it."""

from __future__ import annotations

import re
import subprocess
import uuid
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ansible_collections.olap.partmove.plugins.module_utils._clickhouse.twin_servers import DEFAULT_TWIN
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.entry import LedgerEntry
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.ledger.ledger import (
    path_of_ledger,
    read_ledger,
)
from ansible_collections.olap.partmove.plugins.module_utils._tasks.resources import Resources
from ansible_collections.olap.partmove.plugins.module_utils._tasks.twin_audit_info import TwinAuditInfo
from ansible_collections.olap.partmove.plugins.module_utils._tasks.twin_ledger import TwinLedger
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.settings import options_of
from ansible_collections.olap.partmove.plugins.module_utils._zookeeper.store import connect
from support.ansible.twin_runs import DAY, NEXT, ModernTables
from support.servers.kazoo_client import connected
from support.servers.modern.server import ModernShard
from support.servers.zookeeper import Ensemble


class LedgerGround(ModernTables):
    """A table with a twin on every server, and tasks of modules in this process."""

    def __init__(self, shard: ModernShard, hot: Ensemble, base: str, more: str = "") -> None:
        """``more``: the end of the definition, such as a TTL, before its settings."""
        super().__init__(shard, hot, base)
        self.name = f"t_{uuid.uuid4().hex[:8]}"
        self.cold = f"{self.name}_cold"
        self.path = self.shard_path(self.name)
        self._more = more
        shard.execute(self.definition_of(self.name, self.path))
        shard.execute(self.definition_of(self.cold, f"cold:{self.path}_cold"))

    def definition_of(self, name: str, path: str) -> str:
        """The statement for a table."""
        return self.definition(name, path).replace(" ORDER BY id", f" ORDER BY id{self._more}")

    def fill(self) -> None:
        """Have two partitions in the twin, one of two parts, and one in the table."""
        for numbers in ((1, 2), (3,)):
            self.insert_into(self.name, *numbers)
        self.insert_into(self.name, 4, day=NEXT)
        self.insert_into(self.name, 5, day="20240103")
        moved = self.move_days(DAY, NEXT)
        assert moved["counts"]["moved"] == 2, moved
        assert list(self.entries) == [DAY, NEXT]

    def forget(self) -> None:
        """Delete the ledger, as if an earlier release had filled the twin."""
        with connected(self.hot.connect_string) as client:
            client.delete(path_of_ledger(self.root, self.path), recursive=True)

    def move_days(self, *days: str, state: str = "cold") -> dict[str, Any]:
        """What twin_move answers."""
        rows = [{"shard_path": self.path, "partition": each} for each in days]
        return self.move(partitions=rows, state=state)

    def alter(self, table: str, what: str) -> None:
        """Alter a table, and wait for every replica."""
        self.first.execute(f"ALTER TABLE {table} {what}", alter_sync=2, mutations_sync=2)

    def audit(self) -> dict[str, Any]:
        """What the task of twin_audit_info answers."""
        load = {"latency_target": 0.0, "max_latency": 1.0, "give_up_after": "10m", "progress_file": None}
        given = {"shard_paths": [self.path], "root": None, "details": "all", "twin": DEFAULT_TWIN}
        params = {**self.given, **load, **given}
        task = TwinAuditInfo(params)
        with ExitStack() as stack:
            task.run(Resources(params, stack, check_mode=False))
        return task.result()

    def kinds(self) -> dict[str, str]:
        """Partition or replica, or an empty text for the table → kind."""
        return {each["partition"] or each["replica"]: each["kind"] for each in self.audit()["findings"]}

    def ledger(self, *, check: bool = False, **options: Any) -> dict[str, Any]:
        """What the task of twin_ledger answers, with its failure."""
        given = {"state": "entered", "shard_paths": None, "root": None, "partitions": None}
        rest = {"twin": DEFAULT_TWIN, "lock_wait": "30s", "journal": ""}
        params = {**self.given, **given, **rest, **options}
        task = TwinLedger(params)
        with ExitStack() as stack:
            task.run(Resources(params, stack, check_mode=check))
        return {**task.result(), "failure": task.failure}

    def repair(self, kind: str, *, check: bool = False, **options: Any) -> dict[str, Any]:
        """What twin_repair answers."""
        given = {"shard_paths": [self.path], "kind": kind, "journal": "", **options}
        return self.answer("twin_repair", check=check, **given)

    def rename_as_told(self, answer: Mapping[str, Any]) -> None:
        """Rename folders in detached/ of the first replica, as the remedy of a repair says."""
        remedy = answer["left"][0]["remedy"]
        told = re.search(r"run: (mv \S+ \S+(?:; mv \S+ \S+)*)\. Then", remedy)
        assert told is not None, remedy
        for command in told[1].split("; "):
            subprocess.run(command.split(), cwd=self.detached_folder(), check=True)

    def detached_folder(self, number: int = 0) -> Path:
        """The folder detached/ of the twin on a replica."""
        paths = f"SELECT data_paths[1] FROM system.tables WHERE name = '{self.cold}'"
        return Path(self.shard.servers[number].value(paths)) / "detached"

    def enter(self, *, check: bool = False) -> dict[str, Any]:
        """What twin_ledger answers when the twin is entered."""
        return self.ledger(shard_paths=[self.path], check=check)

    def say_dropped(self, *days: str) -> dict[str, Any]:
        """What twin_ledger answers when partitions were dropped on purpose."""
        rows = [{"shard_path": self.path, "partition": each} for each in days]
        return self.ledger(state="dropped", partitions=rows)

    @property
    def entries(self) -> dict[str, LedgerEntry]:
        """What the ledger has."""
        store = connect(options_of("hot", self.given["hot"]))
        try:
            ledger = read_ledger(store, self.root, self.path)
        finally:
            store.close()
        return {} if ledger is None else ledger.entries

    @property
    def has_uuids(self) -> bool:
        """Whether the database gives its tables UUIDs; the default one of chDB does not."""
        table = f"SELECT uuid FROM system.tables WHERE database = currentDatabase() AND name = '{self.name}'"
        return bool(self.first.value(f"SELECT ({table}) != toUUID('{uuid.UUID(int=0)}')"))

    @property
    def servers_read_all_ensembles(self) -> bool:
        """Whether these servers can tell what is in the auxiliary ensemble."""
        columns = "SELECT count() FROM system.columns WHERE database = 'system' AND table = 'zookeeper'"
        return bool(self.first.value(f"{columns} AND name = 'zookeeperName'"))
