# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The page about gates lists exactly the gates that the code has, and pictures are there and small."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.gate import (
    PartitionGate,
    ShardGate,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.names import GateName
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.partition import (
    PARTITION_GATES,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.gates.shard import SHARD_GATES

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ROOT / "plugins" / "module_utils"
PAGE = (ROOT / "docs" / "reference" / "gates.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", PAGE, flags=re.MULTILINE))


@pytest.mark.parametrize("gate", [*SHARD_GATES, *PARTITION_GATES], ids=lambda gate: gate.name.value)
def test_a_gate_is_described_as_in_the_code(gate: ShardGate | PartitionGate) -> None:
    assert ROWS[gate.name.value] == f"{gate.protects} | {gate.remedy}."


def test_the_page_has_every_gate_and_no_other() -> None:
    assert set(ROWS) == {each.value for each in GateName}


@pytest.mark.parametrize("name", GateName)
def test_no_gate_is_only_a_name(name: GateName) -> None:
    uses = [path for path in PRODUCT.rglob("*.py") if f"GateName.{name.name}" in path.read_text("utf-8")]
    assert any(path.name != "names.py" for path in uses)


def test_pictures_are_those_that_pages_show_and_small() -> None:
    images = ROOT / "docs" / "images"
    shown = {
        (page.parent / target).resolve()
        for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md"))
        for target in re.findall(r"\]\(([^)]+\.(?:png|svg))\)", page.read_text(encoding="utf-8"))
    }
    assert shown == set(images.iterdir())
    assert max(each.stat().st_size for each in images.iterdir()) < 200_000
