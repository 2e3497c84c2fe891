# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The downgrade guard: a server without the patch may not get tables with cold partitions.

The order makes it safe:

1. Check for cold partitions, so that a replica of a cold partition keeps its entry.
2. Withdraw the replicas from the ledger.
3. Check for cold partitions again.

A switch checks the entries of all replicas in its multi. So step 3 sees a switch before the withdrawal, and a
switch after the withdrawal fails. Once the guard has passed, no partition becomes cold until the replicas are
entered again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from ...binding.binding import marked_cold, read_binding
from ...errors import NoSuchReplica, PartMoveError
from ...formats.layout import ShardLayout
from ...formats.table_metadata import parse_table_metadata
from ...shard.location import partitions_only_in_cold
from ...shard.parts import PartNames
from ...text import first_few
from ...tree.ports import ZnodeReader, ZnodeStore
from .ledger import EntryChange, Ledger, ReplicaKey
from .live_replica import read_live_replicas, table_of

BACK_TO_HOT = (
    "First bring the partitions back to hot: ansible-playbook olap.partmove.reheat with these shard paths as"
    " part_move_shard_paths, or part_move with state: hot. Keep the patched server and its cold_zookeeper"
    " until then"
)
"""The remedy for cold partitions that stop a downgrade."""

_MOST_SHOWN = 5


class ColdPartition(NamedTuple):
    """A partition with parts unregistered in hot."""

    shard_path: str
    table: str
    """``database.table`` of the first replica with a known table, or empty."""
    partition: str

    def __str__(self) -> str:
        return f"{self.partition} of {self.table or 'the table'} ({self.shard_path})"


class NotEntered(PartMoveError):
    """No replica of the shard paths was ever entered under this coordination root."""


class StillCold(PartMoveError):
    """A partition is cold, so every replica of its shard path has to know the cold ensemble."""


@dataclass
class Withdrawal:
    """The result of a withdrawal, even if the withdrawal ended with an error."""

    changes: dict[ReplicaKey, EntryChange] = field(default_factory=dict)
    cold_partitions: list[ColdPartition] = field(default_factory=list)
    """The cold partitions in the way of the downgrade."""


class DowngradeGuard:
    """Finds cold partitions in one pair of ensembles, with one coordination root."""

    def __init__(self, hot: ZnodeStore, cold: ZnodeReader, root: str) -> None:
        self._hot = hot
        self._cold = cold
        self._root = root

    def cold_partitions(self, shard_path: str) -> list[ColdPartition]:
        """Return the partitions with parts in cold but not in hot, sorted; [] without a table.

        State alone is not enough: State stays COLD when a cold partition is dropped. Raises FormatError for
        unreadable znodes, BindingConflict if the moves of the table used another coordination root or another
        cold ensemble, and PartMoveError if the given cold ensemble cannot be the one of the table.
        """
        layout = ShardLayout(shard_path)
        self._hot.sync(layout.path)
        self._cold.sync(layout.path)
        metadata = self._hot.read([layout.metadata])[0]
        if metadata is None:
            return []
        names = PartNames(layout, parse_table_metadata(metadata.data, layout.metadata).format_version)
        if read_binding(self._hot, self._cold, self._root, layout).cold is None:
            self._refuse_unknown_cold(layout)
            return []
        # Hot first: a part that moves to cold meanwhile is then found in one of the two.
        hot, cold = (names.by_partition(each, _replicas(each, layout)) for each in (self._hot, self._cold))
        ids = partitions_only_in_cold(hot, cold)
        table = table_of(read_live_replicas(self._hot, layout)) if ids else ""
        return [ColdPartition(shard_path, table, each) for each in sorted(ids)]

    def is_proven(self, shard_path: str) -> bool:
        """Return whether the marker in cold names this root. Raises as `cold_partitions` does."""
        layout = ShardLayout(shard_path)
        self._hot.sync(layout.path)
        self._cold.sync(layout.path)
        return read_binding(self._hot, self._cold, self._root, layout).is_proven

    def replicas(self, shard_path: str) -> Collection[str]:
        """Return the replicas of a shard path; empty without a table."""
        return _replicas(self._hot, ShardLayout(shard_path))

    def _refuse_unknown_cold(self, layout: ShardLayout) -> None:
        """Raise if a partition has State COLD and cold lacks the table.

        With the wrong cold ensemble, every cold partition would be taken for a dropped partition.
        """
        marked = marked_cold(self._hot, layout)
        if marked:
            raise PartMoveError(
                f"State of partitions {first_few(marked)} of {layout.path} is COLD, and the ensemble given"
                " as cold does not have the table",
                remedy="Check the hosts and the chroot of cold",
            )


def withdraw_replicas(
    guard: DowngradeGuard,
    ledger: Ledger,
    replicas: Collection[ReplicaKey],
    withdrawal: Withdrawal,
    *,
    never_entered: bool = False,
) -> None:
    """Withdraw replicas from the ledger, so that their servers may be replaced by servers without the patch.

    ``never_entered``: the operator vouches for an empty ledger. Fills ``withdrawal``. Raises StillCold:
    either with nothing written, or with the entries withdrawn, if a move was faster. Raises NotEntered,
    EnsembleError and kin; running again continues.
    """
    keys = sorted(set(replicas))
    shard_paths = sorted({key.shard_path for key in keys})
    for shard_path in shard_paths:
        known = {*guard.replicas(shard_path), *ledger.replicas(shard_path)}
        _refuse_unknown([key for key in keys if key.shard_path == shard_path and key.replica not in known])
    _refuse_cold(guard, shard_paths, withdrawal, "nothing was withdrawn")
    if not never_entered:
        _refuse_other_ledger(guard, ledger, shard_paths)
    for key in keys:
        withdrawal.changes[key] = ledger.withdraw(key)
    _refuse_cold(guard, shard_paths, withdrawal, "the entries were withdrawn by then, and stay withdrawn")


def _refuse_other_ledger(guard: DowngradeGuard, ledger: Ledger, shard_paths: Sequence[str]) -> None:
    """Raise NotEntered if moves may use another ledger: withdrawing from this one would not stop them."""
    if shard_paths and not (ledger.has_any(shard_paths) or any(map(guard.is_proven, shard_paths))):
        raise NotEntered(
            f"No replica of {first_few(shard_paths)} was ever entered in {ledger.path}, so there is"
            " nothing to withdraw, and no proof that moves read this ledger",
            remedy="Give the coordination_root and the chroot of hot with which the replicas were entered;"
            " if no replica ever was, set never_entered",
        )


def _refuse_unknown(keys: Sequence[ReplicaKey]) -> None:
    if keys:
        raise NoSuchReplica(
            f"There is no {first_few(map(str, keys))} in hot",
            remedy="Give zookeeper_path and replica_name as in system.replicas",
        )


def _refuse_cold(
    guard: DowngradeGuard, shard_paths: Iterable[str], withdrawal: Withdrawal, done: str
) -> None:
    cold = [each for shard_path in shard_paths for each in guard.cold_partitions(shard_path)]
    withdrawal.cold_partitions = cold
    if cold:
        count = "1 partition is" if len(cold) == 1 else f"{len(cold)} partitions are"
        raise StillCold(
            f"{count} registered in cold only, which a server without the patch does not read; {done}:"
            f" {first_few(map(str, cold), _MOST_SHOWN)}",
            remedy=BACK_TO_HOT,
        )


def _replicas(reader: ZnodeReader, layout: ShardLayout) -> Sequence[str]:
    """Return the replicas of the ensemble; cold may have parts of replicas gone from hot."""
    return reader.children([layout.replicas])[0] or ()
