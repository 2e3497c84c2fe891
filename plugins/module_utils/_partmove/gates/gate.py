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
from .names import GateName


class GateOptions(NamedTuple):
    """What the operator may set about gates."""

    min_age: float
    """Seconds that must have passed since the newest part was registered."""
    max_parts: int
    """Parts that a replica may have in the partition."""


class GateCase(NamedTuple):
    """What a gate judges: one partition of a shard path, at a moment."""

    shard: ShardFacts
    partition: PartitionFacts
    options: GateOptions
    now: float
    """The moment to judge for, in seconds since 1970."""


class Refusal(NamedTuple):
    """Why a partition stays where it is, and what can be done about it."""

    gate: GateName
    reason: str
    remedy: str

    def told(self) -> dict[str, str]:
        """The refusal as results and reports have it."""
        return {"gate": self.gate.value, "reason": self.reason, "remedy": self.remedy}


@dataclass(frozen=True)
class ShardGate:
    """A gate that stops every partition of a shard path."""

    name: GateName
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

    name: GateName
    protects: str
    remedy: str
    reason: Callable[[GateCase], str | None]

    def refusal(self, case: GateCase) -> Refusal | None:
        """The refusal, or None to let the partition pass."""
        reason = self.reason(case)
        return None if reason is None else self.refused_for(reason)

    def refused_for(self, reason: str) -> Refusal:
        """The refusal for a reason that the gate gave."""
        return Refusal(self.name, reason, self.remedy)
