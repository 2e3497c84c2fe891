# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a task of a module works with: the ensembles, the clock, the servers and the journal."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, NamedTuple

from .._clickhouse.client import ClickHouseClient
from .._clickhouse.options import ClickHouseOptions
from .._clickhouse.replica_probe import HttpReplicaProbe
from .._partmove.errors import FormatError, PartMoveError
from .._partmove.formats.layout import check_shard_path
from .._partmove.gates.servers import AskServers, AssumeActive, NoServers, ServerCheck
from .._partmove.journal.port import Journal
from .._partmove.lease.lease import LeaseKeeper
from .._partmove.lease.two_ensembles import check_distinct_addresses
from .._partmove.patched.repair.backup import BackupHeader
from .._partmove.run.pace import RunPace
from .._partmove.text import parse_duration
from .._partmove.tree.overlay import OverlayStore
from .._partmove.tree.ports import Clock, ZnodeStore
from .._zookeeper.settings import options_of
from .._zookeeper.store import connect
from .._zookeeper.watch import EnsembleWatch
from .backup_file import BackupFile
from .journal_file import FileJournal, NullJournal, open_journal
from .pacing import PaceOptions, Watch
from .progress import Progress, ProgressFile

SERVERS_AT_ONCE = 8
"""Servers of one shard path that are asked at the same time."""


class SystemClock:
    """Implements Clock."""

    def now(self) -> float:
        """Seconds since 1970."""
        return time.time()

    def sleep(self, seconds: float) -> None:
        """Do nothing for so many seconds."""
        time.sleep(seconds)


class Resources:
    """Opens what a task asks for; ``stack`` closes it again, however the task ends."""

    def __init__(self, params: Mapping[str, Any], stack: ExitStack, *, check_mode: bool) -> None:
        self.check_mode = check_mode
        self.clock = SystemClock()
        self._params = params
        self._stack = stack

    def open_ensemble(self, name: str, *, reads_per_second: float = 0.0) -> ZnodeStore:
        """Connect to the ensemble that the option ``name`` describes; in check mode it keeps what it was.

        reads_per_second: how many znodes may be read in a second, 0 for any number. Raises EnsembleError and
        its kin.
        """
        store = connect(replace(options_of(name, self._params[name]), reads_per_second=reads_per_second))
        self._stack.callback(store.close)
        return OverlayStore(store, self.clock) if self.check_mode else store

    def open_pair(self) -> tuple[ZnodeStore, ZnodeStore]:
        """Connect to hot and cold; raises SameEnsemble where they share an address, and EnsembleError."""
        hot, cold = self.open_ensemble("hot"), self.open_ensemble("cold")
        check_distinct_addresses(hot, cold)
        return hot, cold

    def open_given(self) -> tuple[ZnodeStore, ZnodeStore | None]:
        """Connect to hot, and to cold as well where that is given; otherwise as `open_pair`."""
        return (self.open_ensemble("hot"), None) if self._params["cold"] is None else self.open_pair()

    def open_progress(self, things: str, pieces: str) -> Progress:
        """What tells the action plugin of the module how many things, and pieces of them, are done.

        Nothing is written where there is none that looks.
        """
        file = ProgressFile(self._params.get("progress_file"), self.clock, self._stack)
        return Progress(file, self.clock, things, pieces)

    def open_pace(
        self,
        options: PaceOptions,
        tell: Callable[[str], object],
        *,
        ensembles: Sequence[str] = ("hot", "cold"),
        members: bool = True,
    ) -> RunPace:
        """How fast to work with the ensembles, each watched; ``tell`` gets a line where the run has to wait.

        members: whether to go by what the members say of themselves, too. Raises EnsembleError and its kin.
        """
        watches: list[Watch] = []
        for name in ensembles if options.max_latency else ():
            watch = self.open_watch(name, options.max_latency, members=members)
            watches.append(watch)
        return options.pace(watches, tell, check_mode=self.check_mode)

    def open_watch(self, name: str, allowed: float, *, members: bool) -> Watch:
        """Watch the ensemble that the option ``name`` describes, as `EnsembleWatch` does."""
        watch = EnsembleWatch(options_of(name, self._params[name]), allowed, members=members)
        self._stack.callback(watch.close)
        return watch

    def open_backup(self, folder: str, header: BackupHeader) -> BackupFile | None:
        """Where a repair keeps what it deletes or changes; None in check mode, which does neither."""
        if self.check_mode:
            return None
        backup = BackupFile(folder, header)
        self._stack.callback(backup.close)
        return backup

    def open_journal(self) -> Journal:
        """The journal that the option ``journal`` asks for; none in check mode, which does nothing."""
        journal = NullJournal() if self.check_mode else open_journal(self._params["journal"], self.clock)
        if isinstance(journal, FileJournal):
            self._stack.callback(journal.close)
        return journal


def probe_of(settings: Mapping[str, Any]) -> HttpReplicaProbe:
    """Asks servers as the option ``clickhouse`` says; raises PartMoveError for settings that cannot be."""
    return HttpReplicaProbe(ClickHouseOptions.of(settings))


def server_check(params: Mapping[str, Any]) -> ServerCheck:
    """Whom to ask what is on the disks, as the options ``clickhouse`` and ``assume_active`` say."""
    if params["assume_active"]:
        return AssumeActive()
    if params["clickhouse"] is not None:
        return AskServers(probe_of(params["clickhouse"]), SERVERS_AT_ONCE)
    return NoServers()


def client_of(settings: Mapping[str, Any]) -> ClickHouseClient:
    """Asks the one server that the option ``clickhouse`` names; raises PartMoveError as `probe_of` does."""
    of_every_server = dict(settings)
    host = of_every_server.pop("host").strip()
    if not host:
        raise PartMoveError("The host of clickhouse is empty", remedy="Give the name of a server")
    options = ClickHouseOptions.of(of_every_server)
    return ClickHouseClient(host, options.port, options)


class LockOptions(NamedTuple):
    """Where locks are kept, and how long to wait for one."""

    root: str
    wait_seconds: int

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> LockOptions:
        """From the options ``coordination_root`` and ``lock_wait``; raises FormatError."""
        return cls(coordination_root(params), parse_duration(params["lock_wait"], "lock_wait"))

    def keeper(self, module: str, hot: ZnodeStore, cold: ZnodeStore | None, clock: Clock) -> LeaseKeeper:
        """What takes the locks of shard paths, for the module; None where no run writes to cold."""
        owner = f"{module} on {socket.gethostname()}, process {os.getpid()}"
        return LeaseKeeper(hot, cold, clock, owner=owner, root=self.root, wait_seconds=self.wait_seconds)


def coordination_root(params: Mapping[str, Any]) -> str:
    """The option ``coordination_root``; raises FormatError when no znode can have that path."""
    root = str(params["coordination_root"])
    try:
        return check_shard_path(root)
    except FormatError as error:
        raise FormatError(
            f"coordination_root is {root!r}, which is not the path of a znode below the root",
            remedy="Write it as /a/b, without a slash at its end",
        ) from error
