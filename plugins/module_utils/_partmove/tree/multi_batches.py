# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Packs operations into multis within the size limits of a server.

A multi is a ZooKeeper transaction. A group is the operations of one key, such as a part; all operations of a
group go into the same multi.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from ..errors import PartMoveError
from .znodes import Create, Multi, Op, SetData

MAX_OPS = 1000
MAX_BYTES = 512 * 1024
"""The limit of one multi on the wire. ZooKeeper's own default limit is 1 MiB (jute.maxbuffer)."""

_OP_OVERHEAD = 256
"""Bytes of an operation besides path and data: 48 for headers, version, flags and ACL, and the chroot."""

Key = TypeVar("Key")


class GroupTooLarge(PartMoveError):
    """A group of operations does not fit into one multi."""


class MultiBatch(NamedTuple):
    """One multi and the keys of its groups."""

    keys: tuple[object, ...]
    multi: Multi


def size_of(ops: Sequence[Op]) -> int:
    """Return an upper bound of the bytes of the operations on the wire."""
    paths = [len(op.path) if op.path.isascii() else len(op.path.encode()) for op in ops]
    data = [len(op.data) for op in ops if isinstance(op, (Create, SetData))]
    return _OP_OVERHEAD * len(ops) + sum(paths) + sum(data)


class MultiRoom(NamedTuple):
    """The free operations and bytes of a multi after its checks, computed once for many groups."""

    ops: int
    bytes: int

    @classmethod
    def beside(cls, checks: Sequence[Op]) -> MultiRoom:
        """Return the room of a multi that begins with these checks."""
        return cls(MAX_OPS - len(checks), MAX_BYTES - size_of(checks))

    def holds(self, ops: Sequence[Op], more_bytes: int = 0) -> bool:
        """Whether a group of operations fits and leaves ``more_bytes`` free."""
        return len(ops) <= self.ops and size_of(ops) + more_bytes <= self.bytes


def pack(
    checks: Sequence[Op],
    groups: Iterable[tuple[Key, Sequence[Op]]],
    ops_at_once: Callable[[], int] = lambda: MAX_OPS,
) -> Iterator[MultiBatch]:
    """Fill multis with whole groups, in order. Every multi starts with the checks.

    ops_at_once: returns how many operations a multi should have at most; a larger group goes alone.

    The iterable is consumed lazily: a multi is yielded as soon as the next group does not fit.

    Raises GroupTooLarge if a group alone exceeds a multi; `MultiRoom` finds such groups beforehand.
    """
    checks_bytes = size_of(checks)
    keys: list[Key] = []
    ops: list[Op] = []
    used = checks_bytes
    most = min(MAX_OPS, ops_at_once())
    for key, group in groups:
        group_bytes = size_of(group)
        if ops and (len(checks) + len(ops) + len(group) > most or used + group_bytes > MAX_BYTES):
            yield MultiBatch(tuple(keys), (*checks, *ops))
            keys, ops, used = [], [], checks_bytes
            most = min(MAX_OPS, ops_at_once())
        if len(checks) + len(group) > MAX_OPS or checks_bytes + group_bytes > MAX_BYTES:
            raise GroupTooLarge(
                f"{len(group)} operations of {group_bytes} bytes on {group[0].path} do not fit one multi "
                f"of {MAX_OPS} operations and {MAX_BYTES} bytes",
                remedy="Leave the partition in its ensemble",
            )
        keys.append(key)
        ops.extend(group)
        used += group_bytes
    if ops:
        yield MultiBatch(tuple(keys), (*checks, *ops))
