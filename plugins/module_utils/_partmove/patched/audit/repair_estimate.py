# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Estimates a repair from its audit: the znodes it writes and deletes, and how long it takes.

Nothing is assumed about the ensembles or the servers. The times are those of the audit of the same shard
paths, and the numbers of znodes are those that the audit has read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

from .audit import Row, ShardAudit
from .kind import FindingKind

READS_OF_A_REPAIR = 3
"""How often a repair reads a shard path: before, under its lease, and afterwards."""

_CREATES = frozenset(
    {
        FindingKind.UNREGISTERED,
        FindingKind.REGISTERED_FOR_ANOTHER,
        FindingKind.COLD_UNKNOWN,
        FindingKind.HALF_COLD,
    }
)
_DELETES = frozenset(
    {
        FindingKind.UNREADABLE,
        FindingKind.GHOST,
        FindingKind.FORMER_TABLE,
        FindingKind.DROPPED,
        FindingKind.ANOTHER_REPLICA,
        FindingKind.COPIES_LEFT,
    }
)
_REPLACES = frozenset({FindingKind.COPIES_DIFFER})
_SETS_STATE = frozenset(
    {
        FindingKind.COLD_UNKNOWN,
        FindingKind.HALF_COLD,
        FindingKind.COLD_UNMARKED,
        FindingKind.HOT_MARKED_COLD,
        FindingKind.GHOST,
        FindingKind.EMPTY_MARKED_COLD,
    }
)
_SETS_MARKER = frozenset({FindingKind.FOREIGN})


class Znodes(NamedTuple):
    """The most znodes that a repair writes and deletes, without locks, epochs and identities."""

    written: int
    deleted: int


def znodes_of(kind: FindingKind, rows: Iterable[Row]) -> Znodes:
    """Return the znodes for the findings of one kind. A kind without a repair has none."""
    found = list(rows)
    parts = sum(row.details.znodes for row in found)
    states = len({(row.shard_path, row.partition) for row in found}) if kind in _SETS_STATE else 0
    markers = len({row.shard_path for row in found}) if kind in _SETS_MARKER else 0
    created = parts if kind in _CREATES | _REPLACES else 0
    return Znodes(created + states + markers, parts if kind in _DELETES | _REPLACES else 0)


def seconds_of(audits: Iterable[ShardAudit], shard_paths: Collection[str]) -> float:
    """Return the seconds for a repair of one kind on these shard paths, without waits for locks and load."""
    return READS_OF_A_REPAIR * sum(each.seconds for each in audits if each.shard_path in shard_paths)
