# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Judges at once the partitions of which every server has exactly what one ensemble registers.

Nearly all partitions are settled: each replica has the same parts, registered in the ensemble that State
says, active on disk, and in no other place. No rule of `judge` before the last one matches such a partition,
and the last one gives the same verdict for each replica. So the rules are left out, which are most of the
time of an audit. Every other partition is judged by the rules.
"""

from __future__ import annotations

from ...binding.owner import Owner
from ...formats.names import PartName
from ...formats.state import is_cold
from .judge import Verdict
from .kind import FindingKind
from .partitions import Partitions
from .replicas import NO_PARTITION

_HOT = Verdict(FindingKind.HOT)
_EMPTY = Verdict(FindingKind.EMPTY)


class SettledPartitions:
    """Finds the settled partitions in one read of a shard path."""

    def __init__(self, partitions: Partitions) -> None:
        names = partitions.names
        self._states = names.states
        self._has_ours_in_cold = partitions.owner is Owner.OURS and partitions.cold_is_known
        self._problems = frozenset[str]().union(*(each.partitions for each in partitions.contents.values()))
        self._is_complete = bool(names.replicas) and all(
            each.disk is not None for each in names.replicas.values()
        )
        # Replicas with equal lists share them, so that each list is looked at once.
        lists = [
            (names.hot.parts.get(name, {}), names.cold.parts.get(name, {}), replica.active)
            for name, replica in names.replicas.items()
        ]
        self._lists = list({tuple(map(id, each)): each for each in lists}.values())
        self._elsewhere = [parts for name, parts in names.cold.parts.items() if name not in names.replicas]

    def verdict(self, partition_id: str) -> Verdict | None:
        """Return the verdict for each replica in hot, and no others have any; None if the rules decide."""
        if not self._is_complete or partition_id == NO_PARTITION or partition_id in self._problems:
            return None
        if any(partition_id in parts for parts in self._elsewhere):
            return None
        places = self._places(partition_id)
        if places is None:
            return None
        hot, cold = places
        state = self._states[partition_id]
        is_marked = state is not None and is_cold(state.data)
        if not cold:
            return None if is_marked else (_HOT if hot else _EMPTY)
        # Several parts, or a State that does not say so, are findings.
        if not is_marked or not self._has_ours_in_cold or len(cold) > 1:
            return None
        return Verdict(FindingKind.COLD, (cold[0].text,))

    def _places(self, partition_id: str) -> tuple[tuple[PartName, ...], tuple[PartName, ...]] | None:
        """Return the parts in hot and in cold, one of them empty; None unless all replicas agree."""
        first: tuple[tuple[PartName, ...], tuple[PartName, ...]] | None = None
        for in_hot, in_cold, on_disk in self._lists:
            hot, cold = in_hot.get(partition_id, ()), in_cold.get(partition_id, ())
            if (hot and cold) or on_disk.get(partition_id, ()) != (hot or cold):
                return None
            if first is None:
                first = hot, cold
            elif first != (hot, cold):
                return None
        return first
