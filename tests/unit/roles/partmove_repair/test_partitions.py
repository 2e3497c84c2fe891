# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The findings of the partitions that are given, in each form in which Ansible reads a list of ids."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.plugins.filter.core import FilterModule
from jinja2.nativetypes import NativeEnvironment

ROLE = Path(__file__).resolve().parents[4] / "roles" / "partmove_repair"
AUDIT = {
    "findings": [
        {"kind": "ghost", "partition": "20191201", "shard_path": "/a"},
        {"kind": "copies_left", "partition": "20191202", "shard_path": "/b"},
        {"kind": "ghost", "partition": "201912", "shard_path": "/c"},
    ],
    "kinds": {"ghost": 2, "copies_left": 1},
}


def values(given: Any) -> dict[str, Any]:
    """Return the variables of the role that select findings."""
    environment = NativeEnvironment()
    environment.filters["flatten"] = FilterModule().filters()["flatten"]
    known: dict[str, Any] = {
        "partmove_repair__audit": AUDIT,
        "partmove_repair_kind": "ghost",
        "partmove_repair_root": "/",
        "partmove_repair_shard_paths": None,
        "partmove_repair_partitions": given,
    }
    texts = yaml.safe_load((ROLE / "vars" / "main.yml").read_text(encoding="utf-8"))
    for name in ("ids", "of_kind", "found", "kinds"):
        found: Any = environment.from_string(texts[f"partmove_repair__{name}"]).render(known)
        known[f"partmove_repair__{name}"] = found if isinstance(found, dict) else list(found)
    page = environment.from_string(texts["partmove_repair__of"]["partitions"]).render(known)
    return {**known, "page": page}


@pytest.mark.parametrize(
    "given", [["20191201"], [20191201], 20191201, "20191201", "20191203, 20191201"], ids=str
)
def test_ids_may_be_numbers_and_text_with_commas(given: Any) -> None:
    """YAML makes a number of an id without quotes; the option of the module takes each of these forms."""
    found = values(given)
    assert [row["shard_path"] for row in found["partmove_repair__found"]] == ["/a"]
    assert found["partmove_repair__kinds"] == ["ghost"]
    assert set(found["page"]) <= {"20191201", "20191203"}


def test_without_ids_all_findings_are_taken() -> None:
    found = values(None)
    assert [row["shard_path"] for row in found["partmove_repair__found"]] == ["/a", "/c"]
    assert set(found["partmove_repair__kinds"]) == {"ghost", "copies_left"}
    assert found["page"] == []
