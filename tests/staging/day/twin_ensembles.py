# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Checks which table has each partition, and which znodes both ensembles have, for tables with cold twins.

Usage: python -m staging.day.twin_ensembles FOLDER HOT COLD [--cold-before DAY] [--seconds 180]

HOT and COLD name members as host:port,host:port. What should be there is computed from what clients wrote
and what servers have on disk; nothing of the collection is used. With --cold-before all partitions of which
every row is older must be in the twins, and all others in the tables; without it all are in the tables.
A table has the name of the last znode of its path.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from kazoo.client import KazooClient

from .config import Config, Replica, read_replicas
from .ensembles import children, expected_cold
from .model import Model
from .queries import send

ROOT = "/clickhouse/tables"
_TWIN = "_cold"
_PAUSE_SECONDS = 3.0
_TABLES = (
    "SELECT database, table, zookeeper_name, zookeeper_path, replica_path FROM system.replicas"
    " FORMAT TabSeparatedRaw"
)
_PARTS = (
    "SELECT database, table, name, partition_id, active FROM system.parts WHERE database != 'system'"
    " FORMAT TabSeparatedRaw"
)
_DETACHED = "SELECT concat(database, '.', table, ' ', name) FROM system.detached_parts FORMAT TabSeparatedRaw"


@dataclass(frozen=True)
class Registered:
    """A replicated table of a server, and its part znodes before and after its parts were read from disk."""

    replica: Replica
    path: str
    replica_path: str
    is_twin: bool
    before: frozenset[str]
    disk: Mapping[str, tuple[str, bool]]
    """Name of each part → partition ID, and whether it is active."""
    after: frozenset[str]

    @property
    def table(self) -> str:
        """The name of the table, of a twin that of its table."""
        name = self.path.rpartition("/")[2]
        return name.removesuffix(_TWIN) if self.is_twin else name

    def partitions(self) -> set[str]:
        """Return the partitions with an active part."""
        return {partition for partition, is_active in self.disk.values() if is_active}

    def wrong(self) -> dict[str, set[str]]:
        """Return the parts whose znodes contradict the disk, by kind. Parts come and go meanwhile."""
        active = {name for name, (_partition, is_active) in self.disk.items() if is_active}
        return {
            "active without a znode": active - self.before - self.after,
            "znodes without a part on disk": set(self.before & self.after) - self.disk.keys(),
        }


class Cluster:
    """What the servers and both ensembles have."""

    def __init__(self, folder: Path, hot: KazooClient, cold: KazooClient) -> None:
        self._folder = folder
        self._config = Config.load(folder)
        self._ensembles = {"default": hot, "cold": cold}

    def wrong(self, before: date | None) -> Iterator[str]:
        """Yield what is wrong. before: see --cold-before."""
        model = Model(self._folder, self._config)
        tables = [table for replica in read_replicas(self._folder) for table in self._tables(replica)]
        for each in tables:
            place = f"{each.table}{' (twin)' if each.is_twin else ''} on {each.replica.name}"
            expected = self._expected(model, each, before)
            unlike = {"missing partitions": expected - each.partitions()}
            unlike["partitions that belong elsewhere"] = each.partitions() - expected
            for what, names in {**each.wrong(), **unlike}.items():
                if names:
                    yield f"{place}: {what}: {', '.join(sorted(names)[:5])} ({len(names)})"
        yield from self._missing(tables, before)
        yield from self._unknown(tables)
        yield from self._detached()

    def counted(self) -> dict[str, dict[str, int]]:
        """Return the number of znodes of both ensembles, and of part znodes below the root."""
        counted = {}
        for name, client in self._ensembles.items():
            parts = sum(len(children(client, f"{path}/parts")) for path in _replica_paths(client))
            counted[name] = {"znodes": int(_monitored(client)["zk_znode_count"]), "parts": parts}
        return counted

    def _expected(self, model: Model, of: Registered, before: date | None) -> set[str]:
        fed = next(table for table in self._config.tables if table.name == of.table)
        rows = model.rows(of.replica.shard, of.table)
        gone = model.dropped("gone", of.replica.shard, of.table)
        # Rows of unknown outcome decide nothing.
        present = {rows.partitions[number] for number in rows.confirmed} - gone
        # A view without TO has no twin.
        old = (
            expected_cold(model, of.replica.shard, of.table, before, ())
            if before and not fed.source
            else set()
        )
        return present & old if of.is_twin else present - old

    def _missing(self, tables: list[Registered], before: date | None) -> Iterator[str]:
        """Yield the tables that a server does not have, and with `before` the twins."""
        found = {(each.replica.name, each.table, each.is_twin) for each in tables}
        for replica in read_replicas(self._folder):
            for table in self._config.tables:
                for is_twin in (False, True) if before and not table.source else (False,):
                    if (replica.name, table.name, is_twin) not in found:
                        yield f"{table.name}{' (twin)' if is_twin else ''} on {replica.name}: no such table"

    def _tables(self, replica: Replica) -> Iterator[Registered]:
        lines = [line.split("\t") for line in self._ask(replica, _TABLES)]
        before = {line[4]: children(self._ensembles[line[2]], f"{line[4]}/parts") for line in lines}
        disk: dict[tuple[str, str], dict[str, tuple[str, bool]]] = {}
        for database, table, name, partition, active in (
            line.split("\t") for line in self._ask(replica, _PARTS)
        ):
            disk.setdefault((database, table), {})[name] = (partition, active == "1")
        for database, table, ensemble, path, replica_path in lines:
            yield Registered(
                replica,
                path,
                replica_path,
                ensemble == "cold",
                before[replica_path],
                disk.get((database, table), {}),
                children(self._ensembles[ensemble], f"{replica_path}/parts"),
            )

    def _unknown(self, tables: list[Registered]) -> Iterator[str]:
        """Yield replicas in an ensemble that no server has, and those of servers in the other ensemble."""
        for name, client in self._ensembles.items():
            known = {each.replica_path for each in tables if each.is_twin == (name == "cold")}
            found = set(_replica_paths(client))
            yield from (f"{name}: {path} belongs to no server" for path in sorted(found - known))
            yield from (f"{name}: {path} of a server is not there" for path in sorted(known - found))

    def _detached(self) -> Iterator[str]:
        for replica in read_replicas(self._folder):
            for line in self._ask(replica, _DETACHED):
                yield f"detached on {replica.name}: {line}"

    def _ask(self, replica: Replica, sql: str) -> list[str]:
        return send(replica.address, sql, self._config).splitlines()


def _replica_paths(client: KazooClient, path: str = ROOT) -> Iterator[str]:
    """Yield the paths of all replicas of all tables."""
    below = children(client, path)
    if {"replicas", "blocks"} <= below:
        for replica in children(client, f"{path}/replicas"):
            yield f"{path}/replicas/{replica}"
        return
    for child in sorted(below):
        yield from _replica_paths(client, f"{path}/{child}")


def _monitored(client: KazooClient) -> dict[str, str]:
    """Return what the member says of itself."""
    lines = client.command(b"mntr").splitlines()
    return dict(line.split("\t", 1) for line in lines if "\t" in line)


def main() -> int:
    """Return 1, and print what is wrong, if it still is after so many seconds."""
    parser = argparse.ArgumentParser(prog="staging.day.twin_ensembles", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("hot")
    parser.add_argument("cold")
    parser.add_argument("--cold-before", type=date.fromisoformat)
    parser.add_argument("--seconds", type=float, default=180.0)
    options = parser.parse_args()
    hot, cold = (KazooClient(hosts, timeout=20.0) for hosts in (options.hot, options.cold))
    try:
        for client in (hot, cold):
            client.start(timeout=60)
        cluster = Cluster(options.folder, hot, cold)
        end = time.monotonic() + options.seconds
        while (wrong := [*cluster.wrong(options.cold_before)]) and time.monotonic() < end:
            time.sleep(_PAUSE_SECONDS)
        counted = cluster.counted()
    finally:
        for client in (hot, cold):
            client.stop()
            client.close()
    if wrong:
        print("\n".join(wrong), file=sys.stderr)
        return 1
    print(json.dumps(counted, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
