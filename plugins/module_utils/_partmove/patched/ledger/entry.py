# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One entry of the ledger: which server was verified as a replica, when, and with which cold ensemble.

An entry holds for one activation of the replica. A server writes the replica's ``host`` znode anew
whenever it starts, attaches the table or gets a new session, patched or not, so an entry that names
another transaction of ``host`` than the last one says nothing about the server that runs now.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from typing import NamedTuple
from urllib.parse import urlsplit

from ...envelope import Envelope
from ...records import TEXT, WHOLE_NUMBER, Record, list_of, or_none
from ...tree.ports import ZnodeStore
from ...tree.znodes import Znode

FORMAT = "olap.partmove/ledger"
VERSION = 1

_REMEDY = "Use the version of olap.partmove that wrote it, or withdraw it and verify the server again"
_ENVELOPE = Envelope("entry of the ledger", FORMAT, VERSION, remedy=_REMEDY)
_ENTRY = Record(
    {
        "host": TEXT,
        "interserver_port": or_none(WHOLE_NUMBER),
        "host_version": WHOLE_NUMBER,
        "host_mzxid": WHOLE_NUMBER,
        "server_version": TEXT,
        "patched_sign": TEXT,
        "started_at": TEXT,
        "cold": Record({"hosts": list_of(TEXT), "chroot": TEXT}),
        "verified_by": TEXT,
        "verified_at": TEXT,
    },
    remedy=_REMEDY,
)

_ZOOKEEPER_PORT = 2181


class ColdEnsemble(NamedTuple):
    """The cold ensemble of a server: ``host:port`` of its members, sorted, and the chroot."""

    hosts: tuple[str, ...]
    chroot: str

    @classmethod
    def of(cls, cold: ZnodeStore) -> ColdEnsemble:
        """The ensemble that the store was connected to."""
        return cls(tuple(sorted(set(map(_canonical, cold.addresses)))), cold.chroot)

    def __str__(self) -> str:
        return f"{','.join(self.hosts)}{self.chroot}"


def _canonical(address: str) -> str:
    """The address as two equal ones are written alike: in lower case, and with the port."""
    parts = urlsplit(f"//{address}")
    host = parts.hostname or ""
    return f"{f'[{host}]' if ':' in host else host}:{parts.port or _ZOOKEEPER_PORT}"


@dataclass(frozen=True)
class LedgerEntry:
    """What was verified of the server of a replica; times as ISO 8601 in UTC."""

    host: str
    interserver_port: int | None
    host_version: int
    host_mzxid: int
    """Transaction that wrote the ``host`` znode when the server was verified."""
    server_version: str
    patched_sign: str
    """The query that a patched server answers with 1."""
    started_at: str
    cold: ColdEnsemble
    verified_by: str
    verified_at: str

    def encode(self) -> bytes:
        """The data of the znode that holds the entry."""
        fields = asdict(self) | {"cold": self.cold._asdict()}
        return json.dumps(_ENVELOPE.around(fields)).encode()

    def says_as_much_as(self, other: LedgerEntry) -> bool:
        """Whether the two differ in nothing but when, and by whom, the same was found out."""
        same = replace(
            self,
            started_at=other.started_at,
            verified_by=other.verified_by,
            verified_at=other.verified_at,
        )
        return same == other


def parse_entry(znode: Znode) -> LedgerEntry:
    """The entry in a znode of the ledger; raises FormatError for anything but one of this version."""
    where = f"The ledger entry {znode.path}"
    fields = _ENTRY.read(_ENVELOPE.parsed(znode.data, where), where)
    cold = fields.pop("cold")
    return LedgerEntry(**fields, cold=ColdEnsemble(tuple(cold["hosts"]), cold["chroot"]))
