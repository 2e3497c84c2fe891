# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Active parts are found by name, by content, and by what they contain."""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.active_parts import (
    ActiveParts,
)
from support.memory.between import ONE, name, parts
from support.memory.twins import DAY


def test_parts_are_found_by_content_and_by_blocks() -> None:
    active = ActiveParts((*ONE, *parts(b3_5_1="xyz")), DAY)
    assert active.has(name("1_1_0"), ONE[0].content)
    assert not active.has(name("1_1_0"), ONE[1].content)
    assert active.covers(name("4_4_0"))
    assert not active.covers(name("1_1_0"))
    assert not active.covers(name("6_6_0"))
    mutated = ActiveParts(parts(b1_1_0_7="x", b2_3_1_7="yz"), DAY)
    assert [mutated.has_mutation_of(name(each)) for each in ("1_1_0", "2_2_0", "4_4_0")] == [
        True,
        False,
        False,
    ]
    (four,) = active.parsed([name("4_4_0")])
    assert [each.text for each in active.covering(four)] == [name("3_5_1")]
