# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The operations that move the registration of parts: pure, from what was read to what is written.

Children are created after their parent and deleted before it. A deletion names the version that was read, so
that nothing is deleted but what was copied.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...formats.state import State
from ...shard.facts import RegisteredPart
from ...tree.znodes import Create, Delete, Op, SetData, Znode


def creation(part: RegisteredPart) -> list[Op]:
    """What registers the part at the same path of an ensemble that does not have it."""
    return [Create(znode.path, znode.data) for znode in (part.znode, *part.children)]


def removal(part: RegisteredPart) -> list[Op]:
    """What takes the registration of the part away."""
    return [Delete(znode.path, znode.stat.version) for znode in (*part.children, part.znode)]


def leaving_hot(parts: Iterable[RegisteredPart], state: Znode) -> list[Op]:
    """What makes hot give up a partition, whose State is COLD from that instant on."""
    removals = [op for part in parts for op in removal(part)]
    return [SetData(state.path, State.COLD.data, state.stat.version), *removals]


def returning_to_hot(parts: Iterable[RegisteredPart], state: Znode) -> list[Op]:
    """What registers the parts in hot again, and makes the State HOT at that instant."""
    creations = [op for part in parts for op in creation(part)]
    return [*creations, SetData(state.path, State.HOT.data, state.stat.version)]
