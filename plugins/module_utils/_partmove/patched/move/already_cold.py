# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Finds the shard paths with nothing to move, many of them with a few requests.

A daily run over thousands of tables finds most partitions cold already. The reads of many shard paths share
requests, and for a shard path that is not certainly done they end early: a run over this shard path reads
everything then, and names the reason. So this file only answers "nothing to do" or "unknown".

A partition counts as cold under the conditions of `PatchedRun`, read in the same order: hot, then cold behind
a sync, then State once more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Optional

from ...binding.binding import Binding, query_in_cold
from ...binding.identity import Pair, PairZnodes, identity_path
from ...binding.known_cold import known_cold_path
from ...binding.marker import HotSide, parse_marker
from ...binding.tokens import tokens_path
from ...errors import FormatError
from ...formats.layout import ShardLayout
from ...formats.state import is_cold
from ...formats.table_metadata import parse_table_metadata
from ...lease.bars import Bar, path_of_bar
from ...shard.facts import RegisteredNames
from ...shard.location import Location, locate
from ...shard.parts import PartNames
from ...tree.ports import ZnodeReader, ZnodeStore
from ...tree.reading import Reading, Steps, read_together
from ...tree.znodes import Query, QueryAnswer, Znode
from ...zip_strict import zip_strict

MOST_NAMES = 200_000
"""The most part names that are listed together."""
MOST_PARTITIONS = 64
"""The most partitions of a shard path; a shard path with more of them is worth a run of its own."""


class _Room:
    """How many names may still be listed."""

    def __init__(self) -> None:
        self._left = MOST_NAMES

    def take(self, folders: Sequence[Znode | None]) -> bool:
        """Return whether the names in these folders may be listed."""
        names = sum(each.stat.num_children for each in folders if each is not None)
        if names > self._left:
            return False
        self._left -= names
        return True


class _InHot(NamedTuple):
    """The facts from hot about a shard path whose partitions all have State COLD and no part in hot."""

    layout: ShardLayout
    states: Mapping[str, Znode]
    metadata: Znode
    known: Znode
    replicas: tuple[str, ...]


_MaybeInHot = Optional[_InHot]
_Names = Mapping[str, Sequence[str]]
"""Replica → names of parts in cold that begin with the id of a requested partition."""
_MaybeInCold = Optional[tuple[Znode, _Names]]


def find_cold(
    hot: ZnodeStore, cold: ZnodeReader, root: str, requested: Mapping[str, Sequence[str]]
) -> set[str]:
    """Return the shard paths all of whose requested partitions are cold already, and bound to this cold.

    requested: shard path → partition ids. root: the coordination root. Raises EnsembleError and subclasses.
    """
    hot.sync("/")
    room = _Room()
    pair_in_hot = Reading(_ask_steps(Query([identity_path(root), tokens_path(root)])))
    in_hot = [
        Reading(_hot_steps(ShardLayout(path), root, ids, room))
        for path, ids in requested.items()
        if len(ids) <= MOST_PARTITIONS
    ]
    read_together(hot, [pair_in_hot, *in_hot])
    maybe = [each.result for each in in_hot if each.result is not None]
    if not maybe:
        return set()
    try:
        query = query_in_cold(root, maybe[0].layout, [None, *pair_in_hot.result.znodes])
    except FormatError:
        return set()
    # As in `ShardReader`: parts removed from cold before the read of hot must not be read any more.
    cold.sync("/")
    pair_in_cold = Reading(_ask_steps(query))
    in_cold = [Reading(_cold_steps(each, room)) for each in maybe]
    read_together(cold, [pair_in_cold, *in_cold])
    try:
        pair = _pair_of(pair_in_hot.result.znodes, pair_in_cold.result)
    except FormatError:
        return set()
    done = [
        facts
        for facts, reading in zip_strict(maybe, in_cold)
        if reading.result is not None and _is_done(hot, root, pair, facts, *reading.result)
    ]
    # Another run may have moved a partition between the reads of hot and cold. A move also writes State.
    after = iter(hot.read([state.path for each in done for state in each.states.values()]))
    return {
        each.layout.path for each in done if [next(after) for _id in each.states] == [*each.states.values()]
    }


def _ask_steps(query: Query) -> Steps[QueryAnswer]:
    return (yield query)


def _pair_of(in_hot: Sequence[Znode | None], in_cold: QueryAnswer) -> Pair:
    hot_identity, tokens = in_hot
    _shard, cold_identity, *rest = in_cold.znodes
    token = rest[0] if rest else None
    return PairZnodes(hot_identity, tokens, cold_identity, token, in_cold.children[0] or ()).pair


def _hot_steps(layout: ShardLayout, root: str, ids: Sequence[str], room: _Room) -> Steps[_MaybeInHot]:
    """Read a shard path in hot, as long as every partition may be cold."""
    unfinished_path = path_of_bar(root, Bar.ALTER, layout.path)
    others = [unfinished_path, layout.metadata, known_cold_path(root, layout.path)]
    answer = yield Query([*others, *[layout.state(each) for each in ids]], [layout.replicas])
    unfinished, metadata, known, *states = answer.znodes
    cold_states = {
        each: state for each, state in zip_strict(ids, states) if state is not None and is_cold(state.data)
    }
    (replicas,) = answer.children
    if len(cold_states) < len(ids) or unfinished is not None or not (metadata and known and replicas):
        return None
    folders = [layout.replica(name).parts for name in replicas]
    if not room.take((yield Query(folders)).znodes):
        return None
    prefixes = tuple(ids)
    for names in (yield Query(children=folders)).children:
        # In both data format versions, the name of a part begins with its partition id.
        if any(name.startswith(prefixes) for name in names or ()):
            return None
    return _InHot(layout, cold_states, metadata, known, replicas)


def _cold_steps(facts: _InHot, room: _Room) -> Steps[_MaybeInCold]:
    """Read a shard path in cold: its own znode, and the names that may be of the partitions."""
    layout, folders = facts.layout, [facts.layout.replica(name).parts for name in facts.replicas]
    shard, *counted = (yield Query([layout.path, *folders])).znodes
    if shard is None or not room.take(counted):
        return None
    prefixes = tuple(facts.states)
    listed = (yield Query(children=folders)).children
    return shard, {
        replica: [name for name in names or () if name.startswith(prefixes)]
        for replica, names in zip_strict(facts.replicas, listed)
    }


def _is_done(
    hot: ZnodeStore, root: str, pair: Pair, facts: _InHot, shard_in_cold: Znode, in_cold: _Names
) -> bool:
    """Return whether the shard path is bound to this cold ensemble, which has the parts of every replica.

    With these conditions, `binding_of` refuses nothing.
    """
    layout = facts.layout
    try:
        binding = Binding(
            cold=shard_in_cold,
            marker=parse_marker(shard_in_cold),
            known=facts.known,
            known_path=facts.known.path,
            own_side=HotSide(f"{hot.chroot}{layout.path}", f"{hot.chroot}{root}"),
            pair=pair,
        )
        if not (pair.is_bound and binding.is_proven and binding.is_known):
            return False
        format_version = parse_table_metadata(facts.metadata.data, facts.metadata.path).format_version
        names = PartNames(layout, format_version)
        by_replica = {
            replica: [names.named(text, layout.path) for text in texts] for replica, texts in in_cold.items()
        }
    except FormatError:
        return False
    nowhere: Mapping[str, Sequence[str]] = dict.fromkeys(facts.replicas, ())
    for each, state in facts.states.items():
        parts = {
            replica: [name.text for name in found if name.partition_id == each]
            for replica, found in by_replica.items()
        }
        if locate(RegisteredNames(state, nowhere, parts)) is not Location.COLD:
            return False
    return True
