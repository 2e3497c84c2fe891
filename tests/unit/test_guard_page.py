# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The guard of twins finishes exactly the kinds that killed runs leave, and its page says which ones."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.audit.kind import TwinKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.repair.run import BY_MOVE

ROOT = Path(__file__).resolve().parents[2]
PAGE = " ".join((ROOT / "docs" / "operate" / "guard.md").read_text(encoding="utf-8").split())
VARIABLES = yaml.safe_load((ROOT / "playbooks" / "vars" / "guard.yml").read_text(encoding="utf-8"))


def test_the_guard_finishes_every_kind_that_a_killed_run_leaves() -> None:
    assert set(VARIABLES["guard__begun"]) == {kind.value for kind in BY_MOVE}
    (named,) = re.findall(r"moves of killed runs\*\*: the kinds (.+?)\. ", PAGE)
    assert re.findall(r"`(\w+)`", named) == VARIABLES["guard__begun"]


def test_the_page_names_every_kind_that_stops_the_guard() -> None:
    (named,) = re.findall(r"lacks rows that the ledger lists \((.+?)\)", PAGE)
    assert re.findall(r"`(\w+)`", named) == [kind.value for kind in TwinKind if kind.is_missing]
