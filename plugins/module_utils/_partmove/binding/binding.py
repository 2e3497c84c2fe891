# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The binding of a shard path in hot to its cold ensemble and coordination root.

Locks, epochs and the ledger are below the coordination root, and separate two runs only if both runs use the
same root. So the shard path's znode in cold names the root, and a znode in hot identifies the cold ensemble.
Both ensembles have an identity, and cold lists the hot ensembles to which it belongs. All these znodes are
written before the first part is copied::

    cold  <shard path>                       ColdMarker: the table in hot, and the coordination root
    hot   <root>/cold/<shard path, quoted>   KnownCold: the creation of the shard path's znode in cold
    both  <root>/identity                    Identity: a random id
    cold  <root>/hots/<hot id>               BoundHot: a hot ensemble of this cold ensemble
    both  tokens of runs, see `tokens`

States of a shard path: unbound → bound. Only the cold ensemble may change, and only while no partition has
State COLD. `olap.partmove.cold_owner` lets another hot ensemble take a shard path over, with proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..errors import BindingConflict
from ..formats.layout import ShardLayout
from ..formats.state import is_cold
from ..text import first_few
from ..tree.ports import ZnodeReader, ZnodeStore
from ..tree.znodes import Query, QueryAnswer, Znode
from ..zip_strict import zip_strict
from .identity import Pair, PairZnodes, hots_path, identity_path, parse_bound_hot, parse_identity
from .known_cold import known_cold_path, parse_known_cold
from .marker import ColdMarker, HotSide, parse_marker
from .tokens import token_path, tokens_path


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
    pair: Pair
    """The identities of both ensembles, and the hot ensembles of the cold one."""

    @property
    def is_proven(self) -> bool:
        """Whether the marker in cold names the coordination root of this run, and this hot ensemble."""
        if self.marker is None or self.marker.side != self.own_side or self.pair.is_copied:
            return False
        return self.marker.table.hot_id == self.pair.hot_id if self.marker.is_identified else self.is_known

    @property
    def is_known(self) -> bool:
        """Whether the znode in hot identifies this cold ensemble. Raises FormatError."""
        if self.known is None or self.cold is None:
            return False
        return parse_known_cold(self.known).is_of(self.cold, self.pair.cold_id)


class BindingZnodes(NamedTuple):
    """The znodes of a binding as read."""

    known: Znode | None
    shard: Znode | None
    """The shard path's own znode in cold."""
    of_pair: PairZnodes

    @classmethod
    def of(cls, in_hot: Sequence[Znode | None], in_cold: QueryAnswer) -> BindingZnodes:
        """Combine the answers for `paths_in_hot` and `query_in_cold`."""
        known, hot_identity, tokens = in_hot
        shard, cold_identity, *rest = in_cold.znodes
        token = rest[0] if rest else None
        bound_hots = in_cold.children[0] or ()
        return cls(known, shard, PairZnodes(hot_identity, tokens, cold_identity, token, bound_hots))


def paths_in_hot(root: str, layout: ShardLayout) -> list[str]:
    """Return the paths of the znodes in hot."""
    return [known_cold_path(root, layout.path), identity_path(root), tokens_path(root)]


def query_in_cold(root: str, layout: ShardLayout, in_hot: Sequence[Znode | None]) -> Query:
    """Return the query for the znodes in cold, given the answer for `paths_in_hot`. Raises FormatError."""
    identity = parse_identity(in_hot[1])
    token = [] if identity is None else [token_path(root, identity.id)]
    return Query([layout.path, identity_path(root), *token], [hots_path(root)])


def read_binding(hot: ZnodeStore, cold: ZnodeReader, root: str, layout: ShardLayout) -> Binding:
    """Read the znodes. Call ``sync`` before, if the newest state matters.

    Raises BindingConflict if the shard path is bound to another hot ensemble, coordination root, path in hot
    or cold ensemble, or if the cold ensemble belongs to other hot ensembles. Raises FormatError for unknown
    data, and EnsembleError and its subclasses.
    """
    return binding_of(hot, cold, root, layout, read_znodes(hot, cold, root, layout))


def read_binding_of_any_cold(hot: ZnodeStore, cold: ZnodeReader, root: str, layout: ShardLayout) -> Binding:
    """Read as `read_binding` does, but accept another cold ensemble, and a table of another cluster.

    For callers that ask for the owner themselves, or whose work is independent of the cold ensemble.
    """
    return binding_of_any_cold(hot, cold, root, layout, read_znodes(hot, cold, root, layout))


def read_znodes(hot: ZnodeReader, cold: ZnodeReader, root: str, layout: ShardLayout) -> BindingZnodes:
    """Read the znodes for `binding_of`. Raises EnsembleError and its subclasses."""
    in_hot = hot.read(paths_in_hot(root, layout))
    return BindingZnodes.of(in_hot, cold.ask([query_in_cold(root, layout, in_hot)])[0])


def binding_of(
    hot: ZnodeStore, cold: ZnodeReader, root: str, layout: ShardLayout, znodes: BindingZnodes
) -> Binding:
    """Build the binding and check it as `read_binding` does."""
    binding = binding_of_any_cold(hot, cold, root, layout, znodes)
    refuse_copied_hot(binding.pair)
    _refuse_other_cluster(binding, layout)
    _refuse_other_cold(binding, hot, layout)
    refuse_unlisted_hot(binding, cold, root)
    return binding


def binding_of_any_cold(
    hot: ZnodeStore, cold: ZnodeReader, root: str, layout: ShardLayout, znodes: BindingZnodes
) -> Binding:
    """Build the binding as `read_binding_of_any_cold` does."""
    marker = None if znodes.shard is None else parse_marker(znodes.shard)
    binding = Binding(
        cold=znodes.shard,
        marker=marker,
        known=znodes.known,
        known_path=known_cold_path(root, layout.path),
        own_side=HotSide(f"{hot.chroot}{layout.path}", f"{hot.chroot}{root}"),
        pair=settled(hot, cold, root, znodes.of_pair),
    )
    _refuse_other_side(binding, hot, layout)
    return binding


def settled(hot: ZnodeReader, cold: ZnodeReader, root: str, znodes: PairZnodes) -> Pair:
    """Return the pair. If hot does not know the token of cold, read again: a run may have begun meanwhile."""
    pair = znodes.pair
    if not pair.is_copied:
        return pair
    path = token_path(root, pair.hot_id)
    cold.sync(path)
    (token,) = cold.read([path])
    # After cold: hot has each token before cold has it.
    hot.sync(tokens_path(root))
    (tokens,) = hot.read([tokens_path(root)])
    return znodes._replace(token=token, tokens=tokens).pair


def refuse_copied_hot(pair: Pair) -> None:
    """Raise if another ensemble with the id of hot used cold, or hot did before it was set back."""
    if pair.is_copied:
        raise BindingConflict(
            "The cold ensemble has the token of a run that this hot ensemble does not know: another one has"
            " a copy of its files, or it is the copy, or it was set back to a backup",
            remedy="Check the hosts and the chroots of hot and cold. If hot was set back to a backup, and no"
            " copy runs anywhere, say so with olap.partmove.cold_owner and no_copy_runs",
        )


def refuse_unlisted_hot(binding: Binding, cold: ZnodeReader, root: str) -> None:
    """Raise if the cold ensemble belongs to other hot ensembles alone.

    A table that is known on both sides was bound before ensembles had identities.
    """
    if not binding.pair.bound_hots or binding.pair.is_bound or binding.is_known:
        return
    records = cold.read([f"{hots_path(root)}/{each}" for each in binding.pair.bound_hots])
    names = sorted(parse_bound_hot(each).name for each in records if each is not None)
    raise BindingConflict(
        f"The cold ensemble belongs to the hot ensemble {first_few(names)}, and this is another one",
        remedy="Check the hosts and the chroots of hot and cold. To let both clusters use this cold ensemble,"
        " bind this hot ensemble to it once with olap.partmove.cold_owner",
    )


def marked_cold(hot: ZnodeReader, layout: ShardLayout) -> tuple[str, ...]:
    """Return the ids of the partitions with State COLD, sorted; also of partitions dropped while cold."""
    ids = hot.children([layout.block_numbers])[0] or ()
    states = hot.read([layout.state(each) for each in ids])
    return tuple(each for each, state in zip_strict(ids, states) if state is not None and is_cold(state.data))


def _refuse_other_side(binding: Binding, hot: ZnodeReader, layout: ShardLayout) -> None:
    """Raise if the shard path belongs to this hot ensemble, but to another root or path of it."""
    marker, own = binding.marker, binding.own_side
    side = None if marker is None else marker.side
    if marker is None or side is None or side == own:
        return
    if marker.is_identified and not _is_of_hot(hot, side.root, marker.table.hot_id):
        return  # another cluster, which `owner_of` reports
    if side.path != own.path:
        raise BindingConflict(
            f"The cold ensemble has {layout.path} for {side.path} of the hot ensemble, not for {own.path}",
            remedy="Correct the chroots of hot and cold: use the <root> of each ensemble in the servers'"
            " configuration",
        )
    raise BindingConflict(
        f"Runs on {layout.path} meet at {side.root} of the hot ensemble, and this one would at"
        f" {own.root}, where it would see neither their locks nor their ledger",
        remedy=f"Give a chroot of hot and a coordination_root that together are {side.root}",
    )


def _is_of_hot(hot: ZnodeReader, root: str, hot_id: str) -> bool:
    """Whether this hot ensemble has the id at the root, a path without the chroot of the connection."""
    identity = parse_identity(hot.read([identity_path(root)], absolute=True)[0])
    return identity is not None and identity.id == hot_id


def _refuse_other_cluster(binding: Binding, layout: ShardLayout) -> None:
    marker = binding.marker
    if marker is None or not marker.is_identified or marker.table.hot_id == binding.pair.hot_id:
        return
    raise other_cluster(layout, marker, binding.pair.hot_id)


def other_cluster(layout: ShardLayout, marker: ColdMarker | None, hot_id: str) -> BindingConflict:
    """Return the error for a shard path in cold that belongs to another cluster."""
    of = "" if marker is None or not marker.is_identified else f", ensemble {marker.table.hot_id}"
    return BindingConflict(
        f"The cold ensemble has {layout.path} for the table of another cluster{of}; this hot ensemble is"
        f" {hot_id or 'without an identity'}",
        remedy="Check the hosts and the chroots of hot and cold. If the parts really are of this cluster,"
        " take the table over with olap.partmove.cold_owner",
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
