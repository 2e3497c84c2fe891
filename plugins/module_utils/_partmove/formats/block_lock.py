# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Classifies a child of ``block_numbers/<partition>``: insert in flight, abandoned insert, or marker.

A server reserves the block number of an insert by creating ``block-<number>``, and deletes the znode when the
insert is committed or abandoned:

- Servers from 18.16 on create an ephemeral znode.
- Older servers create a persistent znode, which outlives the insert. Its data is the path of an ephemeral
  holder, ``temp/abandonable_lock-<number>``. The insert counts as alive while the holder exists.

So a persistent znode with an existing holder blocks merges across its block number, whoever created the
znode.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from enum import Enum

from ..errors import FormatError
from ..text import shown
from .state import STATE
from .znode_text import READ_ZNODE, decoded

_BLOCK = re.compile(r"block-[0-9]+")
_HOLDER = re.compile(r"(?:/.+)?/temp/(abandonable_lock-[^/\s]+)")


class BlockLock(Enum):
    """The meaning of a child of ``block_numbers/<partition>``."""

    IN_FLIGHT = "insert in flight"
    ABANDONED = "given-up insert"
    MARKER = "State marker"


def block_lock(
    name: str, data: bytes, ephemeral_owner: int, living_holders: Collection[str], where: str
) -> BlockLock:
    """Classify the child ``name`` of a partition's znode by its data and owner.

    living_holders: the children of the shard's ``temp``, read after the child.
    where: the path of the child.

    Raises FormatError for unknown names and data.
    """
    if name == STATE:
        return BlockLock.MARKER
    if _BLOCK.fullmatch(name) is None:
        raise FormatError(
            f"{where} is neither a block number nor the {STATE} marker",
            remedy="Find out who created the znode, and delete the znode if it is not needed",
        )
    if ephemeral_owner:
        return BlockLock.IN_FLIGHT
    if not data:
        return BlockLock.ABANDONED
    text = decoded(data, where)
    holder = _HOLDER.fullmatch(text)
    if holder is None:
        raise FormatError(
            f"{where}: expected the path of an abandonable_lock znode, found {shown(text)}", remedy=READ_ZNODE
        )
    return BlockLock.IN_FLIGHT if holder[1] in living_holders else BlockLock.ABANDONED
