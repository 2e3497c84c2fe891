# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The parts that one ensemble lists at a shard path, which are listed again only where they may have changed.

A list of parts may hold a million names, and a run looks at it again and again. The stat of their parent
counts how often a child was created or deleted. Where that count has grown by what the run itself wrote, and
by nothing else, the list is what it was but for that, and need not be read to be known.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Optional

from ..formats.names import PartName
from ..tree.ports import ZnodeReader
from ..tree.reading import Steps, read_alone
from ..tree.znodes import Create, Delete, Multi, Query, Stat, Znode
from ..zip_strict import zip_strict
from .facts import RegisteredPart
from .listing_cache import CachedFolder, stat_of
from .parts import PartNames, part_steps
from .payload_cache import PayloadCache

_ATTEMPTS = 5

Names = Optional[Sequence[str]]
"""Names of the children of a znode; None where it is not there."""


class ListedParts(NamedTuple):
    """What is listed of some replicas."""

    parts: Mapping[str, Sequence[PartName]]
    """Replica → its parts of the partitions in question, sorted by name; every replica is a key."""
    has_parts: bool
    """Whether any of the replicas has a part at all."""

    @property
    def texts(self) -> dict[str, dict[str, list[str]]]:
        """Replica → partition id → names of its parts."""
        found: dict[str, dict[str, list[str]]] = {replica: {} for replica in self.parts}
        for replica, parts in self.parts.items():
            for name in parts:
                found[replica].setdefault(name.partition_id, []).append(name.text)
        return found


class PartListing:
    """The lists of parts of one ensemble at one shard path, for a run that tells what it writes there."""

    def __init__(self, reader: ZnodeReader, names: PartNames, known: dict[str, CachedFolder]) -> None:
        """``known`` is of this ensemble and shard path: path of the parts of a replica → what is known."""
        self._reader = reader
        self._names = names
        self._known = known
        self._begun = self._ended = 0
        self._read = PayloadCache()

    def had(self, folder: str) -> bool:
        """Whether the folder was there when it was listed last."""
        known = self._known.get(folder)
        return known is not None and known.is_of_a_folder

    def begin_write(self) -> None:
        """Say that multis are about to be sent, of which nobody knows for now whether they were applied."""
        self._begun += 1

    def end_write(self, applied: Sequence[Multi]) -> None:
        """Say which of the multis are known to have been applied. Others make the folders be listed again."""
        self._ended += 1
        for multi in applied:
            for op in multi:
                if isinstance(op, (Create, Delete)):
                    self._note(op)

    def steps(self, replicas: Sequence[str], partition_ids: Collection[str]) -> Steps[ListedParts]:
        """The parts of these partitions as they are at the moment that is asked, or later.

        Raises FormatError for a name that is no part, of whatever partition.
        """
        if not replicas:
            return ListedParts({}, False)
        folders, wanted = self._names.folders(replicas), frozenset(partition_ids)
        begun, ended = self._begun, self._ended
        # In one request where they have to be listed anyway.
        at_once = [] if all(each in self._known for each in folders) else folders
        found = yield Query(folders, at_once)
        stats = dict(zip_strict(folders, found.znodes))
        lists: dict[str, Names] = dict(zip_strict(at_once, found.children))
        # A write that was under way meanwhile may be in the stat or not.
        is_calm = ended == begun == self._begun
        stale = [each for each in folders if not (is_calm and self._is_known(each, stats[each]))]
        missing = [each for each in stale if each not in lists]
        if missing:
            lists.update(zip_strict(missing, (yield Query(children=missing)).children))
        self._learn(stale, stats, lists)
        parts = {
            replica: self._parts_in(each, stat_of(stats[each]), wanted)
            for replica, each in zip_strict(replicas, folders)
        }
        if not is_calm:
            self._known.clear()
        has_parts = any(each is not None and each.stat.num_children for each in stats.values())
        return ListedParts(parts, has_parts or any(lists.values()))

    def registered(
        self, listed: ListedParts, partition_ids: Collection[str], *, reread: bool = True
    ) -> dict[str, dict[str, list[RegisteredPart]]]:
        """Replica → partition id → the parts that were listed of these partitions, as they are registered.

        Without ``reread`` a part may be as the last call with it found it, where it and its children are the
        same znodes still. Their data may be others by now, which their versions tell: that is for those who
        only write where these are the versions that were read.
        """
        if reread:
            # Before new ones are read, as these may be many.
            self._read.clear()
        return read_alone(self._reader, self._registered_steps(listed, partition_ids, reread=reread))

    def _registered_steps(
        self, listed: ListedParts, partition_ids: Collection[str], *, reread: bool
    ) -> Steps[dict[str, dict[str, list[RegisteredPart]]]]:
        replicas = [*listed.parts]
        folders = self._names.folders(replicas)
        for _attempt in range(_ATTEMPTS):
            names = dict(zip_strict(folders, [*listed.parts.values()]))
            kept = yield from self._read.steps(names, self._known)
            missing = [
                (f"{folder}/{name.text}", name)
                for folder in folders
                for name in names[folder]
                if name.text not in kept[folder]
            ]
            read = yield from part_steps(missing)
            # Parts that were merged after they were listed are gone, and what they became was not listed.
            are_all = len(read) == len(missing)
            if are_all:
                break
            listed = yield from self.steps(replicas, partition_ids)
        came = {part.znode.path: part for part in read}
        found: dict[str, dict[str, list[RegisteredPart]]] = {name: {} for name in replicas}
        for replica, folder in zip_strict(replicas, folders):
            parts = [
                kept[folder].get(name.text) or came.get(f"{folder}/{name.text}") for name in names[folder]
            ]
            there = [each for each in parts if each is not None]
            for part in there:
                found[replica].setdefault(part.name.partition_id, []).append(part)
            # Others were read before the list that is known now, which has nothing to say of them then.
            if reread and are_all and folder in self._known:
                self._read.keep(folder, self._known[folder], there)
        return found

    def member_steps(
        self, member: str, folders: Sequence[str], partition_ids: Collection[str]
    ) -> Steps[list[Names]]:
        """Names of the parts of these partitions that a member has in each folder, and maybe of others.

        It lists them, and once these are all that is known to be there, its stat tells the next time. To be
        asked after a look at the partitions. None for a folder that is not there.
        """
        told = [each for each in folders if self._was_seen(each, member)]
        others = [each for each in folders if each not in told]
        found = yield Query(folders, others)
        stats = dict(zip_strict(folders, found.znodes))
        lists: dict[str, Names] = dict(zip_strict(others, found.children))
        changed = [each for each in told if not self._is_known(each, stats[each])]
        if changed:
            lists.update(zip_strict(changed, (yield Query(children=changed)).children))
        for folder, names in lists.items():
            if self._is_known(folder, stats[folder]) and self._known[folder].is_list(names or ()):
                self._known[folder].members.add(member)
        wanted = frozenset(partition_ids)
        return [
            lists[each]
            if each in lists
            else [name.text for name in self._parts_in(each, stat_of(stats[each]), wanted)]
            for each in folders
        ]

    def _was_seen(self, folder: str, member: str) -> bool:
        known = self._known.get(folder)
        return known is not None and member in known.members

    def _is_known(self, folder: str, now: Znode | None) -> bool:
        known = self._known.get(folder)
        return known is not None and now is not None and known.is_all(now.stat)

    def _learn(
        self, folders: Sequence[str], stats: Mapping[str, Znode | None], lists: Mapping[str, Names]
    ) -> None:
        """Keep what was listed."""
        self._names.check(self._reader, folders, [lists[each] for each in folders])
        for folder in folders:
            self._known[folder] = CachedFolder(stat_of(stats[folder]), lists[folder] or ())

    def _parts_in(self, folder: str, now: Stat, wanted: frozenset[str]) -> list[PartName]:
        known = self._known[folder]
        if not wanted <= known.partitions:
            known.pick(now, wanted, self._names, folder)
        names = known.names
        return [names[text] for text in sorted(names) if names[text].partition_id in wanted]

    def _note(self, op: Create | Delete) -> None:
        folder, _slash, text = op.path.rpartition("/")
        known = self._known.get(folder)
        # Otherwise it is a child of a part; or the folder is to be listed again, and its parts to be read.
        if known is not None:
            known.note(text, self._names, folder, there=isinstance(op, Create))
            self._read.drop(folder, text)
