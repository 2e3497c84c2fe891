# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The record in hot that identifies the cold ensemble of a shard path.

The record is below the coordination root of hot. It has the random id of the cold ensemble, and the
transaction id and time of the creation of the shard path there, which a copy of its data does not have.
"""

from __future__ import annotations

import json
from typing import NamedTuple
from urllib.parse import quote

from ..envelope import Envelope, named_version
from ..records import TEXT, WHOLE_NUMBER, Record
from ..text import format_time
from ..tree.znodes import Znode

FORMAT = "olap.partmove/cold-of-shard"

_REMEDY = "Use the version of olap.partmove that wrote the record, or find out which client wrote it"
_NAME = "record of the cold ensemble of a shard path"
_FIELDS = {"czxid": WHOLE_NUMBER, "ctime": WHOLE_NUMBER, "members": TEXT}
_BY_VERSION = {1: _FIELDS, 2: {"cold_id": TEXT, **_FIELDS}}
"""The fields of each version."""


class KnownCold(NamedTuple):
    """The cold ensemble of a shard path."""

    czxid: int
    """Transaction id of the creation of the shard path's znode in cold."""
    ctime: int
    """Time of the creation in milliseconds since 1970."""
    members: str
    """Members and chroot as configured at the creation; for messages."""
    cold_id: str = ""
    """The id of the ensemble; empty in records of version 1."""

    @classmethod
    def of(cls, znode: Znode, members: str, cold_id: str) -> KnownCold:
        """Identify the ensemble of the shard path's znode."""
        return cls(znode.stat.czxid, znode.stat.ctime, members, cold_id)

    def is_of(self, znode: Znode, cold_id: str) -> bool:
        """Whether the shard path's znode is of this ensemble, whose id is ``cold_id``; empty for none."""
        is_created_so = (self.czxid, self.ctime) == (znode.stat.czxid, znode.stat.ctime)
        return is_created_so and self.cold_id in ("", cold_id)

    def encode(self) -> bytes:
        """Return the data of the record's znode, in the first version that has all fields."""
        fields = self._asdict()
        if not self.cold_id:
            del fields["cold_id"]
        return json.dumps(_envelope(2 if self.cold_id else 1).around(fields)).encode()

    def __str__(self) -> str:
        return f"{self.members}, where the shard path was created at {format_time(self.ctime)}"


def known_cold_path(root: str, shard_path: str) -> str:
    """Return the path in hot of the record of a shard path."""
    return f"{root}/cold/{quote(shard_path, safe='')}"


def parse_known_cold(znode: Znode) -> KnownCold:
    """Parse the record in the znode. Raises FormatError for other data."""
    where = f"The data of {znode.path}"
    version = named_version(znode.data, _BY_VERSION)
    record = Record(_BY_VERSION[version], remedy=_REMEDY)
    return KnownCold(**record.read(_envelope(version).parsed(znode.data, where), where))


def _envelope(version: int) -> Envelope:
    return Envelope(_NAME, FORMAT, version, remedy=_REMEDY)
