# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Lists the parts of a shard path in one ensemble, and lists again only after changes by other clients.

A listing may have a million names, and a run needs the listing many times. The stat of the parent znode
counts the creations and deletions of children. If this count has changed only by the writes of the run
itself, the run updates its cached listing instead of listing again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Optional

from ..formats.names import PartName
from ..tree.ports import ZnodeReader
from ..tree.reading import Steps
from ..tree.znodes import Create, Delete, Multi, Query, Stat, Znode
from ..zip_strict import zip_strict
from .facts import RegisteredPart
from .listing_cache import CachedFolder, stat_of
from .parts import PartNames, part_steps
from .payload_cache import PayloadCache

_ATTEMPTS = 5

Names = Optional[Sequence[str]]
"""Names of the children of a znode; None for a missing znode."""


class ListedParts(NamedTuple):
    """The listed parts of the requested replicas and partitions."""

    parts: Mapping[str, Sequence[PartName]]
    """Replica → parts of the requested partitions, sorted by name. Every requested replica is a key."""
    has_parts: bool
    """Whether a requested replica has a part of any partition."""

    @property
    def texts(self) -> dict[str, dict[str, list[str]]]:
        """Replica → partition id → names of parts."""
        texts: dict[str, dict[str, list[str]]] = {replica: {} for replica in self.parts}
        for replica, parts in self.parts.items():
            for name in parts:
                texts[replica].setdefault(name.partition_id, []).append(name.text)
        return texts


class PartListing:
    """The listings of one shard path in one ensemble. The run reports its own writes to `PartListing`."""

    def __init__(self, reader: ZnodeReader, names: PartNames, cached: dict[str, CachedFolder]) -> None:
        """Set up the listings. ``cached``: path of a replica's ``parts`` → listing, of this ensemble."""
        self._reader = reader
        self._names = names
        self._cached = cached
        self._begun = self._ended = 0
        self._payloads = PayloadCache()

    def had(self, folder: str) -> bool:
        """Whether the folder existed at its last listing."""
        cached = self._cached.get(folder)
        return cached is not None and cached.folder_existed

    def begin_write(self) -> None:
        """Report that multis are about to be sent; until `end_write`, their effect is unknown."""
        self._begun += 1

    def end_write(self, applied: Sequence[Multi]) -> None:
        """Report the multis that were certainly applied. Unreported multis make their folders outdated."""
        self._ended += 1
        for multi in applied:
            for op in multi:
                if isinstance(op, (Create, Delete)):
                    self._record(op)

    def steps(self, replicas: Sequence[str], partition_ids: Collection[str]) -> Steps[ListedParts]:
        """List the parts of these partitions. The result is not older than the first query.

        Raises FormatError for an invalid part name in any partition.
        """
        if not replicas:
            return ListedParts({}, False)
        folders, requested = self._names.folders(replicas), frozenset(partition_ids)
        begun, ended = self._begun, self._ended
        # Stat and listing go into one request if a folder is not cached.
        at_once = [] if all(each in self._cached for each in folders) else folders
        answer = yield Query(folders, at_once)
        stats = dict(zip_strict(folders, answer.znodes))
        lists: dict[str, Names] = dict(zip_strict(at_once, answer.children))
        # The stat may or may not include a concurrent write of this run.
        is_calm = ended == begun == self._begun
        stale = [each for each in folders if not (is_calm and self._is_current(each, stats[each]))]
        missing = [each for each in stale if each not in lists]
        if missing:
            lists.update(zip_strict(missing, (yield Query(children=missing)).children))
        self._store(stale, stats, lists)
        parts = {
            replica: self._parts_in(each, stat_of(stats[each]), requested)
            for replica, each in zip_strict(replicas, folders)
        }
        if not is_calm:
            self._cached.clear()
        has_parts = any(each is not None and each.stat.num_children for each in stats.values())
        return ListedParts(parts, has_parts or any(lists.values()))

    def registered_steps(
        self, listed: ListedParts, partition_ids: Collection[str], *, reread: bool = True
    ) -> Steps[dict[str, dict[str, list[RegisteredPart]]]]:
        """Read the listed parts of these partitions: replica → partition id → parts.

        reread: if false, parts may come from the cache of the last call with ``reread``, provided that the
        part and its children are the same znodes. Their data may be outdated. Safe only for callers whose
        writes check the versions read.
        """
        if reread:
            # Cleared before the read, because old and new parts together may need too much memory.
            self._payloads.clear()
        replicas = [*listed.parts]
        folders = self._names.folders(replicas)
        for _attempt in range(_ATTEMPTS):
            names = dict(zip_strict(folders, [*listed.parts.values()]))
            payloads = yield from self._payloads.steps(names, self._cached)
            missing = [
                (f"{folder}/{name.text}", name)
                for folder in folders
                for name in names[folder]
                if name.text not in payloads[folder]
            ]
            read = yield from part_steps(missing)
            # A part merged after the listing is gone, and the merged part was not listed.
            are_all = len(read) == len(missing)
            if are_all:
                break
            listed = yield from self.steps(replicas, partition_ids)
        by_path = {part.znode.path: part for part in read}
        registered: dict[str, dict[str, list[RegisteredPart]]] = {name: {} for name in replicas}
        for replica, folder in zip_strict(replicas, folders):
            parts = [
                payloads[folder].get(name.text) or by_path.get(f"{folder}/{name.text}")
                for name in names[folder]
            ]
            existing = [each for each in parts if each is not None]
            for part in existing:
                registered[replica].setdefault(part.name.partition_id, []).append(part)
            # Without all parts, the current listing is newer than the parts read, and must not vouch for
            # them.
            if reread and are_all and folder in self._cached:
                self._payloads.keep(folder, self._cached[folder], existing)
        return registered

    def member_steps(
        self, member: str, folders: Sequence[str], partition_ids: Collection[str]
    ) -> Steps[list[Names]]:
        """Return the part names of a member in each folder, in order; None for a missing folder.

        The names include all parts of the requested partitions, and may include parts of other partitions. To
        be called after a read of the partitions.

        A member lists its folders until a listing equals the cached one. From then on, the stat of the
        member's folder is enough, as long as the cache is current.
        """
        matched = [each for each in folders if self._matched_before(each, member)]
        unmatched = [each for each in folders if each not in matched]
        answer = yield Query(folders, unmatched)
        stats = dict(zip_strict(folders, answer.znodes))
        lists: dict[str, Names] = dict(zip_strict(unmatched, answer.children))
        changed = [each for each in matched if not self._is_current(each, stats[each])]
        if changed:
            lists.update(zip_strict(changed, (yield Query(children=changed)).children))
        for folder, names in lists.items():
            if self._is_current(folder, stats[folder]) and self._cached[folder].equals(names or ()):
                self._cached[folder].members.add(member)
        requested = frozenset(partition_ids)
        return [
            lists[each]
            if each in lists
            else [name.text for name in self._parts_in(each, stat_of(stats[each]), requested)]
            for each in folders
        ]

    def _matched_before(self, folder: str, member: str) -> bool:
        cached = self._cached.get(folder)
        return cached is not None and member in cached.members

    def _is_current(self, folder: str, now: Znode | None) -> bool:
        cached = self._cached.get(folder)
        return cached is not None and now is not None and cached.is_current(now.stat)

    def _store(
        self, folders: Sequence[str], stats: Mapping[str, Znode | None], lists: Mapping[str, Names]
    ) -> None:
        """Check and cache the listings of the folders. Raises FormatError for an invalid part name."""
        self._names.check(self._reader, folders, [lists[each] for each in folders])
        for folder in folders:
            self._cached[folder] = CachedFolder(stat_of(stats[folder]), lists[folder] or ())

    def _parts_in(self, folder: str, now: Stat, requested: frozenset[str]) -> list[PartName]:
        cached = self._cached[folder]
        if not requested <= cached.partitions:
            cached.select(now, requested, self._names, folder)
        names = cached.names
        return [names[text] for text in sorted(names) if names[text].partition_id in requested]

    def _record(self, op: Create | Delete) -> None:
        folder, _slash, text = op.path.rpartition("/")
        cached = self._cached.get(folder)
        # Without a cached folder, the znode is a child of a part, or the folder will be listed again anyway.
        if cached is not None:
            cached.record(text, self._names, folder, exists=isinstance(op, Create))
            self._payloads.drop(folder, text)
