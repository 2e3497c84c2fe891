# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Restores the znodes deleted or changed by a repair, from its backup."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ...binding.known_cold import known_cold_path
from ...errors import PartMoveError
from ...formats.layout import ShardLayout
from ...lease.lease import LeaseKeeper
from ...shard.fence import no_table
from ...shard.reader import ShardReader
from ...text import first_few
from ...tree.paths import parent_of
from ...tree.ports import ZnodeStore
from ...tree.znodes import Create, Op, SetData
from ...zip_strict import zip_strict
from ..parts.leased_shard import LeasedEnsemble, LeasedShard
from .backup import BackupHeader, SavedZnode


@dataclass
class Restored:
    """The result, even if the restore ended with an error: paths with their ensemble, sorted."""

    created: list[str] = field(default_factory=list)
    set_back: list[str] = field(default_factory=list)
    unchanged: int = 0


def restore(
    hot: ZnodeStore,
    cold: ZnodeStore,
    leases: LeaseKeeper,
    header: BackupHeader,
    saved: Sequence[SavedZnode],
    done: Restored,
) -> None:
    """Create missing znodes and set back changed ones, under the lease, conditional on the versions read.

    Raises PartMoveError if the table was created anew since, LeaseHeld, LeaseLost, EnsembleError and kin.
    Running again continues.
    """
    layout = ShardLayout(header.shard_path)
    originals = _first_of_each(layout, leases.root, saved)
    lease = leases.acquire(layout.path)
    try:
        _refuse_other_table(hot, layout, header)
        reader = ShardReader(hot, cold, layout, leases.root, any_cold=True)
        leased = LeasedShard(hot, cold, reader, layout, lease)
        # Cold first: the cold parts must exist again before State is set back to COLD.
        for name, ensemble in (("cold", leased.cold), ("hot", leased.hot)):
            _restore(ensemble, name, [each for each in originals if each.ensemble == name], done)
    finally:
        leases.release(lease)


def _first_of_each(layout: ShardLayout, root: str, saved: Sequence[SavedZnode]) -> list[SavedZnode]:
    """Return each znode as of before its first change, parents first.

    Raises PartMoveError for a path outside the shard path.
    """
    known = known_cold_path(root, layout.path)
    first: dict[tuple[str, str], SavedZnode] = {}
    for each in saved:
        if not (each.path in (layout.path, known) or each.path.startswith(f"{layout.path}/")):
            raise PartMoveError(
                f"The backup has {each.path}, which is not below {layout.path}",
                remedy="Give an unchanged file of part_repair",
            )
        first.setdefault((each.ensemble, each.path), each)
    return [first[key] for key in sorted(first)]


def _refuse_other_table(hot: ZnodeStore, layout: ShardLayout, header: BackupHeader) -> None:
    hot.sync(layout.path)
    shard = hot.read([layout.path])[0]
    if shard is None and header.czxid:
        raise no_table(layout)
    if shard is not None and shard.stat.czxid != header.czxid:
        raise PartMoveError(
            f"The table at {layout.path} was created anew since the backup was written",
            remedy="Do not restore this backup: its znodes belong to the former table",
        )


def _restore(ensemble: LeasedEnsemble, name: str, originals: Sequence[SavedZnode], done: Restored) -> None:
    if not originals:
        return
    ensemble.store.sync(originals[0].path)
    current = ensemble.store.read([each.path for each in originals])
    groups: list[tuple[str, list[Op]]] = []
    for each, znode in zip_strict(originals, current):
        if znode is None:
            groups.append((each.path, [Create(each.path, each.data)]))
        elif znode.data != each.data:
            groups.append((each.path, [SetData(each.path, each.data, znode.stat.version)]))
        else:
            done.unchanged += 1
    created = {each.path for each, znode in zip_strict(originals, current) if znode is None}
    parents = sorted({parent_of(path) for path in created} - created)
    if name == "cold":
        ensemble.ensure(parents)
    written = ensemble.commit(groups)
    for path in written.committed:
        (done.created if path in created else done.set_back).append(f"{name}: {path}")
    written.raise_problem()
    if not written.is_whole():
        raise PartMoveError(
            f"The {name} ensemble did not take {first_few([*written.rejected, *written.unknown])}",
            remedy="Find out whether another program writes there, or a parent is gone, then run"
            " part_restore again",
        )
