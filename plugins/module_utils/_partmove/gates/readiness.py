# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The gate at replicas whose servers may not know the cold ensemble; the ledger implements it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from ..shard.facts import ShardFacts
from .judge import Judgement


class Readiness(Protocol):
    """Judges whether every replica of a shard path runs a server that knows the cold ensemble."""

    def judge(self, shard: ShardFacts, partition_ids: Collection[str]) -> Judgement:
        """Refuse every partition unless the readiness is certain.

        The judgement holds as long as the fence of the shard and the returned checks hold.
        """


class AssumePatched:
    """Trusts the operator, who vouches for the servers. An unpatched server would not start any more."""

    def judge(self, shard: ShardFacts, partition_ids: Collection[str]) -> Judgement:
        """Refuse no partition and return no checks."""
        return Judgement({})
