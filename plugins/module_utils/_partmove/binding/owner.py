# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Decides whose parts a cold ensemble has at a shard path: the one answer to the question "is this ours?".

Every module that writes, deletes or advises asks here. The proof is the id of the hot ensemble in the marker.
Markers of versions 1 and 2 have no id. There the proof is the record in hot, which names the creation of
the shard path in this very cold ensemble.
"""

from __future__ import annotations

from enum import Enum

from ..tree.znodes import Stat
from .binding import Binding
from .marker import TableId


class Owner(Enum):
    """Whose parts the cold ensemble has at a shard path, according to the marker in the path's cold znode."""

    OURS = "ours"
    """The table that hot has at the path now."""
    FORMER = "former"
    """A table that this hot ensemble had at the path before."""
    NOBODY = "nobody"
    """There is no marker: the parts, if any, come from another tool."""
    OTHER_CLUSTER = "other_cluster"
    """A table of another hot ensemble, or of a hot ensemble that nothing proves to be this one.

    Also all tables of a hot ensemble of which there is a copy, see `Pair.is_copied`.
    """


def owner_of(binding: Binding, shard: Stat | None) -> Owner:
    """Return the owner of the parts in cold.

    shard: the stat of the shard path in hot; None if hot does not have it.
    """
    marker = binding.marker
    if binding.pair.is_copied:
        return Owner.OTHER_CLUSTER
    if marker is None:
        return Owner.NOBODY
    if marker.is_identified:
        if not binding.pair.hot_id or marker.table.hot_id != binding.pair.hot_id:
            return Owner.OTHER_CLUSTER
        is_same = shard is not None and marker.table == TableId.of(binding.pair.hot_id, shard)
        return Owner.OURS if is_same else Owner.FORMER
    if not binding.is_known:
        # Nothing but paths and transaction ids connects the marker with this hot ensemble, and these coincide
        # in two clusters. A marker of version 1 does not even name a path: its parts need proof by the disks.
        return Owner.NOBODY if marker.side is None else Owner.OTHER_CLUSTER
    is_same = shard is not None and marker.table.czxid == shard.czxid
    return Owner.OURS if is_same else Owner.FORMER
