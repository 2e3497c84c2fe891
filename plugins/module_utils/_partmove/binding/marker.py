# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The marker of a shard path in cold: names the table, its hot ensemble and its coordination root.

The marker is the data of the shard path's own znode in cold. So a run finds the marker by the table alone,
whatever its coordination root.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from ..envelope import Envelope, named_version
from ..records import TEXT, WHOLE_NUMBER, Record
from ..tree.znodes import Stat, Znode

FORMAT = "olap.partmove/cold-shard"

_NAME = "marker of a shard path in cold"
_REMEDY = "Use the version of olap.partmove that wrote the marker, or find out which client wrote it"
_BY_VERSION: dict[int, dict[str, Any]] = {
    1: {"hot_czxid": WHOLE_NUMBER},
    2: {"hot_czxid": WHOLE_NUMBER, "hot_path": TEXT, "coordination_root": TEXT},
    3: {
        "hot_id": TEXT,
        "hot_czxid": WHOLE_NUMBER,
        "hot_ctime": WHOLE_NUMBER,
        "hot_path": TEXT,
        "coordination_root": TEXT,
        "given_to": TEXT,
    },
}
"""The fields of each version."""


class HotSide(NamedTuple):
    """A shard path in hot and the coordination root of its runs, both with the chroot of the connection."""

    path: str
    root: str


class TableId(NamedTuple):
    """The table at a shard path of a hot ensemble.

    A dropped and recreated table restarts its block numbers. So new parts may have the names of parts of the
    former table, whose part znodes may still be in cold.
    """

    hot_id: str
    """The id of the hot ensemble; empty in markers of versions 1 and 2."""
    czxid: int
    """Transaction id of the creation of the shard path in hot."""
    ctime: int
    """Time of the creation in milliseconds since 1970; 0 in markers of versions 1 and 2."""

    @classmethod
    def of(cls, hot_id: str, stat: Stat) -> TableId:
        """Identify the table by its ensemble and the stat of its shard path in hot."""
        return cls(hot_id, stat.czxid, stat.ctime)


class ColdMarker(NamedTuple):
    """The content of a marker."""

    table: TableId
    side: HotSide | None
    """Path in hot and coordination root. None in a marker of version 1, which any run may complete."""
    given_to: str = ""
    """The id of the hot ensemble that may take the table over, as its cluster says; empty for none."""

    @property
    def is_identified(self) -> bool:
        """Whether the marker names a hot ensemble by its id; markers of versions 1 and 2 do not."""
        return bool(self.table.hot_id)

    def encode(self) -> bytes:
        """Return the data of the znode, in the first version that has all fields."""
        fields: dict[str, object] = {"hot_czxid": self.table.czxid}
        if self.side is None:
            return _encoded(1, fields)
        fields |= {"hot_path": self.side.path, "coordination_root": self.side.root}
        if not self.is_identified:
            return _encoded(2, fields)
        fields |= {"hot_id": self.table.hot_id, "hot_ctime": self.table.ctime, "given_to": self.given_to}
        return _encoded(3, fields)


def parse_marker(znode: Znode) -> ColdMarker | None:
    """Parse the marker in the znode; None for a znode without data. Raises FormatError for other data."""
    if not znode.data:
        return None
    where = f"The data of {znode.path} in the cold ensemble"
    version = named_version(znode.data, _BY_VERSION)
    record = Record(_BY_VERSION[version], remedy=_REMEDY)
    fields = record.read(_envelope(version).parsed(znode.data, where), where)
    side = None if version == 1 else HotSide(fields["hot_path"], fields["coordination_root"])
    table = TableId(fields.get("hot_id", ""), fields["hot_czxid"], fields.get("hot_ctime", 0))
    return ColdMarker(table, side, fields.get("given_to", ""))


def _envelope(version: int) -> Envelope:
    return Envelope(_NAME, FORMAT, version, remedy=_REMEDY)


def _encoded(version: int, fields: dict[str, object]) -> bytes:
    return json.dumps(_envelope(version).around(fields), sort_keys=True).encode()
