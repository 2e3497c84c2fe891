# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Shows hot and cold partitions on servers of a modern ClickHouse, without a patch, and checks every claim.

Everything runs on loopback addresses of this machine and is removed at the end; the logs stay in
build/demo-twin. The exit status is 1 when anything is not as it should be.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from demo.patched import scratch_folder
from demo.runs import Runs
from demo.screen import Screen, Surprise, require
from demo.stage import Ensembles, running_ensembles
from support.servers.clickhouse_config import ZooKeeperSource
from support.servers.kazoo_client import connected
from support.servers.modern.library import NoModernEngine
from support.servers.modern.server import ModernShard, modern_shard
from support.servers.process import ServerError

LOGS = Path("build/demo-twin")
ROOT = "/clickhouse/demo"
PATH = f"{ROOT}/hits/01"
TABLE, TWIN, BOTH = "hits", "hits_cold", "hits_all"
MONTHS = 6
NEWEST = 2
INSERTS = 3
POLICY: Mapping[str, Any] = {"version": 1, "defaults": {"cold_after": "1s", "keep_newest": NEWEST}}
LATER: Mapping[str, Any] = {"version": 1, "defaults": {"cold_after": "1s"}}
"""The policy of a time when the newest months are old as well."""
SUM = "toString(count()), toString(sum(cityHash64(month, id)))"


def main() -> int:
    """Play; return the exit status."""
    try:
        perform(Screen(), LOGS)
    except (Surprise, ServerError, NoModernEngine) as error:
        print(f"\nThe demo failed: {error}", file=sys.stderr)
        return 1
    return 0


def perform(screen: Screen, logs: Path) -> None:
    """Start the servers, play, and clean up.

    Raises:
        Surprise: something is not as the demo claims.
        ServerError: a server did not start.
        NoModernEngine: this machine does not have the engine.
    """
    screen.title("olap.partmove: hot and cold partitions without a patch, shown on this machine")
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)
    with scratch_folder(logs) as folder, running_ensembles(folder, cold_members=1) as ensembles:
        sources = [ZooKeeperSource(each.connect_string) for each in (ensembles.hot, ensembles.cold)]
        with modern_shard(folder, sources[0], {"cold": sources[1]}) as shard:
            _Act(screen, ensembles, shard, Runs(ensembles, folder, logs)).play()
    screen.step("The end")
    screen.say(
        f"All of that held. The servers are stopped and their files removed; what they and Ansible wrote is"
        f" in {logs}. docs/twin/overview.md tells how to do it on a cluster."
    )


class _Act:
    """What is shown, step by step; each raises Surprise where something is not as it says."""

    def __init__(self, screen: Screen, ensembles: Ensembles, shard: ModernShard, runs: Runs) -> None:
        self._screen = screen
        self._ensembles = ensembles
        self._shard = shard
        self._runs = runs
        self._clickhouse = {"endpoints": shard.endpoints}

    def play(self) -> None:
        """Show everything."""
        self._introduce()
        self._fill()
        rows, znodes = self._rows(TABLE), self._znodes()
        self._move(rows, znodes)
        self._merge(rows)
        self._insert_late()
        self._bring_back(znodes)

    def _introduce(self) -> None:
        self._screen.step("The servers")
        rows = [(each.name, each.version, each.address) for each in self._ensembles.servers]
        version = self._shard.servers[0].value("SELECT version()")
        rows += [
            (f"ClickHouse {each.name}", f"{version}, no patch", f"127.0.0.1:{each.http_port}")
            for each in self._shard.servers
        ]
        self._screen.table(("server", "version", "address"), rows)

    def _fill(self) -> None:
        self._screen.step(f"A table with {MONTHS} months, {INSERTS} parts of each")
        self._shard.execute(
            f"CREATE TABLE {TABLE} (month Date, id UInt64) ENGINE ="
            f" ReplicatedMergeTree('{ROOT}/hits/{{shard}}', '{{replica}}') PARTITION BY toYYYYMM(month)"
            " ORDER BY id SETTINGS max_replicated_merges_in_queue = 0"
        )
        # The newest months are those that were inserted last, on the replica that fetched them last.
        for month in range(MONTHS):
            for number in range(INSERTS):
                self._shard.servers[number % 2].execute(
                    f"INSERT INTO {TABLE} SELECT toDate('2024-01-01') + INTERVAL {month} MONTH,"
                    f" number * {MONTHS} + {month + number * 1000} FROM numbers(100)"
                )
            self._shard.execute(f"SYSTEM SYNC REPLICA {TABLE}")
        self._show()

    def _move(self, rows: object, znodes: int) -> None:
        self._screen.step("Classify, create the twins, and move")
        self._screen.command("ansible-playbook olap.partmove.separate -e separation=twin")
        moved = self._separate("move", POLICY)
        require(len(moved) == MONTHS - NEWEST, f"{MONTHS - NEWEST} months should have been moved: {moved}")
        self._shard.execute(f"CREATE TABLE {BOTH} AS {TABLE} ENGINE = Merge('default', '^hits(_cold)?$')")
        self._show()
        require(self._rows(BOTH) == rows, "A reader of both tables sees other rows than before")
        self._screen.done("Both replicas read the same rows as before, with the same checksum.")
        after = self._znodes()
        require(after < znodes, f"The table had {znodes} znodes in hot, and has {after}")
        self._screen.done(f"The table had {znodes} znodes in the hot ensemble, and has {after} now.")

    def _merge(self, rows: object) -> None:
        self._screen.step("Cold partitions are merged as ever")
        self._screen.command(f"OPTIMIZE TABLE {TWIN} FINAL")
        self._shard.servers[0].execute(f"OPTIMIZE TABLE {TWIN} FINAL", alter_sync=2)
        parts = [len(each.parts(TWIN)) for each in self._shard.servers]
        require(parts == [MONTHS - NEWEST] * 2, f"The twins have {parts} parts after the merge")
        require(self._rows(BOTH) == rows, "A merge has changed the rows")
        self._screen.done("Each cold month is one part now, on both replicas.")

    def _insert_late(self) -> None:
        self._screen.step("A late insert into a cold month, while the newest ones grow old")
        self._screen.command(f"INSERT INTO {TABLE} VALUES ('2024-01-01', 1000000)")
        self._shard.servers[0].execute(f"INSERT INTO {TABLE} VALUES ('2024-01-01', 1000000)")
        self._shard.execute(f"SYSTEM SYNC REPLICA {TABLE}")
        rows = self._rows(BOTH)
        self._screen.command("ansible-playbook olap.partmove.separate -e separation=twin")
        moved = self._separate("late", LATER)
        require(
            moved == {"202401", "202405", "202406"}, f"Other months than those in hot were moved: {moved}"
        )
        self._show()
        require(self._rows(BOTH) == rows, "The late insert is not there as often as it was inserted")
        self._screen.done("It was in hot until the next run took it to the rest of its month.")

    def _bring_back(self, znodes: int) -> None:
        self._screen.step("And back")
        rows = self._rows(BOTH)
        self._screen.command("ansible-playbook olap.partmove.reheat -e separation=twin")
        answer = self._runs.reheat_twins("back", PATH, self._clickhouse)
        require(answer["counts"]["moved"] == MONTHS, f"Not all months came back: {answer['counts']}")
        require(self._rows(TABLE) == rows, "The table has not all of its rows again")
        require(not any(each.parts(TWIN) for each in self._shard.servers), "The twins have parts still")
        self._show()
        self._screen.done("Everything is in the table again, on both replicas, with the same checksum.")

    def _separate(self, name: str, policy: Mapping[str, Any]) -> set[str]:
        """Run the playbook; the months that were moved."""
        answer = self._runs.separate_twins(name, ROOT, policy, self._clickhouse)
        return {partition for _path, partition in answer.partitions("moved")}

    def _show(self) -> None:
        """A line for each month: how many parts each replica has of it, hot and cold."""
        months = [f"2024{month:02}" for month in range(1, MONTHS + 1)]
        rows = []
        for month in months:
            counts = [
                sum(name.startswith(f"{month}_") for name in server.parts(table))
                for table in (TABLE, TWIN)
                for server in self._shard.servers
            ]
            rows.append((month, *counts))
        self._screen.table(("month", "hot, r1", "hot, r2", "cold, r1", "cold, r2"), rows)

    def _rows(self, table: str) -> list[object]:
        """Number and checksum of the rows, on each replica."""
        return [each.query(f"SELECT {SUM} FROM {table}") for each in self._shard.servers]

    def _znodes(self) -> int:
        """How many znodes the parts of the table take in hot."""
        with connected(self._ensembles.hot.connect_string) as client:
            replicas = client.get_children(f"{PATH}/replicas")
            return sum(len(client.get_children(f"{PATH}/replicas/{each}/parts")) for each in replicas)


if __name__ == "__main__":
    sys.exit(main())
