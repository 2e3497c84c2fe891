# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Both ensembles at one instant, as their leaders had them and as their members had."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import NamedTuple

from ansible_collections.olap.partmove.plugins.module_utils._partmove.tree.znodes import Znode
from support.memory.history import History
from support.memory.memory import MemoryEnsemble

Content = tuple[bytes, Mapping[str, bytes]]
"""The data of a part and of its children."""


class Trees(NamedTuple):
    """An instant of a table: the number of the last transaction of each ensemble, and of members of cold."""

    hot: History
    cold: History
    path: str
    hot_at: int
    cold_at: int
    cold_members: tuple[int, ...]

    @classmethod
    def of(cls, hot: MemoryEnsemble, cold: MemoryEnsemble, path: str) -> Trees:
        """Both as they are now."""
        members = tuple(cold.applied(each) for each in cold.members)
        return cls(hot.history, cold.history, path, hot.history.last, cold.history.last, members)

    def now(self) -> Trees:
        """The same table after what has been committed since."""
        return self._replace(hot_at=self.hot.last, cold_at=self.cold.last)

    def hot_znode(self, path: str) -> Znode | None:
        """A znode of hot."""
        return self.hot.znode(path, self.hot_at)

    def hot_data(self, path: str) -> bytes:
        """The data of a znode of hot; empty where there is none."""
        znode = self.hot_znode(path)
        return b"" if znode is None else znode.data

    def hot_names(self, path: str) -> frozenset[str]:
        """The names of the children of a znode of hot; none where there is none."""
        return self.hot.names(path, self.hot_at) or frozenset()

    def table_czxid(self) -> int:
        """The transaction that created the table."""
        znode = self.hot_znode(self.path)
        return 0 if znode is None else znode.stat.czxid

    def in_hot(self, path: str) -> Content | None:
        """What hot has of a part."""
        return _content(self.hot, path, self.hot_at)

    def in_cold(self, path: str) -> Content | None:
        """What the leader of cold has of a part."""
        return _content(self.cold, path, self.cold_at)

    def in_members_of_cold(self, path: str) -> list[Content | None]:
        """What each member of cold has of a part."""
        return [_content(self.cold, path, at) for at in self.cold_members]

    def markers(self) -> list[dict[str, object]]:
        """What each member of cold has as the marker of the table; empty where it has none."""
        found = [self.cold.znode(self.path, at) for at in self.cold_members]
        return [json.loads(each.data) if each is not None and each.data else {} for each in found]

    def marked_root(self) -> str | None:
        """The coordination root that cold names; None where it names none."""
        znode = self.cold.znode(self.path, self.cold_at)
        if znode is None or not znode.data:
            return None
        root = json.loads(znode.data).get("coordination_root")
        return None if root is None else str(root)


def _content(history: History, path: str, at: int) -> Content | None:
    znode = history.znode(path, at)
    if znode is None:
        return None
    children = {each: history.znode(f"{path}/{each}", at) for each in history.names(path, at) or ()}
    return znode.data, {name: child.data for name, child in children.items() if child is not None}


_OF_LEASES = re.compile(r"/partmove/epochs/.*|/partmove/tokens|/partmove/hots/[^/]+/token")


def outside_leases(data: Mapping[str, bytes]) -> dict[str, bytes]:
    """The data of an ensemble without what each lease writes."""
    return {path: each for path, each in data.items() if _OF_LEASES.fullmatch(path) is None}
