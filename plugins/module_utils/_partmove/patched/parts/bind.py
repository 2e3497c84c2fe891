# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Binds hot and cold to each other at a shard path, before parts are copied, brought back or removed."""

from __future__ import annotations

from ...binding.binding import Binding, other_cluster, refuse_unlisted_hot
from ...binding.known_cold import KnownCold
from ...binding.marker import ColdMarker, TableId
from ...binding.owner import Owner
from ...errors import EnsembleError
from ...shard.facts import ShardFacts
from ...tree.paths import parent_of
from ...tree.znodes import Create, Op, SetData, Znode
from .leased_shard import LeasedShard
from .pair import bind_pair, name_of

_ATTEMPTS = 10


def bind(leased: LeasedShard, shard: ShardFacts) -> None:
    """Bind hot and cold to each other at the shard path, unless they already are.

    Both ensembles get an identity. Cold gets the name of hot, and a marker with the table and the
    coordination root of the runs. Hot gets a record of the cold ensemble. All writes are conditional on the
    data read before. So of two runs with different roots, or of different hot ensembles, one comes first, and
    the other is refused. Call it after the gates: it overwrites the marker of a former table.

    Raises BindingConflict, LeaseLost, EnsembleError and kin.
    """
    if shard.owner is Owner.OTHER_CLUSTER and shard.has_parts_in_cold:
        raise other_cluster(leased.layout, shard.binding.marker, shard.binding.pair.hot_id)
    refuse_unlisted_hot(shard.binding, leased.cold.store, leased.root)
    bind_owned(leased, shard)


def bind_owned(leased: LeasedShard, shard: ShardFacts, name: str = "") -> None:
    """Bind as `bind` does, whoever owns the shard path: the caller has the proof that it is ours.

    name: the name of the hot ensemble for people; by default its members and its chroot.
    """
    # A binding that was read under the lease and is as desired stays so: a run with another root is refused.
    binding = shard.binding
    for _attempt in range(_ATTEMPTS):
        desired = ColdMarker(TableId(binding.pair.hot_id, shard.czxid, shard.ctime), binding.own_side)
        if not binding.pair.is_bound:
            hot, cold = leased.hot.store, leased.cold.store
            may_join = bool(binding.pair.bound_hots)
            pair = bind_pair(hot, cold, leased.root, name or name_of(hot), may_join=may_join)
            if not pair.is_bound:
                refuse_unlisted_hot(leased.binding(), cold, leased.root)
        elif binding.cold is None or not _says(binding.marker, desired):
            _mark(leased, binding, desired)
        elif not binding.is_known:
            _make_known(leased, binding, binding.cold)
        else:
            return
        leased.is_bound_now = True
        leased.cold.store.sync(leased.layout.path)
        binding = leased.binding()
    raise EnsembleError(
        f"{leased.layout.path} could not be bound to the cold ensemble in {_ATTEMPTS} tries",
        remedy="Find out which program writes to this znode in cold, stop it, and run again",
    )


def _says(marker: ColdMarker | None, desired: ColdMarker) -> bool:
    """Whether the marker names the table and the root; it may also name a hot ensemble that may take it."""
    return marker is not None and (marker.table, marker.side) == (desired.table, desired.side)


def _mark(leased: LeasedShard, binding: Binding, marker: ColdMarker) -> None:
    path = leased.layout.path
    leased.cold.ensure([path])
    version = 0 if binding.cold is None else binding.cold.stat.version
    leased.cold.write(path, [SetData(path, marker.encode(), version)])


def _make_known(leased: LeasedShard, binding: Binding, shard_in_cold: Znode) -> None:
    data = KnownCold.of(shard_in_cold, name_of(leased.cold.store), binding.pair.cold_id).encode()
    path = binding.known_path
    leased.hot.ensure([parent_of(path)])
    op: Op = Create(path, data) if binding.known is None else SetData(path, data, binding.known.stat.version)
    leased.hot.write(path, [op])
