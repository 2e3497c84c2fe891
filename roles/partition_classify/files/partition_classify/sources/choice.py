# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Selects the inventory source from the job's arguments.

Checks all settings before Spark starts, so that invalid settings fail at once.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import Any, Protocol

from pyspark.sql.datasource import DataSourceReader

from olap_partmove._clickhouse.settings import clients_of
from olap_partmove._partmove.errors import EnsembleError
from olap_partmove._partmove.plan.origin import OriginZnode, read_origin
from olap_partmove._zookeeper.settings import options_of
from olap_partmove._zookeeper.store import connect

from ..keeper_files.readable import readable_folders
from ..progress import log_line
from ..zookeeper_files.divided_scan import most_processes
from ..zookeeper_files.folders import DataFolder, folders_of
from ..zookeeper_files.last_change import last_change
from ..zookeeper_files.origin import origin_of_files
from .ensemble_size import EnsembleSize, size_of_files, size_of_live
from .live import FORMAT as LIVE, InventoryReader
from .snapshot import FORMAT as SNAPSHOT, SnapshotReader

SOURCES = (LIVE, SNAPSHOT)
_ENSEMBLES = ("hot", "cold")
_SERVERS = "clickhouse"
# Conservative lower bound of the znodes that one session reads per second.
_RATE_OF_A_SESSION = 5_000


class InventorySource(Protocol):
    """Source of the inventory."""

    @property
    def description(self) -> str:
        """Source named in the plan header, without credentials."""

    def opened(self) -> AbstractContextManager[InventorySource]:
        """Return the source to read from, during a block. Raises EnsembleError for unusable files."""

    def reader(self, tasks_at_once: int) -> DataSourceReader:
        """Return the inventory reader, with the columns of GROUP_SCHEMA.

        tasks_at_once: number of concurrent tasks, 0 if unknown.
        """

    def size_of_hot(self) -> EnsembleSize | None:
        """Return the size of the whole hot ensemble, other znodes included; None if unknown."""

    def last_change(self) -> int | None:
        """Return the time of the last change in the files of hot; None for running ensembles.

        Milliseconds since 1970. Never later than a change that is missing in the files.
        """

    def origin(self, paths: Sequence[str]) -> Sequence[OriginZnode]:
        """Return the topmost znodes of hot at ``paths``. Raises PartMoveError for a missing znode."""


@dataclass(frozen=True)
class LiveSource:
    """Inventory of running ensembles."""

    connections: Mapping[str, Mapping[str, Any]]
    root: str
    sessions: int
    znodes_per_second: float
    latency_target: float

    @property
    def description(self) -> str:
        """Hosts and chroots of the ensembles, and the root."""
        ensembles = [options_of(name, settings) for name, settings in self.connections.items()]
        where = " ".join(f"{each.name}={','.join(each.hosts)}{each.chroot}" for each in ensembles)
        return f"{LIVE} {where} root={self.root}"

    def opened(self) -> AbstractContextManager[InventorySource]:
        """Return the source itself."""
        return nullcontext(self)

    def reader(self, tasks_at_once: int) -> InventoryReader:
        """Return the inventory reader; a rate limit also limits the number of sessions."""
        ensembles = {name: options_of(name, settings) for name, settings in self.connections.items()}
        return InventoryReader(
            self.root,
            ensembles["hot"],
            ensembles.get("cold"),
            self._sessions(tasks_at_once),
            self.znodes_per_second,
            self.latency_target,
            is_grouped=True,
        )

    def size_of_hot(self) -> EnsembleSize | None:
        """Return the size of hot as reported by a member; None if members do not report it."""
        return size_of_live(options_of("hot", self.connections["hot"]))

    def last_change(self) -> None:
        """Return None: the ensembles have no last change."""

    def origin(self, paths: Sequence[str]) -> Sequence[OriginZnode]:
        """Read the topmost znodes of hot at ``paths`` through a separate session."""
        with connect(options_of("hot", self.connections["hot"])) as hot:
            return read_origin(hot, paths)

    def _sessions(self, tasks_at_once: int) -> int:
        """Return the maximum number of sessions with each ensemble.

        With a rate limit, only as many sessions as needed to reach the rate: a task waiting for an executor
        would reserve its part of the rate without using it. The number of concurrent tasks is known on one
        machine only; cluster executors may register at any time.
        """
        if not self.znodes_per_second:
            return self.sessions
        needed = ceil(self.znodes_per_second / _RATE_OF_A_SESSION)
        of_a_task = 2 if self.latency_target else 1
        return min(self.sessions, of_a_task * min(needed, tasks_at_once or needed))


@dataclass(frozen=True)
class SnapshotSourceFiles:
    """Inventory from copied files of ensembles; the ensembles need not run.

    folders: of ``hot``, and optionally of ``cold``.
    """

    folders: Mapping[str, Sequence[DataFolder]]
    root: str
    older_snapshot: bool

    @property
    def description(self) -> str:
        """The folders, and the root."""
        labels = [each.label for folders in self.folders.values() for each in folders]
        return f"{SNAPSHOT} {' '.join(labels)} root={self.root}"

    @contextmanager
    def opened(self) -> Iterator[SnapshotSourceFiles]:
        """Return a source that reads sorted copies of snapshots of Keeper, which exist during the block."""
        every = [each for folders in self.folders.values() for each in folders]
        with readable_folders(every, log_line, older_snapshot=self.older_snapshot) as found:
            readable = {name: tuple(each for each in found if each.name == name) for name in self.folders}
            yield replace(self, folders=readable)

    def reader(self, tasks_at_once: int) -> SnapshotReader:
        """Return the inventory reader. The number of tasks does not depend on ``tasks_at_once``.

        The driver verifies large snapshots with as many processes as tasks may use, or as it has cores.
        """
        return SnapshotReader(
            self.root,
            tuple(self.folders["hot"]),
            tuple(self.folders.get("cold", ())),
            older_snapshot=self.older_snapshot,
            is_grouped=True,
            processes=most_processes(tasks_at_once),
        )

    def size_of_hot(self) -> EnsembleSize | None:
        """Return the size of the hot snapshots, without log changes. Reads the snapshots once more."""
        return size_of_files(self.folders["hot"], older_snapshot=self.older_snapshot)

    def last_change(self) -> int:
        """Return the earliest of the times up to which the folders of hot show changes."""
        return min(map(last_change, self.folders["hot"]))

    def origin(self, paths: Sequence[str]) -> Sequence[OriginZnode]:
        """Return the topmost znodes at ``paths`` of each ensemble that has them."""
        return origin_of_files(self.folders["hot"], paths, older_snapshot=self.older_snapshot)


def source_of(arguments: argparse.Namespace) -> InventorySource:
    """Return the source selected by the arguments. Raises EnsembleError for invalid settings."""
    connections = _connections(arguments.connections)
    given = {name: settings for name, settings in connections.items() if name in _ENSEMBLES}
    if arguments.source == SNAPSHOT:
        folders = {name: folders_of(name, settings) for name, settings in given.items()}
        return SnapshotSourceFiles(folders, arguments.root, arguments.older_snapshot)
    for name, settings in given.items():
        options_of(name, settings)
    return LiveSource(
        given, arguments.root, arguments.sessions, arguments.znodes_per_second, arguments.latency_target
    )


def files_of(arguments: argparse.Namespace) -> tuple[DataFolder, ...]:
    """Return the data folders of the source; none for running ensembles. Raises EnsembleError."""
    if arguments.source != SNAPSHOT:
        return ()
    connections = _connections(arguments.connections)
    return tuple(
        each for name in _ENSEMBLES if name in connections for each in folders_of(name, connections[name])
    )


def servers_of(arguments: argparse.Namespace) -> object:
    """Return the ClickHouse connection settings for `read_signal`; None without servers.

    Raises PartMoveError for invalid settings.
    """
    settings = _connections(arguments.connections).get(_SERVERS)
    if settings is not None:
        clients_of(settings)
    return settings


def _connections(path: Path) -> dict[str, Any]:
    """Read the connection settings of hot, and optionally of cold and ClickHouse. Raises EnsembleError."""
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
            f"{path}: the connections need the key hot, and allow the keys cold and clickhouse only",
            remedy="Give hot, and, if used, cold and clickhouse",
        )
    return {name: settings for name, settings in connections.items() if settings is not None}
