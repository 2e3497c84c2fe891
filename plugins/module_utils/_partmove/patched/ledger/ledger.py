# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The ledger: the replicas whose servers were verified to know the cold ensemble.

In hot, under the coordination root::

    ledger/<shard path, quoted>/<replica, quoted>    persistent: a LedgerEntry

States of a replica::

    absent → ready    its server was verified, and the replica was entered
    ready  → stale    its server was activated again since
    stale  → ready    its server was verified again
    any    → absent   the replica was withdrawn

The multi of an entry checks ``host``: unchanged since the server was asked. A move reads the entries of all
replicas, and its switch checks the version of each entry and of each ``host``. So a withdrawal or a restart
in the meantime makes the switch fail.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple
from urllib.parse import quote, unquote

from ...errors import EnsembleError, FormatError, PartMoveError
from ...formats.layout import ShardLayout
from ...gates.gate import Refusal
from ...gates.judge import Judgement
from ...gates.names import GateName
from ...shard.facts import ShardFacts
from ...text import first_few
from ...tree.paths import DEFAULT_ROOT, ensure_path, raise_if_unwritable
from ...tree.ports import ZnodeStore
from ...tree.znodes import Check, Committed, Create, Delete, Op, Rejected, SetData, Znode
from ...zip_strict import zip_strict
from .entry import ColdEnsemble, LedgerEntry, parse_entry
from .live_replica import LiveReplica

VERIFY = "Verify its server and enter it with replica_ledger"
"""The remedy for a replica that is not ready."""

_ATTEMPTS = 10


class ServerChanged(PartMoveError):
    """The server of a replica was activated anew while it was verified."""


class ReplicaKey(NamedTuple):
    """A replica by its shard path and its name; as text, the form that messages use."""

    shard_path: str
    replica: str

    def __str__(self) -> str:
        return f"replica {self.replica} of {self.shard_path}"


class EntryChange(NamedTuple):
    """An entry before and after; None if there is none."""

    before: Znode | None
    after: bytes | None

    @property
    def changed(self) -> bool:
        """Whether the znode was written."""
        return (None if self.before is None else self.before.data) != self.after


class Ledger:
    """Reads and writes entries; every write is conditional on what was read."""

    def __init__(self, hot: ZnodeStore, root: str = DEFAULT_ROOT) -> None:
        self._hot = hot
        self.path = f"{root}/ledger"

    def has_any(self, shard_paths: Iterable[str]) -> bool:
        """Return whether a replica of the shard paths was ever entered, even if it is withdrawn by now."""
        self._hot.sync(self.path)
        return any(self._hot.read([self._folder(each) for each in shard_paths]))

    def entry_path(self, key: ReplicaKey) -> str:
        """Return the path of a replica's entry."""
        return f"{self._folder(key.shard_path)}/{quote(key.replica, safe='')}"

    def replicas(self, shard_path: str) -> list[str]:
        """Return the replicas of a shard path that have an entry, sorted."""
        return sorted(unquote(name) for name in self._hot.children([self._folder(shard_path)])[0] or ())

    def read(self, shard_path: str, replicas: Iterable[str]) -> dict[str, Znode | None]:
        """Return the entry of each replica, or None. Call ``sync`` first if the newest data matters."""
        names = list(replicas)
        paths = [self.entry_path(ReplicaKey(shard_path, name)) for name in names]
        return dict(zip_strict(names, self._hot.read(paths)))

    def enter(self, key: ReplicaKey, entry: LedgerEntry, *, renew: bool = False) -> EntryChange:
        """Write the entry, unless an equivalent entry exists.

        With ``renew``, only an existing entry is written: a replica withdrawn meanwhile stays out. Raises
        ServerChanged if ``host`` is newer than in the entry, FormatError for an unreadable existing entry,
        EnsembleError and kin.
        """
        host = ShardLayout(key.shard_path).replica(key.replica).host
        path, data = self.entry_path(key), entry.encode()
        first: EntryChange | None = None
        for existing in self._attempts(key):
            if renew and existing is None:
                return EntryChange(None, None)
            change = EntryChange(existing, _data_for(entry, existing))
            if not change.changed:
                return first or change
            first = first or change
            ensure_path(self._hot, self._folder(key.shard_path))
            op: Op = Create(path, data) if existing is None else SetData(path, data, existing.stat.version)
            outcome = self._hot.commit([(Check(host, entry.host_version), op)])[0]
            if isinstance(outcome, Committed):
                return first
            if isinstance(outcome, Rejected):
                raise_if_unwritable(self._hot, path, outcome)
                if outcome.op_index == 0:
                    raise server_changed(key)
        raise self._contended(key)

    def withdraw(self, key: ReplicaKey) -> EntryChange:
        """Delete the entry, whatever its content. Raises EnsembleError and kin."""
        path = self.entry_path(key)
        first: EntryChange | None = None
        for existing in self._attempts(key):
            if existing is None:
                return first or EntryChange(None, None)
            first = first or EntryChange(existing, None)
            outcome = self._hot.commit([(Delete(path, existing.stat.version),)])[0]
            if isinstance(outcome, Committed):
                return first
            if isinstance(outcome, Rejected):
                raise_if_unwritable(self._hot, path, outcome)
        raise self._contended(key)

    def _attempts(self, key: ReplicaKey) -> Iterator[Znode | None]:
        """Yield the current entry, and again after each write without success or without an answer."""
        for _attempt in range(_ATTEMPTS):
            self._hot.sync(self.path)
            yield self.read(key.shard_path, [key.replica])[key.replica]

    def _folder(self, shard_path: str) -> str:
        return f"{self.path}/{quote(shard_path, safe='')}"

    def _contended(self, key: ReplicaKey) -> EnsembleError:
        return EnsembleError(
            f"The ledger entry of {key} changed {_ATTEMPTS} times while it was to be written",
            remedy="Find out whether another program writes to the ledger, and run again",
        )


class LedgerReadiness:
    """Implements Readiness: every replica has a valid entry, and its server is active."""

    def __init__(self, ledger: Ledger, cold: ColdEnsemble) -> None:
        self._ledger = ledger
        self._cold = cold

    def judge(self, shard: ShardFacts, partition_ids: Collection[str]) -> Judgement:
        """Judge by the entries. The returned checks cover their versions, the fence of the shard ``host``."""
        replicas = [LiveReplica(each.name, each.host, each.is_active) for each in shard.replicas]
        entries = self._ledger.read(shard.layout.path, (each.name for each in replicas))
        reasons = [not_ready(entries[each.name], each, self._cold) for each in replicas]
        problems = [reason for reason in reasons if reason is not None]
        if problems:
            refusal = Refusal(GateName.PATCHED_REPLICAS, first_few(problems), VERIFY)
            return Judgement(dict.fromkeys(partition_ids, refusal))
        checks = [Check(each.path, each.stat.version) for each in entries.values() if each is not None]
        return Judgement({}, tuple(checks))


def not_ready(entry: Znode | None, replica: LiveReplica, cold: ColdEnsemble) -> str | None:
    """Return why the entry does not vouch for the replica; None only in case of certainty."""
    if entry is None:
        return f"replica {replica.name} is not in the ledger"
    try:
        known = parse_entry(entry)
    except FormatError as error:
        return f"replica {replica.name}: {error.message}"
    if replica.host is None or replica.is_active is None:
        return f"replica {replica.name} is not active"
    activation = replica.host.stat.version, replica.host.stat.mzxid
    if activation != (known.host_version, known.host_mzxid):
        return f"replica {replica.name} restarted, or had a new session, since it was verified"
    if known.cold != cold:
        return f"replica {replica.name} was verified with the cold ensemble {known.cold}, not {cold}"
    return None


def server_changed(key: ReplicaKey) -> ServerChanged:
    """Return the error for a server that was activated anew while it was verified."""
    return ServerChanged(
        f"The server of {key} started, or got a new ZooKeeper session, while it was verified",
        remedy="Wait until the server is up, and run replica_ledger again",
    )


def _data_for(entry: LedgerEntry, existing: Znode | None) -> bytes:
    """Return the data for the entry's znode: the existing data, if the existing entry is equivalent."""
    if existing is not None and parse_entry(existing).says_as_much_as(entry):
        return existing.data
    return entry.encode()
