# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Cases of the gates that judge a table: what is done to it, and what a move says then."""

from __future__ import annotations

from typing import NamedTuple

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.gate import Refusal
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.partition import PARTITION_GATES
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.shard import SHARD_GATES
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.move.report import PatchedReport
from support.memory.arrange import Arrange
from support.memory.bench import PATH, Bench

REMEDIES = {gate.name.value: gate.remedy for gate in SHARD_GATES} | {
    gate.name.value: gate.remedy for gate in PARTITION_GATES
}
"""The remedy by the name of the gate, in the order of the gates."""


class Case(NamedTuple):
    """What is done to a table whose partitions all gates let pass, and what the gate says of DAY then.

    reason: empty where the gate just lets it pass.
    """

    gate: str
    arrange: Arrange
    reason: str = ""

    @property
    def refusal(self) -> Refusal:
        """What the gate is expected to say."""
        return Refusal(GateName(self.gate), self.reason, REMEDIES[self.gate])


class Tried(NamedTuple):
    """A move of DAY; ``untouched`` is whether it left the table in both ensembles as it was."""

    report: PatchedReport
    untouched: bool


def try_move(case: Case) -> Tried:
    """Read, judge and move a whole table of which the case was made."""
    bench = Bench()
    case.arrange(bench)
    ensembles = (bench.hot_ensemble, bench.cold_ensemble)
    before = [each.data(PATH) for each in ensembles]
    report = bench.move()
    return Tried(report, before == [each.data(PATH) for each in ensembles])


def gate_of(case: Case) -> str:
    """The id of a case."""
    return case.gate
