# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The page about repairs has every kind, and says of exactly those that a module repairs that it does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from ansible_collections.olap.partmove.plugins.module_utils._partmove.audit.kind import Kind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.repair.run import REMEDIES

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "repair.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `(\w+)` \| (repaired|by a person|sound) \| (.+) \| (.+) \|$", PAGE, re.MULTILINE)


def who(kind: Kind) -> str:
    if kind in REMEDIES:
        return "repaired"
    return "sound" if kind.is_sound else "by a person"


def test_the_page_has_every_kind_with_who_repairs_it() -> None:
    assert [row[:2] for row in ROWS] == [(kind.value, who(kind)) for kind in Kind]


def test_it_says_what_is_done_to_what_is_repaired_and_to_nothing_else() -> None:
    assert [name for name, _who, done, _else in ROWS if done != "\N{EN DASH}"] == [
        kind.value for kind in Kind if kind in REMEDIES
    ]


def test_it_begins_with_what_must_not_be_done() -> None:
    assert PAGE.index("DO NOT RESTART") < PAGE.index("## ")


def test_the_role_takes_the_kinds_that_are_repaired_and_no_other() -> None:
    path = ROOT / "roles" / "partmove_repair" / "meta" / "argument_specs.yml"
    spec: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))["argument_specs"]["main"]
    assert spec["options"]["partmove_repair_kind"]["choices"] == sorted(kind.value for kind in REMEDIES)
