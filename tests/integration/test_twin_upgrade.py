# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Servers get another version in place, one after the other, with records of killed runs in between."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.partition import TwinOptions
from support.ansible.dying_servers import DyingServers, run_until_killed
from support.ansible.twin_runs import DAY, NEXT, ModernTables
from support.servers.clickhouse_config import ZooKeeperSource
from support.servers.downloads import NotToBeHad
from support.servers.ladder.rungs import RUNGS, Rung, rung
from support.servers.modern.drop_in import merge_tree_element, write_drop_in
from support.servers.modern.server import ModernOptions, ModernServer, ModernShard
from support.servers.replicated import wait_for
from support.servers.zookeeper import Ensemble

pytestmark = [pytest.mark.ladder, pytest.mark.long(minutes=1)]

COLUMNS = (
    "(day Date, id UInt32 CODEC(Delta, ZSTD), half UInt32 MATERIALIZED intDiv(id, 2), words Array(String)"
    " DEFAULT ['a'], INDEX by_id id TYPE minmax GRANULARITY 1)"
)
NEW_MARKS = "write_marks_for_substreams_in_compact_parts"
"""A setting of tables, on from 25.8 on. Versions before 25.5 cannot read what is written with it."""


@pytest.fixture
def older(real_version: str) -> str:
    """The version before: of those that every test has, if there is one."""
    before: list[Rung] = []
    for each in RUNGS:
        if each.name == real_version:
            break
        if each.real:
            before.append(each)
    if not before:
        pytest.skip(f"there is no real server older than {real_version}")
    usual = [each for each in before if each.in_every_test]
    if not usual and not os.environ.get("RUNGS"):
        pytest.skip(f"the upgrade from {before[-1].name} to {real_version} runs with make ladder")
    usual = usual or before
    try:
        rung(usual[-1].name).library()
    except NotToBeHad as error:
        pytest.skip(f"NOT RUN: ClickHouse {usual[-1].name}: {error}")
    return usual[-1].name


class Replicas:
    """Two replicas, each of a version that may change; their data stays."""

    def __init__(self, folder: Path, hot: Ensemble, cold: Ensemble, base: str, older: str) -> None:
        self.folder = folder
        self.base = base
        self.hot = hot
        self.sources = ZooKeeperSource(hot.connect_string), ZooKeeperSource(cold.connect_string)
        self.servers = [self.server(name, older) for name in ("r1", "r2")]
        self.name = "hits"
        self.everything: list[int] = []

    def server(self, name: str, version: str) -> ModernServer:
        """Make a server of a version, with the folder that it had before."""
        hot, cold = self.sources
        macros = {"shard": "01", "replica": name}
        return ModernServer(
            name, self.folder / name, ModernOptions(hot, {"cold": cold}, macros, version=version)
        )

    def upgrade(self, number: int, version: str, **settings: int) -> None:
        """Stop a server, and start one of another version with its folder."""
        old = self.servers[number]
        old.stop()
        old.close()
        new = self.servers[number] = self.server(old.name, version)
        if settings:
            write_drop_in(new, "tables", merge_tree_element(settings))
        new.start()
        assert new.value("SELECT version()").startswith(f"{version}.")

    def close(self) -> None:
        for each in self.servers:
            each.close()

    @property
    def tables(self) -> ModernTables:
        """The tables, on the servers that there are now."""
        return ModernTables(ModernShard(self.servers), self.hot, self.base)

    @property
    def path(self) -> str:
        return self.tables.shard_path(self.name)

    def create(self) -> None:
        """Create the table, its twin and the reading table, and two partitions of a part of each server."""
        tables = self.tables
        for server in self.servers:
            server.execute(tables.definition(self.name, self.path, COLUMNS))
        assert tables.give_twins(self.path)["changed"]
        assert tables.answer("twin_view", shard_paths=[self.path])["changed"]
        for number, server in enumerate(self.servers):
            self.insert(server, DAY, number)
            self.insert(server, NEXT, 10 + number)
        tables.shard.execute(f"SYSTEM SYNC REPLICA {self.name}")

    def insert(self, server: ModernServer, day: str, number: int) -> None:
        """Insert a part, and let every replica have it that can read it."""
        server.execute(
            f"INSERT INTO {self.name} (day, id) VALUES ('{day[:4]}-{day[4:6]}-{day[6:]}', {number})"
        )
        self.everything.append(number)

    def move(self, state: str, **options: Any) -> dict[str, Any]:
        return self.tables.move(shard_paths=[self.path], state=state, **options)

    def die(self, state: str, day: str, statements: int, *, given: bool) -> None:
        """Move a partition with a run that is killed at a statement."""
        tables = self.tables
        servers = DyingServers(tables.asked(), statements, given=given)
        run_until_killed(lambda: tables.move_here(servers, state, self.path, day, TwinOptions()))

    def kinds(self) -> dict[str, str]:
        """What the audit finds of each partition."""
        answer = self.tables.answer("twin_audit_info", shard_paths=[self.path], details="all")
        return {each["partition"]: each["kind"] for each in answer["findings"]}

    def converge(self, state: str) -> None:
        """Run until nothing is in the way; each row is there once, in one of the two tables."""
        wait_for(lambda: not self.move(state, checksums=True)["counts"]["deferred"])
        everything = sorted(self.everything)
        there = everything if state == "cold" else []
        assert self.tables.ids(f"{self.name}_cold") == [there] * 2
        assert self.tables.ids(f"{self.name}_all") == [everything] * 2
        assert self.kinds() == dict.fromkeys((DAY, NEXT), state)
        assert not self.tables.give_twins(self.path)["changed"]


@pytest.fixture
def replicas(older: str, hot: Ensemble, cold: Ensemble, base: str, tmp_path: Path) -> Iterator[Replicas]:
    with ExitStack() as stack:
        replicas = Replicas(tmp_path, hot, cold, base, older)
        stack.callback(replicas.close)
        for each in replicas.servers:
            each.spawn()
        for each in replicas.servers:
            each.wait()
        yield replicas


@pytest.mark.parametrize(("statements", "kind"), [(0, "cloned"), (1, "dropped")])
def test_a_killed_run_is_taken_up_after_an_upgrade(
    replicas: Replicas, real_version: str, statements: int, kind: str
) -> None:
    replicas.create()
    replicas.die("cold", DAY, statements, given=True)
    between = {DAY: kind, NEXT: "hot"}
    assert replicas.kinds() == between
    for number in range(2):
        replicas.upgrade(number, real_version)
    wait_for(lambda: replicas.kinds() == between, told=replicas.kinds)
    replicas.converge("cold")
    replicas.converge("hot")


def test_partitions_move_while_replicas_have_different_versions(
    replicas: Replicas, real_version: str
) -> None:
    """Unless the newer version writes parts that the older one cannot read: these wait for its upgrade."""
    may_differ = tuple(map(int, real_version.split("."))) >= (25, 5)
    replicas.upgrade(1, real_version, **({NEW_MARKS: 0} if may_differ else {}))
    replicas.create()
    replicas.converge("cold")
    replicas.die("hot", DAY, 0, given=True)
    replicas.die("hot", NEXT, 1, given=True)
    replicas.converge("hot")
    if not may_differ:
        return
    replicas.upgrade(1, real_version, **{NEW_MARKS: 1})
    replicas.insert(replicas.servers[1], DAY, 2)
    answer = replicas.move("cold")
    assert answer["counts"]["moved"] == 1, answer
    assert [each["gate"] for each in answer["deferred"]] == ["twin_even"], answer
    replicas.upgrade(0, real_version)
    replicas.converge("cold")
