# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The parts that one ensemble lists at a shard path, which are listed again only where they may have changed.

A list of parts may hold a million names, and a run looks at it again and again. The stat of their parent
counts how often a child was created or deleted. Where that count has grown by what the run itself wrote, and
by nothing else, the list is what it was but for that, and need not be read to be known.

That holds however much time goes by and whoever looks, so what was listed is kept from one run over a shard
path to the next.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple, Optional

from ..aligned import aligned
from ..formats.names import PartName
from ..tree.ports import ZnodeReader
from ..tree.reading import Steps, read_alone
from ..tree.znodes import Create, Delete, Multi, Query, Stat, Znode
from .facts import RegisteredPart
from .parts import PartNames, part_steps
from .parts_read import PartsRead

_ATTEMPTS = 5
_BETWEEN = "/"
"""Between names, as none has it."""
_LAST = chr(sys.maxunicode)
"""Comes after all that a name may have behind its partition id."""

Names = Optional[Sequence[str]]
"""Names of the children of a znode; None where it is not there."""


class Listed(NamedTuple):
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


class _Known:
    """What a folder was found to hold, and what was done to it since by those who know it.

    partitions: those whose parts are in ``names``.
    """

    def __init__(self, stat: Stat, texts: Sequence[str]) -> None:
        """``texts`` are names of parts; ``stat`` is as it was before they were listed.

        So what came in between makes the folder be listed again.
        """
        self.partitions = frozenset[str]()
        self.names: dict[str, PartName] = {}
        self._keep(stat, texts)

    @property
    def is_of_a_folder(self) -> bool:
        """Whether there was one to list."""
        return self._stat is not _OF_NOTHING

    def is_all(self, now: Stat) -> bool:
        """Whether nothing was done to the folder but what this knows of, by its stat as it is now."""
        stat = self._stat
        return (
            now.czxid == stat.czxid
            and now.cversion == stat.cversion + self._created + self._deleted
            and now.num_children == stat.num_children + self._created - self._deleted
        )

    def pick(self, now: Stat, partitions: frozenset[str], names: PartNames, folder: str) -> None:
        """Take the names of the parts of these partitions apart, of what the folder holds with this stat."""
        texts = self._text.split(_BETWEEN) if self._text else []
        if self._changed:
            changed = self._changed
            texts = [each for each in texts if each not in changed]
            # Two stretches that are sorted each take no time to sort.
            texts += sorted(each for each, there in changed.items() if there)
            texts.sort()
            self._keep(now, texts)
        of = names.partition_of
        self.partitions = partitions
        self.names = {
            each: names.named(each, folder) for each in _near(texts, partitions) if of(each) in partitions
        }

    def note(self, text: str, names: PartNames, folder: str, *, there: bool) -> None:
        """Take down that a child of this name was created, or deleted."""
        self._changed[text] = there
        if there:
            self._created += 1
            name = names.named(text, folder)
            if name.partition_id in self.partitions:
                self.names[text] = name
        else:
            self._deleted += 1
            self.names.pop(text, None)

    def _keep(self, stat: Stat, texts: Sequence[str]) -> None:
        self._stat = stat
        # As one text, which takes a fifth of the memory: a table may have a million parts.
        self._text = _BETWEEN.join(texts)
        self._changed: dict[str, bool] = {}
        """Name → whether it is there, of what was created and deleted since."""
        self._created = self._deleted = 0


class KnownParts:
    """What was listed at one shard path, for all runs over it that come one after the other.

    Not for those of check mode, each of which forgets what the one before it has only remembered to write.
    """

    def __init__(self) -> None:
        self.hot: dict[str, _Known] = {}
        self.cold: dict[str, _Known] = {}
        self._czxid = 0

    def renew(self, czxid: int) -> None:
        """Forget all where another table is at the path by now, whose parts may be named in another way."""
        if czxid != self._czxid:
            self.hot.clear()
            self.cold.clear()
            self._czxid = czxid


class PartLists:
    """The lists of parts of one ensemble at one shard path, for a run that tells what it writes there."""

    def __init__(self, reader: ZnodeReader, names: PartNames, known: dict[str, _Known]) -> None:
        """``known`` is of this ensemble and shard path: path of the parts of a replica → what is known."""
        self._reader = reader
        self._names = names
        self._known = known
        self._begun = self._ended = 0
        self._read = PartsRead()

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

    def steps(self, replicas: Sequence[str], partition_ids: Collection[str]) -> Steps[Listed]:
        """The parts of these partitions as they are at the moment that is asked, or later.

        Raises FormatError for a name that is no part, of whatever partition.
        """
        if not replicas:
            return Listed({}, False)
        folders, wanted = self._names.folders(replicas), frozenset(partition_ids)
        begun, ended = self._begun, self._ended
        # In one request where they have to be listed anyway.
        at_once = [] if all(each in self._known for each in folders) else folders
        found = yield Query(folders, at_once)
        stats = dict(aligned(folders, found.znodes))
        lists: dict[str, Names] = dict(aligned(at_once, found.children))
        # A write that was under way meanwhile may be in the stat or not.
        is_calm = ended == begun == self._begun
        stale = [each for each in folders if not (is_calm and self._is_known(each, stats[each]))]
        missing = [each for each in stale if each not in lists]
        if missing:
            lists.update(aligned(missing, (yield Query(children=missing)).children))
        self._learn(stale, stats, lists)
        parts = {
            replica: self._parts_in(each, _stat(stats[each]), wanted)
            for replica, each in aligned(replicas, folders)
        }
        if not is_calm:
            self._known.clear()
        has_parts = any(each is not None and each.stat.num_children for each in stats.values())
        return Listed(parts, has_parts or any(lists.values()))

    def registered(
        self, listed: Listed, partition_ids: Collection[str], *, reread: bool = True
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
        self, listed: Listed, partition_ids: Collection[str], *, reread: bool
    ) -> Steps[dict[str, dict[str, list[RegisteredPart]]]]:
        replicas = [*listed.parts]
        folders = self._names.folders(replicas)
        for _attempt in range(_ATTEMPTS):
            names = dict(aligned(folders, [*listed.parts.values()]))
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
        for replica, folder in aligned(replicas, folders):
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

    def _is_known(self, folder: str, now: Znode | None) -> bool:
        known = self._known.get(folder)
        return known is not None and now is not None and known.is_all(now.stat)

    def _learn(
        self, folders: Sequence[str], stats: Mapping[str, Znode | None], lists: Mapping[str, Names]
    ) -> None:
        """Keep what was listed."""
        self._names.check(self._reader, folders, [lists[each] for each in folders])
        for folder in folders:
            self._known[folder] = _Known(_stat(stats[folder]), lists[folder] or ())

    def _parts_in(self, folder: str, now: Stat, wanted: frozenset[str]) -> list[PartName]:
        known = self._known[folder]
        if not wanted <= known.partitions:
            known.pick(now, wanted, self._names, folder)
        names = known.names
        return [names[text] for text in sorted(names) if names[text].partition_id in wanted]

    def _note(self, op: Create | Delete) -> None:
        folder, _slash, text = op.path.rpartition("/")
        known = self._known.get(folder)
        if known is not None:
            known.note(text, self._names, folder, there=isinstance(op, Create))
        self._read.drop(folder, text)


def _near(texts: Sequence[str], partitions: Collection[str]) -> Sequence[str]:
    """Of names of parts, sorted, all that may be of one of the partitions, and others that lie between.

    The name of a part begins with its partition id, in either format.
    """
    if not partitions:
        return ()
    begin = bisect_left(texts, min(partitions))
    # Not by the last one of the ids: names of 0 come after those of 01.
    return texts[begin : bisect_left(texts, max(each + _LAST for each in partitions), begin)]


def _stat(znode: Znode | None) -> Stat:
    """That of the znode; without one a stat that no znode has, so that nothing is known by it later."""
    return _OF_NOTHING if znode is None else znode.stat


_OF_NOTHING = Stat(-1, -1, 0, 0, -1, -1, -1, 0, 0, -1, -1)
