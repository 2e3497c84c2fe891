# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The order of repairs has every kind once, each after what keeps its repair from working."""

from __future__ import annotations

import pytest

from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.kind import FindingKind
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.audit.repair_order import (
    MANUAL,
    NEEDS,
    ORDER,
    REPAIR_ORDER,
    in_order,
)
from ansible_collections.olap.partmove.plugins.module_utils._partmove.patched.repair.run import REMEDIES


def test_every_kind_that_needs_an_action_is_in_it_once() -> None:
    assert len(ORDER) == len(set(ORDER))
    assert set(ORDER) == {kind for kind in FindingKind if not kind.is_consistent}


def test_every_repaired_kind_is_in_it_once() -> None:
    assert len(REPAIR_ORDER) == len(REMEDIES)
    assert set(REPAIR_ORDER) == REMEDIES.keys()
    assert set(ORDER) - REMEDIES.keys() == MANUAL


@pytest.mark.parametrize("kind", ORDER)
def test_a_kind_comes_after_what_it_needs(kind: FindingKind) -> None:
    place = ORDER.index(kind)
    assert [each for each in NEEDS[kind] if ORDER.index(each) >= place] == []


def test_parts_of_another_tool_come_between() -> None:
    names = ["registered_for_another", "lacks_data", "foreign", "dropped", "another_replica", "unreadable"]
    assert [kind.value for kind in in_order([FindingKind(name) for name in names])] == [
        "unreadable",
        "dropped",
        "another_replica",
        "foreign",
        "registered_for_another",
        "lacks_data",
    ]


def test_the_worst_comes_first_of_kinds_that_do_not_need_each_other() -> None:
    assert list(in_order([FindingKind.GHOST, FindingKind.UNREADABLE, FindingKind.HOT])) == [
        FindingKind.UNREADABLE,
        FindingKind.GHOST,
    ]
