# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A cache of the part names of replicas, with the changes since the listing.

A folder is the znode ``parts`` of a replica. Its stat shows whether another client created or deleted
children. This holds for any time and any reader. So listings are kept from one run over a shard path to the
next.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Collection, Sequence

from ..formats.names import PartName
from ..tree.znodes import Stat, Znode
from .parts import PartNames

_SEPARATOR = "/"
"""Separates names; no name contains it."""
_AFTER_ALL = chr(sys.maxunicode)
"""Sorts after every character that may follow the partition id in a name."""


class CachedFolder:
    """The listing of a folder, with the recorded changes of this process.

    partitions: ids of the partitions whose parts are in ``names``.
    names: text → parsed name.
    members: names of the ensemble members with the same listing.
    """

    def __init__(self, stat: Stat, texts: Sequence[str]) -> None:
        """Cache a listing.

        stat: the stat of the folder before the listing. A change between stat and listing then makes the
        cache outdated, and the folder is listed again. texts: the names of the parts.
        """
        self.partitions = frozenset[str]()
        self.names: dict[str, PartName] = {}
        self.members = set[str]()
        self._store(stat, texts)

    @property
    def folder_existed(self) -> bool:
        """Whether the folder existed when it was listed."""
        return self._stat is not _MISSING_STAT

    def is_current(self, now: Stat) -> bool:
        """Whether the folder has no other changes than the recorded ones. ``now``: the current stat."""
        stat = self._stat
        return (
            now.czxid == stat.czxid
            and now.cversion == stat.cversion + self._created + self._deleted
            and now.num_children == stat.num_children + self._created - self._deleted
        )

    def select(self, now: Stat, partitions: frozenset[str], names: PartNames, folder: str) -> None:
        """Parse the part names of these partitions into ``names``. ``now``: the stat of the listing."""
        texts = self._texts()
        if self._changed:
            self._store(now, texts)
        partition_of = names.partition_of
        self.partitions = partitions
        self.names = {
            each: names.named(each, folder)
            for each in _candidates(texts, partitions)
            if partition_of(each) in partitions
        }

    def record(self, text: str, names: PartNames, folder: str, *, exists: bool) -> None:
        """Record the creation (``exists``) or deletion of a child by this process."""
        self._changed[text] = exists
        if exists:
            self._created += 1
            name = names.named(text, folder)
            if name.partition_id in self.partitions:
                self.names[text] = name
        else:
            self._deleted += 1
            self.names.pop(text, None)

    def equals(self, texts: Sequence[str]) -> bool:
        """Whether the cached listing, with the recorded changes, equals these sorted names."""
        return self._texts() == [*texts]

    def _texts(self) -> list[str]:
        """Return all names, with the recorded changes applied, sorted."""
        texts = self._text.split(_SEPARATOR) if self._text else []
        changed = self._changed
        if changed:
            texts = [each for each in texts if each not in changed]
            # Python sorts two sorted runs in linear time.
            texts += sorted(each for each, exists in changed.items() if exists)
            texts.sort()
        return texts

    def _store(self, stat: Stat, texts: Sequence[str]) -> None:
        self._stat = stat
        # One text takes a fifth of the memory of a list, and a table may have a million parts.
        self._text = _SEPARATOR.join(texts)
        self._changed: dict[str, bool] = {}
        """Name → whether it exists, for children created and deleted since the listing."""
        self._created = self._deleted = 0


class ListingCache:
    """The cached folders of one shard path, for consecutive runs.

    Do not share the cache between runs in check mode: each run has an overlay of its own, and forgets the
    writes of the run before.

    hot, cold: path of a folder → cached listing.
    """

    def __init__(self) -> None:
        self.hot: dict[str, CachedFolder] = {}
        self.cold: dict[str, CachedFolder] = {}
        self._czxid = 0

    def renew(self, czxid: int) -> None:
        """Clear the cache if the table was recreated. ``czxid``: of the shard path.

        The names of the new table's parts may have another format.
        """
        if czxid != self._czxid:
            self.hot.clear()
            self.cold.clear()
            self._czxid = czxid


def _candidates(texts: Sequence[str], partitions: Collection[str]) -> Sequence[str]:
    """Return the range of the sorted part names with all parts of the partitions, and names between them.

    In both data format versions, the name of a part begins with its partition id.
    """
    if not partitions:
        return ()
    begin = bisect_left(texts, min(partitions))
    # The largest id alone is not enough: names of partition 0 sort after names of partition 01.
    return texts[begin : bisect_left(texts, max(each + _AFTER_ALL for each in partitions), begin)]


def stat_of(znode: Znode | None) -> Stat:
    """Return the znode's stat. For a missing folder, return a sentinel that matches no real stat.

    So a folder created later is never taken for cached.
    """
    return _MISSING_STAT if znode is None else znode.stat


_MISSING_STAT = Stat(-1, -1, 0, 0, -1, -1, -1, 0, 0, -1, -1)
