# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Frozen values of ZooKeeper: what is read, and what is written in a multi."""

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
    """One znode as it was read."""

    path: str
    data: bytes
    stat: Stat


class Query(NamedTuple):
    """What is asked of an ensemble: the znodes at some paths, and after them the children of others."""

    znodes: Sequence[str] = ()
    """Paths of which data and stat are read."""
    children: Sequence[str] = ()
    """Paths of which the names of the children are read."""


class QueryAnswer(NamedTuple):
    """The answers to a query, in its order; None where there is no znode."""

    znodes: list[Znode | None]
    children: list[tuple[str, ...] | None]
    """Names, sorted."""


class Create(NamedTuple):
    """Create a znode; fails with NODE_EXISTS, or NO_NODE when the parent is missing."""

    path: str
    data: bytes
    ephemeral: bool = False


class SetData(NamedTuple):
    """Replace the data of a znode that still has this data version."""

    path: str
    data: bytes
    version: int


class Delete(NamedTuple):
    """Delete a znode that still has this data version and has no children."""

    path: str
    version: int


class Check(NamedTuple):
    """Fail the whole multi unless the znode has this data version."""

    path: str
    version: int


Op = Union[Create, SetData, Delete, Check]
Multi = tuple[Op, ...]
"""Operations that are applied all together or not at all."""


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
    """The multi was applied, with all its operations."""

    zxid: int = field(default=0, compare=False)
    """Its transaction; 0 where nothing tells, as of a multi that set no data."""


class Rejected(NamedTuple):
    """The multi was not applied; ``op_index`` tells the operation that failed."""

    op_index: int
    reason: Reason
    code: int


class Unknown(NamedTuple):
    """The connection was lost before the answer: the multi may have been applied or not."""

    cause: str


Outcome = Union[Committed, Rejected, Unknown]
