# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The marker of a shard path in cold: which table of hot its parts belong to, and where its runs meet.

It is the data of the shard path's own znode in cold, so a run finds it by the table alone, whatever
coordination root it was given.
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
_REMEDY = "Use the version of olap.partmove that wrote it, or find out what did"
_ENVELOPE = Envelope(_NAME, FORMAT, VERSION, remedy=_REMEDY)
_MARKER = Record({"hot_czxid": WHOLE_NUMBER, "hot_path": TEXT, "coordination_root": TEXT}, remedy=_REMEDY)
_FIRST_ENVELOPE = Envelope(_NAME, FORMAT, 1, remedy=_REMEDY)
_FIRST_MARKER = Record({"hot_czxid": WHOLE_NUMBER}, remedy=_REMEDY)


class HotSide(NamedTuple):
    """A shard path in hot and where its runs meet, both with the chroot, so that they are unique."""

    path: str
    root: str


class ColdMarker(NamedTuple):
    """What the shard path's znode in cold says."""

    hot_czxid: int
    """Transaction that created the shard path in hot.

    A table that was dropped and made again starts block numbers anew, so its parts can have the names of
    parts of the former one, whose registration in cold would still be there.
    """
    side: HotSide | None
    """Where the runs on it meet; None in a marker of version 1, which any of them may complete."""

    def encode(self) -> bytes:
        """The data of the znode, in the version of the marker."""
        fields: dict[str, object] = {"hot_czxid": self.hot_czxid}
        if self.side is None:
            return _encoded(_FIRST_ENVELOPE, fields)
        fields |= {"hot_path": self.side.path, "coordination_root": self.side.root}
        return _encoded(_ENVELOPE, fields)


def parse_marker(znode: Znode) -> ColdMarker | None:
    """The marker in the znode; None for a znode without data. Raises FormatError for what is no marker."""
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
