# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The downgrade guard: a server that does not know the cold ensemble may not get tables with cold partitions.

Replicas are withdrawn from the ledger first, and then it is looked whether a partition is cold. A switch
checks the entries of all replicas in its multi, so one that comes before the withdrawal is seen by that
look, and one that comes after it fails: once the guard has passed, no partition becomes cold until the
replicas are entered again. It is also looked before anything is withdrawn, so that a replica that has to
stay as it is keeps its entry.
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
    "Register them in hot again first: ansible-playbook olap.partmove.reheat with part_move_shard_paths of"
    " these, or part_move with the state hot. Keep the patched server and its cold_zookeeper until then"
)
"""What to do about cold partitions that are in the way of a downgrade."""

_MOST_SHOWN = 5


class ColdPartition(NamedTuple):
    """A partition with parts that hot does not register."""

    shard_path: str
    table: str
    """``database.table`` as the first replica that tells calls it; empty where none does."""
    partition: str

    def __str__(self) -> str:
        return f"{self.partition} of {self.table or 'the table'} ({self.shard_path})"


class NotEntered(PartMoveError):
    """There is no ledger of the shard paths at this coordination root."""


class StillCold(PartMoveError):
    """A partition is cold, so that every replica of its shard path has to know the cold ensemble."""


@dataclass
class Withdrawal:
    """What a withdrawal has done, also when it ended with an error."""

    changes: dict[ReplicaKey, EntryChange] = field(default_factory=dict)
    cold_partitions: list[ColdPartition] = field(default_factory=list)
    """The cold partitions that are in the way of a downgrade."""


class DowngradeGuard:
    """Looks for cold partitions in one pair of ensembles, with one coordination root."""

    def __init__(self, hot: ZnodeStore, cold: ZnodeReader, root: str) -> None:
        self._hot = hot
        self._cold = cold
        self._root = root

    def cold_partitions(self, shard_path: str) -> list[ColdPartition]:
        """The partitions with a part that cold registers and hot does not, sorted; none without a table.

        State alone does not tell: it stays COLD when a cold partition is dropped. Raises FormatError for
        what is not understood, BindingConflict where the moves of the table went by another coordination
        root or to another cold ensemble, and PartMoveError where cold cannot be the one of State.
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
        # Hot first: a part that goes over to cold meanwhile is then seen in one of the two.
        hot, cold = (names.by_partition(each, _replicas(each, layout)) for each in (self._hot, self._cold))
        ids = partitions_only_in_cold(hot, cold)
        table = table_of(read_live_replicas(self._hot, layout)) if ids else ""
        return [ColdPartition(shard_path, table, each) for each in sorted(ids)]

    def is_proven(self, shard_path: str) -> bool:
        """Whether cold says that moves of the table go by this root. Raises as `cold_partitions` does."""
        layout = ShardLayout(shard_path)
        self._cold.sync(layout.path)
        return read_binding(self._hot, self._cold, self._root, layout).is_proven

    def replicas(self, shard_path: str) -> Collection[str]:
        """The replicas of a shard path; none without a table."""
        return _replicas(self._hot, ShardLayout(shard_path))

    def _refuse_unknown_cold(self, layout: ShardLayout) -> None:
        """With the wrong ensemble for cold, every cold partition would look like a dropped one."""
        marked = marked_cold(self._hot, layout)
        if marked:
            raise PartMoveError(
                f"State of partitions {first_few(marked)} of {layout.path} is COLD, and the ensemble given as cold"
                " knows nothing of the table",
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
    """Withdraw replicas from the ledger: their servers may then be replaced by some that do not know cold.

    ``never_entered``: somebody vouches that there may be nothing to withdraw. Fills ``withdrawal``. Raises
    StillCold with nothing written, or else with the entries withdrawn: then a move was faster. Raises also
    NotEntered, and when an ensemble cannot be used; running again goes on.
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
    _refuse_cold(guard, shard_paths, withdrawal, "the entries were withdrawn by then, and stay so")


def _refuse_other_ledger(guard: DowngradeGuard, ledger: Ledger, shard_paths: Sequence[str]) -> None:
    """Withdrawing from a ledger that moves do not look into would keep nothing from becoming cold."""
    if shard_paths and not (ledger.has_any(shard_paths) or any(map(guard.is_proven, shard_paths))):
        raise NotEntered(
            f"No replica of {first_few(shard_paths)} was ever entered in {ledger.path}, so there is nothing to"
            " withdraw, and nothing tells that it is the ledger that moves look into",
            remedy="Give the coordination_root and the chroot of hot that the replicas were entered with;"
            " where none ever was, say so with never_entered",
        )


def _refuse_unknown(keys: Sequence[ReplicaKey]) -> None:
    if keys:
        raise NoSuchReplica(
            f"There is no {first_few(map(str, keys))} in hot",
            remedy="Give zookeeper_path and replica_name as system.replicas has them",
        )


def _refuse_cold(
    guard: DowngradeGuard, shard_paths: Iterable[str], withdrawal: Withdrawal, done: str
) -> None:
    found = [each for shard_path in shard_paths for each in guard.cold_partitions(shard_path)]
    withdrawal.cold_partitions = found
    if found:
        count = "1 partition is" if len(found) == 1 else f"{len(found)} partitions are"
        raise StillCold(
            f"{count} registered in cold only, where a server without the patch does not look; {done}:"
            f" {first_few(map(str, found), _MOST_SHOWN)}",
            remedy=BACK_TO_HOT,
        )


def _replicas(reader: ZnodeReader, layout: ShardLayout) -> Sequence[str]:
    """The replicas that an ensemble knows; cold may have parts of some that are gone from hot."""
    return reader.children([layout.replicas])[0] or ()
