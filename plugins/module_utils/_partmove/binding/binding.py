# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How hot and cold are bound to each other at a shard path, so that nobody works on it in another way.

Locks, epochs and the ledger are kept under the coordination root, and keep two runs apart only if both go by
the same one. So the shard path's znode in cold says which root that is, and hot knows in turn which cold
ensemble it was. Both are written before the first part is copied::

    cold  <shard path>                     ColdMarker: the path in hot, its creation, the coordination root
    hot   <root>/cold/<shard path, quoted>   KnownCold: the creation of that znode in cold

States of a shard path: unbound → bound, for good. Only the cold ensemble may become another one, and
only while State of no partition is COLD.
"""

from __future__ import annotations

from typing import NamedTuple

from ..errors import BindingConflict
from ..formats.layout import ShardLayout
from ..formats.state import is_cold
from ..text import first_few
from ..tree.ports import ZnodeReader, ZnodeStore
from ..tree.znodes import Znode
from ..zip_strict import zip_strict
from .known_cold import known_cold_path, parse_known_cold
from .marker import ColdMarker, HotSide, parse_marker


class Binding(NamedTuple):
    """What either ensemble says of the other one at a shard path; None where a znode is not there."""

    cold: Znode | None
    """The shard path's own znode in cold."""
    marker: ColdMarker | None
    """What it says; None also where it says nothing."""
    known: Znode | None
    """What hot knows of its cold ensemble."""
    known_path: str
    here: HotSide
    """The side of whoever reads this."""

    @property
    def is_proven(self) -> bool:
        """Whether cold itself says that the table, and the coordination root, are those of the reader."""
        return self.marker is not None and self.marker.side == self.here

    @property
    def is_known(self) -> bool:
        """Whether hot knows this very ensemble as its cold one. Raises FormatError."""
        return (
            self.known is not None and self.cold is not None and parse_known_cold(self.known).is_of(self.cold)
        )


def read_binding(hot: ZnodeStore, cold: ZnodeReader, root: str, layout: ShardLayout) -> Binding:
    """Read both sides; call ``sync`` first where it matters. Raises FormatError, EnsembleError and kin.

    Raises BindingConflict where the shard path is bound to another coordination root, another path of hot, or
    another cold ensemble.
    """
    known = hot.read([known_cold_path(root, layout.path)])[0]
    return binding_of(hot, root, layout, known, cold.read([layout.path])[0])


def read_binding_of_any_cold(hot: ZnodeStore, cold: ZnodeReader, root: str, layout: ShardLayout) -> Binding:
    """As `read_binding`, for what has to tell of another cold ensemble, or is true with any."""
    known = hot.read([known_cold_path(root, layout.path)])[0]
    return binding_of_any_cold(hot, root, layout, known, cold.read([layout.path])[0])


def binding_of(
    hot: ZnodeStore, root: str, layout: ShardLayout, known: Znode | None, in_cold: Znode | None
) -> Binding:
    """As `read_binding`, of what was read in hot at `known_cold_path` and in cold at the shard path."""
    binding = binding_of_any_cold(hot, root, layout, known, in_cold)
    _refuse_other_cold(binding, hot, layout)
    return binding


def binding_of_any_cold(
    hot: ZnodeStore, root: str, layout: ShardLayout, known: Znode | None, in_cold: Znode | None
) -> Binding:
    """As `binding_of`, for what has to tell of another cold ensemble, or is true with any."""
    here = HotSide(f"{hot.chroot}{layout.path}", f"{hot.chroot}{root}")
    marker = None if in_cold is None else parse_marker(in_cold)
    binding = Binding(in_cold, marker, known, known_cold_path(root, layout.path), here)
    _refuse_other_side(binding, layout)
    return binding


def marked_cold(hot: ZnodeReader, layout: ShardLayout) -> tuple[str, ...]:
    """Ids of the partitions whose State is COLD, sorted; one that was dropped while cold stays among them."""
    ids = hot.children([layout.block_numbers])[0] or ()
    states = hot.read([layout.state(each) for each in ids])
    return tuple(each for each, state in zip_strict(ids, states) if state is not None and is_cold(state.data))


def _refuse_other_side(binding: Binding, layout: ShardLayout) -> None:
    side = None if binding.marker is None else binding.marker.side
    if side is None or side == binding.here:
        return
    if side.path != binding.here.path:
        raise BindingConflict(
            f"The cold ensemble has {layout.path} for {side.path} of the hot ensemble,"
            f" not for {binding.here.path}",
            remedy="Correct the chroots of hot and cold: they are the <root> that the servers have for each",
        )
    raise BindingConflict(
        f"Runs on {layout.path} meet at {side.root} of the hot ensemble, and this one would at"
        f" {binding.here.root}, where it would see neither their locks nor their ledger",
        remedy=f"Give the coordination_root and the chroot of hot that make {side.root}",
    )


def _refuse_other_cold(binding: Binding, hot: ZnodeStore, layout: ShardLayout) -> None:
    if binding.known is None or binding.is_known:
        return
    # What was never made cold, or came back, may go to another ensemble the next time.
    marked = marked_cold(hot, layout)
    if not marked:
        return
    has = "does not have it" if binding.cold is None else "has it from another transaction"
    raise BindingConflict(
        f"Partitions of {layout.path} went to the cold ensemble {parse_known_cold(binding.known)};"
        f" the one given {has}, and State of {first_few(marked)} is COLD",
        remedy="Give the ensemble that the servers have as <cold_zookeeper>; to change to another one, bring"
        " the partitions back first, and set State of those that were dropped to HOT with partition_state",
    )
