# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A gate: a named reason not to move a partition, with the way out.

Every gate fails closed: it lets a partition pass only when what it looked at shows that the move is
safe. The gates are ordered; the first that trips is the one that is reported.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from ..shard.facts import PartitionFacts, ShardFacts


class GateOptions(NamedTuple):
    """What the operator may set about gates."""

    now: float
    """Seconds since 1970."""
    min_age: float
    """Seconds that must have passed since the newest part was registered."""
    max_parts: int
    """Parts that a replica may have in the partition."""


class Refusal(NamedTuple):
    """Why a partition stays where it is, and what can be done about it."""

    gate: str
    reason: str
    remedy: str


@dataclass(frozen=True)
class ShardGate:
    """A gate that stops every partition of a shard path."""

    name: str
    protects: str
    remedy: str
    reason: Callable[[ShardFacts], str | None]

    def refusal(self, shard: ShardFacts) -> Refusal | None:
        """The refusal, or None to let the shard path pass."""
        reason = self.reason(shard)
        return None if reason is None else Refusal(self.name, reason, self.remedy)


@dataclass(frozen=True)
class PartitionGate:
    """A gate that stops one partition."""

    name: str
    protects: str
    remedy: str
    reason: Callable[[ShardFacts, PartitionFacts, GateOptions], str | None]

    def refusal(self, shard: ShardFacts, partition: PartitionFacts, options: GateOptions) -> Refusal | None:
        """The refusal, or None to let the partition pass."""
        reason = self.reason(shard, partition, options)
        return None if reason is None else Refusal(self.name, reason, self.remedy)
