# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The order of repairs: a kind comes after the kinds that keep its repair from working.

The severity of kinds is another order. For example, `registered_for_another` is worse than `foreign`, and no
part is registered while a gate finds parts of another tool in cold.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from .kind import FindingKind

_FIRST = frozenset({FindingKind.OTHER_CLUSTER, FindingKind.NOT_JUDGED})
"""Kinds that no repair gets past: the parts in cold belong to others, or a server does not answer."""

_SAME_TABLE = _FIRST | {FindingKind.FOREIGN, FindingKind.FORMER_TABLE}
"""Kinds that close the gate `same_table` of a shard path: the parts in cold have no marker of this table."""

NEEDS: Mapping[FindingKind, Collection[FindingKind]] = {
    FindingKind.OTHER_CLUSTER: (),
    FindingKind.NOT_JUDGED: (),
    # Manual actions at the files of a server.
    FindingKind.SET_ASIDE: (),
    FindingKind.UNLIKE_DISK: (),
    FindingKind.NOT_ON_DISK: (),
    # Removals from cold, and changes of State where no part is cold.
    FindingKind.UNREADABLE: _FIRST,
    FindingKind.COLD_UNKNOWN: _FIRST,
    FindingKind.GHOST: _FIRST,
    FindingKind.FORMER_TABLE: _FIRST,
    FindingKind.DROPPED: _FIRST,
    FindingKind.ANOTHER_REPLICA: _FIRST,
    FindingKind.HOT_MARKED_COLD: _FIRST,
    FindingKind.EMPTY_MARKED_COLD: _FIRST,
    # A shard path is adopted as a whole: each part in cold has to equal hot or the disk.
    FindingKind.FOREIGN: _FIRST
    | {
        FindingKind.UNREADABLE,
        FindingKind.SET_ASIDE,
        FindingKind.UNLIKE_DISK,
        FindingKind.COLD_UNKNOWN,
        FindingKind.GHOST,
        FindingKind.FORMER_TABLE,
        FindingKind.DROPPED,
        FindingKind.ANOTHER_REPLICA,
    },
    # Repairs and manual actions that go through the gate `same_table`.
    FindingKind.UNREGISTERED: _SAME_TABLE,
    FindingKind.REGISTERED_FOR_ANOTHER: _SAME_TABLE,
    FindingKind.LACKS_DATA: _SAME_TABLE,
    FindingKind.COPIES_DIFFER: _SAME_TABLE,
    FindingKind.COLD_UNMARKED: _SAME_TABLE,
    FindingKind.SEVERAL_COLD_PARTS: _SAME_TABLE,
    FindingKind.COPIES_LEFT: _SAME_TABLE,
    # Bringing a partition back would register parts that are on no disk.
    FindingKind.HALF_COLD: _SAME_TABLE | {FindingKind.GHOST, FindingKind.DROPPED},
    # A replica that lacks data keeps the partition from being brought back.
    FindingKind.UNEVEN: _SAME_TABLE | {FindingKind.LACKS_DATA},
}
"""Each kind that needs an action → the kinds that must be gone from the shard path first."""

MANUAL = frozenset(
    {
        FindingKind.SET_ASIDE,
        FindingKind.LACKS_DATA,
        FindingKind.UNLIKE_DISK,
        FindingKind.NOT_ON_DISK,
        FindingKind.OTHER_CLUSTER,
        FindingKind.UNEVEN,
        FindingKind.SEVERAL_COLD_PARTS,
        FindingKind.NOT_JUDGED,
    }
)
"""The kinds that no module repairs."""


def _ordered() -> tuple[FindingKind, ...]:
    """Return the kinds of NEEDS, the worst first, each directly after what it needs."""
    placed: dict[FindingKind, None] = {}

    def place(kinds: Collection[FindingKind]) -> None:
        for kind in sorted(kinds, key=_rank_of):
            if kind not in placed:
                place(NEEDS[kind])
                placed[kind] = None

    place(NEEDS)
    return tuple(placed)


def _rank_of(kind: FindingKind) -> int:
    return kind.rank


ORDER = _ordered()
"""Every kind that needs an action, in the order in which the actions work."""

REPAIR_ORDER = tuple(kind for kind in ORDER if kind not in MANUAL)
"""The kinds that part_repair repairs, in the order in which the repairs work."""


def in_order(kinds: Collection[FindingKind]) -> Iterator[FindingKind]:
    """Yield the kinds that need an action, in the order in which the actions work."""
    return (kind for kind in ORDER if kind in kinds)
