# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The marker of a shard path in cold: names the table in hot, and the coordination root of its runs.

The marker is the data of the shard path's own znode in cold. So a run finds the marker by the table alone,
whatever its coordination root.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from ..envelope import Envelope, json_object
from ..records import TEXT, WHOLE_NUMBER, Record
from ..tree.znodes import Znode

FORMAT = "olap.partmove/cold-shard"
VERSION = 2

_NAME = "marker of a shard path in cold"
_REMEDY = "Use the version of olap.partmove that wrote the marker, or find out which client wrote it"
_ENVELOPE = Envelope(_NAME, FORMAT, VERSION, remedy=_REMEDY)
_MARKER = Record({"hot_czxid": WHOLE_NUMBER, "hot_path": TEXT, "coordination_root": TEXT}, remedy=_REMEDY)
_FIRST_ENVELOPE = Envelope(_NAME, FORMAT, 1, remedy=_REMEDY)
_FIRST_MARKER = Record({"hot_czxid": WHOLE_NUMBER}, remedy=_REMEDY)


class HotSide(NamedTuple):
    """A shard path in hot and the coordination root of its runs, both with the chroot of the connection."""

    path: str
    root: str


class ColdMarker(NamedTuple):
    """The content of a marker."""

    hot_czxid: int
    """Transaction id of the creation of the shard path in hot.

    A dropped and recreated table restarts its block numbers. So new parts may have the names of parts of the
    former table, whose part znodes may still be in cold.
    """
    side: HotSide | None
    """Path in hot and coordination root. None in a marker of version 1, which any run may complete."""

    def encode(self) -> bytes:
        """Return the data of the znode, in version 1 without a side, else in version 2."""
        fields: dict[str, object] = {"hot_czxid": self.hot_czxid}
        if self.side is None:
            return _encoded(_FIRST_ENVELOPE, fields)
        fields |= {"hot_path": self.side.path, "coordination_root": self.side.root}
        return _encoded(_ENVELOPE, fields)


def parse_marker(znode: Znode) -> ColdMarker | None:
    """Parse the marker in the znode; None for a znode without data. Raises FormatError for other data."""
    if not znode.data:
        return None
    where = f"The data of {znode.path} in the cold ensemble"
    is_first = _says_version(znode.data, 1)
    envelope, record = (_FIRST_ENVELOPE, _FIRST_MARKER) if is_first else (_ENVELOPE, _MARKER)
    fields = record.read(envelope.parsed(znode.data, where), where)
    side = None if is_first else HotSide(fields["hot_path"], fields["coordination_root"])
    return ColdMarker(fields["hot_czxid"], side)


def _says_version(data: bytes, version: int) -> bool:
    try:
        return json_object(data).get("version") == version
    except ValueError:
        return False


def _encoded(envelope: Envelope, fields: dict[str, object]) -> bytes:
    return json.dumps(envelope.around(fields), sort_keys=True).encode()
