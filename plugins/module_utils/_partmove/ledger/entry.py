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
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from ..errors import FormatError
from ..tree.ports import ZnodeStore
from ..tree.znodes import Znode

FORMAT = "olap.partmove/ledger"
VERSION = 1

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
    """The address in its one way of writing: in lower case, and with the port."""
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
        """As the znode holds it."""
        fields = asdict(self) | {"cold": self.cold._asdict()}
        return json.dumps({"format": FORMAT, "version": VERSION, **fields}).encode()

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
    """Raises FormatError for anything but an entry of this version."""
    try:
        fields = json.loads(znode.data)
    except ValueError as error:
        raise _not_understood(znode, "is not JSON") from error
    if not isinstance(fields, dict) or fields.pop("format", None) != FORMAT:
        raise _not_understood(znode, "is not an entry of the ledger")
    version = fields.pop("version", None)
    if version != VERSION or isinstance(version, bool):
        raise _not_understood(znode, f"has the format version {version!r}, and {VERSION} is known")
    cold = fields.pop("cold", None)
    if fields.keys() != _TYPES.keys() or any(not _has_type(fields[name], name) for name in _TYPES):
        raise _not_understood(znode, "has not the fields of an entry")
    return LedgerEntry(**fields, cold=_parse_cold(znode, cold))


_TYPES: dict[str, tuple[type, ...]] = {
    "host": (str,),
    "interserver_port": (int, type(None)),
    "host_version": (int,),
    "host_mzxid": (int,),
    "server_version": (str,),
    "patched_sign": (str,),
    "started_at": (str,),
    "verified_by": (str,),
    "verified_at": (str,),
}


def _has_type(value: Any, name: str) -> bool:
    return isinstance(value, _TYPES[name]) and not isinstance(value, bool)


def _parse_cold(znode: Znode, cold: Any) -> ColdEnsemble:
    if isinstance(cold, dict) and cold.keys() == {"hosts", "chroot"}:
        hosts, chroot = cold["hosts"], cold["chroot"]
        if (
            isinstance(hosts, list)
            and all(isinstance(each, str) for each in hosts)
            and isinstance(chroot, str)
        ):
            return ColdEnsemble(tuple(hosts), chroot)
    raise _not_understood(znode, "does not say which cold ensemble it is about")


def _not_understood(znode: Znode, problem: str) -> FormatError:
    return FormatError(
        f"The ledger entry {znode.path} {problem}",
        remedy="Use the version of olap.partmove that wrote it, or withdraw it and verify the server again",
    )
