# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The page about gates lists exactly the gates that the code has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.gate import (
    PartitionGate,
    ShardGate,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.partition import (
    PARTITION_GATES,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.shard import SHARD_GATES
from support.memory.gate_names import literal_gates

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "gates.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", PAGE, flags=re.MULTILINE))


@pytest.mark.parametrize("gate", [*SHARD_GATES, *PARTITION_GATES], ids=lambda gate: str(gate.name))
def test_a_gate_is_described_as_in_the_code(gate: ShardGate | PartitionGate) -> None:
    assert ROWS[gate.name] == f"{gate.protects} | {gate.remedy}."


def test_the_page_has_every_gate_and_no_other() -> None:
    in_tables = {gate.name for gate in SHARD_GATES} | {gate.name for gate in PARTITION_GATES}
    assert set(ROWS) == in_tables | literal_gates()
