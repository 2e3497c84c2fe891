# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Packs groups of operations that belong together into multis that a server will take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from ..errors import PartMoveError
from .znodes import Create, Multi, Op, SetData

MAX_OPS = 1000
MAX_BYTES = 512 * 1024
"""Of one multi as it goes over the wire; ZooKeeper's own default limit is 1 MiB (jute.maxbuffer)."""

_OP_OVERHEAD = 256
"""What an operation takes besides path and data: 48 for headers, version, flags and ACL, and the chroot."""

Key = TypeVar("Key")


class GroupTooLarge(PartMoveError):
    """Operations that must be applied together do not fit one multi."""


class MultiBatch(NamedTuple):
    """One multi and the keys of the groups it carries."""

    keys: tuple[object, ...]
    multi: Multi


def size_of(ops: Sequence[Op]) -> int:
    """An upper bound of the bytes that the operations take on the wire."""
    paths = [len(op.path) if op.path.isascii() else len(op.path.encode()) for op in ops]
    data = [len(op.data) for op in ops if isinstance(op, (Create, SetData))]
    return _OP_OVERHEAD * len(ops) + sum(paths) + sum(data)


class MultiRoom(NamedTuple):
    """What a multi has room for beside its checks, which are measured once for many groups."""

    ops: int
    bytes: int

    @classmethod
    def beside(cls, checks: Sequence[Op]) -> MultiRoom:
        """The room that these checks leave."""
        return cls(MAX_OPS - len(checks), MAX_BYTES - size_of(checks))

    def holds(self, ops: Sequence[Op], more_bytes: int = 0) -> bool:
        """Whether one group of operations fits, with so many bytes to spare."""
        return len(ops) <= self.ops and size_of(ops) + more_bytes <= self.bytes


def pack(checks: Sequence[Op], groups: Iterable[tuple[Key, Sequence[Op]]]) -> Iterator[MultiBatch]:
    """Fill multis with whole groups, in order; each multi starts with the checks.

    Of the groups those are taken that a multi is made of, and the one after them.

    Raises GroupTooLarge for a group that does not fit even alone; sort those out with `MultiRoom` first.
    """
    checks_bytes = size_of(checks)
    keys: list[Key] = []
    ops: list[Op] = []
    used = checks_bytes
    for key, group in groups:
        group_bytes = size_of(group)
        if ops and (len(checks) + len(ops) + len(group) > MAX_OPS or used + group_bytes > MAX_BYTES):
            yield MultiBatch(tuple(keys), (*checks, *ops))
            keys, ops, used = [], [], checks_bytes
        if len(checks) + len(group) > MAX_OPS or checks_bytes + group_bytes > MAX_BYTES:
            raise GroupTooLarge(
                f"{len(group)} operations of {group_bytes} bytes on {group[0].path} do not fit one multi "
                f"of {MAX_OPS} operations and {MAX_BYTES} bytes",
                remedy="Leave the partition where it is",
            )
        keys.append(key)
        ops.extend(group)
        used += group_bytes
    if ops:
        yield MultiBatch(tuple(keys), (*checks, *ops))
