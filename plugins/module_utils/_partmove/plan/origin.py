# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which hot ensemble a plan is of: told by the znodes that its shard paths are below.

By which transaction and when a znode was created is said by the server that created it, so no other ensemble
agrees in both on one path. Another chroot of the same ensemble is another tree, and told apart as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..errors import PlanError
from ..text import format_time
from ..tree.ports import ZnodeReader
from ..tree.znodes import Znode
from ..zip_strict import zip_strict


class OriginZnode(NamedTuple):
    """A topmost znode as the hot ensemble has it that the plan was made of."""

    path: str
    czxid: int
    ctime: int
    """In milliseconds since 1970."""


OriginOf = Callable[[Sequence[str]], Sequence[OriginZnode]]
"""Gives the topmost znodes at these paths; raises PartMoveError where one is not there or cannot be read."""


def topmost(shard_path: str) -> str:
    """The path of the topmost znode that a shard path is at or below.

    >>> topmost("/clickhouse/tables/01/hits")
    '/clickhouse'
    """
    return "/" + shard_path.split("/", 2)[1]


def read_origin(hot: ZnodeReader, paths: Sequence[str]) -> list[OriginZnode]:
    """The znodes at these paths, in their order; raises PlanError where one is not there any more."""
    found = []
    for path, znode in zip_strict(paths, hot.read(paths)):
        if znode is None:
            raise gone(path)
        found.append(_origin_of(path, znode))
    return found


def gone(path: str) -> PlanError:
    """What is said where a plan cannot name its cluster."""
    return PlanError(
        f"There is no znode {path} any more in the hot ensemble, so nothing tells of which cluster it is",
        remedy="Classify again",
    )


def check_origin(hot: ZnodeReader, origin: Sequence[OriginZnode], where: str) -> None:
    """Raise PlanError unless the ensemble has all of these znodes.

    ``where`` is what the message calls the plan. A plan without rows has no origin, and fits every cluster.
    """
    expected = list(origin)
    for each, znode in zip_strict(expected, hot.read([each.path for each in expected])):
        if znode is None:
            raise _another(hot, each, "which has no such znode", where)
        here = _origin_of(each.path, znode)
        if here != each:
            raise _another(hot, each, f"where it {_created(here)}", where)


def _origin_of(path: str, znode: Znode) -> OriginZnode:
    return OriginZnode(path, znode.stat.czxid, znode.stat.ctime)


def _another(hot: ZnodeReader, planned: OriginZnode, difference: str, where: str) -> PlanError:
    return PlanError(
        f"{where}: the plan was made of another cluster, in which {planned.path} {_created(planned)}, and not"
        f" of the {hot.name} ensemble given, {difference}",
        remedy="Give hosts and chroot of the cluster that the plan is of, or classify again, as also where"
        " this ensemble is a copy that was made znode by znode",
    )


def _created(znode: OriginZnode) -> str:
    return f"was created by transaction 0x{znode.czxid:x} at {format_time(znode.ctime)}"
