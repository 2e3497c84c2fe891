# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The record in hot that identifies the cold ensemble of a shard path.

The record is below the coordination root of hot. Two ensembles never create a path with the same transaction
id and time. So both identify an ensemble, even after a change of its name or a copy of its data.
"""

from __future__ import annotations

import json
from typing import NamedTuple
from urllib.parse import quote

from ..envelope import Envelope
from ..records import TEXT, WHOLE_NUMBER, Record
from ..text import format_time
from ..tree.znodes import Znode

FORMAT = "olap.partmove/cold-of-shard"
VERSION = 1

_REMEDY = "Use the version of olap.partmove that wrote the record, or find out which client wrote it"
_ENVELOPE = Envelope("record of the cold ensemble of a shard path", FORMAT, VERSION, remedy=_REMEDY)
_RECORD = Record({"czxid": WHOLE_NUMBER, "ctime": WHOLE_NUMBER, "members": TEXT}, remedy=_REMEDY)


class KnownCold(NamedTuple):
    """The cold ensemble of a shard path."""

    czxid: int
    """Transaction id of the creation of the shard path's znode in cold."""
    ctime: int
    """Time of the creation in milliseconds since 1970."""
    members: str
    """Members and chroot as configured at the creation; for messages."""

    @classmethod
    def of(cls, znode: Znode, members: str) -> KnownCold:
        """Identify the ensemble of the shard path's znode."""
        return cls(znode.stat.czxid, znode.stat.ctime, members)

    def is_of(self, znode: Znode) -> bool:
        """Whether the shard path's znode is of this ensemble."""
        return (self.czxid, self.ctime) == (znode.stat.czxid, znode.stat.ctime)

    def encode(self) -> bytes:
        """Return the data of the record's znode."""
        return json.dumps(_ENVELOPE.around(self._asdict())).encode()

    def __str__(self) -> str:
        return f"{self.members}, where the shard path was created at {format_time(self.ctime)}"


def known_cold_path(root: str, shard_path: str) -> str:
    """Return the path in hot of the record of a shard path."""
    return f"{root}/cold/{quote(shard_path, safe='')}"


def parse_known_cold(znode: Znode) -> KnownCold:
    """Parse the record in the znode. Raises FormatError for other data."""
    where = f"The data of {znode.path}"
    return KnownCold(**_RECORD.read(_ENVELOPE.parsed(znode.data, where), where))
