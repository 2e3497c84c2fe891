# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Immutable values for reads and writes of ZooKeeper. A multi is a ZooKeeper transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, Union


class Stat(NamedTuple):
    """ZooKeeper's Stat of a znode, in the order of the wire format; times in milliseconds since 1970."""

    czxid: int
    mzxid: int
    ctime: int
    mtime: int
    version: int
    cversion: int
    aversion: int
    ephemeral_owner: int
    data_length: int
    num_children: int
    pzxid: int


class Znode(NamedTuple):
    """The path, data and stat of one znode, from one read."""

    path: str
    data: bytes
    stat: Stat


class Query(NamedTuple):
    """A request for znodes and, after them, for names of children."""

    znodes: Sequence[str] = ()
    """Paths whose data and stat are read."""
    children: Sequence[str] = ()
    """Paths whose children are listed."""


class QueryAnswer(NamedTuple):
    """The answer to a query, in the order of its paths; None for a missing znode."""

    znodes: list[Znode | None]
    children: list[tuple[str, ...] | None]
    """Names, sorted."""


class Create(NamedTuple):
    """Create a znode. Fails with NODE_EXISTS, or with NO_NODE if the parent is missing."""

    path: str
    data: bytes
    ephemeral: bool = False


class SetData(NamedTuple):
    """Replace the data of a znode. Fails with BAD_VERSION unless the znode has this data version."""

    path: str
    data: bytes
    version: int


class Delete(NamedTuple):
    """Delete a znode. Fails with BAD_VERSION unless the znode has this data version, or with NOT_EMPTY."""

    path: str
    version: int


class Check(NamedTuple):
    """Fail the whole multi unless the znode has this data version."""

    path: str
    version: int


Op = Union[Create, SetData, Delete, Check]
Multi = tuple[Op, ...]
"""The operations of a ZooKeeper transaction: either all are applied or none."""


class Reason(Enum):
    """Why an ensemble rejected a multi."""

    NO_NODE = "no node"
    NODE_EXISTS = "node exists"
    BAD_VERSION = "bad version"
    NOT_EMPTY = "not empty"
    NO_AUTH = "no permission"
    READ_ONLY = "ensemble is read-only"
    OTHER = "other"


@dataclass(frozen=True)
class Committed:
    """The multi was applied."""

    zxid: int = field(default=0, compare=False)
    """The transaction id; 0 if unknown, such as for a multi without SetData."""


class Rejected(NamedTuple):
    """The multi was not applied. ``op_index``: index of the failed operation."""

    op_index: int
    reason: Reason
    code: int


class Unknown(NamedTuple):
    """The connection was lost before the answer, so the multi may or may not have been applied."""

    cause: str


Outcome = Union[Committed, Rejected, Unknown]
