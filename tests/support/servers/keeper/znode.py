# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One znode: its data, its stat, and who may do what with it."""

from __future__ import annotations

from typing import NamedTuple

from support.servers.keeper.messages import Access, Request, stat_bytes

UNIMPLEMENTED, BAD_ARGUMENTS = -6, -8
NO_NODE, NO_AUTH, BAD_VERSION, OF_EPHEMERAL, NODE_EXISTS, NOT_EMPTY = -101, -102, -103, -108, -110, -111
INVALID_ACL, INCONSISTENT = -114, -2
CREATED, DELETED, CHANGED, CHILD = 1, 2, 3, 4
READ, WRITE, CREATION, DELETION, ADMIN = 1, 2, 4, 8, 16
OPEN = (Access(31, "world", "anyone"),)
"""The ACL of a znode that everybody may do everything with."""

Identities = tuple[tuple[str, str], ...]
"""(scheme, identity) of a session."""


class Refused(Exception):
    """The operation fails with a code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Transaction(NamedTuple):
    """A write in the log of an ensemble.

    time: milliseconds since 1970, by the clock of the leader.
    identities: (scheme, identity) of the session.
    """

    zxid: int
    time: int
    session_id: int
    identities: Identities
    request: Request


class Znode:
    """One znode."""

    __slots__ = (
        "acl", "aversion", "children", "ctime", "cversion", "czxid", "data", "mtime", "mzxid", "owner",
        "pzxid", "sequence", "version",
    )  # fmt: skip

    def __init__(self, data: bytes, acl: tuple[Access, ...], owner: int, zxid: int, time: int) -> None:
        self.data = data
        self.acl = acl
        self.owner = owner
        self.czxid = self.mzxid = self.pzxid = zxid
        self.ctime = self.mtime = time
        self.version = self.cversion = self.aversion = self.sequence = 0
        self.children: set[str] = set()

    @property
    def stat(self) -> bytes:
        """As in answers."""
        times = (self.czxid, self.mzxid, self.ctime, self.mtime)
        versions = (self.version, self.cversion, self.aversion, self.owner)
        return stat_bytes(*times, *versions, len(self.data), len(self.children), self.pzxid)


class Event(NamedTuple):
    """What fires watches."""

    kind: int
    path: str
    znode: Znode


def set_fields(znode: Znode, data: bytes, version: int, zxid: int, time: int) -> None:
    """Write data and what goes with it."""
    znode.data, znode.version, znode.mzxid, znode.mtime = data, version, zxid, time


def parent_of(path: str) -> str:
    """Return the path of the parent; that of the root is the root."""
    return path.rpartition("/")[0] or "/"


def may(znode: Znode, wanted: int, identities: Identities) -> bool:
    """Return whether the ACL gives one of the wanted permissions."""
    allowed = (entry for entry in znode.acl if entry.permissions & wanted)
    return any(entry.scheme == "world" or (entry.scheme, entry.identity) in identities for entry in allowed)


def require(znode: Znode, wanted: int, transaction: Transaction) -> None:
    """Raise Refused if the session has not that permission."""
    if not may(znode, wanted, transaction.identities):
        raise Refused(NO_AUTH)


def fixed(acl: tuple[Access, ...], transaction: Transaction) -> tuple[Access, ...]:
    """Return the ACL with the identities of the session in place of the scheme ``auth``."""
    entries: list[Access] = []
    for entry in acl:
        if entry.scheme != "auth":
            entries.append(entry)
        else:
            entries += [Access(entry.permissions, *identity) for identity in transaction.identities]
    if not entries:
        raise Refused(INVALID_ACL)
    return tuple(entries)
