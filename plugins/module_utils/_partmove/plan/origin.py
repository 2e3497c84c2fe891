# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The origin of a plan: topmost znodes that identify its hot ensemble.

The creating server sets the transaction id and time of a znode. So two ensembles never agree in both on one
path. Another chroot of the same ensemble is another tree, and is distinguished, too.
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
    """A topmost znode of the plan's hot ensemble. ``ctime``: in milliseconds since 1970."""

    path: str
    czxid: int
    ctime: int


OriginReader = Callable[[Sequence[str]], Sequence[OriginZnode]]
"""Returns the topmost znodes at the paths. Raises PartMoveError for a missing or unreadable znode."""


def topmost(shard_path: str) -> str:
    """Return the first name of a shard path, as the path of its topmost znode.

    >>> topmost("/clickhouse/tables/01/hits")
    '/clickhouse'
    """
    return "/" + shard_path.split("/", 2)[1]


def read_origin(hot: ZnodeReader, paths: Sequence[str]) -> list[OriginZnode]:
    """Read the topmost znodes at the paths, in order. Raises PlanError for a missing znode."""
    origin = []
    for path, znode in zip_strict(paths, hot.read(paths)):
        if znode is None:
            raise missing_origin(path)
        origin.append(_origin_of(path, znode))
    return origin


def missing_origin(path: str) -> PlanError:
    """Return the error for a plan whose cluster cannot be identified."""
    return PlanError(
        f"There is no znode {path} any more in the hot ensemble, so the plan cannot identify its cluster",
        remedy="Classify again",
    )


def check_origin(hot: ZnodeReader, origin: Sequence[OriginZnode], where: str) -> None:
    """Raise PlanError unless the ensemble has all znodes of the origin.

    A plan without rows has no origin, and fits every cluster.

    where: the plan, for messages.
    """
    expected = list(origin)
    for each, znode in zip_strict(expected, hot.read([each.path for each in expected])):
        if znode is None:
            raise _other_cluster(hot, each, "which has no such znode", where)
        current = _origin_of(each.path, znode)
        if current != each:
            raise _other_cluster(hot, each, f"where it {_created(current)}", where)


def _origin_of(path: str, znode: Znode) -> OriginZnode:
    return OriginZnode(path, znode.stat.czxid, znode.stat.ctime)


def _other_cluster(hot: ZnodeReader, planned: OriginZnode, difference: str, where: str) -> PlanError:
    return PlanError(
        f"{where}: the plan was made of another cluster, in which {planned.path} {_created(planned)}, and not"
        f" of the {hot.name} ensemble given, {difference}",
        remedy="Give hosts and chroot of the plan's cluster, or classify again; also classify again if the"
        " ensemble given is a copy that was made znode by znode",
    )


def _created(znode: OriginZnode) -> str:
    return f"was created by transaction 0x{znode.czxid:x} at {format_time(znode.ctime)}"
