# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Resources of a module's task: ensembles, clock, servers, pace, progress and journal."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

from .._clickhouse.client import ClickHouseClient
from .._clickhouse.options import ClickHouseOptions
from .._clickhouse.replica_probe import HttpReplicaProbe
from .._clickhouse.replica_table import TwinClients
from .._partmove.errors import FormatError, PartMoveError
from .._partmove.formats.layout import check_shard_path
from .._partmove.gates.servers import AskServers, AssumeActive, NoServers, ServerCheck
from .._partmove.journal.port import Journal
from .._partmove.lease.bars import EVERY_BAR, Bar
from .._partmove.lease.lease import LeaseKeeper
from .._partmove.lease.two_ensembles import check_distinct_addresses
from .._partmove.patched.parts.token_writer import TokenWriter
from .._partmove.run.pace import RunPace
from .._partmove.text import parse_duration
from .._partmove.tree.overlay import OverlayStore
from .._partmove.tree.ports import Clock, ZnodeStore
from .._zookeeper.settings import options_of
from .._zookeeper.store import connect
from .._zookeeper.watch import EnsembleWatch
from .._zookeeper.window import RequestWindow
from .journal_file import FileJournal, NullJournal, open_journal
from .pacing import PaceOptions, Watch
from .progress import Progress, ProgressFile

SERVERS_AT_ONCE = 8
"""Number of servers of one shard path that are queried at the same time."""


class Closable(Protocol):
    """A resource with a method that closes it."""

    def close(self) -> None:
        """Close the resource."""


class SystemClock:
    """Implements Clock."""

    def now(self) -> float:
        """Return the seconds since 1970."""
        return time.time()

    def sleep(self, seconds: float) -> None:
        """Sleep for this number of seconds."""
        time.sleep(seconds)


class Resources:
    """Opens the resources of a task. ``stack`` closes them, however the task ends."""

    def __init__(self, params: Mapping[str, Any], stack: ExitStack, *, check_mode: bool) -> None:
        self.check_mode = check_mode
        self.clock = SystemClock()
        self._windows: dict[str, RequestWindow] = {}
        self._params = params
        self._stack = stack

    def open_ensemble(
        self, name: str, *, reads_per_second: float = 0.0, latency_target: float = 0.0
    ) -> ZnodeStore:
        """Connect to the ensemble in the option ``name``. In check mode the store only remembers writes.

        The limits are those of `EnsembleOptions`, for a run without a pace. Raises EnsembleError and
        subclasses.
        """
        options = options_of(name, self._params[name])
        store = connect(replace(options, reads_per_second=reads_per_second, latency_target=latency_target))
        self.close_at_end(store)
        self._windows[name] = store.window
        return OverlayStore(store, self.clock) if self.check_mode else store

    def open_pair(self) -> tuple[ZnodeStore, ZnodeStore]:
        """Connect to hot and cold. Raises SameEnsemble if they share an address, and EnsembleError."""
        hot, cold = self.open_ensemble("hot"), self.open_ensemble("cold")
        check_distinct_addresses(hot, cold)
        return hot, cold

    def open_hot_or_pair(self) -> tuple[ZnodeStore, ZnodeStore | None]:
        """Connect to hot, and to cold if the option ``cold`` is given. Raises as `open_pair` does."""
        return (self.open_ensemble("hot"), None) if self._params["cold"] is None else self.open_pair()

    def open_progress(self, units: str, subunits: str) -> Progress:
        """Return the progress that the module's action plugin shows, in units and their subunits.

        Without the option ``progress_file`` nothing is written.
        """
        file = ProgressFile(self._params.get("progress_file"), self.clock, self._stack)
        return Progress(file, self.clock, units, subunits)

    def open_pace(
        self,
        options: PaceOptions,
        log: Callable[[str], object],
        *,
        ensembles: Sequence[str] = ("hot", "cold"),
        members: bool = True,
    ) -> RunPace:
        """Return the pace of a run, which pauses while one of the ensembles is slow or overloaded.

        log: receives a line for each pause. members: whether to consider the load that members report, too.
        Raises EnsembleError and subclasses.
        """
        watches = [
            self.open_watch(name, options, members=members)
            for name in (ensembles if options.max_latency or options.latency_target else ())
        ]
        return options.pace(watches if options.max_latency else [], log, check_mode=self.check_mode)

    def open_watch(self, name: str, options: PaceOptions, *, members: bool) -> Watch:
        """Watch the ensemble that the option ``name`` describes, and limit the requests of its store.

        Parameters as in `open_pace`.
        """
        watch = EnsembleWatch(
            options_of(name, self._params[name]),
            options.max_latency,
            members=members and bool(options.max_latency),
            window=self._windows.get(name),
            target=options.latency_target,
            processes=options.processes,
        )
        self.close_at_end(watch)
        return watch

    def open_journal(self, run: str = "") -> Journal:
        """Return the journal in the option ``journal``; in check mode a journal without a file.

        run: as in `journal_file.open_journal`.
        """
        journal = NullJournal() if self.check_mode else open_journal(self._params["journal"], self.clock, run)
        if isinstance(journal, FileJournal):
            self.close_at_end(journal)
        return journal

    def close_at_end(self, resource: Closable) -> None:
        """Close the resource when the task ends, in reverse order of opening."""
        self._stack.callback(resource.close)


def probe_of(settings: Mapping[str, Any]) -> HttpReplicaProbe:
    """Return a probe for the servers in the option ``clickhouse``. Raises PartMoveError."""
    return HttpReplicaProbe(ClickHouseOptions.of(settings))


def server_check(params: Mapping[str, Any]) -> ServerCheck:
    """Return the check of parts on disk that the options ``clickhouse`` and ``assume_active`` select."""
    if params["assume_active"]:
        return AssumeActive()
    if params["clickhouse"] is not None:
        return AskServers(probe_of(params["clickhouse"]), SERVERS_AT_ONCE)
    return NoServers()


def servers_as_result(clients: TwinClients) -> list[dict[str, str]]:
    """Return the queried servers with their versions, as the result ``servers`` of a module."""
    return [{"server": server, "version": version} for server, version in clients.versions.items()]


def client_of(settings: Mapping[str, Any]) -> ClickHouseClient:
    """Return a client of the server in the option ``clickhouse``. Raises PartMoveError as `probe_of` does."""
    common = dict(settings)
    host = common.pop("host").strip()
    if not host:
        raise PartMoveError("The host of clickhouse is empty", remedy="Give the name of a server")
    options = ClickHouseOptions.of(common)
    return ClickHouseClient(host, options.port, options)


class LockOptions(NamedTuple):
    """The root of the locks, and how long to wait for a lock."""

    root: str
    wait_seconds: int

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> LockOptions:
        """Read the options ``coordination_root`` and ``lock_wait``. Raises FormatError."""
        return cls(coordination_root(params), parse_duration(params["lock_wait"], "lock_wait"))

    def keeper(
        self,
        module: str,
        hot: ZnodeStore,
        cold: ZnodeStore | None,
        clock: Clock,
        *,
        may_be_copy: bool = False,
        bars: Collection[Bar] = EVERY_BAR,
    ) -> LeaseKeeper:
        """Return the keeper of shard path locks for the module; ``cold`` is None if no run writes to cold.

        may_be_copy: whether hot may be a copy, so that the run writes no token.
        bars: the bars that keep the module from a shard path.
        """
        owner = f"{module} on {socket.gethostname()}, process {os.getpid()}"
        if cold is None or may_be_copy:
            return LeaseKeeper(
                hot, cold, clock, owner=owner, root=self.root, wait_seconds=self.wait_seconds, bars=bars
            )
        return LeaseKeeper(
            hot,
            cold,
            clock,
            owner=owner,
            root=self.root,
            wait_seconds=self.wait_seconds,
            write_token=TokenWriter(hot, cold, clock, self.root).before_lease,
            bars=bars,
        )


def coordination_root(params: Mapping[str, Any]) -> str:
    """Return the option ``coordination_root``. Raises FormatError for an invalid znode path."""
    root = str(params["coordination_root"])
    try:
        return check_shard_path(root)
    except FormatError as error:
        raise FormatError(
            f"coordination_root is {root!r}, which is not the path of a znode below the root",
            remedy="Write it as /a/b, without a slash at its end",
        ) from error
