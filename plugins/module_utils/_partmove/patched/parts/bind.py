# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Binds hot and cold to each other at a shard path, before anything is copied, brought back or removed."""

from __future__ import annotations

from ...binding.binding import Binding
from ...binding.known_cold import KnownCold
from ...binding.marker import ColdMarker
from ...errors import EnsembleError
from ...shard.facts import ShardFacts
from ...tree.paths import parent_of
from ...tree.znodes import Create, Op, SetData, Znode
from .leased_shard import LeasedShard

_ATTEMPTS = 10


def bind(leased: LeasedShard, shard: ShardFacts) -> None:
    """Let cold say where the runs on the shard path meet, and hot which cold ensemble it is.

    Both are conditional on what was read, so of two runs that have other roots one comes first and the other
    is refused. To be called after the gates: a marker of a former table is overwritten. Raises
    BindingConflict, LeaseLost, EnsembleError and kin.
    """
    # What a look under the lease found to be as wanted stays so: no run with another root gets past it.
    binding = shard.binding
    for _attempt in range(_ATTEMPTS):
        wanted = ColdMarker(shard.czxid, binding.own_side)
        if binding.cold is None or binding.marker != wanted:
            _mark(leased, binding, wanted)
        elif not binding.is_known:
            _make_known(leased, binding, binding.cold)
        else:
            return
        leased.cold.store.sync(leased.layout.path)
        binding = leased.binding()
    raise EnsembleError(
        f"{leased.layout.path} could not be bound to the cold ensemble in {_ATTEMPTS} tries",
        remedy="See what else writes to that znode in cold, then run again",
    )


def _mark(leased: LeasedShard, binding: Binding, wanted: ColdMarker) -> None:
    path = leased.layout.path
    leased.cold.ensure([path])
    version = 0 if binding.cold is None else binding.cold.stat.version
    leased.cold.write(path, [SetData(path, wanted.encode(), version)])


def _make_known(leased: LeasedShard, binding: Binding, shard_in_cold: Znode) -> None:
    cold = leased.cold.store
    data = KnownCold.of(shard_in_cold, f"{','.join(cold.addresses)}{cold.chroot}").encode()
    path = binding.known_path
    leased.hot.ensure([parent_of(path)])
    op: Op = Create(path, data) if binding.known is None else SetData(path, data, binding.known.stat.version)
    leased.hot.write(path, [op])
