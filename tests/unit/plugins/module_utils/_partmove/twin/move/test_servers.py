# Copyright: olap.partmove contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The two tables have names for messages and for records."""

from __future__ import annotations

from ansible_collections.olap.partmove.plugins.module_utils._partmove.twin.move.tables import (
    PartsOf,
    Side,
    TwinPart,
    TwinReplica,
    TwinTables,
)
from support.memory.twins import content_of, table_of


def test_each_side_is_the_other_of_its_other() -> None:
    assert [side.other for side in Side] == [Side.COLD, Side.HOT]


def test_what_is_of_a_side_is_of_its_table() -> None:
    hot, cold = (table_of(side, "r1") for side in Side)
    tables = TwinTables(TwinReplica("r1", ""), "a server", hot, cold)
    assert (tables.on(Side.HOT), tables.on(Side.COLD)) == (hot, cold)
    assert (str(hot), cold.place) == ("db.hits", "cold:/tables/01/hits")
    current = PartsOf((TwinPart("a", content_of(("x",))),), ())
    assert [part.name for part in current.on(Side.HOT)] == ["a"]
    assert current.on(Side.COLD) == ()
