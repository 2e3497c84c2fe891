# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The page about repairs has every kind, says who repairs it, and what of that was shown on servers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.run import REMEDIES
from support.servers.leftovers import original, ours, servers
from support.servers.leftovers.ground import Scene

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "operate" / "repair.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| `(\w+)` \| (repaired|manually|consistent) \| (.+) \| (.+) \|$", PAGE, re.MULTILINE)


UNTOLD = {FindingKind.HOT, FindingKind.EMPTY}
PLAYED = (
    ("", "test_leftovers.py", ours.SCENES),
    ("another tool ", "test_leftovers.py", original.SCENES),
    ("", "test_audit.py", servers.SCENES),
)
"""Who did it, which test shows it, and the scenes."""


def who(kind: FindingKind) -> str:
    if kind in REMEDIES:
        return "repaired"
    return "consistent" if kind.is_consistent else "manually"


def test_the_page_has_every_kind_with_who_repairs_it() -> None:
    assert [row[:2] for row in ROWS] == [(kind.value, who(kind)) for kind in FindingKind]


def test_it_says_what_is_done_to_what_is_repaired_and_to_nothing_else() -> None:
    assert [name for name, _who, done, _else in ROWS if done != "\N{EN DASH}"] == [
        kind.value for kind in FindingKind if kind in REMEDIES
    ]


def test_it_begins_with_what_must_not_be_done() -> None:
    assert PAGE.index("DO NOT RESTART") < PAGE.index("## ")


def shown() -> list[tuple[str, str, str, str]]:
    """The rows about what was played on servers."""
    return [
        (
            f"{tool}{str(scene).replace('_', ' ')}",
            ", ".join(f"`{kind.value}`" for kind in scene.worst_first if kind not in UNTOLD) or "`hot`",
            after(scene),
            f"`{test}`",
        )
        for tool, test, scenes in PLAYED
        for scene in scenes
    ]


def after(scene: Scene) -> str:
    if not scene.is_repaired:
        return "is not tried"
    if all(kind.is_consistent for kind in scene.worst_first):
        return "nothing to do"
    return (
        ", ".join(f"`{kind.value}` stays" for kind in sorted(scene.left, key=lambda kind: kind.rank))
        or "consistent"
    )


def test_the_page_has_what_was_played_on_servers() -> None:
    rows = re.findall(r"^\| (.+) \| (`.+`) \| (.+) \| (`test_\w+\.py`) \|$", PAGE, re.MULTILINE)
    assert rows == shown()


def test_the_page_has_the_kinds_that_were_not_played() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (`test_\w+\.py`|in memory alone) \| (.+) \|$", PAGE, re.MULTILINE)
    played = {kind for _tool, _test, scenes in PLAYED for scene in scenes for kind in scene.worst_first}
    assert [name for name, _test, _why in rows] == [kind.value for kind in FindingKind if kind not in played]
    tests = {test.strip("`") for _name, test, _why in rows} - {"in memory alone"}
    assert all((ROOT / "tests" / "clickhouse" / test).exists() for test in tests)


def test_the_role_takes_the_kinds_that_are_repaired_and_no_other() -> None:
    path = ROOT / "roles" / "partmove_repair" / "meta" / "argument_specs.yml"
    spec: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))["argument_specs"]["main"]
    kinds = sorted(kind.value for kind in REMEDIES)
    assert spec["options"]["partmove_repair_kind"]["choices"] == ["all", *kinds]
