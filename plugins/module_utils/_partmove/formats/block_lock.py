# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a child of ``block_numbers/<partition>`` tells: an insert in flight, one given up, or the marker.

A server takes the block number of an insert by creating ``block-<number>``; it deletes the znode when the
insert is committed or given up. Servers from 18.16 on make it ephemeral. Older ones made it persistent,
with the path of an ephemeral holder ``temp/abandonable_lock-<number>`` as data, so it outlives the insert:
a server takes the insert for alive while the holder exists. A persistent znode that names a living holder
therefore keeps servers from merging across its block number, whoever created it.
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
    """What a child of ``block_numbers/<partition>`` stands for."""

    IN_FLIGHT = "insert in flight"
    ABANDONED = "given-up insert"
    MARKER = "State marker"


def block_lock(
    name: str, data: bytes, ephemeral_owner: int, living_holders: Collection[str], where: str
) -> BlockLock:
    """Tell what the child ``name`` with this data and owner stands for.

    ``living_holders`` are the names of the children of the shard's ``temp``, read after the child;
    ``where`` is the path of the child. Raises FormatError for a name or data of any other kind.
    """
    if name == STATE:
        return BlockLock.MARKER
    if _BLOCK.fullmatch(name) is None:
        raise FormatError(
            f"{where} is neither a block number nor the {STATE} marker",
            remedy="Find out who created the znode, and delete it if nobody needs it",
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
