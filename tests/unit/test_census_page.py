# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The page about the census lists exactly the kinds and the advice that the code has, with their limits."""

from __future__ import annotations

import re
from pathlib import Path

from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.advice import AdviceKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.kind import ZnodeKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.census.settings import (
    CensusLimits,
    limits_of,
)

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "census.md").read_text(encoding="utf-8")


def test_the_page_has_every_kind_as_the_code_has_it_and_no_other() -> None:
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \|$", PAGE, re.MULTILINE)
    assert rows == [(kind.value, kind.means) for kind in ZnodeKind]


def test_the_page_has_all_advice_as_the_code_has_it_and_no_other() -> None:
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \| ([^|]+) \|$", PAGE, re.MULTILINE)
    assert rows == [
        (kind.value, f"{kind.means[0].upper()}{kind.means[1:]}.", f"{kind.remedy}.") for kind in AdviceKind
    ]


def test_the_page_has_every_limit_as_it_is_by_default() -> None:
    given = dict(re.findall(r"`(\w+)`, ([0-9]+[dh]?)\b", PAGE))
    assert given.keys() == set(CensusLimits._fields)
    assert (
        limits_of({name: int(text) if text.isdigit() else text for name, text in given.items()})
        == CensusLimits()
    )
