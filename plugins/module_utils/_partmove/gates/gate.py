# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A gate: a named condition for the move of a partition, with a reason and a remedy.

Every gate fails closed: a partition passes only when the facts prove the move safe. The gates are ordered,
and a refusal names the first closed gate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from ..shard.facts import PartitionFacts, ShardFacts
from .names import GateName


class GateOptions(NamedTuple):
    """The gate settings of the operator."""

    min_age: float
    """Minimum age of the newest part znode, in seconds."""
    max_parts: int
    """Maximum number of parts of a replica in the partition."""


class GateCase(NamedTuple):
    """The input of a partition gate: one partition of a shard path, at one moment."""

    shard: ShardFacts
    partition: PartitionFacts
    options: GateOptions
    now: float
    """The moment of the judgement, in seconds since 1970."""


class Refusal(NamedTuple):
    """Why a partition stays where it is, and the remedy."""

    gate: GateName
    reason: str
    remedy: str

    def as_result(self) -> dict[str, str]:
        """Return the refusal with the keys of module results and reports."""
        return {"gate": self.gate.value, "reason": self.reason, "remedy": self.remedy}


@dataclass(frozen=True)
class ShardGate:
    """A gate for all partitions of a shard path."""

    name: GateName
    protects: str
    remedy: str
    reason: Callable[[ShardFacts], str | None]

    def refusal(self, shard: ShardFacts) -> Refusal | None:
        """Return the refusal, or None if the shard path passes."""
        reason = self.reason(shard)
        return None if reason is None else Refusal(self.name, reason, self.remedy)


@dataclass(frozen=True)
class PartitionGate:
    """A gate for one partition."""

    name: GateName
    protects: str
    remedy: str
    reason: Callable[[GateCase], str | None]

    def refusal(self, case: GateCase) -> Refusal | None:
        """Return the refusal, or None if the partition passes."""
        reason = self.reason(case)
        return None if reason is None else self.refused_for(reason)

    def refused_for(self, reason: str) -> Refusal:
        """Return the refusal with a reason returned by `reason`."""
        return Refusal(self.name, reason, self.remedy)
