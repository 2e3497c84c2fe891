# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One entry of the ledger: which server was verified as a replica, when, and with which cold ensemble.

An entry holds for one activation of the replica. A server, patched or not, writes the replica's ``host``
znode anew whenever it starts, attaches the table or gets a new session. So an entry with an older
transaction of ``host`` proves nothing about the server now running.
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

_REMEDY = (
    "Use the version of olap.partmove that wrote the entry, or withdraw the entry and verify the server again"
    " (replica_ledger)"
)
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
    """The cold ensemble of a server: the sorted ``host:port`` of its members, and the chroot."""

    hosts: tuple[str, ...]
    chroot: str

    @classmethod
    def of(cls, cold: ZnodeStore) -> ColdEnsemble:
        """Return the ensemble to which the store was connected."""
        return cls(tuple(sorted(set(map(_canonical, cold.addresses)))), cold.chroot)

    def __str__(self) -> str:
        return f"{','.join(self.hosts)}{self.chroot}"


def _canonical(address: str) -> str:
    """Return the address in its canonical form: lower case, with the port."""
    parts = urlsplit(f"//{address}")
    host = parts.hostname or ""
    return f"{f'[{host}]' if ':' in host else host}:{parts.port or _ZOOKEEPER_PORT}"


@dataclass(frozen=True)
class LedgerEntry:
    """The verified facts about the server of a replica; times as ISO 8601 in UTC."""

    host: str
    interserver_port: int | None
    host_version: int
    host_mzxid: int
    """The last transaction of the ``host`` znode at the time of the verification."""
    server_version: str
    patched_sign: str
    """The query for the sign of the patch: a patched server answers 1."""
    started_at: str
    cold: ColdEnsemble
    verified_by: str
    verified_at: str

    def encode(self) -> bytes:
        """Return the data of the entry's znode."""
        fields = asdict(self) | {"cold": self.cold._asdict()}
        return json.dumps(_ENVELOPE.around(fields)).encode()

    def says_as_much_as(self, other: LedgerEntry) -> bool:
        """Return whether the entries are equal except for their times and the name of the verifier."""
        same = replace(
            self,
            started_at=other.started_at,
            verified_by=other.verified_by,
            verified_at=other.verified_at,
        )
        return same == other


def parse_entry(znode: Znode) -> LedgerEntry:
    """Parse a znode of the ledger. Raises FormatError for anything but an entry of this format version."""
    where = f"The ledger entry {znode.path}"
    fields = _ENTRY.read(_ENVELOPE.parsed(znode.data, where), where)
    cold = fields.pop("cold")
    return LedgerEntry(**fields, cold=ColdEnsemble(tuple(cold["hosts"]), cold["chroot"]))
