# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Binds hot and cold to each other at a shard path, before parts are copied, brought back or removed."""

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
    """Bind hot and cold to each other at the shard path, unless they already are.

    Cold gets a marker with the coordination root of the runs, hot a note of the cold ensemble. Both writes
    are conditional on the data read before. So of two runs with different roots one comes first, and the
    other is refused. Call it after the gates: it overwrites the marker of a former table. Raises
    BindingConflict, LeaseLost, EnsembleError and kin.
    """
    # A binding that was read under the lease and is as desired stays so: a run with another root is refused.
    binding = shard.binding
    for _attempt in range(_ATTEMPTS):
        desired = ColdMarker(shard.czxid, binding.own_side)
        if binding.cold is None or binding.marker != desired:
            _mark(leased, binding, desired)
        elif not binding.is_known:
            _make_known(leased, binding, binding.cold)
        else:
            return
        leased.cold.store.sync(leased.layout.path)
        binding = leased.binding()
    raise EnsembleError(
        f"{leased.layout.path} could not be bound to the cold ensemble in {_ATTEMPTS} tries",
        remedy="Find out which program writes to this znode in cold, stop it, and run again",
    )


def _mark(leased: LeasedShard, binding: Binding, marker: ColdMarker) -> None:
    path = leased.layout.path
    leased.cold.ensure([path])
    version = 0 if binding.cold is None else binding.cold.stat.version
    leased.cold.write(path, [SetData(path, marker.encode(), version)])


def _make_known(leased: LeasedShard, binding: Binding, shard_in_cold: Znode) -> None:
    cold = leased.cold.store
    data = KnownCold.of(shard_in_cold, f"{','.join(cold.addresses)}{cold.chroot}").encode()
    path = binding.known_path
    leased.hot.ensure([parent_of(path)])
    op: Op = Create(path, data) if binding.known is None else SetData(path, data, binding.known.stat.version)
    leased.hot.write(path, [op])
