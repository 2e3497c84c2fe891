# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Checks which ensemble has the znode of each part, by what the servers have and what the clients wrote.

Usage: python -m staging.day.ensembles FOLDER HOT COLD [--cold-before DAY] [--but TABLE/PARTITION ...]
    [--either TABLE/PARTITION ...]

HOT and COLD name members as host:port,host:port. With --cold-before all partitions of which every row is
older must be cold, but those of --but, which must be hot, and those of --either; without it no part may be
cold. Nothing of the collection is used.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TextIO

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from .config import Config, Replica, read_replicas
from .model import Model
from .queries import send

_PAUSE_SECONDS = 3.0
_TABLES = "SELECT table, replica_path FROM system.replicas WHERE database = 'default' FORMAT TabSeparatedRaw"
_PARTS = (
    "SELECT name, partition_id, active FROM system.parts"
    " WHERE database = 'default' AND table = '{table}' FORMAT TabSeparatedRaw"
)
_INNER = ".inner."


@dataclass(frozen=True)
class Parts:
    """The parts of a table on a replica."""

    shard: str
    table: str
    replica: str
    disk: dict[str, tuple[str, bool]]
    """Name → partition ID, and whether it is active."""
    hot: frozenset[str]
    cold: frozenset[str]

    def cold_partitions(self) -> set[str]:
        """Return the partitions with a part in cold."""
        return {self.disk[name][0] for name in self.cold if name in self.disk}

    def wrong(self, expected: Collection[str], either: Collection[str]) -> dict[str, Collection[str]]:
        """Return what is wrong, by kind. expected: partitions that must be cold. either: these may be."""
        active = {name for name, (_partition, is_active) in self.disk.items() if is_active}
        have = {partition for partition, is_active in self.disk.values() if is_active}
        cold = self.cold_partitions()
        # A partition that was brought back has copies in cold for ten minutes.
        both = {name for name in self.hot & self.cold if self.disk.get(name, ("",))[0] not in either}
        return {
            "in both ensembles": both,
            "in neither ensemble": active - self.hot - self.cold,
            "not on disk": (self.hot | self.cold) - self.disk.keys(),
            "cold, and not active": (self.cold & self.disk.keys()) - active,
            "hot in place of cold": (set(expected) & have) - cold - set(either),
            "cold in place of hot": cold - set(expected) - set(either),
        }


def read_parts(folder: Path, hot: KazooClient, cold: KazooClient) -> Iterator[Parts]:
    """Read all tables of all replicas. A part that is new or was merged meanwhile makes them differ."""
    config = Config.load(folder)
    for replica in read_replicas(folder):
        for line in send(replica.address, _TABLES, config).splitlines():
            table, path = line.split("\t")
            znodes = [children(ensemble, f"{path}/parts") for ensemble in (hot, cold)]
            yield Parts(
                replica.shard,
                table.removeprefix(_INNER),
                replica.name,
                _on_disk(replica, table, config),
                znodes[0],
                znodes[1],
            )


def _on_disk(replica: Replica, table: str, config: Config) -> dict[str, tuple[str, bool]]:
    lines = send(replica.address, _PARTS.format(table=table), config).splitlines()
    rows = [line.split("\t") for line in lines]
    return {name: (partition, is_active == "1") for name, partition, is_active in rows}


def children(client: KazooClient, path: str) -> frozenset[str]:
    """Return the children of a znode, none if it does not exist."""
    try:
        return frozenset(client.get_children(path))
    except NoNodeError:
        return frozenset()


def expected_cold(model: Model, shard: str, table: str, before: date, but: Collection[str]) -> set[str]:
    """Return the partitions of which every row is older than a day."""
    newest = model.rows(shard, table).newest
    gone = model.dropped("gone", shard, table)
    old = {partition for partition, day in newest.items() if day < before}
    return {partition for partition in old - gone if f"{table}/{partition}" not in but}


@dataclass(frozen=True)
class Expected:
    """What has to be cold: see the options."""

    before: date | None
    but: Collection[str]
    either: Collection[str]


def check(
    folder: Path, hot: KazooClient, cold: KazooClient, wanted: Expected
) -> tuple[list[str], dict[str, dict[str, int]]]:
    """Return what is wrong, and the number of parts by table of a replica."""
    model = Model(folder, Config.load(folder))
    wrong, counted = [], {}
    for parts in read_parts(folder, hot, cold):
        expected = (
            expected_cold(model, parts.shard, parts.table, wanted.before, wanted.but)
            if wanted.before
            else set()
        )
        either = {each.partition("/")[2] for each in wanted.either if each.startswith(f"{parts.table}/")}
        place = f"{parts.table} on {parts.replica}"
        counted[place] = {"hot": len(parts.hot), "cold": len(parts.cold)}
        for what, names in parts.wrong(expected, either).items():
            if names:
                wrong.append(f"{place}: {what}: {', '.join(sorted(names)[:5])} ({len(names)})")
    places = {f"{table} on {replica.name}" for replica in read_replicas(folder) for table in model.tables}
    wrong += [
        f"{place}: the server has no such replicated table" for place in sorted(places - counted.keys())
    ]
    return wrong, counted


def main() -> int:
    """Return 1, and print what is wrong, if it still is after so many seconds."""
    options = _arguments().parse_args()
    wanted = Expected(options.cold_before, options.but, options.either)
    hot, cold = (KazooClient(hosts, timeout=20.0) for hosts in (options.hot, options.cold))
    end = time.monotonic() + options.seconds
    try:
        for client in (hot, cold):
            client.start(timeout=60)
        while True:
            wrong, counted = check(options.folder, hot, cold, wanted)
            if not wrong or time.monotonic() > end:
                break
            time.sleep(_PAUSE_SECONDS)
    finally:
        for client in (hot, cold):
            client.stop()
            client.close()
    _print_all(wrong or [json.dumps(counted, indent=2)], sys.stderr if wrong else sys.stdout)
    return 1 if wrong else 0


def _print_all(lines: Collection[str], to: TextIO) -> None:
    print("\n".join(lines), file=to)


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="staging.day.ensembles", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("hot")
    parser.add_argument("cold")
    parser.add_argument("--cold-before", type=date.fromisoformat)
    parser.add_argument("--but", nargs="*", default=[])
    parser.add_argument("--either", nargs="*", default=[])
    parser.add_argument("--seconds", type=float, default=120.0)
    return parser


if __name__ == "__main__":
    sys.exit(main())
