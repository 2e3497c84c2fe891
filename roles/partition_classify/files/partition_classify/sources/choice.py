# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which source the arguments of the job ask for, and what that source is asked for.

A source is checked before Spark is started, so that a wrong setting costs no time.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any, Protocol

from pyspark.sql.datasource import DataSourceReader

from olap_partmove._clickhouse.settings import clients_of
from olap_partmove._partmove.errors import EnsembleError
from olap_partmove._partmove.plan.origin import OriginZnode, read_origin
from olap_partmove._zookeeper.settings import options_of
from olap_partmove._zookeeper.store import connect

from ..zookeeper_files.folders import DataFolder, folders_of
from ..zookeeper_files.origin import origin_of_files
from .ensemble_size import EnsembleSize, size_of_files, size_of_running
from .live import FORMAT as LIVE, InventoryReader
from .snapshot import FORMAT as SNAPSHOT, SnapshotReader

SOURCES = (LIVE, SNAPSHOT)
_ENSEMBLES = ("hot", "cold")
_SERVERS = "clickhouse"
# Znodes that a task reads in a second for sure, and by far.
_RATE_OF_A_SESSION = 5_000


class Source(Protocol):
    """Where the inventory comes from."""

    @property
    def description(self) -> str:
        """What the header of the plan says was read; no credentials."""

    def reader(self, tasks_at_once: int) -> DataSourceReader:
        """What reads the inventory, with the columns of GROUP_SCHEMA.

        ``tasks_at_once`` is how many tasks run at the same time, 0 where nobody knows.
        """

    def size_of_hot(self) -> EnsembleSize | None:
        """What hot has in all, parts or not; None where that is not told."""

    def origin(self, paths: Sequence[str]) -> Sequence[OriginZnode]:
        """The topmost znodes of hot at these paths; raises PartMoveError where one is not there any more."""


@dataclass(frozen=True)
class LiveSource:
    """The inventory of ensembles that run."""

    connections: Mapping[str, Mapping[str, Any]]
    root: str
    sessions: int
    znodes_per_second: float

    @property
    def description(self) -> str:
        """Hosts and chroot of the ensembles, and the root."""
        ensembles = [options_of(name, settings) for name, settings in self.connections.items()]
        where = " ".join(f"{each.name}={','.join(each.hosts)}{each.chroot}" for each in ensembles)
        return f"{LIVE} {where} root={self.root}"

    def reader(self, tasks_at_once: int) -> InventoryReader:
        """What reads the inventory; where there is a limit to the rate, by so many sessions at once."""
        ensembles = {name: options_of(name, settings) for name, settings in self.connections.items()}
        return InventoryReader(
            self.root,
            ensembles["hot"],
            ensembles.get("cold"),
            self._sessions(tasks_at_once),
            self.znodes_per_second,
            is_grouped=True,
        )

    def size_of_hot(self) -> EnsembleSize | None:
        """The size of hot as one of its members tells it; None where they are told not to."""
        return size_of_running(options_of("hot", self.connections["hot"]).hosts)

    def origin(self, paths: Sequence[str]) -> Sequence[OriginZnode]:
        """The topmost znodes of hot at these paths, read through a session of its own."""
        with connect(options_of("hot", self.connections["hot"])) as hot:
            return read_origin(hot, paths)

    def _sessions(self, tasks_at_once: int) -> int:
        """How many sessions the job may have with each ensemble.

        With a limit to the rate there are no more than it takes to reach that rate: a task that waits for its
        turn would keep its share of the rate from the others. How many run at once is known of one machine,
        and not of a cluster, where executors register for as long as the job runs.
        """
        if not self.znodes_per_second:
            return self.sessions
        needed = ceil(self.znodes_per_second / _RATE_OF_A_SESSION)
        return min(self.sessions, needed, tasks_at_once or needed)


@dataclass(frozen=True)
class SnapshotFiles:
    """The inventory of ensembles as copies of their files tell it; the ensembles need not run."""

    folders: Mapping[str, Any]
    root: str
    older_snapshot: bool

    @property
    def description(self) -> str:
        """The folders, and the root."""
        labels = [
            each.label for name, settings in self.folders.items() for each in folders_of(name, settings)
        ]
        return f"{SNAPSHOT} {' '.join(labels)} root={self.root}"

    def reader(self, tasks_at_once: int) -> SnapshotReader:
        """What reads the inventory; how many tasks there are does not depend on how many run at once."""
        folders = {name: folders_of(name, settings) for name, settings in self.folders.items()}
        return SnapshotReader(
            self.root,
            folders["hot"],
            folders.get("cold", ()),
            older_snapshot=self.older_snapshot,
            is_grouped=True,
        )

    def size_of_hot(self) -> EnsembleSize | None:
        """The size of hot as its snapshots have it, without the log; they are read once more for that."""
        folders = folders_of("hot", self.folders["hot"])
        return size_of_files(folders, older_snapshot=self.older_snapshot)

    def origin(self, paths: Sequence[str]) -> Sequence[OriginZnode]:
        """The topmost znodes at these paths of every ensemble that has them."""
        folders = folders_of("hot", self.folders["hot"])
        return origin_of_files(folders, paths, older_snapshot=self.older_snapshot)


def source_of(arguments: argparse.Namespace) -> Source:
    """The source that the arguments ask for; raises EnsembleError for settings that are not understood."""
    connections = _connections(arguments.connections)
    given = {name: settings for name, settings in connections.items() if name in _ENSEMBLES}
    if arguments.source == SNAPSHOT:
        for name, settings in given.items():
            folders_of(name, settings)
        return SnapshotFiles(given, arguments.root, arguments.older_snapshot)
    for name, settings in given.items():
        options_of(name, settings)
    return LiveSource(given, arguments.root, arguments.sessions, arguments.znodes_per_second)


def files_of(arguments: argparse.Namespace) -> tuple[DataFolder, ...]:
    """The folders that the source reads; none where it reads ensembles that run. Raises EnsembleError."""
    if arguments.source != SNAPSHOT:
        return ()
    connections = _connections(arguments.connections)
    return tuple(
        each for name in _ENSEMBLES if name in connections for each in folders_of(name, connections[name])
    )


def servers_of(arguments: argparse.Namespace) -> object:
    """How to ask the servers, as `read_signal` takes it; None where they are not to be asked.

    Raises PartMoveError for settings that are not understood.
    """
    settings = _connections(arguments.connections).get(_SERVERS)
    if settings is not None:
        clients_of(settings)
    return settings


def _connections(path: Path) -> dict[str, Any]:
    """The settings of hot, and of cold and the servers if the file has them; raises EnsembleError."""
    try:
        connections = json.loads(path.read_bytes())
    except ValueError as error:
        raise EnsembleError(
            f"{path}: the connections are not JSON", remedy="Write hot, cold and clickhouse as JSON"
        ) from error
    if (
        not isinstance(connections, dict)
        or "hot" not in connections
        or set(connections) - {*_ENSEMBLES, _SERVERS}
    ):
        raise EnsembleError(
            f"{path}: the connections are not those of hot, cold and clickhouse",
            remedy="Give hot, and cold and clickhouse where there are any",
        )
    return {name: settings for name, settings in connections.items() if settings is not None}
