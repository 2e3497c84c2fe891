# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What hot knows of the cold ensemble that the parts of a shard path went to.

It is kept under the coordination root of hot. Two ensembles cannot have given one path the same transaction
and time of creation, so it tells them apart, whatever they are called and whatever was copied between them.
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

_REMEDY = "Use the version of olap.partmove that wrote it, or find out what did"
_ENVELOPE = Envelope("record of the cold ensemble of a shard path", FORMAT, VERSION, remedy=_REMEDY)
_RECORD = Record({"czxid": WHOLE_NUMBER, "ctime": WHOLE_NUMBER, "members": TEXT}, remedy=_REMEDY)


class KnownCold(NamedTuple):
    """The cold ensemble of a shard path."""

    czxid: int
    """Transaction that created the shard path's znode in cold."""
    ctime: int
    """When that was, in milliseconds since 1970."""
    members: str
    """The members and the chroot as they were given then; for messages."""

    @classmethod
    def of(cls, znode: Znode, members: str) -> KnownCold:
        """The ensemble in which the shard path's znode was read."""
        return cls(znode.stat.czxid, znode.stat.ctime, members)

    def is_of(self, znode: Znode) -> bool:
        """Whether the shard path's znode was read in this ensemble."""
        return (self.czxid, self.ctime) == (znode.stat.czxid, znode.stat.ctime)

    def encode(self) -> bytes:
        """The data of the znode that holds the record."""
        return json.dumps(_ENVELOPE.around(self._asdict())).encode()

    def __str__(self) -> str:
        return f"{self.members}, where the shard path was created at {format_time(self.ctime)}"


def known_cold_path(root: str, shard_path: str) -> str:
    """Where the record of a shard path is, in hot."""
    return f"{root}/cold/{quote(shard_path, safe='')}"


def parse_known_cold(znode: Znode) -> KnownCold:
    """The record in the znode; raises FormatError for anything else."""
    where = f"The data of {znode.path}"
    return KnownCold(**_RECORD.read(_ENVELOPE.parsed(znode.data, where), where))
