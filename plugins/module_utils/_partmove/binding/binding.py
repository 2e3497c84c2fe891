# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The binding of a shard path in hot to its cold ensemble and coordination root.

Locks, epochs and the ledger are below the coordination root, and separate two runs only if both runs use the
same root. So the shard path's znode in cold names the root, and a znode in hot identifies the cold ensemble.
Both znodes are written before the first part is copied::

    cold  <shard path>                     ColdMarker: the path in hot, its creation, the coordination root
    hot   <root>/cold/<shard path, quoted>   KnownCold: the creation of the shard path's znode in cold

States of a shard path: unbound → bound, permanently. Only the cold ensemble may change, and only while no
partition has State COLD.
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
    """The znodes that bind the ensembles at a shard path; None for a missing znode."""

    cold: Znode | None
    """The shard path's own znode in cold."""
    marker: ColdMarker | None
    """The content of ``cold``; None also for a znode without data."""
    known: Znode | None
    """The znode in hot that identifies the cold ensemble, a `KnownCold`."""
    known_path: str
    own_side: HotSide
    """The path in hot and the coordination root of this run."""

    @property
    def is_proven(self) -> bool:
        """Whether the marker in cold names the table and the coordination root of this run."""
        return self.marker is not None and self.marker.side == self.own_side

    @property
    def is_known(self) -> bool:
        """Whether the znode in hot identifies this cold ensemble. Raises FormatError."""
        return (
            self.known is not None and self.cold is not None and parse_known_cold(self.known).is_of(self.cold)
        )


def read_binding(hot: ZnodeStore, cold: ZnodeReader, root: str, layout: ShardLayout) -> Binding:
    """Read both znodes. Call ``sync`` before, if the newest state matters.

    Raises BindingConflict if the shard path is bound to another coordination root, another path in hot, or
    another cold ensemble. Raises FormatError for unknown data, and EnsembleError and its subclasses.
    """
    known = hot.read([known_cold_path(root, layout.path)])[0]
    return binding_of(hot, root, layout, known, cold.read([layout.path])[0])


def read_binding_of_any_cold(hot: ZnodeStore, cold: ZnodeReader, root: str, layout: ShardLayout) -> Binding:
    """Read as `read_binding` does, but accept another cold ensemble.

    For callers that report another ensemble themselves, or whose work is independent of the cold ensemble.
    """
    known = hot.read([known_cold_path(root, layout.path)])[0]
    return binding_of_any_cold(hot, root, layout, known, cold.read([layout.path])[0])


def binding_of(
    hot: ZnodeStore, root: str, layout: ShardLayout, known: Znode | None, in_cold: Znode | None
) -> Binding:
    """Build the binding and check it as `read_binding` does.

    known: the znode at `known_cold_path` in hot. in_cold: the znode at the shard path in cold.
    """
    binding = binding_of_any_cold(hot, root, layout, known, in_cold)
    _refuse_other_cold(binding, hot, layout)
    return binding


def binding_of_any_cold(
    hot: ZnodeStore, root: str, layout: ShardLayout, known: Znode | None, in_cold: Znode | None
) -> Binding:
    """Build the binding as `binding_of` does, but accept another cold ensemble."""
    own_side = HotSide(f"{hot.chroot}{layout.path}", f"{hot.chroot}{root}")
    marker = None if in_cold is None else parse_marker(in_cold)
    binding = Binding(in_cold, marker, known, known_cold_path(root, layout.path), own_side)
    _refuse_other_side(binding, layout)
    return binding


def marked_cold(hot: ZnodeReader, layout: ShardLayout) -> tuple[str, ...]:
    """Return the ids of the partitions with State COLD, sorted; also of partitions dropped while cold."""
    ids = hot.children([layout.block_numbers])[0] or ()
    states = hot.read([layout.state(each) for each in ids])
    return tuple(each for each, state in zip_strict(ids, states) if state is not None and is_cold(state.data))


def _refuse_other_side(binding: Binding, layout: ShardLayout) -> None:
    side = None if binding.marker is None else binding.marker.side
    if side is None or side == binding.own_side:
        return
    if side.path != binding.own_side.path:
        raise BindingConflict(
            f"The cold ensemble has {layout.path} for {side.path} of the hot ensemble,"
            f" not for {binding.own_side.path}",
            remedy="Correct the chroots of hot and cold: use the <root> of each ensemble in the servers'"
            " configuration",
        )
    raise BindingConflict(
        f"Runs on {layout.path} meet at {side.root} of the hot ensemble, and this one would at"
        f" {binding.own_side.root}, where it would see neither their locks nor their ledger",
        remedy=f"Give a chroot of hot and a coordination_root that together are {side.root}",
    )


def _refuse_other_cold(binding: Binding, hot: ZnodeStore, layout: ShardLayout) -> None:
    if binding.known is None or binding.is_known:
        return
    # Without cold partitions, the next move may use another cold ensemble.
    marked = marked_cold(hot, layout)
    if not marked:
        return
    has = "does not have it" if binding.cold is None else "has it from another transaction"
    raise BindingConflict(
        f"Partitions of {layout.path} went to the cold ensemble {parse_known_cold(binding.known)};"
        f" the one given {has}, and State of {first_few(marked)} is COLD",
        remedy="Give the ensemble of <cold_zookeeper> in the servers' configuration; to change the ensemble,"
        " bring the partitions back first, and set State of dropped partitions to HOT with partition_state",
    )
