# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What folders of parts were found to hold, and what became of that since.

The stat of a folder tells whether something came or went that nobody here knows of. That holds however much
time goes by and whoever looks, so what was listed is kept from one run over a shard path to the next.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Collection, Sequence

from ..formats.names import PartName
from ..tree.znodes import Stat, Znode
from .parts import PartNames

_BETWEEN = "/"
"""Between names, as none has it."""
_LAST = chr(sys.maxunicode)
"""Comes after all that a name may have behind its partition id."""


class CachedFolder:
    """What a folder was found to hold, and what was done to it since by those who know it.

    partitions: those whose parts are in ``names``.
    members: names of the members of the ensemble that were seen to hold the same.
    """

    def __init__(self, stat: Stat, texts: Sequence[str]) -> None:
        """``texts`` are names of parts; ``stat`` is as it was before they were listed.

        So what came in between makes the folder be listed again.
        """
        self.partitions = frozenset[str]()
        self.names: dict[str, PartName] = {}
        self.members = set[str]()
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
        texts = self._texts()
        if self._changed:
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

    def is_list(self, texts: Sequence[str]) -> bool:
        """Whether these names, sorted, are all that the folder holds as far as this knows."""
        return self._texts() == [*texts]

    def _texts(self) -> list[str]:
        """All names, sorted."""
        texts = self._text.split(_BETWEEN) if self._text else []
        changed = self._changed
        if changed:
            texts = [each for each in texts if each not in changed]
            # Two stretches that are sorted each take no time to sort.
            texts += sorted(each for each, there in changed.items() if there)
            texts.sort()
        return texts

    def _keep(self, stat: Stat, texts: Sequence[str]) -> None:
        self._stat = stat
        # As one text, which takes a fifth of the memory: a table may have a million parts.
        self._text = _BETWEEN.join(texts)
        self._changed: dict[str, bool] = {}
        """Name → whether it is there, of what was created and deleted since."""
        self._created = self._deleted = 0


class ListingCache:
    """What was listed at one shard path, for all runs over it that come one after the other.

    Not for those of check mode, each of which forgets what the one before it has only remembered to write.
    """

    def __init__(self) -> None:
        self.hot: dict[str, CachedFolder] = {}
        self.cold: dict[str, CachedFolder] = {}
        self._czxid = 0

    def renew(self, czxid: int) -> None:
        """Forget all where another table is at the path by now, whose parts may be named in another way."""
        if czxid != self._czxid:
            self.hot.clear()
            self.cold.clear()
            self._czxid = czxid


def _near(texts: Sequence[str], partitions: Collection[str]) -> Sequence[str]:
    """Of names of parts, sorted, all that may be of one of the partitions, and others that lie between.

    The name of a part begins with its partition id, in either format.
    """
    if not partitions:
        return ()
    begin = bisect_left(texts, min(partitions))
    # Not by the last one of the ids: names of 0 come after those of 01.
    return texts[begin : bisect_left(texts, max(each + _LAST for each in partitions), begin)]


def stat_of(znode: Znode | None) -> Stat:
    """That of the znode; without one a stat that no znode has, so that nothing is known by it later."""
    return _OF_NOTHING if znode is None else znode.stat


_OF_NOTHING = Stat(-1, -1, 0, 0, -1, -1, -1, 0, 0, -1, -1)
