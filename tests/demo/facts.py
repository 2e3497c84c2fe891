# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What part_info tells of the demo's tables, as the demo shows and compares it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from demo.tables import BUSY, HOT, DemoTable

ENSEMBLES = ("hot", "cold")


class Registration(NamedTuple):
    """A part that an ensemble has registered, as part_info lists it."""

    shard_path: str
    partition: str
    ensemble: str
    replica: str
    part: str
    znodes: int
    bytes: int


class Amounts(NamedTuple):
    """What registrations add up to."""

    partitions: int
    parts: int
    znodes: int
    bytes: int

    @classmethod
    def of(cls, registrations: Iterable[Registration]) -> Amounts:
        """Add up."""
        rows = list(registrations)
        partitions = len({(row.shard_path, row.partition) for row in rows})
        return cls(partitions, len(rows), sum(row.znodes for row in rows), sum(row.bytes for row in rows))


class Facts(NamedTuple):
    """Where everything is.

    states: State by shard path and partition; HOT where there is none.
    parts: every registered part but those of the partition that gets inserts all the time.
    """

    states: Mapping[tuple[str, str], str]
    parts: frozenset[Registration]

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> Facts:
        """Take the answer of part_info with details=parts."""
        partitions = {(each["shard_path"], each["partition"]): each for each in answer["partitions"]}
        fields = ("ensemble", "replica", "part", "znodes", "bytes")
        return cls(
            {key: each["state"] or HOT for key, each in partitions.items()},
            frozenset(
                Registration(*key, *(part[field] for field in fields))
                for key, each in partitions.items()
                for part in each["parts"]
                if key != BUSY
            ),
        )

    def states_of(self, table: DemoTable) -> dict[str, str]:
        """Return the State of each partition of a table."""
        return {key[1]: state for key, state in self.states.items() if key[0] == table.shard_path}

    def of_ensemble(self, name: str) -> list[Registration]:
        """Return what one ensemble has."""
        return [part for part in self.parts if part.ensemble == name]

    def by_replica(self, table: DemoTable, partition: str, ensemble: str) -> str:
        """Tell how many parts of a partition each replica has in an ensemble, such as "r1 2, r2 2"."""
        found = Counter(
            part.replica
            for part in self.of_ensemble(ensemble)
            if (part.shard_path, part.partition) == (table.shard_path, partition)
        )
        return ", ".join(f"{replica} {count}" for replica, count in sorted(found.items())) or "-"
