# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The operations to create and remove part znodes: pure functions from read znodes to operations.

Children are created after their parent and deleted before it. A deletion names the version of the read znode,
so only a copied znode can be deleted.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...formats.state import State
from ...shard.facts import RegisteredPart
from ...tree.znodes import Create, Delete, Op, SetData, Znode


def creation(part: RegisteredPart) -> list[Op]:
    """Return the operations to register the part at the same path of the other ensemble."""
    return [Create(znode.path, znode.data) for znode in (part.znode, *part.children)]


def removal(part: RegisteredPart) -> list[Op]:
    """Return the operations to remove the part znode and its children."""
    return [Delete(znode.path, znode.stat.version) for znode in (*part.children, part.znode)]


def leaving_hot(parts: Iterable[RegisteredPart], state: Znode) -> list[Op]:
    """Return the operations to remove a partition from hot and set its State to COLD at that instant."""
    removals = [op for part in parts for op in removal(part)]
    return [SetData(state.path, State.COLD.data, state.stat.version), *removals]


def returning_to_hot(parts: Iterable[RegisteredPart], state: Znode) -> list[Op]:
    """Return the operations to register the parts in hot again and set State to HOT at that instant."""
    creations = [op for part in parts for op in creation(part)]
    return [*creations, SetData(state.path, State.HOT.data, state.stat.version)]
